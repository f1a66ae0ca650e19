// Cooperative groups within a warp.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Tiles of 8 threads: sum by shuffles, maximum by butterfly, a vote and a ballot per tile.
// The block size must be a multiple of 8.
extern "C" __global__ void tile_reduce(const int* in, int* results, unsigned n) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = i < n ? in[i] : 0;
  int sum = value, most = value;
  for (int offset = 4; offset > 0; offset /= 2) {
    sum += tile.shfl_down(sum, offset);
    most = max(most, tile.shfl_xor(most, offset));
  }
  int odd = tile.ballot(value & 1);
  int flags = tile.any(value > 90) * 2 + tile.all(value >= 0);
  int first = tile.shfl(value, 0);
  if (tile.thread_rank() == 0) {
    int* result = results + 5 * (i / 8);
    result[0] = sum;
    result[1] = most;
    result[2] = odd;
    result[3] = flags;
    result[4] = first;
  }
}

// A group of whichever lanes came into the branch: its leader adds for all of them. Only the total is defined, not
// how the lanes were grouped. Any block size.
extern "C" __global__ void coalesced_count(const int* in, unsigned* counters, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = in[i];
  if (value % 3 == 0) {
    auto group = cg::coalesced_threads();
    if (group.thread_rank() == 0) atomicAdd(&counters[0], group.size());
  } else if (value % 3 == 1) {
    auto group = cg::coalesced_threads();
    if (group.thread_rank() == 0) atomicAdd(&counters[1], group.size());
  }
}
