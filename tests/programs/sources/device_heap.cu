// Blocks of device malloc that live from launch to launch, for recordings.
#include "check.h"

__device__ int* kept[64];

__global__ void Allocate(int n) { kept[threadIdx.x] = static_cast<int*>(malloc(n * sizeof(int))); }
__global__ void Write(int n) {
  for (int i = 0; i < n; ++i) kept[threadIdx.x][i] = 1000 * threadIdx.x + i;
}
__global__ void Sum(int* sums, int n) {
  int* copy = static_cast<int*>(malloc(n * sizeof(int)));  // freed by the same launch
  for (int i = 0; i < n; ++i) copy[i] = kept[(threadIdx.x + 1) % 64][i];
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += copy[i];
  sums[threadIdx.x] = sum;
  free(copy);
}
__global__ void Free() { free(kept[threadIdx.x]); }

int main() {
  constexpr int n = 50000;
  OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, size_t{64} << 20));
  int* sums;
  OK(cudaMalloc(&sums, 64 * sizeof(int)));
  Allocate<<<1, 64>>>(n);
  Write<<<1, 64>>>(n);
  Sum<<<1, 64>>>(sums, n);
  Free<<<1, 64>>>();
  int host[64];
  OK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
  std::printf("%d %d\n", host[0], host[63]);
  return 0;
}
