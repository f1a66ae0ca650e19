// Histograms of bytes.

// A table in shared memory per block, added to the result at the end. The block size is 256.
extern "C" __global__ void histogram_shared(const unsigned char* in, unsigned* bins, unsigned n) {
  __shared__ unsigned counts[256];
  counts[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&counts[in[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
}

// Each thread adds to the result in global memory.
extern "C" __global__ void histogram_global(const unsigned char* in, unsigned* bins, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[in[i]], 1u);
}
