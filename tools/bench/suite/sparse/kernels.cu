// Sparse matrices and graphs.

// y = A x for rows in compressed form; a warp per row.
extern "C" __global__ void spmv(const unsigned* offsets, const unsigned* columns, const float* values, const float* x,
                                float* y, unsigned rows) {
  unsigned row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (unsigned k = offsets[row] + lane; k < offsets[row + 1]; k += 32) sum += values[k] * x[columns[k]];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (lane == 0) y[row] = sum;
}
