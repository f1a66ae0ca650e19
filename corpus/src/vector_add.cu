// Vector addition: one thread per element, the tail of the last block cut off by a compare.
extern "C" __global__ void vector_add(const float* a, const float* b, float* sum, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}
