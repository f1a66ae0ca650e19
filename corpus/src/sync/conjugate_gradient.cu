// Conjugate gradients in one cooperative launch: three grid-wide barriers per step, for one right-hand side after the
// other. The matrix is that of a width * height grid of points: diagonal[i] on the diagonal and -1 for each of the up
// to four neighbours. All sums are taken in a fixed order and every operation is rounded once, so results are exact.
// The block size must be a power of two; at most 8192 points and 1024 blocks.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr unsigned kMaxPoints = 8192, kMaxBlocks = 1024;

__device__ double residual[kMaxPoints], direction[kMaxPoints], image[kMaxPoints];
__device__ double partial[2][kMaxBlocks];

static __device__ double ImageAt(const double* diagonal, unsigned i, unsigned width, unsigned height) {
  unsigned column = i % width, row = i / width;
  double value = __dmul_rn(diagonal[i], direction[i]);
  if (row > 0) value = __dsub_rn(value, direction[i - width]);
  if (column > 0) value = __dsub_rn(value, direction[i - 1]);
  if (column + 1 < width) value = __dsub_rn(value, direction[i + 1]);
  if (row + 1 < height) value = __dsub_rn(value, direction[i + width]);
  return value;
}

// Sum of `mine` over the grid: a tree in each block, then the blocks in order. Holds one grid barrier.
static __device__ double GridSum(cg::grid_group grid, double mine, unsigned which) {
  __shared__ double tree[1024];
  unsigned tid = threadIdx.x;
  tree[tid] = mine;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (tid < half) tree[tid] = __dadd_rn(tree[tid], tree[tid + half]);
    __syncthreads();
  }
  if (tid == 0) partial[which][blockIdx.x] = tree[0];
  grid.sync();
  if (tid == 0) {
    double sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum = __dadd_rn(sum, *(volatile double*)&partial[which][b]);
    tree[0] = sum;
  }
  __syncthreads();
  double sum = tree[0];
  __syncthreads();
  return sum;
}

extern "C" __global__ void conjugate_gradient(const double* diagonal, const double* right, double* x, unsigned* steps,
                                              unsigned width, unsigned height, unsigned systems, double tolerance,
                                              unsigned limit) {
  cg::grid_group grid = cg::this_grid();
  unsigned points = width * height, first = (unsigned)grid.thread_rank(), stride = (unsigned)grid.size();
  for (unsigned s = 0; s < systems; ++s, right += points, x += points) {
    double mine = 0;
    for (unsigned i = first; i < points; i += stride) {
      x[i] = 0;
      residual[i] = direction[i] = right[i];
      mine = fma(right[i], right[i], mine);
    }
    double norm = GridSum(grid, mine, 0);
    unsigned step = 0;
    for (; step < limit && norm > tolerance; ++step) {
      mine = 0;
      for (unsigned i = first; i < points; i += stride) {
        image[i] = ImageAt(diagonal, i, width, height);
        mine = fma(direction[i], image[i], mine);
      }
      double alpha = __ddiv_rn(norm, GridSum(grid, mine, 1));
      mine = 0;
      for (unsigned i = first; i < points; i += stride) {
        x[i] = fma(alpha, direction[i], x[i]);
        double rest = fma(-alpha, image[i], residual[i]);
        residual[i] = rest;
        mine = fma(rest, rest, mine);
      }
      double next = GridSum(grid, mine, 0);
      double beta = __ddiv_rn(next, norm);
      for (unsigned i = first; i < points; i += stride) direction[i] = fma(beta, direction[i], residual[i]);
      norm = next;
      grid.sync();
    }
    if (first == 0) steps[s] = step;
    grid.sync();  // no thread starts the next system while another still reads this one
  }
}

// The barrier itself: every block sees what all blocks wrote in the round before, `rounds` times. Any block size.
extern "C" __global__ void grid_rounds(const unsigned* in, unsigned* out, unsigned rounds) {
  cg::grid_group grid = cg::this_grid();
  unsigned i = (unsigned)grid.thread_rank(), size = (unsigned)grid.size();
  unsigned* from = out;
  unsigned* to = out + size;
  from[i] = in[i];
  grid.sync();
  for (unsigned round = 0; round < rounds; ++round) {
    to[i] = from[(i + 1) % size] * 3 + from[(i + size - 1) % size] + round;
    unsigned* swap = from;
    from = to;
    to = swap;
    grid.sync();
  }
}
