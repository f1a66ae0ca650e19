// Block barriers with numbers, counts and reductions, in the words of PTX. Nothing here is uniform over the block.

static __device__ __forceinline__ void BarrierSync(unsigned id, unsigned threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
static __device__ __forceinline__ void BarrierArrive(unsigned id, unsigned threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Warp specialisation: the first half of the warps fills two buffers in turn, the second half empties them. A barrier
// reports that a buffer is full, another that it is empty; a thread that need not wait only arrives.
// The block size is a multiple of 64. Dynamic shared memory: 4 * blockDim.x bytes. One result per consumer thread.
extern "C" __global__ void produce_consume(const unsigned* in, unsigned* out, unsigned tiles) {
  extern __shared__ unsigned buffers[];
  unsigned threads = blockDim.x, half = threads / 2, tid = threadIdx.x;
  in += (size_t)blockIdx.x * tiles * half;
  if (tid < half) {
    for (unsigned t = 0; t < tiles; ++t) {
      unsigned stage = t % 2;
      if (t >= 2) BarrierSync(3 + stage, threads);  // the consumers have emptied it
      buffers[stage * half + tid] = in[t * half + tid] ^ t;
      __threadfence_block();
      BarrierArrive(1 + stage, threads);
    }
  } else {
    unsigned sum = 0, me = tid - half;
    for (unsigned t = 0; t < tiles; ++t) {
      unsigned stage = t % 2;
      BarrierSync(1 + stage, threads);
      sum = sum * 31 + buffers[stage * half + (me + t) % half];
      __threadfence_block();
      if (t + 2 < tiles) BarrierArrive(3 + stage, threads);
    }
    out[blockIdx.x * half + me] = sum;
  }
}

// Each pair of warps has a barrier of its own, its number in a register, and meets a different number of times.
// The block size is a multiple of 64, at most 896.
extern "C" __global__ void pair_barriers(const unsigned* in, unsigned* out, unsigned rounds) {
  __shared__ unsigned words[896];
  unsigned tid = threadIdx.x, pair = tid / 64, i = blockIdx.x * blockDim.x + tid;
  unsigned value = in[i], partner = tid ^ 32;
  for (unsigned r = 0; r < rounds + pair; ++r) {
    words[tid] = value;
    BarrierSync(pair + 1, 64);
    value = value * 5 + words[partner] + r;
    BarrierSync(pair + 1, 64);
  }
  out[i] = value;
}

// bar.red on half of the warps each: how many, all, any. The block size is a multiple of 64.
extern "C" __global__ void barrier_reductions(const int* in, unsigned* out, int bound) {
  unsigned tid = threadIdx.x, half = blockDim.x / 2, part = tid / half, i = blockIdx.x * blockDim.x + tid;
  int value = in[i];
  unsigned count, flags;
  asm volatile(
      "{\n"
      ".reg .pred p, q, r;\n"
      ".reg .u32 a, o;\n"
      "setp.gt.s32 p, %2, %3;\n"
      "bar.red.popc.u32 %0, %4, %5, p;\n"
      "bar.red.and.pred q, %4, %5, p;\n"
      "bar.red.or.pred r, %4, %5, !p;\n"
      "selp.u32 a, 1, 0, q;\n"
      "selp.u32 o, 2, 0, r;\n"
      "or.b32 %1, a, o;\n"
      "}"
      : "=r"(count), "=r"(flags)
      : "r"(value), "r"(part == 0 ? bound : -bound), "r"(part + 1), "r"(half)
      : "memory");
  out[2 * i] = count;
  out[2 * i + 1] = flags | (unsigned)__syncthreads_count(value & 1) << 2;
}

// Barriers under conditions that each warp agrees on and the block does not: even warps meet three times, odd ones
// five times, and all of them at the end. The block size is a multiple of 64.
extern "C" __global__ void barriers_by_warp(const unsigned* in, unsigned* out) {
  __shared__ unsigned words[1024];
  unsigned tid = threadIdx.x, warp = tid / 32, half = blockDim.x / 2, i = blockIdx.x * blockDim.x + tid;
  unsigned value = in[i];
  if (warp % 2 == 0) {
    for (int r = 0; r < 3; ++r) {
      words[tid] = value;
      BarrierSync(1, half);
      value += words[(tid + 64) % blockDim.x] * 3;
      BarrierSync(1, half);
    }
  } else {
    for (int r = 0; r < 5; ++r) {
      words[tid] = value;
      BarrierSync(2, half);
      value = (value << 1) ^ words[(tid + blockDim.x - 64) % blockDim.x];
      BarrierSync(2, half);
    }
  }
  words[tid] = value;
  __syncthreads();
  out[i] = words[tid] + words[blockDim.x - 1 - tid];
}

// barrier.sync without .aligned: the lanes of a warp come to one barrier from both arms of a branch.
// The block size is a multiple of 32.
extern "C" __global__ void barrier_in_both_arms(const unsigned* in, unsigned* out) {
  __shared__ unsigned words[1024];
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid, threads = blockDim.x;
  unsigned value = in[i];
  if (value & 1) {
    words[tid] = value * 3;
    asm volatile("barrier.sync 1, %0;" ::"r"(threads) : "memory");
    value = words[(tid + 1) % threads] + 1;
  } else {
    words[tid] = value / 2;
    asm volatile("barrier.sync 1, %0;" ::"r"(threads) : "memory");
    value = words[(tid + 2) % threads] ^ 7;
  }
  out[i] = value;
}
