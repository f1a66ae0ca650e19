// Block reduction in the seven classic steps of improvement, and with a warp shuffle tail.
// Sums of 32-bit words wrap, so every order of adding gives the same bits. Each block writes one sum.
// All take any block size; the dynamic shared memory is 4 * blockDim.x bytes except where noted.

// 1: interleaved addressing, the active threads chosen by a remainder (divergent within every warp).
extern "C" __global__ void reduce_interleaved_modulo(const unsigned* in, unsigned* sums, unsigned n) {
  extern __shared__ unsigned partial[];
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
  partial[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    if (tid % (2 * step) == 0 && tid + step < blockDim.x) partial[tid] += partial[tid + step];
    __syncthreads();
  }
  if (tid == 0) sums[blockIdx.x] = partial[0];
}

// 2: interleaved addressing with consecutive active threads.
extern "C" __global__ void reduce_interleaved_index(const unsigned* in, unsigned* sums, unsigned n) {
  extern __shared__ unsigned partial[];
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
  partial[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    unsigned left = 2 * step * tid;
    if (left + step < blockDim.x) partial[left] += partial[left + step];
    __syncthreads();
  }
  if (tid == 0) sums[blockIdx.x] = partial[0];
}

// Folds partial[0, active) until at most `stop` elements are left; returns how many. Called by the whole block.
static __device__ __forceinline__ unsigned FoldHalves(unsigned* partial, unsigned active, unsigned stop) {
  while (active > stop) {
    unsigned half = (active + 1) / 2;
    if (threadIdx.x < active / 2) partial[threadIdx.x] += partial[threadIdx.x + half];
    active = half;
    __syncthreads();
  }
  return active;
}

// 3: sequential addressing: the upper half is folded onto the lower one.
extern "C" __global__ void reduce_sequential(const unsigned* in, unsigned* sums, unsigned n) {
  extern __shared__ unsigned partial[];
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
  partial[tid] = i < n ? in[i] : 0;
  __syncthreads();
  FoldHalves(partial, blockDim.x, 1);
  if (tid == 0) sums[blockIdx.x] = partial[0];
}

// 4: the first addition is done while loading, so a block covers 2 * blockDim.x elements.
extern "C" __global__ void reduce_first_add(const unsigned* in, unsigned* sums, unsigned n) {
  extern __shared__ unsigned partial[];
  unsigned tid = threadIdx.x, i = blockIdx.x * 2 * blockDim.x + tid;
  unsigned sum = i < n ? in[i] : 0;
  if (i + blockDim.x < n) sum += in[i + blockDim.x];
  partial[tid] = sum;
  __syncthreads();
  FoldHalves(partial, blockDim.x, 1);
  if (tid == 0) sums[blockIdx.x] = partial[0];
}

// 5: the last warp needs no block barrier, and its loop is unrolled.
extern "C" __global__ void reduce_last_warp(const unsigned* in, unsigned* sums, unsigned n) {
  extern __shared__ unsigned partial[];
  unsigned tid = threadIdx.x, i = blockIdx.x * 2 * blockDim.x + tid;
  unsigned sum = i < n ? in[i] : 0;
  if (i + blockDim.x < n) sum += in[i + blockDim.x];
  partial[tid] = sum;
  __syncthreads();
  unsigned active = FoldHalves(partial, blockDim.x, 64);
  if (tid < 32) {
#pragma unroll
    for (unsigned offset = 32; offset > 0; offset /= 2) {
      unsigned other = tid + offset < active ? partial[tid + offset] : 0;
      __syncwarp();
      partial[tid] += other;
      __syncwarp();
    }
  }
  if (tid == 0) sums[blockIdx.x] = partial[0];
}

// The tree over a power of two of threads, known to the compiler: no loop is left.
template <unsigned kThreads>
static __device__ __forceinline__ void FoldUnrolled(unsigned* partial) {
  if constexpr (kThreads > 1) {
    if (threadIdx.x < kThreads / 2) partial[threadIdx.x] += partial[threadIdx.x + kThreads / 2];
    __syncthreads();
    FoldUnrolled<kThreads / 2>(partial);
  }
}

// 6: completely unrolled, one instance per power of two, chosen by a block-uniform switch with barriers in its arms.
extern "C" __global__ void reduce_unrolled(const unsigned* in, unsigned* sums, unsigned n) {
  extern __shared__ unsigned partial[];
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
  partial[tid] = i < n ? in[i] : 0;
  __syncthreads();
  unsigned power = 1u << (31 - __clz(blockDim.x));
  if (tid + power < blockDim.x) partial[tid] += partial[tid + power];
  __syncthreads();
  switch (power) {
    case 1024: FoldUnrolled<1024>(partial); break;
    case 512: FoldUnrolled<512>(partial); break;
    case 256: FoldUnrolled<256>(partial); break;
    case 128: FoldUnrolled<128>(partial); break;
    case 64: FoldUnrolled<64>(partial); break;
    case 32: FoldUnrolled<32>(partial); break;
    case 16: FoldUnrolled<16>(partial); break;
    case 8: FoldUnrolled<8>(partial); break;
    case 4: FoldUnrolled<4>(partial); break;
    case 2: FoldUnrolled<2>(partial); break;
  }
  if (tid == 0) sums[blockIdx.x] = partial[0];
}

// 7: many elements per thread by a grid-stride loop, then the tree.
extern "C" __global__ void reduce_grid_stride(const unsigned* in, unsigned* sums, unsigned n) {
  extern __shared__ unsigned partial[];
  unsigned tid = threadIdx.x, sum = 0;
  for (unsigned i = blockIdx.x * blockDim.x + tid; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  partial[tid] = sum;
  __syncthreads();
  FoldHalves(partial, blockDim.x, 1);
  if (tid == 0) sums[blockIdx.x] = partial[0];
}

// Sum over the lanes of a warp of which `lanes` exist; lane 0 has it.
static __device__ __forceinline__ unsigned WarpSum(unsigned sum, unsigned lane, unsigned lanes) {
  for (unsigned offset = 16; offset > 0; offset /= 2) {
    unsigned other = __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane + offset < lanes) sum += other;
  }
  return sum;
}

// With a shuffle tail: warps reduce by shuffles, the first warp reduces their sums. No dynamic shared memory.
extern "C" __global__ void reduce_shuffle(const unsigned* in, unsigned* sums, unsigned n) {
  __shared__ unsigned warp_sums[32];
  unsigned tid = threadIdx.x, lane = tid % 32, warp = tid / 32, warps = (blockDim.x + 31) / 32;
  unsigned sum = 0;
  for (unsigned i = blockIdx.x * blockDim.x + tid; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  sum = WarpSum(sum, lane, min(32u, blockDim.x - warp * 32));
  if (lane == 0) warp_sums[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = lane < warps ? warp_sums[lane] : 0;
    sum = WarpSum(sum, lane, warps);
    if (lane == 0) sums[blockIdx.x] = sum;
  }
}
