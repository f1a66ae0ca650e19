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

// Seven points of a 3D grid: a thread walks along z and keeps three planes' values; beyond the edge is the edge's value.
extern "C" __global__ void stencil_7(const float* in, float* out, int n, float centre, float side) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;
  int plane = n * n, here = y * n + x;
  int left = x > 0 ? here - 1 : here, right = x + 1 < n ? here + 1 : here;
  int up = y > 0 ? here - n : here, down = y + 1 < n ? here + n : here;
  float behind = in[here], now = in[here];
  for (int z = 0; z < n; ++z) {
    float next = z + 1 < n ? in[here + plane] : now;
    out[here] = centre * now + side * (behind + next + in[left] + in[right] + in[up] + in[down]);
    behind = now;
    now = next;
    here += plane, left += plane, right += plane, up += plane, down += plane;
  }
}

// A filter of 5 x 5, tiles of 16 x 16 with a halo in shared memory; zero beyond the edge.
extern "C" __global__ void convolution(const float* in, const float* filter, float* out, int n) {
  __shared__ float tile[20][20], weights[25];
  int x0 = blockIdx.x * 16 - 2, y0 = blockIdx.y * 16 - 2;
  int tid = threadIdx.y * 16 + threadIdx.x;
  if (tid < 25) weights[tid] = filter[tid];
  for (int i = tid; i < 400; i += 256) {
    int x = x0 + i % 20, y = y0 + i / 20;
    tile[i / 20][i % 20] = x >= 0 && x < n && y >= 0 && y < n ? in[y * n + x] : 0.0f;
  }
  __syncthreads();
  float sum = 0;
  for (int j = 0; j < 5; ++j) {
    for (int i = 0; i < 5; ++i) sum += weights[j * 5 + i] * tile[threadIdx.y + j][threadIdx.x + i];
  }
  int x = x0 + 2 + threadIdx.x, y = y0 + 2 + threadIdx.y;
  if (x < n && y < n) out[y * n + x] = sum;
}
