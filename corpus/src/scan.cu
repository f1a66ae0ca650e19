// Inclusive prefix sums of each block's part of the input; the block's total goes to totals[block].

// By shuffles: each warp scans its lanes, the first warp scans the warps' totals.
extern "C" __global__ void scan_shuffle(const unsigned* in, unsigned* out, unsigned* totals, unsigned n) {
  __shared__ unsigned warp_totals[32];
  unsigned tid = threadIdx.x, lane = tid % 32, warp = tid / 32, warps = (blockDim.x + 31) / 32;
  unsigned i = blockIdx.x * blockDim.x + tid;
  unsigned sum = i < n ? in[i] : 0;
#pragma unroll
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    unsigned before = __shfl_up_sync(0xffffffffu, sum, offset);
    if (lane >= offset) sum += before;
  }
  if (lane == 31 || tid == blockDim.x - 1) warp_totals[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    unsigned total = lane < warps ? warp_totals[lane] : 0;
    for (unsigned offset = 1; offset < 32; offset *= 2) {
      unsigned before = __shfl_up_sync(0xffffffffu, total, offset);
      if (lane >= offset) total += before;
    }
    if (lane < warps) warp_totals[lane] = total;
  }
  __syncthreads();
  if (warp > 0) sum += warp_totals[warp - 1];
  if (i < n) out[i] = sum;
  if (tid == blockDim.x - 1) totals[blockIdx.x] = sum;
}

// By doubling steps between two buffers in dynamic shared memory (16 * blockDim.x bytes), on 64-bit words.
extern "C" __global__ void scan_double_buffer(const unsigned long long* in, unsigned long long* out,
                                              unsigned long long* totals, unsigned n) {
  extern __shared__ unsigned long long buffers[];
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
  unsigned from = 0;
  buffers[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned offset = 1; offset < blockDim.x; offset *= 2) {
    unsigned to = blockDim.x - from;
    unsigned long long sum = buffers[from + tid];
    if (tid >= offset) sum += buffers[from + tid - offset];
    buffers[to + tid] = sum;
    from = to;
    __syncthreads();
  }
  if (i < n) out[i] = buffers[from + tid];
  if (tid == blockDim.x - 1) totals[blockIdx.x] = buffers[from + tid];
}
