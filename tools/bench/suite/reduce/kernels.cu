// Sums and prefix sums.

static __device__ float WarpSum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

// Each thread walks the input in steps of the grid; then shuffles, and one atomic addition per block of 256.
extern "C" __global__ void sum_grid_stride(const float* in, float* sum, unsigned n) {
  __shared__ float parts[8];
  float mine = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += in[i];
  mine = WarpSum(mine);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x < 32) {
    mine = WarpSum(threadIdx.x < 8 ? parts[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) atomicAdd(sum, mine);
  }
}

// The sum of each 512 words: a tree in shared memory. The block size is 256; n is a multiple of 512.
extern "C" __global__ void reduce_shared(const unsigned* in, unsigned* sums) {
  __shared__ unsigned tree[256];
  unsigned tid = threadIdx.x, i = blockIdx.x * 512 + tid;
  tree[tid] = in[i] + in[i + 256];
  __syncthreads();
  for (unsigned half = 128; half > 0; half /= 2) {
    if (tid < half) tree[tid] += tree[tid + half];
    __syncthreads();
  }
  if (tid == 0) sums[blockIdx.x] = tree[0];
}

// The sum of each 1024 words by shuffles. The block size is 256; n is a multiple of 1024.
extern "C" __global__ void reduce_shuffle(const unsigned* in, unsigned* sums) {
  __shared__ unsigned parts[8];
  unsigned tid = threadIdx.x, lane = tid % 32, i = blockIdx.x * 1024 + tid;
  unsigned sum = in[i] + in[i + 256] + in[i + 512] + in[i + 768];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (lane == 0) parts[tid / 32] = sum;
  __syncthreads();
  if (tid < 32) {
    sum = lane < 8 ? parts[lane] : 0;
    for (int offset = 4; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0) sums[blockIdx.x] = sum;
  }
}

static __device__ unsigned WarpScan(unsigned sum, unsigned lane) {
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    unsigned before = __shfl_up_sync(0xffffffffu, sum, offset);
    if (lane >= offset) sum += before;
  }
  return sum;
}

// Inclusive sums over a block of 256 threads.
static __device__ unsigned BlockScan(unsigned sum, unsigned* warp_sums) {
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  sum = WarpScan(sum, lane);
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    unsigned scanned = WarpScan(lane < 8 ? warp_sums[lane] : 0, lane);
    if (lane < 8) warp_sums[lane] = scanned;
  }
  __syncthreads();
  return warp > 0 ? sum + warp_sums[warp - 1] : sum;
}

// Inclusive sums of each 1024 words, four of a thread; then of the totals, by one block; then both are added.
extern "C" __global__ void scan_blocks(const unsigned* in, unsigned* out, unsigned* totals) {
  __shared__ unsigned warp_sums[8];
  unsigned base = blockIdx.x * 1024 + 4 * threadIdx.x;
  unsigned a = in[base], b = a + in[base + 1], c = b + in[base + 2], d = c + in[base + 3];
  unsigned before = BlockScan(d, warp_sums) - d;
  out[base] = before + a;
  out[base + 1] = before + b;
  out[base + 2] = before + c;
  out[base + 3] = before + d;
  if (threadIdx.x == 255) totals[blockIdx.x] = before + d;
}

extern "C" __global__ void scan_totals(unsigned* totals, unsigned count) {
  __shared__ unsigned warp_sums[8], last;
  unsigned carry = 0;
  for (unsigned base = 0; base < count; base += 256) {
    unsigned i = base + threadIdx.x;
    unsigned sum = BlockScan(i < count ? totals[i] : 0, warp_sums) + carry;
    if (i < count) totals[i] = sum;
    if (threadIdx.x == 255) last = sum;
    __syncthreads();
    carry = last;
  }
}

extern "C" __global__ void scan_add(unsigned* out, const unsigned* totals) {
  if (blockIdx.x == 0) return;
  unsigned before = totals[blockIdx.x - 1];
  for (unsigned i = threadIdx.x; i < 1024; i += 256) out[blockIdx.x * 1024 + i] += before;
}

// The same in one pass, after Merrill and Garland (2016): a block takes the next tile of 1024, publishes its sum and looks
// back over the tiles before until one knows its prefix. states: 0 unknown, 1 in the high word: sum, 2: prefix.
extern "C" __global__ void scan_look_back(const unsigned* in, unsigned* out, unsigned* next_tile,
                                          volatile unsigned long long* states) {
  __shared__ unsigned warp_sums[8], tile, prefix;
  unsigned tid = threadIdx.x, lane = tid % 32;
  if (tid == 0) tile = atomicAdd(next_tile, 1u);
  __syncthreads();
  unsigned base = tile * 1024 + 4 * tid;
  unsigned a = in[base], b = a + in[base + 1], c = b + in[base + 2], d = c + in[base + 3];
  unsigned before = BlockScan(d, warp_sums) - d, total = warp_sums[7];
  if (tid < 32) {
    if (lane == 0) states[tile] = ((tile == 0 ? 2ull : 1ull) << 32) | total;
    unsigned sum = 0;
    for (int nearest = (int)tile - 1; nearest >= 0; nearest -= 32) {
      int mine = nearest - (int)lane;
      unsigned long long state = 2ull << 32;  // before the first tile
      if (mine >= 0) {
        do {
          state = states[mine];
        } while (state >> 32 == 0);
      }
      unsigned known = __ballot_sync(0xffffffffu, state >> 32 == 2);
      unsigned end = known == 0 ? 31 : __ffs((int)known) - 1;
      unsigned part = lane <= end ? (unsigned)state : 0;
      for (int offset = 16; offset > 0; offset /= 2) part += __shfl_xor_sync(0xffffffffu, part, offset);
      sum += part;
      if (known != 0) break;
    }
    if (lane == 0) {
      prefix = sum;
      if (tile > 0) states[tile] = (2ull << 32) | (sum + total);
    }
  }
  __syncthreads();
  before += prefix;
  out[base] = before + a;
  out[base + 1] = before + b;
  out[base + 2] = before + c;
  out[base + 3] = before + d;
}

// Inclusive sums of each row, a warp per row. Lanes count their trips for themselves, and nvcc repeats the body four times:
// for all that the code says, some lanes could be in other trips than the rest of their warp.
extern "C" __global__ void scan_rows(const unsigned* in, unsigned* out, unsigned length) {
  unsigned row = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32, carry = 0;
  for (unsigned i = lane; i < length; i += 32) {
    unsigned sum = WarpScan(in[row * length + i], lane) + carry;
    out[row * length + i] = sum;
    carry = __shfl_sync(0xffffffffu, sum, 31);
  }
}
