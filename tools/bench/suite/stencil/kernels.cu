// Stencils.

// Five points of a 2D grid, a tile with a halo in shared memory; beyond the edge is the edge's value.
constexpr int kWidth = 64, kHeight = 16;

extern "C" __global__ void stencil_5(const float* in, float* out, int n, float centre, float side) {
  __shared__ float tile[kHeight + 2][kWidth + 2];
  int x = blockIdx.x * kWidth + threadIdx.x, y = blockIdx.y * kHeight + threadIdx.y;
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  int row = min(y, n - 1) * n, column = min(x, n - 1);
  tile[ty][tx] = in[row + column];
  if (threadIdx.x == 0) tile[ty][0] = in[row + max(x - 1, 0)];
  if (threadIdx.x == kWidth - 1) tile[ty][kWidth + 1] = in[row + min(x + 1, n - 1)];
  if (threadIdx.y == 0) tile[0][tx] = in[max(y - 1, 0) * n + column];
  if (threadIdx.y == kHeight - 1) tile[kHeight + 1][tx] = in[min(y + 1, n - 1) * n + column];
  __syncthreads();
  if (x < n && y < n) {
    out[y * n + x] =
        centre * tile[ty][tx] + side * (tile[ty - 1][tx] + tile[ty + 1][tx] + tile[ty][tx - 1] + tile[ty][tx + 1]);
  }
}
