// Prefix sums of a whole grid in a single pass: a block takes the next tile, publishes its sum, and looks back over the tiles
// before until it meets one that knows its prefix. A warp looks at 32 of them at a time.
// The block size is a multiple of 32, at most 4096 tiles; the grid covers the data, one element per thread.
// Idea: Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016.

constexpr unsigned long long kSumOnly = 1ull << 32, kPrefix = 2ull << 32;

__device__ unsigned next_tile;
__device__ unsigned long long tile_states[4096];

static __device__ __forceinline__ unsigned WarpScan(unsigned sum, unsigned lane) {
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    unsigned before = __shfl_up_sync(0xffffffffu, sum, offset);
    if (lane >= offset) sum += before;
  }
  return sum;
}

// The sum of all tiles before `tile`. Called by one whole warp.
static __device__ unsigned LookBack(unsigned tile, unsigned lane) {
  unsigned total = 0;
  for (int nearest = (int)tile - 1; nearest >= 0; nearest -= 32) {
    int mine = nearest - (int)lane;
    unsigned long long state = kPrefix;  // before the first tile there is nothing
    if (mine >= 0) {
      do {
        state = *(volatile unsigned long long*)&tile_states[mine];
      } while (state < kSumOnly);
    }
    unsigned known = __ballot_sync(0xffffffffu, state >= kPrefix);
    unsigned last = known == 0 ? 31 : (unsigned)__ffs((int)known) - 1;
    unsigned part = lane <= last ? (unsigned)state : 0;
    for (unsigned offset = 16; offset > 0; offset /= 2) part += __shfl_xor_sync(0xffffffffu, part, offset);
    total += part;
    if (known != 0) break;
  }
  return total;
}

extern "C" __global__ void look_back_scan(const unsigned* in, unsigned* out, unsigned n) {
  __shared__ unsigned warp_sums[32], tile, before;
  unsigned tid = threadIdx.x, lane = tid % 32, warp = tid / 32, warps = blockDim.x / 32;
  if (tid == 0) tile = atomicAdd(&next_tile, 1u);
  __syncthreads();
  unsigned i = tile * blockDim.x + tid;
  unsigned sum = WarpScan(i < n ? in[i] : 0, lane);
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    unsigned scanned = WarpScan(lane < warps ? warp_sums[lane] : 0, lane);
    if (lane < warps) warp_sums[lane] = scanned;
    unsigned total = __shfl_sync(0xffffffffu, scanned, 31);
    if (lane == 0) {
      *(volatile unsigned long long*)&tile_states[tile] = (tile == 0 ? kPrefix : kSumOnly) | total;
    }
    unsigned prefix = LookBack(tile, lane);
    if (lane == 0) {
      if (tile > 0) *(volatile unsigned long long*)&tile_states[tile] = kPrefix | (prefix + total);
      before = prefix;
    }
  }
  __syncthreads();
  if (i < n) out[i] = before + (warp > 0 ? warp_sums[warp - 1] : 0) + sum;
}
