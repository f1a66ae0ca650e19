// Sums and prefix sums.

static __device__ float WarpSum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

// Each thread walks the input in steps of the grid; then shuffles, and one atomic addition per block of 256.
extern "C" __global__ void sum_grid_stride(const float* in, float* sum, unsigned n) {
  __shared__ float parts[8];
  float mine = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += in[i];
  mine = WarpSum(mine);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x < 32) {
    mine = WarpSum(threadIdx.x < 8 ? parts[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) atomicAdd(sum, mine);
  }
}
