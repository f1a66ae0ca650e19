// LU decomposition without pivoting, in place, row-major doubles.

// Step k, first half: the column below the diagonal becomes the multipliers.
extern "C" __global__ void lu_scale_column(double* a, int n, int k) {
  int i = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i * n + k] = __ddiv_rn(a[i * n + k], a[k * n + k]);
}

// Step k, second half: the trailing square minus the outer product.
extern "C" __global__ void lu_update_trailing(double* a, int n, int k) {
  int j = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
  int i = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < n) a[i * n + j] = __fma_rn(-a[i * n + k], a[k * n + j], a[i * n + j]);
}

// The whole decomposition of one small matrix per block in dynamic shared memory (8 * n * n bytes): barriers in a
// loop whose trip count is a parameter.
extern "C" __global__ void lu_block(double* matrices, int n) {
  extern __shared__ double matrix[];
  double* mine = matrices + (size_t)blockIdx.x * n * n;
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) matrix[e] = mine[e];
  __syncthreads();
  for (int k = 0; k + 1 < n; ++k) {
    for (int i = k + 1 + threadIdx.x; i < n; i += blockDim.x)
      matrix[i * n + k] = __ddiv_rn(matrix[i * n + k], matrix[k * n + k]);
    __syncthreads();
    int side = n - k - 1;
    for (int e = threadIdx.x; e < side * side; e += blockDim.x) {
      int i = k + 1 + e / side, j = k + 1 + e % side;
      matrix[i * n + j] = __fma_rn(-matrix[i * n + k], matrix[k * n + j], matrix[i * n + j]);
    }
    __syncthreads();
  }
  for (int e = threadIdx.x; e < n * n; e += blockDim.x) mine[e] = matrix[e];
}
