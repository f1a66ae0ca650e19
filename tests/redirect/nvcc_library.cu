// A library as nvcc links it by default, with the static runtime: device code, variables, a constructor that allocates.
#include <cstdio>

namespace {

__device__ int total;

__global__ void Add(int* numbers, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) numbers[i] += i;
  atomicAdd(&total, 1);
}

struct Early {
  Early() { error = cudaMalloc(&memory, 64); }
  ~Early() { cudaFree(memory); }
  void* memory = nullptr;
  cudaError_t error = cudaErrorUnknown;
} early;

}  // namespace

extern "C" int run() {
  constexpr int kCount = 200, kBlocks = 2, kThreads = 128;
  int* numbers = nullptr;
  int host[kCount] = {}, threads = 0, sum = 0, version = 0;
  if (early.error != cudaSuccess) return 10;
  if (cudaRuntimeGetVersion(&version) != cudaSuccess || cudaMalloc(&numbers, sizeof host) != cudaSuccess) return 11;
  cudaMemset(numbers, 0, sizeof host);
  Add<<<kBlocks, kThreads>>>(numbers, kCount);
  if (cudaMemcpy(host, numbers, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 12;
  if (cudaMemcpyFromSymbol(&threads, total, sizeof threads) != cudaSuccess || cudaFree(numbers) != cudaSuccess) return 13;
  for (const int number : host) sum += number;
  std::printf("sum %d threads %d\n", sum, threads);
  return sum == kCount * (kCount - 1) / 2 && threads == kBlocks * kThreads ? 0 : 14;
}
