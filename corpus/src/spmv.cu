// y = A * x for a sparse matrix in compressed rows: row r holds entries [offsets[r], offsets[r + 1]).

// One thread per row: neighbouring threads run loops of different lengths.
extern "C" __global__ void spmv_csr_thread(const unsigned* offsets, const unsigned* columns, const float* values,
                                           const float* x, float* y, unsigned rows) {
  unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (unsigned e = offsets[row]; e < offsets[row + 1]; ++e) sum = __fmaf_rn(values[e], x[columns[e]], sum);
  y[row] = sum;
}

// One warp per row: the lanes stride over the entries and are added by shuffles. The last warp of a block may be
// partial; then it strides by the lanes it has.
extern "C" __global__ void spmv_csr_warp(const unsigned* offsets, const unsigned* columns, const float* values,
                                         const float* x, float* y, unsigned rows) {
  unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned lanes = min(32u, blockDim.x - warp * 32);
  unsigned row = blockIdx.x * ((blockDim.x + 31) / 32) + warp;
  if (row >= rows) return;
  float sum = 0.0f;
  unsigned end = offsets[row + 1];
  for (unsigned e = offsets[row] + lane; e < end; e += lanes) sum = __fmaf_rn(values[e], x[columns[e]], sum);
#pragma unroll
  for (unsigned offset = 16; offset > 0; offset /= 2) {
    float other = __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane + offset < lanes) sum = __fadd_rn(sum, other);
  }
  if (lane == 0) y[row] = sum;
}
