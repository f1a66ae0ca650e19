// Kernels of rows, tiles and windows of matrices.

// A matrix times a vector: a block for each row, and a tree that begins at half of any power of two of threads.
extern "C" __global__ void matrix_vector(const float* matrix, const float* vector, float* out, int columns) {
  __shared__ float sums[1024];
  const float* row = matrix + (size_t)blockIdx.x * columns;
  int t = threadIdx.x;
  float sum = 0;
  for (int c = t; c < columns; c += blockDim.x) sum += row[c] * vector[c];
  sums[t] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = sums[0];
}

// Distances between all points of two sets: tiles with a padded column, of which one is read by columns.
extern "C" __global__ void distances(const float* a, const float* b, float* out, int count, int dimensions) {
  __shared__ float rows[16][17], columns[16][17];
  int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 16 + y, j = blockIdx.x * 16 + x;
  float sum = 0;
  for (int d = 0; d < dimensions; d += 16) {
    rows[y][x] = a[i * dimensions + d + x];
    columns[y][x] = b[(blockIdx.x * 16 + y) * dimensions + d + x];
    __syncthreads();
    for (int k = 0; k < 16; ++k) {
      float difference = rows[y][k] - columns[x][k];
      sum += difference * difference;
    }
    __syncthreads();
  }
  out[i * count + j] = sqrtf(sum);
}

// The greatest value of each window of an image, of any size: windows at the edge are cut.
extern "C" __global__ void pooling(const float* in, float* out, int count, int height, int width, int out_height,
                                   int out_width, int window, int step) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int column = i % out_width, row = i / out_width % out_height, image = i / out_width / out_height;
  int top = row * step, left = column * step, bottom = min(top + window, height), right = min(left + window, width);
  float most = -3.0e38f;
  for (int y = top; y < bottom; ++y)
    for (int x = left; x < right; ++x) most = fmaxf(most, in[(image * height + y) * width + x]);
  out[i] = most;
}

// Steps of heat on a plate with sources, several in one launch: each leaves a narrower part of the tile right.
extern "C" __global__ void heat(const float* sources, const float* from, float* to, int width, int height, int steps,
                                float rate) {
  __shared__ float tile[16][16], next[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, inner = 16 - 2 * steps;
  int left = inner * blockIdx.x - steps, top = inner * blockIdx.y - steps, x = left + tx, y = top + ty;
  bool inside = x >= 0 && x < width && y >= 0 && y < height;
  float source = 0;
  if (inside) {
    tile[ty][tx] = from[y * width + x];
    source = sources[y * width + x];
  }
  // Beyond the edge it is as warm as at the edge.
  int west = max(tx - 1, max(-left, 0)), east = min(tx + 1, min(15, width - 1 - left));
  int north = max(ty - 1, max(-top, 0)), south = min(ty + 1, min(15, height - 1 - top));
  __syncthreads();
  for (int s = 1; s <= steps; ++s) {
    bool is_right = inside && tx >= s && tx <= 15 - s && ty >= s && ty <= 15 - s;
    if (is_right) {
      float here = tile[ty][tx], around = tile[north][tx] + tile[south][tx] + tile[ty][west] + tile[ty][east];
      next[ty][tx] = here + rate * (around - 4.0f * here) + source;
    }
    __syncthreads();
    if (is_right) tile[ty][tx] = next[ty][tx];
    __syncthreads();
  }
  if (inside && tx >= steps && tx <= 15 - steps && ty >= steps && ty <= 15 - steps) to[y * width + x] = tile[ty][tx];
}
