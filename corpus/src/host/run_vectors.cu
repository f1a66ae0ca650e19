// A host program around vector_add and saxpy, for a shared-runtime executable: allocates, copies, launches, checks.
#include <cmath>
#include <cstdio>
#include <vector>

#include "../saxpy.cu"
#include "../vector_add.cu"

static bool Succeeded(cudaError_t status, const char* what) {
  if (status != cudaSuccess) std::printf("%s: %s\n", what, cudaGetErrorString(status));
  return status == cudaSuccess;
}

int main() {
  const unsigned n = 10000;
  std::vector<float> a(n), b(n), sum(n);
  for (unsigned i = 0; i < n; ++i) {
    a[i] = 0.25f * static_cast<float>(i);
    b[i] = 1.0f - static_cast<float>(i % 7);
  }
  const size_t bytes = n * sizeof(float);
  float *device_a = nullptr, *device_b = nullptr, *device_sum = nullptr;
  if (!Succeeded(cudaMalloc(&device_a, bytes), "cudaMalloc") || !Succeeded(cudaMalloc(&device_b, bytes), "cudaMalloc") ||
      !Succeeded(cudaMalloc(&device_sum, bytes), "cudaMalloc")) {
    return 1;
  }
  cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice);
  vector_add<<<(n + 255) / 256, 256>>>(device_a, device_b, device_sum, n);
  if (!Succeeded(cudaGetLastError(), "vector_add")) return 1;
  saxpy<<<(n + 127) / 128, 128>>>(2.0f, device_a, device_sum, n);
  saxpy_grid_stride<<<4, 64>>>(-1.0f, device_b, device_sum, n);
  if (!Succeeded(cudaMemcpy(sum.data(), device_sum, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy")) return 1;
  unsigned wrong = 0;
  for (unsigned i = 0; i < n; ++i) wrong += sum[i] != std::fma(-1.0f, b[i], std::fma(2.0f, a[i], a[i] + b[i]));
  cudaFree(device_a);
  cudaFree(device_b);
  cudaFree(device_sum);
  std::printf("%u elements, %u wrong\n", n, wrong);
  return wrong == 0 ? 0 : 1;
}
