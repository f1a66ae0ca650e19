// Two kernels that lack a barrier, and their mended twins: `orders mended` runs those. Prints what none of
// them changes.
#include <cstdio>
#include <cstring>

#include "check.h"

constexpr int kBlocks = 3, kThreads = 96, kAll = kBlocks * kThreads;

// One phase writes what the next reads elsewhere.
template <bool kMended>
__global__ void Reverse(int* out) {
  __shared__ int tile[kThreads];
  tile[threadIdx.x] = blockIdx.x * kThreads + threadIdx.x;
  if (kMended) __syncthreads();
  out[blockIdx.x * kThreads + threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
}

// An element of an array that the block has cleared is marked.
template <bool kMended>
__global__ void Mark(int* out) {
  int* const mine = out + blockIdx.x * kThreads;
  mine[threadIdx.x] = 0;
  if (kMended) __syncthreads();
  if (threadIdx.x == 0) mine[70] = 1;
}

int main(int count, char** words) {
  int* out;
  OK(cudaMalloc(&out, kAll * sizeof(int)));
  OK(cudaMemset(out, 0xff, kAll * sizeof(int)));
  if (count > 1 && std::strcmp(words[1], "mended") == 0) {
    Reverse<true><<<kBlocks, kThreads>>>(out);
    Mark<true><<<kBlocks, kThreads>>>(out);
  } else {
    Reverse<false><<<kBlocks, kThreads>>>(out);
    Mark<false><<<kBlocks, kThreads>>>(out);
  }
  OK(cudaDeviceSynchronize());
  OK(cudaFree(out));
  std::puts("done");
}
