// Device functions that nvcc inlines into each other and into a kernel, which prints: for debuggers.
#include <cstdio>

#include "check.h"

namespace shapes {
template <typename T>
__device__ T Twice(T x) {
  return x * 2 + 1;
}
__device__ int Area(int side) {
  const int wide = Twice(side);
  return wide * wide;
}
}  // namespace shapes

__global__ void Fill(int* areas, int first) {
  areas[threadIdx.x] = shapes::Area(static_cast<int>(threadIdx.x) + first);
  printf("thread %d: %d\n", static_cast<int>(threadIdx.x), areas[threadIdx.x]);
}

int main() {
  int* areas;
  OK(cudaMalloc(&areas, 4 * sizeof(int)));
  Fill<<<1, 4>>>(areas, 0);
  OK(cudaDeviceSynchronize());
}
