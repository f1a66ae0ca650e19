// Threads that end for good while the others of their block still meet at barriers: an ended thread is waited for by
// no thread.

// Whole warps end: warp w after w + 1 rounds. Any block size. Dynamic shared memory: 4 * blockDim.x bytes.
extern "C" __global__ void warps_exit(const unsigned* in, unsigned* out) {
  extern __shared__ unsigned words[];
  unsigned tid = threadIdx.x, warp = tid / 32, i = blockIdx.x * blockDim.x + tid, value = in[i];
  words[tid] = value;
  __syncthreads();
  for (unsigned r = 0;; ++r) {
    if (r > warp) break;
    unsigned other = words[(tid + 32) % blockDim.x];  // may be of a warp that has ended: its last word
    __syncthreads();
    value = value * 3 + other;
    words[tid] = value;
    __syncthreads();
  }
  out[i] = value;
}

// Single lanes end before the block's barriers, each after its own number of rounds; in each round the block counts
// who is left. Any block size.
extern "C" __global__ void lanes_exit(const unsigned* in, unsigned* out) {
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid, value = in[i];
  unsigned mine = value % 7 + 1, history = 0;
  for (unsigned r = 0;; ++r) {
    if (r == mine) {
      out[i] = history;
      asm volatile("exit;");
    }
    history = history * 37 + (unsigned)__syncthreads_count((value >> r) & 1);
  }
}

// The same at numbered barriers: half of the warps use one, half the other, and lanes end one by one.
// The block size is a multiple of 64.
extern "C" __global__ void lanes_exit_named(const unsigned* in, unsigned* out) {
  __shared__ unsigned left[2][8];
  unsigned tid = threadIdx.x, half = blockDim.x / 2, part = tid / half, i = blockIdx.x * blockDim.x + tid;
  unsigned mine = tid % 32 == 0 ? 8 : in[i] % 8, sum = 0;  // one lane of every warp stays to the end
  if (tid < 16) left[tid / 8][tid % 8] = 0;
  __syncthreads();
  for (unsigned r = 0; r < 8; ++r) {
    if (r == mine) {
      out[i] = sum;
      asm volatile("exit;");
    }
    atomicAdd(&left[part][r], 1u);
    asm volatile("barrier.sync %0, %1;" ::"r"(part + 1), "r"(half) : "memory");
    sum = sum * 5 + left[part][r];
  }
  out[i] = sum;
}
