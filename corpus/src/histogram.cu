// Histograms with integer atomics, so that the order of arrival cannot show.

// Every sample is one atomic on global memory.
extern "C" __global__ void histogram_global(const unsigned char* samples, unsigned* bins, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[samples[i]], 1u);
}

// Each block counts in shared memory and adds its bins to the global ones at the end.
extern "C" __global__ void histogram_shared(const unsigned char* samples, unsigned* bins, unsigned n) {
  __shared__ unsigned local[256];
  for (unsigned b = threadIdx.x; b < 256; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[samples[i]], 1u);
  __syncthreads();
  for (unsigned b = threadIdx.x; b < 256; b += blockDim.x)
    if (local[b] != 0) atomicAdd(&bins[b], local[b]);
}
