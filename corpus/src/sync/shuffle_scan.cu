// Prefix sums by shuffles: of blocks, and of an image's rows and columns (a summed-area table).

// Each block's inclusive prefix sums; its total goes to totals[block]. Warps scan in segments of `width` lanes (a power
// of two), segments are then added in order. The block size is a multiple of 32 and grid * block the size of the data.
extern "C" __global__ void shuffle_scan(unsigned* data, unsigned* totals, unsigned width) {
  __shared__ unsigned segment_sums[1024];
  unsigned tid = threadIdx.x, lane = tid % width, segment = tid / width, segments = blockDim.x / width;
  unsigned i = blockIdx.x * blockDim.x + tid;
  unsigned sum = data[i];
  for (unsigned offset = 1; offset < width; offset *= 2) {
    unsigned before = __shfl_up_sync(0xffffffffu, sum, offset, width);
    if (lane >= offset) sum += before;
  }
  if (lane == width - 1) segment_sums[segment] = sum;
  __syncthreads();
  // The first warp scans the sums of all segments, 32 at a time.
  if (tid < 32) {
    unsigned carry = 0;
    for (unsigned at = tid; at - tid < segments; at += 32) {
      unsigned value = at < segments ? segment_sums[at] : 0;
      for (unsigned offset = 1; offset < 32; offset *= 2) {
        unsigned before = __shfl_up_sync(0xffffffffu, value, offset);
        if (tid >= offset) value += before;
      }
      value += carry;
      if (at < segments) segment_sums[at] = value;
      carry = __shfl_sync(0xffffffffu, value, 31);
    }
  }
  __syncthreads();
  if (segment > 0) sum += segment_sums[segment - 1];
  data[i] = sum;
  if (tid == blockDim.x - 1) totals[blockIdx.x] = sum;
}

// The second half of a scan of many blocks: adds the sum of all blocks before to each element.
extern "C" __global__ void uniform_add(unsigned* data, const unsigned* scanned_totals, unsigned n) {
  __shared__ unsigned before;
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) before = blockIdx.x > 0 ? scanned_totals[blockIdx.x - 1] : 0;
  __syncthreads();
  if (i < n) data[i] += before;
}

// Prefix sums of the rows of an image of bytes: one block per row, sixteen pixels per thread and trip.
// The width is a multiple of 16, the block size one of 32.
extern "C" __global__ void sat_rows(const unsigned char* image, unsigned* sums, unsigned width) {
  __shared__ unsigned warp_sums[32];
  unsigned tid = threadIdx.x, lane = tid % 32, warp = tid / 32, warps = blockDim.x / 32;
  const uint4* from = (const uint4*)(image + (size_t)blockIdx.x * width);
  uint4* to = (uint4*)(sums + (size_t)blockIdx.x * width);
  unsigned carry = 0;
  for (unsigned base = 0; base < width / 16; base += blockDim.x) {
    unsigned at = base + tid;
    uint4 pixels = at < width / 16 ? from[at] : make_uint4(0, 0, 0, 0);
    unsigned words[4] = {pixels.x, pixels.y, pixels.z, pixels.w}, run[16], total = 0;
#pragma unroll
    for (int p = 0; p < 16; ++p) run[p] = total += words[p / 4] >> 8 * (p % 4) & 0xff;
    unsigned scanned = total;
#pragma unroll
    for (unsigned offset = 1; offset < 32; offset *= 2) {
      unsigned before = __shfl_up_sync(0xffffffffu, scanned, offset, 32);
      if (lane >= offset) scanned += before;
    }
    if (lane == 31) warp_sums[warp] = scanned;
    __syncthreads();
    if (warp == 0) {
      unsigned sum = lane < warps ? warp_sums[lane] : 0;
#pragma unroll
      for (unsigned offset = 1; offset < 32; offset *= 2) {
        unsigned before = __shfl_up_sync(0xffffffffu, sum, offset, 32);
        if (lane >= offset) sum += before;
      }
      if (lane < warps) warp_sums[lane] = sum;
    }
    __syncthreads();
    unsigned before = carry + scanned - total + (warp > 0 ? warp_sums[warp - 1] : 0);
    if (at < width / 16) {
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        to[at * 4 + q] = make_uint4(before + run[4 * q], before + run[4 * q + 1], before + run[4 * q + 2],
                                    before + run[4 * q + 3]);
      }
    }
    carry += warp_sums[warps - 1];
    __syncthreads();
  }
}

// Prefix sums down the columns, in place: a block takes 32 columns, strip after strip of 32 rows. A strip goes through
// shared memory, so that each warp has whole columns in its lanes and scans them by shuffles.
// Block (32, 8, 1); the grid covers the columns.
extern "C" __global__ void sat_columns(unsigned* sums, unsigned width, unsigned height) {
  __shared__ unsigned strip[32][33];
  unsigned lane = threadIdx.x, warp = threadIdx.y, column = blockIdx.x * 32 + lane;
  unsigned carry[4] = {0, 0, 0, 0};  // of the columns warp + 8 * c
  for (unsigned top = 0; top < height; top += 32) {
    for (unsigned row = warp; row < 32; row += 8) {
      bool inside = column < width && top + row < height;
      strip[row][lane] = inside ? sums[(size_t)(top + row) * width + column] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      unsigned sum = strip[lane][warp + 8 * c];
      for (unsigned offset = 1; offset < 32; offset *= 2) {
        unsigned above = __shfl_up_sync(0xffffffffu, sum, offset);
        if (lane >= offset) sum += above;
      }
      sum += carry[c];
      strip[lane][warp + 8 * c] = sum;
      carry[c] = __shfl_sync(0xffffffffu, sum, 31);
    }
    __syncthreads();
    for (unsigned row = warp; row < 32; row += 8) {
      if (column < width && top + row < height) sums[(size_t)(top + row) * width + column] = strip[row][lane];
    }
    __syncthreads();
  }
}
