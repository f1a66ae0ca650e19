// Cooperative launches sized by the occupancy query, grid barriers, block clusters.
#include <cooperative_groups.h>

#include <vector>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void Rounds(unsigned* a, unsigned* b, int n, int rounds) {
  cg::grid_group grid = cg::this_grid();
  for (int round = 0; round < rounds; ++round) {
    for (int i = static_cast<int>(grid.thread_rank()); i < n; i += static_cast<int>(grid.size())) b[i] = a[(i + 1) % n] * 3 + a[i];
    grid.sync();
    unsigned* t = a;
    a = b;
    b = t;
  }
}
__global__ void Plain(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x; }

int main() {
  constexpr int n = 5000;
  int blocks = 0;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, Rounds, 128, 0));
  cudaDeviceProp properties;
  OK(cudaGetDeviceProperties(&properties, 0));
  std::printf("cooperative %d, warp %d, threads %d, blocks is positive %d\n", properties.cooperativeLaunch, properties.warpSize, properties.maxThreadsPerBlock, blocks > 0);
  const int most = blocks * properties.multiProcessorCount;
  std::vector<unsigned> host(n);
  for (int i = 0; i < n; ++i) host[i] = i;
  unsigned *a, *b;
  OK(cudaMalloc(&a, n * 4));
  OK(cudaMalloc(&b, n * 4));
  OK(cudaMemcpy(a, host.data(), n * 4, cudaMemcpyHostToDevice));
  int count = n, rounds = 40;
  void* arguments[] = {&a, &b, &count, &rounds};
  OK(cudaLaunchCooperativeKernel(Rounds, dim3(most < 20 ? most : 20), dim3(128), arguments));
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(host.data(), a, n * 4, cudaMemcpyDeviceToHost));
  PrintDigest("rounds", host.data(), n * 4);
  SHOW(cudaLaunchCooperativeKernel(Rounds, dim3(1 << 24), dim3(128), arguments));
  int minimum = 0, best = 0;
  OK(cudaOccupancyMaxPotentialBlockSize(&minimum, &best, Plain));
  std::printf("potential block size is legal: %d\n", minimum > 0 && best > 0 && best <= 1024 && best % 32 == 0);
  return 0;
}
