// Dot products with cooperative groups. Products of small integers are summed in double, where every order of adding
// gives the same bits.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// One tile is one warp: shuffles within it, an atomic per tile in shared memory, an atomic per block in global memory.
// The block size must be a multiple of 32.
extern "C" __global__ void dot_warp_tiles(const int* a, const int* b, double* total, unsigned n) {
  __shared__ double block_sum;
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  if (block.thread_rank() == 0) block_sum = 0;
  block.sync();
  double sum = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum += (double)a[i] * (double)b[i];
  }
  for (unsigned offset = tile.size() / 2; offset > 0; offset /= 2) sum += tile.shfl_down(sum, offset);
  if (tile.thread_rank() == 0) atomicAdd(&block_sum, sum);
  block.sync();
  if (block.thread_rank() == 0) atomicAdd(total, block_sum);
}

// Tiles of 16 in the warp and tiles of 4 in them; each tile of 4 keeps its own sum as well.
// The block size must be a multiple of 16.
extern "C" __global__ void dot_nested_tiles(const int* a, const int* b, double* fours, double* total, unsigned n) {
  cg::thread_block block = cg::this_thread_block();
  auto sixteen = cg::tiled_partition<16>(block);
  auto four = cg::tiled_partition<4>(sixteen);
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  double sum = i < n ? (double)a[i] * (double)b[i] : 0.0;
  for (unsigned offset = 2; offset > 0; offset /= 2) sum += four.shfl_xor(sum, offset);
  if (four.thread_rank() == 0) fours[i / 4] = sum;
  sum += sixteen.shfl_xor(sum, 4);
  sum += sixteen.shfl_xor(sum, 8);
  if (sixteen.thread_rank() == 0) atomicAdd(total, sum);
}
