// Programs of many small launches whose blocks are small.

constexpr int kTile = 16;

// LU decomposition without pivoting, in place, in tiles of 16 x 16: the tile on the diagonal by one block, then the tiles
// right of and below it, then all others. n is a multiple of 16.
extern "C" __global__ void lu_diagonal(float* matrix, unsigned n, unsigned k) {
  __shared__ float tile[kTile][kTile + 1];
  unsigned tid = threadIdx.x;
  for (int i = 0; i < kTile; ++i) tile[i][tid] = matrix[(k + i) * n + k + tid];
  __syncthreads();
  for (int i = 0; i < kTile - 1; ++i) {
    if (tid > i) {
      tile[tid][i] /= tile[i][i];
      for (int j = i + 1; j < kTile; ++j) tile[tid][j] -= tile[tid][i] * tile[i][j];
    }
    __syncthreads();
  }
  for (int i = 0; i < kTile; ++i) matrix[(k + i) * n + k + tid] = tile[i][tid];
}

// Blocks of 32 threads: 16 have a column each of a tile on the right, 16 a row each of a tile below.
extern "C" __global__ void lu_perimeter(float* matrix, unsigned n, unsigned k) {
  __shared__ float diagonal[kTile][kTile], right[kTile][kTile], below[kTile][kTile];
  unsigned tid = threadIdx.x, column = tid % kTile, other = k + (blockIdx.x + 1) * kTile;
  for (int i = tid / kTile; i < kTile; i += 2) {
    diagonal[i][column] = matrix[(k + i) * n + k + column];
    right[i][column] = matrix[(k + i) * n + other + column];
    below[i][column] = matrix[(other + i) * n + k + column];
  }
  __syncthreads();
  if (tid < kTile) {
    for (int i = 1; i < kTile; ++i) {
      for (int j = 0; j < i; ++j) right[i][column] -= diagonal[i][j] * right[j][column];
    }
  } else {
    for (int i = 0; i < kTile; ++i) {
      for (int j = 0; j < i; ++j) below[column][i] -= below[column][j] * diagonal[j][i];
      below[column][i] /= diagonal[i][i];
    }
  }
  __syncthreads();
  for (int i = tid / kTile; i < kTile; i += 2) {
    matrix[(k + i) * n + other + column] = right[i][column];
    matrix[(other + i) * n + k + column] = below[i][column];
  }
}

extern "C" __global__ void lu_inner(float* matrix, unsigned n, unsigned k) {
  __shared__ float left[kTile][kTile], up[kTile][kTile];
  unsigned x = threadIdx.x, y = threadIdx.y;
  unsigned row = k + (blockIdx.y + 1) * kTile + y, column = k + (blockIdx.x + 1) * kTile + x;
  left[y][x] = matrix[row * n + k + x];
  up[y][x] = matrix[(k + y) * n + column];
  __syncthreads();
  float sum = 0;
  for (int j = 0; j < kTile; ++j) sum += left[y][j] * up[j][x];
  matrix[row * n + column] -= sum;
}

// Alignment of two sequences (Needleman and Wunsch 1970): tiles of 16 x 16 along a diagonal of tiles, one launch per
// diagonal, one block of 16 threads per tile, which walks the tile's own diagonals. scores has a border row and column.
extern "C" __global__ void wavefront(int* scores, const int* similarity, unsigned n, unsigned diagonal, unsigned first,
                                     int penalty) {
  __shared__ int tile[kTile + 1][kTile + 1], alike[kTile][kTile];
  unsigned tid = threadIdx.x, pitch = n + 1;
  unsigned tile_row = first + blockIdx.x, tile_column = diagonal - tile_row;
  unsigned row = tile_row * kTile, column = tile_column * kTile;  // of the border above and left
  if (tid == 0) tile[0][0] = scores[row * pitch + column];
  tile[0][tid + 1] = scores[row * pitch + column + tid + 1];
  tile[tid + 1][0] = scores[(row + tid + 1) * pitch + column];
  for (int i = 0; i < kTile; ++i) alike[i][tid] = similarity[(row + i) * n + column + tid];
  __syncthreads();
  for (int d = 0; d < 2 * kTile - 1; ++d) {
    int i = tid, j = d - tid;
    if (j >= 0 && j < kTile) {
      int score = tile[i][j] + alike[i][j];
      tile[i + 1][j + 1] = max(score, max(tile[i][j + 1], tile[i + 1][j]) - penalty);
    }
    __syncthreads();
  }
  for (int i = 0; i < kTile; ++i) scores[(row + i + 1) * pitch + column + tid + 1] = tile[i + 1][tid + 1];
}
