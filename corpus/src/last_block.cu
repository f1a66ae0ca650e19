// A reduction in one launch: the block that takes the last ticket adds the sums of all blocks.
// Shows a __device__ variable that outlives blocks, a memory fence and atomicInc. Dynamic shared: 4 * blockDim.x.
__device__ unsigned tickets = 0;

extern "C" __global__ void reduce_last_block(const unsigned* in, unsigned* block_sums, unsigned* total, unsigned n) {
  extern __shared__ unsigned partial[];
  __shared__ bool is_last;
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
  partial[tid] = i < n ? in[i] : 0;
  __syncthreads();
  if (tid == 0) {
    unsigned sum = 0;
    for (unsigned t = 0; t < blockDim.x; ++t) sum += partial[t];
    *(volatile unsigned*)&block_sums[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicInc(&tickets, gridDim.x - 1) == gridDim.x - 1;  // wraps to 0 for the next launch
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  unsigned sum = 0;
  for (unsigned b = tid; b < gridDim.x; b += blockDim.x) sum += *(volatile unsigned*)&block_sums[b];
  partial[tid] = sum;
  __syncthreads();
  if (tid == 0) {
    sum = 0;
    for (unsigned t = 0; t < blockDim.x; ++t) sum += partial[t];
    *total = sum;
  }
}
