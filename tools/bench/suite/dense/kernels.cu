// Dense matrices.

// C = A B with square tiles in shared memory; sides are multiples of 16.
template <typename T>
static __device__ void TiledProduct(const T* a, const T* b, T* c, unsigned n) {
  __shared__ T tile_a[16][16], tile_b[16][16];
  unsigned column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  T sum = 0;
  for (unsigned k = 0; k < n; k += 16) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
    for (unsigned j = 0; j < 16; ++j) sum += tile_a[threadIdx.y][j] * tile_b[j][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

extern "C" __global__ void sgemm(const float* a, const float* b, float* c, unsigned n) { TiledProduct(a, b, c, n); }
extern "C" __global__ void dgemm(const double* a, const double* b, double* c, unsigned n) { TiledProduct(a, b, c, n); }
