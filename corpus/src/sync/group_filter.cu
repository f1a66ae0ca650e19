// Groups of whichever lanes came: filtering and counting with one atomic per group.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr unsigned kMaxKept = 8192;

__device__ int kept[kMaxKept];
__device__ unsigned kept_count, finished_blocks;

// Keeps the elements above a bound: the first of the lanes that are here together makes room for all of them. The
// order of `kept` is open, so the block that ends last sorts it by counting ranks. At most 8192 elements kept.
extern "C" __global__ void filter_coalesced(const int* in, int* sorted, unsigned* count, unsigned n, int bound) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int value = in[i];
    if (value > bound) {
      cg::coalesced_group group = cg::coalesced_threads();
      unsigned base = 0;
      if (group.thread_rank() == 0) base = atomicAdd(&kept_count, group.size());
      kept[group.shfl(base, 0) + group.thread_rank()] = value;
    }
  }
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicAdd(&finished_blocks, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  unsigned total = *(volatile unsigned*)&kept_count;
  for (unsigned i = threadIdx.x; i < total; i += blockDim.x) {
    int value = *(volatile int*)&kept[i];
    unsigned rank = 0;
    for (unsigned j = 0; j < total; ++j) {
      int other = *(volatile int*)&kept[j];
      rank += other < value || (other == value && j < i);
    }
    sorted[rank] = value;
  }
  if (threadIdx.x == 0) *count = total;
}

// A group per value among the lanes that are still in the loop.
extern "C" __global__ void count_labelled(const unsigned* in, unsigned* counts, unsigned n, unsigned buckets) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned bucket = in[i] % buckets;
    cg::coalesced_group active = cg::coalesced_threads();
    cg::coalesced_group same = cg::labeled_partition(active, bucket);
    if (same.thread_rank() == 0) atomicAdd(&counts[bucket], same.size());
  }
}

// Lanes are split by a condition, and each part by the next one; every part adds up its own elements.
extern "C" __global__ void sums_by_class(const int* in, int* sums, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int value = in[i];
  if (value % 2 == 0) {
    if (value % 3 == 0) {
      cg::coalesced_group group = cg::coalesced_threads();
      int sum = 0;
      for (unsigned r = 0; r < group.size(); ++r) sum += group.shfl(value, r);
      if (group.thread_rank() == 0) atomicAdd(&sums[0], sum);
    } else {
      cg::coalesced_group group = cg::coalesced_threads();
      for (unsigned offset = group.size() / 2, size = group.size(); size > 1; offset = size / 2) {
        unsigned upper = (size + 1) / 2;
        int other = group.shfl_down(value, upper);
        if (group.thread_rank() < offset) value += other;
        size = upper;
      }
      if (group.thread_rank() == 0) atomicAdd(&sums[1], value);
    }
  } else if (value > 50) {
    cg::coalesced_group group = cg::coalesced_threads();
    unsigned odd_thirds = __popc(group.ballot(value % 3 == 0));
    if (group.thread_rank() == 0) atomicAdd(&sums[2], (int)odd_thirds);
  } else {
    atomicAdd(&sums[3], 1);
  }
}
