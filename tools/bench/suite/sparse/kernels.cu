// Sparse matrices and graphs.
#include <cooperative_groups.h>

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

// A step of a breadth-first search: a thread per node; nodes of level `now` reach their unvisited neighbours.
extern "C" __global__ void bfs(const unsigned* offsets, const unsigned* targets, unsigned* levels, unsigned nodes,
                               unsigned now) {
  unsigned node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes || levels[node] != now) return;
  for (unsigned k = offsets[node]; k < offsets[node + 1]; ++k) {
    unsigned target = targets[k];
    if (levels[target] == 0xffffffffu) levels[target] = now + 1;  // threads that race write the same
  }
}

// Conjugate gradients for the five-point Laplacian plus one on an n x n grid, in one cooperative launch: all blocks meet
// three times in a step. The block size is 256, at most 256 blocks.
static __device__ void BlockSum(double mine, double* part) {
  __shared__ double warp_sums[8];
  for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_down_sync(0xffffffffu, mine, offset);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    double sum = 0;
    for (int w = 0; w < 8; ++w) sum += warp_sums[w];
    *part = sum;
  }
}

static __device__ double GridSum(cooperative_groups::grid_group grid, double mine, double* parts) {
  BlockSum(mine, &parts[blockIdx.x]);
  grid.sync();
  double sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += ((volatile double*)parts)[b];
  return sum;
}

extern "C" __global__ void conjugate_gradient(const double* right, double* x, double* residual, double* direction,
                                              double* image, double* parts, unsigned n, unsigned steps) {
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  unsigned points = n * n, first = blockIdx.x * 256 + threadIdx.x, stride = gridDim.x * 256;
  double mine = 0;
  for (unsigned i = first; i < points; i += stride) {
    x[i] = 0;
    residual[i] = direction[i] = right[i];
    mine += right[i] * right[i];
  }
  double norm = GridSum(grid, mine, parts);
  for (unsigned step = 0; step < steps; ++step) {
    mine = 0;
    for (unsigned i = first; i < points; i += stride) {
      unsigned column = i % n, row = i / n;
      double value = 5 * direction[i];
      if (row > 0) value -= direction[i - n];
      if (column > 0) value -= direction[i - 1];
      if (column + 1 < n) value -= direction[i + 1];
      if (row + 1 < n) value -= direction[i + n];
      image[i] = value;
      mine += direction[i] * value;
    }
    double alpha = norm / GridSum(grid, mine, parts + 256);
    mine = 0;
    for (unsigned i = first; i < points; i += stride) {
      x[i] += alpha * direction[i];
      double rest = residual[i] - alpha * image[i];
      residual[i] = rest;
      mine += rest * rest;
    }
    double next = GridSum(grid, mine, parts), beta = next / norm;
    for (unsigned i = first; i < points; i += stride) direction[i] = residual[i] + beta * direction[i];
    norm = next;
    grid.sync();
  }
}

// The same with a launch for each part of a step, for comparison with barriers of the grid.
static __device__ double SumOf(const double* parts) {
  double sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += parts[b];
  return sum;
}

extern "C" __global__ void cg_begin(const double* right, double* x, double* residual, double* direction, double* norms,
                                    unsigned n) {
  unsigned points = n * n;
  double mine = 0;
  for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < points; i += gridDim.x * 256) {
    x[i] = 0;
    residual[i] = direction[i] = right[i];
    mine += right[i] * right[i];
  }
  BlockSum(mine, &norms[blockIdx.x]);
}

extern "C" __global__ void cg_apply(const double* direction, double* image, double* products, unsigned n) {
  unsigned points = n * n;
  double mine = 0;
  for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < points; i += gridDim.x * 256) {
    unsigned column = i % n, row = i / n;
    double value = 5 * direction[i];
    if (row > 0) value -= direction[i - n];
    if (column > 0) value -= direction[i - 1];
    if (column + 1 < n) value -= direction[i + 1];
    if (row + 1 < n) value -= direction[i + n];
    image[i] = value;
    mine += direction[i] * value;
  }
  BlockSum(mine, &products[blockIdx.x]);
}

extern "C" __global__ void cg_update(double* x, double* residual, const double* direction, const double* image,
                                     const double* norms, const double* products, double* next, unsigned n) {
  unsigned points = n * n;
  double alpha = SumOf(norms) / SumOf(products), mine = 0;
  for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < points; i += gridDim.x * 256) {
    x[i] += alpha * direction[i];
    double rest = residual[i] - alpha * image[i];
    residual[i] = rest;
    mine += rest * rest;
  }
  BlockSum(mine, &next[blockIdx.x]);
}

extern "C" __global__ void cg_direction(double* direction, const double* residual, const double* norms,
                                        const double* next, unsigned n) {
  unsigned points = n * n;
  double beta = SumOf(next) / SumOf(norms);
  for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < points; i += gridDim.x * 256)
    direction[i] = residual[i] + beta * direction[i];
}
