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
