// What kernels ask of the runtime: printf, malloc and free, clocks, assert (with an argument: it ends the context).
#include <cassert>
#include <vector>

#include "check.h"

__global__ void Print(int n) {
  if (threadIdx.x != 0) return;
  std::printf("int %d %5d %-5d| %05d %+d %x %X %o %u\n", n, n, n, n, n, n, n, n, n);
  std::printf("float %f %.3f %10.2f %e %G %a\n", 1.5 * n, 3.14159, 2.71828, 12345.678, 1e-10, 1.0);
  std::printf("text %s %c %% %10s|%-10s|\n", "word", 'x', "right", "left");
  std::printf("long %lld %llu %llx %ld\n", -1234567890123ll, 12345678901234567890ull, 0xabcdefabcdefull, 77l);
  std::printf("star %*d|%-*d|%.*f\n", 6, n, 6, n, 2, 1.23456);
}
__global__ void Lists(int** heads, int n) {
  const int t = threadIdx.x;
  int* mine = static_cast<int*>(std::malloc(n * sizeof(int)));
  for (int i = 0; i < n; ++i) mine[i] = t * n + i;
  heads[t] = mine;
}
__global__ void Sum(int** heads, int* sums, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += heads[threadIdx.x][i];
  sums[threadIdx.x] = sum;
  std::free(heads[threadIdx.x]);
}
__global__ void TooMuch(int* failed) {
  void* memory = std::malloc(size_t{1} << 40);
  *failed = memory == nullptr;
}
__global__ void Clocks(long long* out) {
  const long long begin = clock64();
  unsigned long long time = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  for (int i = 0; i < 1000; ++i) asm volatile("");
  out[0] = clock64() - begin;
  out[1] = static_cast<long long>(time);
}
__global__ void Assert(int limit) { assert(static_cast<int>(threadIdx.x) < limit); }

int main(int count, char**) {
  for (int i = 1; i < 4; ++i) {
    Print<<<1, 32>>>(i * 17);
    OK(cudaDeviceSynchronize());
  }
  constexpr int threads = 64, n = 25;
  int **heads, *sums, host[threads], *failed;
  OK(cudaMalloc(&heads, threads * sizeof(int*)));
  OK(cudaMalloc(&sums, sizeof host));
  OK(cudaMalloc(&failed, sizeof(int)));
  for (int round = 0; round < 50; ++round) {
    Lists<<<1, threads>>>(heads, n);
    Sum<<<1, threads>>>(heads, sums, n);
  }
  OK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
  PrintDigest("lists", host, sizeof host);
  TooMuch<<<1, 1>>>(failed);
  OK(cudaMemcpy(host, failed, sizeof(int), cudaMemcpyDeviceToHost));
  std::printf("too much fails: %d\n", host[0]);
  long long *clocks, times[2];
  OK(cudaMalloc(&clocks, sizeof times));
  Clocks<<<1, 1>>>(clocks);
  OK(cudaMemcpy(times, clocks, sizeof times, cudaMemcpyDeviceToHost));
  std::printf("clocks run: %d %d\n", times[0] > 0, times[1] > 0);
  size_t limit = 0;
  OK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
  std::printf("heap %zu\n", limit);
  OK(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
  std::printf("fifo is there: %d\n", limit > 0);
  if (count > 1) {
    std::fflush(stdout);
    Assert<<<1, 32>>>(30);
    SHOW(cudaDeviceSynchronize());
    SHOW(cudaMalloc(&failed, 4));
  }
  return 0;
}
