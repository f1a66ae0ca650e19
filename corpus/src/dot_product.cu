// Dot product: each thread adds its grid-stride products in order, a tree in shared memory adds the threads, and each
// block writes one partial result. The order of additions is fixed by the launch shape alone, so are the bits.
// Dynamic shared memory: 4 * blockDim.x bytes.
extern "C" __global__ void dot_product(const float* x, const float* y, float* partial_dots, unsigned n) {
  extern __shared__ float sums[];
  unsigned tid = threadIdx.x;
  float sum = 0.0f;
  for (unsigned i = blockIdx.x * blockDim.x + tid; i < n; i += gridDim.x * blockDim.x)
    sum = __fmaf_rn(x[i], y[i], sum);
  sums[tid] = sum;
  __syncthreads();
  for (unsigned active = blockDim.x; active > 1;) {
    unsigned half = (active + 1) / 2;
    if (tid < active / 2) sums[tid] = __fadd_rn(sums[tid], sums[tid + half]);
    active = half;
    __syncthreads();
  }
  if (tid == 0) partial_dots[blockIdx.x] = sums[0];
}
