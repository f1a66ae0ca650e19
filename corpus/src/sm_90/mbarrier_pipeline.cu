// Barriers in shared memory (mbarrier), in the words of PTX.

static __device__ __forceinline__ unsigned Shared(const void* pointer) {
  return (unsigned)__cvta_generic_to_shared(pointer);
}
static __device__ __forceinline__ void Init(unsigned long long* barrier, unsigned count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(Shared(barrier)), "r"(count) : "memory");
}
static __device__ __forceinline__ unsigned long long Arrive(unsigned long long* barrier) {
  unsigned long long state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(Shared(barrier)) : "memory");
  return state;
}
static __device__ __forceinline__ void WaitParity(unsigned long long* barrier, unsigned parity) {
  unsigned done = 0;
  while (!done) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(Shared(barrier)), "r"(parity)
        : "memory");
  }
}
static __device__ __forceinline__ void WaitState(unsigned long long* barrier, unsigned long long state) {
  unsigned done = 0;
  while (!done) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.test_wait.shared.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(Shared(barrier)), "l"(state)
        : "memory");
  }
}

// A ring of four buffers between a producer warp and the consumer warps, by parity of the phase. The first warp
// produces; the block size is a multiple of 32, 64 to 288. One result per consumer thread.
extern "C" __global__ void mbarrier_ring(const unsigned* in, unsigned* out, unsigned tiles) {
  __shared__ unsigned long long full[4], empty[4];
  __shared__ unsigned buffers[4][256];
  unsigned tid = threadIdx.x, consumers = blockDim.x - 32;
  if (tid == 0) {
    for (int s = 0; s < 4; ++s) {
      Init(&full[s], 32);
      Init(&empty[s], consumers);
    }
  }
  __syncthreads();
  in += (size_t)blockIdx.x * tiles * consumers;
  if (tid < 32) {
    for (unsigned t = 0; t < tiles; ++t) {
      unsigned stage = t % 4, round = t / 4;
      if (round > 0) WaitParity(&empty[stage], (round - 1) & 1);
      for (unsigned k = tid; k < consumers; k += 32) buffers[stage][k] = in[t * consumers + k] + t;
      Arrive(&full[stage]);
    }
  } else {
    unsigned me = tid - 32, sum = 0;
    for (unsigned t = 0; t < tiles; ++t) {
      unsigned stage = t % 4, round = t / 4;
      WaitParity(&full[stage], round & 1);
      sum = sum * 31 + buffers[stage][(me + t) % consumers];
      Arrive(&empty[stage]);
    }
    out[blockIdx.x * consumers + me] = sum;
  }
}

// All threads arrive and wait for the phase of their own token, doing work in between. Any block size.
extern "C" __global__ void mbarrier_split(const unsigned* in, unsigned* out, unsigned rounds) {
  __shared__ unsigned long long barrier;
  __shared__ unsigned words[2][1024];
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid, value = in[i];
  if (tid == 0) Init(&barrier, blockDim.x);
  __syncthreads();
  for (unsigned r = 0; r < rounds; ++r) {
    words[r % 2][tid] = value;
    unsigned long long state = Arrive(&barrier);
    unsigned own = value * 5 + r;  // needs no other thread
    WaitState(&barrier, state);
    value = own ^ words[r % 2][(tid + 1) % blockDim.x];
  }
  out[i] = value;
}

// Asynchronous copies announce their end at an mbarrier. Each thread copies 16 bytes; any block size up to 256.
extern "C" __global__ void mbarrier_async_copy(const uint4* in, unsigned* out, unsigned tiles) {
  __shared__ unsigned long long barrier;
  __shared__ uint4 buffer[256];
  unsigned tid = threadIdx.x, threads = blockDim.x, sum = 0;
  if (tid == 0) Init(&barrier, threads);
  __syncthreads();
  in += (size_t)blockIdx.x * tiles * threads;
  for (unsigned t = 0; t < tiles; ++t) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(Shared(&buffer[tid])), "l"(in + t * threads + tid)
                 : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(Shared(&barrier)) : "memory");
    WaitParity(&barrier, t & 1);
    uint4 other = buffer[(tid + t + 1) % threads];
    sum = sum * 31 + other.x + other.y * 3 + other.z * 5 + other.w * 7;
    __syncthreads();  // everybody has read before the next copy writes
  }
  out[blockIdx.x * threads + tid] = sum;
}

// One thread announces bytes, the others report them as they come: the phase ends when arrivals and bytes are complete.
// Any block size of two threads or more.
extern "C" __global__ void mbarrier_bytes(const unsigned* in, unsigned* out, unsigned rounds) {
  __shared__ unsigned long long barrier;
  __shared__ unsigned words[1024];
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid, value = in[i];
  if (tid == 0) Init(&barrier, 1);
  __syncthreads();
  for (unsigned r = 0; r < rounds; ++r) {
    words[tid] = value;
    __threadfence_block();
    if (tid == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(Shared(&barrier)), "r"((blockDim.x - 1) * 4)
                   : "memory");
    } else {
      asm volatile("mbarrier.complete_tx.shared::cta.relaxed.cluster.b64 [%0], 4;" ::"r"(Shared(&barrier)) : "memory");
    }
    WaitParity(&barrier, r & 1);
    value = value * 3 + words[blockDim.x - 1 - tid];
    __syncthreads();
  }
  out[i] = value;
}
