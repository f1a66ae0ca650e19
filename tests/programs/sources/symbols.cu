// Variables of a module by name: constant, device, managed; template kernels; static variables of the same name.
#include "check.h"

__constant__ float weights[8];
__device__ int counters[64];
__device__ int start = 41;
__managed__ int shared_number = 7;
__managed__ float shared_array[256];
static __device__ double hidden[4] = {1.5, 2.5, 3.5, 4.5};

template <typename T, int kScale>
__global__ void Scale(T* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * static_cast<T>(kScale) + static_cast<T>(weights[i % 8]);
}
__global__ void Count(int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counters[i % 64], i);
  if (i == 0) {
    ++start;
    hidden[2] += start;
    shared_number *= 6;
  }
  if (i < 256) shared_array[i] = i * 0.5f;
}

template <typename T, int kScale>
void RunScale(const char* name) {
  constexpr int n = 1000;
  T host[n], *device;
  for (int i = 0; i < n; ++i) host[i] = static_cast<T>(i);
  OK(cudaMalloc(&device, sizeof host));
  OK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
  Scale<T, kScale><<<8, 128>>>(device, n);
  OK(cudaGetLastError());
  OK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
  PrintDigest(name, host, sizeof host);
  OK(cudaFree(device));
}

int main() {
  const float w[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  OK(cudaMemcpyToSymbol(weights, w, sizeof w));
  OK(cudaMemcpyToSymbol(weights, &w[7], sizeof(float), 3 * sizeof(float)));
  RunScale<int, 3>("int");
  RunScale<float, 5>("float");
  RunScale<double, -2>("double");
  std::printf("managed before: %d\n", shared_number);
  Count<<<10, 100>>>(1000);
  OK(cudaDeviceSynchronize());
  int counts[64], number;
  double values[4];
  OK(cudaMemcpyFromSymbol(counts, counters, sizeof counts));
  OK(cudaMemcpyFromSymbol(&number, start, sizeof number));
  OK(cudaMemcpyFromSymbol(values, hidden, sizeof values));
  PrintDigest("counters", counts, sizeof counts);
  std::printf("start %d, hidden %g, managed %d, array %g\n", number, values[2], shared_number, shared_array[255]);
  void* address;
  size_t bytes;
  OK(cudaGetSymbolAddress(&address, counters));
  OK(cudaGetSymbolSize(&bytes, counters));
  OK(cudaMemset(address, 0xff, bytes));
  OK(cudaMemcpyFromSymbol(counts, counters, sizeof counts));
  std::printf("size %zu, after memset %d\n", bytes, counts[63]);
  SHOW(cudaMemcpyToSymbol(weights, w, 64));
  cudaFuncAttributes attributes;
  OK(cudaFuncGetAttributes(&attributes, Scale<float, 5>));
  std::printf("max threads %d, shared %zu\n", attributes.maxThreadsPerBlock, attributes.sharedSizeBytes);
  return 0;
}
