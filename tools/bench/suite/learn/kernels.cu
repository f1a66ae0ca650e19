// Kernels of data analysis and neural networks.

// The nearest centre of each point; features are major: feature f of point i is at [f * n + i].
extern "C" __global__ void kmeans(const float* features, const float* centres, unsigned* nearest, float* distance,
                                  unsigned n, unsigned dimensions, unsigned clusters) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned best = 0;
  float least = 3.0e38f;
  for (unsigned c = 0; c < clusters; ++c) {
    float sum = 0;
    for (unsigned f = 0; f < dimensions; ++f) {
      float difference = features[f * n + i] - centres[c * dimensions + f];
      sum += difference * difference;
    }
    if (sum < least) {
      least = sum;
      best = c;
    }
  }
  nearest[i] = best;
  distance[i] = least;
}

static __device__ float WarpMax(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  return value;
}
static __device__ float WarpSum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}

// A row per block of 256 threads: maximum, exponentials and their sum, division.
extern "C" __global__ void softmax(const float* in, float* out, unsigned columns) {
  __shared__ float parts[8];
  const float* row = in + (size_t)blockIdx.x * columns;
  float* to = out + (size_t)blockIdx.x * columns;
  unsigned tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  float most = -3.0e38f;
  for (unsigned i = tid; i < columns; i += 256) most = fmaxf(most, row[i]);
  most = WarpMax(most);
  if (lane == 0) parts[warp] = most;
  __syncthreads();
  most = WarpMax(parts[lane % 8]);
  __syncthreads();
  float sum = 0;
  for (unsigned i = tid; i < columns; i += 256) {
    float value = expf(row[i] - most);
    to[i] = value;
    sum += value;
  }
  sum = WarpSum(sum);
  if (lane == 0) parts[warp] = sum;
  __syncthreads();
  sum = WarpSum(lane < 8 ? parts[lane] : 0.0f);
  float scale = 1.0f / sum;
  for (unsigned i = tid; i < columns; i += 256) to[i] *= scale;
}

// A row per block of 256 threads: mean, variance, scale and shift.
extern "C" __global__ void layer_norm(const float* in, const float* scale, const float* shift, float* out,
                                      unsigned columns) {
  __shared__ float parts[8];
  const float* row = in + (size_t)blockIdx.x * columns;
  float* to = out + (size_t)blockIdx.x * columns;
  unsigned tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
  float sum = 0;
  for (unsigned i = tid; i < columns; i += 256) sum += row[i];
  sum = WarpSum(sum);
  if (lane == 0) parts[warp] = sum;
  __syncthreads();
  float mean = WarpSum(lane < 8 ? parts[lane] : 0.0f) / columns;
  __syncthreads();
  float squares = 0;
  for (unsigned i = tid; i < columns; i += 256) squares += (row[i] - mean) * (row[i] - mean);
  squares = WarpSum(squares);
  if (lane == 0) parts[warp] = squares;
  __syncthreads();
  float inverse = rsqrtf(WarpSum(lane < 8 ? parts[lane] : 0.0f) / columns + 1e-5f);
  for (unsigned i = tid; i < columns; i += 256) to[i] = (row[i] - mean) * inverse * scale[i] + shift[i];
}

// softmax(Q K^T / sqrt(32)) V for heads of 32 dimensions in one pass (online softmax, Milakov and Gimelshein 2018): a
// thread per query, 64 of them in a block; tiles of 32 keys in shared memory. The length is a multiple of 64.
constexpr int kDimensions = 32;

extern "C" __global__ void attention(const float* queries, const float* keys, const float* values, float* out,
                                     unsigned length) {
  __shared__ float tile_k[32][kDimensions], tile_v[32][kDimensions];
  size_t head = (size_t)blockIdx.y * length * kDimensions;
  unsigned tid = threadIdx.x, query = blockIdx.x * 64 + tid;
  float q[kDimensions], sums[kDimensions], most = -3.0e38f, total = 0;
  for (int d = 0; d < kDimensions; ++d) {
    q[d] = queries[head + query * kDimensions + d] * 0.17677669f;
    sums[d] = 0;
  }
  for (unsigned base = 0; base < length; base += 32) {
    for (unsigned i = tid; i < 32 * kDimensions; i += 64) {
      tile_k[i / kDimensions][i % kDimensions] = keys[head + base * kDimensions + i];
      tile_v[i / kDimensions][i % kDimensions] = values[head + base * kDimensions + i];
    }
    __syncthreads();
    for (int j = 0; j < 32; ++j) {
      float score = 0;
      for (int d = 0; d < kDimensions; ++d) score += q[d] * tile_k[j][d];
      float now = fmaxf(most, score), correction = expf(most - now), weight = expf(score - now);
      total = total * correction + weight;
      for (int d = 0; d < kDimensions; ++d) sums[d] = sums[d] * correction + weight * tile_v[j][d];
      most = now;
    }
    __syncthreads();
  }
  float inverse = 1.0f / total;
  for (int d = 0; d < kDimensions; ++d) out[head + query * kDimensions + d] = sums[d] * inverse;
}
