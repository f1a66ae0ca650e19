// Threads that wait for each other outside any barrier: within a warp, within a block, between blocks. All of it rests
// on the guarantee, since Volta, that every thread that is running gets on.

__device__ int locks[256];

// A lock per bucket, taken by spinning until it is free; sister lanes want it too. Any launch, at most 256 buckets.
extern "C" __global__ void lock_buckets(const unsigned* in, unsigned* sums, unsigned n, unsigned buckets) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned bucket = in[i] % buckets;
  volatile unsigned* sum = &sums[2 * bucket];
  while (atomicCAS(&locks[bucket], 0, 1) != 0) {
  }
  __threadfence();
  sum[0] = sum[0] + in[i];  // plain read and write, under the lock
  sum[1] = sum[1] + 1;
  __threadfence();
  atomicExch(&locks[bucket], 0);
}

// The older form: who gets the lock works inside the loop, the others try again. Any launch, at most 256 buckets.
extern "C" __global__ void lock_buckets_flag(const unsigned* in, unsigned* sums, unsigned n, unsigned buckets) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned bucket = in[i] % buckets;
  bool done = false;
  while (!done) {
    if (atomicCAS(&locks[bucket], 0, 1) == 0) {
      __threadfence();
      *(volatile unsigned*)&sums[2 * bucket] = *(volatile unsigned*)&sums[2 * bucket] + in[i];
      *(volatile unsigned*)&sums[2 * bucket + 1] = *(volatile unsigned*)&sums[2 * bucket + 1] + 1;
      __threadfence();
      atomicExch(&locks[bucket], 0);
      done = true;
    }
  }
}

// A token goes from thread to thread of a block, from the last to the first; each adds to what it got.
extern "C" __global__ void pass_token(const unsigned* in, unsigned* out) {
  __shared__ volatile unsigned turn, carried;
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
  if (tid == 0) {
    turn = blockDim.x - 1;
    carried = blockIdx.x;
  }
  __syncthreads();
  while (turn != tid) {
  }
  unsigned value = carried * 33 + in[i];
  carried = value;
  __threadfence_block();
  turn = tid - 1;
  out[i] = value;
}

// Neighbouring lanes swap words through memory, each waiting for the other's answer. The block size is even.
extern "C" __global__ void lane_handshakes(const unsigned* in, unsigned* out, unsigned rounds) {
  __shared__ volatile unsigned words[1024], posted[1024];
  unsigned tid = threadIdx.x, other = tid ^ 1, i = blockIdx.x * blockDim.x + tid;
  unsigned value = in[i];
  posted[tid] = 0;
  __syncthreads();
  for (unsigned r = 1; r <= rounds; ++r) {
    if (tid % 2 == 0) {
      words[tid] = value;
      __threadfence_block();
      posted[tid] = r;
      while (posted[other] < r) {
      }
      __threadfence_block();
      value += words[other];
    } else {
      while (posted[other] < r) {
      }
      __threadfence_block();
      unsigned got = words[other];
      words[tid] = value ^ got;
      __threadfence_block();
      posted[tid] = r;
      value = value * 3 + got;
    }
  }
  out[i] = value;
}

// A ticket lock over the blocks: inside it a whole block changes memory without atomics.
__device__ unsigned next_ticket, now_serving;

extern "C" __global__ void ticket_lock(unsigned* words, unsigned rounds) {
  unsigned tid = threadIdx.x;
  for (unsigned r = 0; r < rounds; ++r) {
    if (tid == 0) {
      unsigned ticket = atomicAdd(&next_ticket, 1u);
      while (*(volatile unsigned*)&now_serving != ticket) {
      }
      __threadfence();
    }
    __syncthreads();
    volatile unsigned* word = &words[tid];
    *word = *word + blockIdx.x * 7 + r + 1;
    __threadfence();
    __syncthreads();
    if (tid == 0) *(volatile unsigned*)&now_serving = *(volatile unsigned*)&now_serving + 1;
  }
}
