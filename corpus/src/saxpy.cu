// y = a*x + y with one rounding per element, in the two usual shapes of a data-parallel loop.

// One thread per element; surplus threads leave early.
extern "C" __global__ void saxpy(float a, const float* x, float* y, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = __fmaf_rn(a, x[i], y[i]);
}

// Grid-stride loop: any grid covers any n.
extern "C" __global__ void saxpy_grid_stride(float a, const float* x, float* y, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = __fmaf_rn(a, x[i], y[i]);
}
