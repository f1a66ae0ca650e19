// Kernels that launch kernels: fire and forget, tail, recursion. Built with -rdc=true.
#include <vector>

#include "check.h"

__global__ void Leaf(int* data, int at, int value) { data[at + threadIdx.x] += value + threadIdx.x; }
__global__ void Parent(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) Leaf<<<1, 4>>>(data, i * 4, i);
}
__global__ void Recurse(int* data, int depth) {
  atomicAdd(&data[depth], 1);
  if (depth > 0) {
    Recurse<<<2, 1>>>(data, depth - 1);
  }
}
__global__ void Last(int* data) { data[1] = data[0] * 10; }
__global__ void Tail(int* data) {
  data[0] = 7;
  Last<<<1, 1, 0, cudaStreamTailLaunch>>>(data);
  data[0] = 8;
}
__global__ void Forget(int* data) { Leaf<<<1, 8, 0, cudaStreamFireAndForget>>>(data, 0, 100); }

int main() {
  constexpr int n = 256;
  int* data;
  std::vector<int> host(n);
  const auto show = [&](const char* what) {
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(host.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost));
    PrintDigest(what, host.data(), n * sizeof(int));
    OK(cudaMemset(data, 0, n * sizeof(int)));
  };
  OK(cudaMalloc(&data, n * sizeof(int)));
  OK(cudaMemset(data, 0, n * sizeof(int)));
  Parent<<<2, 32>>>(data, n / 4);
  show("parent");
  Recurse<<<1, 1>>>(data, 5);
  show("recurse");
  Tail<<<1, 1>>>(data);
  show("tail");
  Forget<<<1, 1>>>(data);
  show("forget");
  return 0;
}
