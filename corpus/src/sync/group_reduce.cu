// Block reductions with cooperative groups in their classic steps of improvement; the plain forms are in reduction.cu.
// Sums of 32-bit words wrap, so every order of adding gives the same bits. Each block writes one sum.
// Dynamic shared memory: 4 * blockDim.x bytes, except where noted.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

// 0: interleaved, the active threads chosen by a remainder. Any block size.
extern "C" __global__ void group_reduce_modulo(const unsigned* in, unsigned* sums, unsigned n) {
  extern __shared__ unsigned values[];
  cg::thread_block block = cg::this_thread_block();
  unsigned tid = block.thread_rank(), i = block.group_index().x * block.size() + tid;
  values[tid] = i < n ? in[i] : 0;
  cg::sync(block);
  for (unsigned step = 1; step < block.size(); step *= 2) {
    if (tid % (2 * step) == 0 && tid + step < block.size()) values[tid] += values[tid + step];
    cg::sync(block);
  }
  if (tid == 0) sums[blockIdx.x] = values[0];
}

// 1: interleaved, consecutive threads active. Any block size.
extern "C" __global__ void group_reduce_strided(const unsigned* in, unsigned* sums, unsigned n) {
  extern __shared__ unsigned values[];
  cg::thread_block block = cg::this_thread_block();
  unsigned tid = block.thread_rank(), i = block.group_index().x * block.size() + tid;
  values[tid] = i < n ? in[i] : 0;
  block.sync();
  for (unsigned step = 1; step < block.size(); step *= 2) {
    unsigned at = 2 * step * tid;
    if (at + step < block.size()) values[at] += values[at + step];
    block.sync();
  }
  if (tid == 0) sums[blockIdx.x] = values[0];
}

// 2: sequential addresses. Block size a power of two.
extern "C" __global__ void group_reduce_sequential(const unsigned* in, unsigned* sums, unsigned n) {
  extern __shared__ unsigned values[];
  cg::thread_block block = cg::this_thread_block();
  unsigned tid = block.thread_rank(), i = block.group_index().x * block.size() + tid;
  values[tid] = i < n ? in[i] : 0;
  block.sync();
  for (unsigned half = block.size() / 2; half > 0; half /= 2) {
    if (tid < half) values[tid] += values[tid + half];
    block.sync();
  }
  if (tid == 0) sums[blockIdx.x] = values[0];
}

// 3: the first addition while loading. Block size a power of two.
extern "C" __global__ void group_reduce_first_add(const unsigned* in, unsigned* sums, unsigned n) {
  extern __shared__ unsigned values[];
  cg::thread_block block = cg::this_thread_block();
  unsigned tid = block.thread_rank(), i = block.group_index().x * 2 * block.size() + tid;
  unsigned sum = i < n ? in[i] : 0;
  if (i + block.size() < n) sum += in[i + block.size()];
  values[tid] = sum;
  block.sync();
  for (unsigned half = block.size() / 2; half > 0; half /= 2) {
    if (tid < half) values[tid] = sum = sum + values[tid + half];
    block.sync();
  }
  if (tid == 0) sums[blockIdx.x] = sum;
}

// The last 64 values of a block, or its last half, are folded by the first warp through shuffles.
static __device__ unsigned FoldInTile(cg::thread_block block, unsigned sum, const unsigned* values) {
  auto tile = cg::tiled_partition<32>(block);
  if (block.size() >= 64) sum += values[block.thread_rank() + 32];
  for (unsigned offset = tile.size() / 2; offset > 0; offset /= 2) sum += tile.shfl_down(sum, offset);
  return sum;
}

// 4: the last warp uses a tile's shuffles instead of barriers. Block size a power of two, 32 at least.
extern "C" __global__ void group_reduce_tile_tail(const unsigned* in, unsigned* sums, unsigned n) {
  extern __shared__ unsigned values[];
  cg::thread_block block = cg::this_thread_block();
  unsigned tid = block.thread_rank(), i = block.group_index().x * 2 * block.size() + tid;
  unsigned sum = i < n ? in[i] : 0;
  if (i + block.size() < n) sum += in[i + block.size()];
  values[tid] = sum;
  block.sync();
  for (unsigned half = block.size() / 2; half > 32; half /= 2) {
    if (tid < half) values[tid] = sum = sum + values[tid + half];
    block.sync();
  }
  if (tid < 32) sum = FoldInTile(block, sum, values);
  if (tid == 0) sums[blockIdx.x] = sum;
}

// The part of a step that the compiler sees for one block size.
template <unsigned kThreads>
static __device__ __forceinline__ unsigned FoldKnown(cg::thread_block block, unsigned sum, unsigned* values) {
  unsigned tid = block.thread_rank();
  values[tid] = sum;
  block.sync();
  if constexpr (kThreads >= 512) {
    if (tid < 256) values[tid] = sum = sum + values[tid + 256];
    block.sync();
  }
  if constexpr (kThreads >= 256) {
    if (tid < 128) values[tid] = sum = sum + values[tid + 128];
    block.sync();
  }
  if constexpr (kThreads >= 128) {
    if (tid < 64) values[tid] = sum = sum + values[tid + 64];
    block.sync();
  }
  if (tid < 32) sum = FoldInTile(block, sum, values);
  return sum;
}

static __device__ __forceinline__ unsigned FoldBySize(cg::thread_block block, unsigned sum, unsigned* values) {
  switch (block.size()) {
    case 512: return FoldKnown<512>(block, sum, values);
    case 256: return FoldKnown<256>(block, sum, values);
    case 128: return FoldKnown<128>(block, sum, values);
    case 64: return FoldKnown<64>(block, sum, values);
    default: return FoldKnown<32>(block, sum, values);
  }
}

// 5: unrolled for each block size. Block size 32, 64, 128, 256 or 512.
extern "C" __global__ void group_reduce_unrolled(const unsigned* in, unsigned* sums, unsigned n) {
  extern __shared__ unsigned values[];
  cg::thread_block block = cg::this_thread_block();
  unsigned i = block.group_index().x * 2 * block.size() + block.thread_rank();
  unsigned sum = i < n ? in[i] : 0;
  if (i + block.size() < n) sum += in[i + block.size()];
  sum = FoldBySize(block, sum, values);
  if (block.thread_rank() == 0) sums[blockIdx.x] = sum;
}

// 6: many elements per thread, two of them each trip. Block sizes as 5.
extern "C" __global__ void group_reduce_many(const unsigned* in, unsigned* sums, unsigned n) {
  extern __shared__ unsigned values[];
  cg::thread_block block = cg::this_thread_block();
  unsigned sum = 0;
  for (unsigned i = block.group_index().x * 2 * block.size() + block.thread_rank(); i < n;
       i += 2 * block.size() * gridDim.x) {
    sum += in[i];
    if (i + block.size() < n) sum += in[i + block.size()];
  }
  sum = FoldBySize(block, sum, values);
  if (block.thread_rank() == 0) sums[blockIdx.x] = sum;
}

// The library's own reductions over tiles of 32 and over a coalesced group: sum, greatest, exclusive or.
// Three words per tile; the block size is a multiple of 32. No dynamic shared memory.
extern "C" __global__ void group_reduce_library(const unsigned* in, unsigned* results, unsigned n) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned sum = cg::reduce(tile, i < n ? in[i] : 0u, cg::plus<unsigned>());
  unsigned most = 0, mixed = 0;
  if (i < n) {
    cg::coalesced_group here = cg::coalesced_threads();
    most = cg::reduce(here, in[i], cg::greater<unsigned>());
    mixed = cg::reduce(here, in[i], cg::bit_xor<unsigned>());
  }
  if (tile.thread_rank() == 0) {
    unsigned* result = results + 3 * (i / 32);
    result[0] = sum;
    result[1] = most;
    result[2] = mixed;
  }
}

// A reduction of two launches in double: warps add up in tiles, their sums meet in shared memory (8 bytes per warp).
// Small integers, so every order gives the same bits. The block size is a multiple of 32.
static __device__ double BlockSum(cg::thread_block block, double sum, double* warp_sums) {
  auto tile = cg::tiled_partition<32>(block);
  for (unsigned offset = 16; offset > 0; offset /= 2) sum += tile.shfl_down(sum, offset);
  if (tile.thread_rank() == 0) warp_sums[tile.meta_group_rank()] = sum;
  block.sync();
  if (tile.meta_group_rank() == 0) {
    sum = tile.thread_rank() < tile.meta_group_size() ? warp_sums[tile.thread_rank()] : 0.0;
    for (unsigned offset = 16; offset > 0; offset /= 2) sum += tile.shfl_down(sum, offset);
  }
  return sum;
}

extern "C" __global__ void reduce_partial_sums(const int* in, double* sums, unsigned n) {
  extern __shared__ double warp_sums[];
  cg::thread_block block = cg::this_thread_block();
  double sum = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  sum = BlockSum(block, sum, warp_sums);
  if (block.thread_rank() == 0) sums[blockIdx.x] = sum;
}

// One block.
extern "C" __global__ void reduce_final_sum(const double* sums, double* total, unsigned count) {
  extern __shared__ double warp_sums[];
  cg::thread_block block = cg::this_thread_block();
  double sum = 0;
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) sum += sums[i];
  sum = BlockSum(block, sum, warp_sums);
  if (block.thread_rank() == 0) *total = sum;
}

// One launch: the block that takes the last ticket adds the sums of all. The block size is a multiple of 32.
// Dynamic shared memory: 8 bytes per warp.
__device__ unsigned tickets;
__device__ double block_sums[4096];

extern "C" __global__ void group_reduce_last_block(const int* in, double* total, unsigned n) {
  extern __shared__ double warp_sums[];
  __shared__ bool is_last;
  cg::thread_block block = cg::this_thread_block();
  double sum = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  sum = BlockSum(block, sum, warp_sums);
  if (block.thread_rank() == 0) {
    *(volatile double*)&block_sums[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicAdd(&tickets, 1u) == gridDim.x - 1;
  }
  block.sync();
  if (!is_last) return;
  __threadfence();
  sum = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x) sum += *(volatile double*)&block_sums[b];
  sum = BlockSum(block, sum, warp_sums);
  if (block.thread_rank() == 0) *total = sum;
}
