// C = A * B in row-major order through tiles in shared memory: two barriers per step of a uniform loop.
// The products are added in order of k with one rounding each, so any tile gives the same bits.

// Static 16x16 tiles; needs blockDim = (16, 16). Edges are padded with zeros.
extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float tile_a[16][16];
  __shared__ float tile_b[16][17];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  float sum = 0.0f;
  for (int base = 0; base < k; base += 16) {
    tile_a[ty][tx] = row < m && base + tx < k ? a[row * k + base + tx] : 0.0f;
    tile_b[ty][tx] = column < n && base + ty < k ? b[(base + ty) * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) sum = __fmaf_rn(tile_a[ty][i], tile_b[i][tx], sum);
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

// The tile is the block: any square block, two tiles in dynamic shared memory (8 * side * side bytes).
extern "C" __global__ void matmul_dynamic_tile(const float* a, const float* b, float* c, int m, int n, int k) {
  extern __shared__ float tiles[];
  int side = blockDim.x;
  float* tile_a = tiles;
  float* tile_b = tiles + side * side;
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * side + ty, column = blockIdx.x * side + tx;
  float sum = 0.0f;
  for (int base = 0; base < k; base += side) {
    tile_a[ty * side + tx] = row < m && base + tx < k ? a[row * k + base + tx] : 0.0f;
    tile_b[ty * side + tx] = column < n && base + ty < k ? b[(base + ty) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < side; ++i) sum = __fmaf_rn(tile_a[ty * side + i], tile_b[i * side + tx], sum);
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
