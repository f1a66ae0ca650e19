// Stencils: neighbours of an element, with and without shared memory.

// One-dimensional, radius 3, block and halo in dynamic shared memory (4 * (blockDim.x + 6) bytes); outside is zero.
extern "C" __global__ void stencil_1d(const float* in, float* out, int n) {
  extern __shared__ float window[];
  const int radius = 3;
  int start = blockIdx.x * blockDim.x - radius;
  for (int j = threadIdx.x; j < (int)blockDim.x + 2 * radius; j += blockDim.x) {
    int source = start + j;
    window[j] = source >= 0 && source < n ? in[source] : 0.0f;
  }
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int d = 0; d <= 2 * radius; ++d) sum = __fmaf_rn(0.125f * (float)(d + 1), window[threadIdx.x + d], sum);
  out[i] = sum;
}

// One step of heat flow on a plane: five points, the rim is copied.
extern "C" __global__ void heat_2d(const float* in, float* out, int width, int height, float rate) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int i = y * width + x;
  float here = in[i];
  if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
    out[i] = here;
    return;
  }
  float around = __fadd_rn(__fadd_rn(in[i - 1], in[i + 1]), __fadd_rn(in[i - width], in[i + width]));
  out[i] = __fmaf_rn(rate, __fmaf_rn(-4.0f, here, around), here);
}
