// Matrix transpose of 32-bit words.

// Straight from global to global memory, one thread per element of a two-dimensional grid.
extern "C" __global__ void transpose_direct(const unsigned* in, unsigned* out, int rows, int columns) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < columns && y < rows) out[x * rows + y] = in[y * columns + x];
}

// Through a padded 32x32 tile, so that loads and stores both run along rows; needs blockDim.x = 32, any blockDim.y.
extern "C" __global__ void transpose_tiled(const unsigned* in, unsigned* out, int rows, int columns) {
  __shared__ unsigned tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += blockDim.y) {
    int y = blockIdx.y * 32 + j;
    if (x < columns && y < rows) tile[j][threadIdx.x] = in[y * columns + x];
  }
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  for (int j = threadIdx.y; j < 32; j += blockDim.y) {
    int y = blockIdx.x * 32 + j;
    if (x < rows && y < columns) out[y * rows + x] = tile[threadIdx.x][j];
  }
}
