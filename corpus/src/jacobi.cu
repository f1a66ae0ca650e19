// Jacobi relaxation of a line held in shared memory until it changes by less than a bound: the loop's end is decided
// by a vote of the block (__syncthreads_or). Each block has its own line of `length` values; any block size.
// Dynamic shared memory: 8 * length bytes.
extern "C" __global__ void jacobi_converge(float* lines, int* iterations, int length, float bound, int limit) {
  extern __shared__ float values[];
  float* now = values;
  float* next = values + length;
  float* line = lines + (size_t)blockIdx.x * length;
  for (int j = threadIdx.x; j < length; j += blockDim.x) now[j] = next[j] = line[j];
  __syncthreads();
  int count = 0, moving = 1;
  while (moving && count < limit) {
    int mine = 0;
    for (int j = threadIdx.x + 1; j < length - 1; j += blockDim.x) {
      next[j] = __fmul_rn(0.5f, __fadd_rn(now[j - 1], now[j + 1]));
      if (fabsf(__fsub_rn(next[j], now[j])) > bound) mine = 1;
    }
    moving = __syncthreads_or(mine);
    float* swap = now;
    now = next;
    next = swap;
    ++count;
  }
  for (int j = threadIdx.x; j < length; j += blockDim.x) line[j] = now[j];
  if (threadIdx.x == 0) iterations[blockIdx.x] = count;
}
