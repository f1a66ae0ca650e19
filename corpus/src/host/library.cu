// A shared object with kernels inside and plain C functions to call them.
#include "../histogram.cu"
#include "../transpose.cu"

// Counts bytes that are already on the device; 0 on success.
extern "C" int corpus_histogram(const unsigned char* device_samples, unsigned* device_bins, unsigned n) {
  histogram_shared<<<16, 256>>>(device_samples, device_bins, n);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}

extern "C" int corpus_transpose(const unsigned* device_in, unsigned* device_out, int rows, int columns) {
  const dim3 grid((columns + 31) / 32, (rows + 31) / 32);
  transpose_tiled<<<grid, dim3(32, 8)>>>(device_in, device_out, rows, columns);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
