// Threads that leave before a barrier: those that stay must not wait for them.

// Surplus threads leave at once, the rest smooth their part of the data in a loop with barriers.
// Dynamic shared memory: 4 * blockDim.x bytes.
extern "C" __global__ void early_exit_smooth(const unsigned* in, unsigned* out, int rounds, unsigned n) {
  extern __shared__ unsigned row[];
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
  if (i >= n) return;
  unsigned live = min(blockDim.x, n - blockIdx.x * blockDim.x);
  row[tid] = in[i];
  __syncthreads();
  for (int r = 0; r < rounds; ++r) {
    unsigned left = row[tid == 0 ? live - 1 : tid - 1], right = row[tid + 1 == live ? 0 : tid + 1];
    unsigned smooth = (left + 2 * row[tid] + right + 2) / 4;
    __syncthreads();
    row[tid] = smooth;
    __syncthreads();
  }
  out[i] = row[tid];
}

// In each round the threads whose value is used up leave, between barriers, in the order of their data; the rest
// take from what is left in shared memory. Those that stay count how many are left.
extern "C" __global__ void early_exit_rounds(const int* lives, int* left_at_exit, int rounds, unsigned n) {
  __shared__ int present[2];
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 2) present[threadIdx.x] = 0;
  if (blockDim.x == 1) present[1] = 0;
  __syncthreads();
  if (i >= n) return;
  int mine = lives[i];
  for (int r = 0; r < rounds; ++r) {
    atomicAdd(&present[r % 2], 1);
    __syncthreads();
    int now = present[r % 2];
    if (r == mine) {
      left_at_exit[i] = now;
      return;
    }
    __syncthreads();
    atomicExch(&present[r % 2], 0);
    __syncthreads();
  }
  left_at_exit[i] = -1;
}
