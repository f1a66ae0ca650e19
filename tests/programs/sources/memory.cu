// Memory of every kind: pitched, arrays, 3D, pinned and mapped, managed, pools, peers, attributes.
#include <cstring>
#include <vector>

#include "check.h"

__global__ void Fill(char* base, size_t pitch, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width && y < height) *reinterpret_cast<int*>(base + y * pitch + x * sizeof(int)) = x * 1000 + y;
}
__global__ void Double(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= 2;
}

static void Pitched() {
  constexpr int width = 333, height = 41;
  char* device;
  size_t pitch;
  OK(cudaMallocPitch(&device, &pitch, width * sizeof(int), height));
  std::printf("pitch is enough and aligned: %d\n", pitch >= width * sizeof(int) && pitch % 32 == 0);
  Fill<<<dim3(3, height), 128>>>(device, pitch, width, height);
  std::vector<int> host(width * height);
  OK(cudaMemcpy2D(host.data(), width * sizeof(int), device, pitch, width * sizeof(int), height, cudaMemcpyDeviceToHost));
  PrintDigest("pitched", host.data(), host.size() * sizeof(int));
  OK(cudaMemset2D(device, pitch, 7, 100, 20));
  OK(cudaMemcpy2D(host.data(), width * sizeof(int), device, pitch, width * sizeof(int), height, cudaMemcpyDeviceToHost));
  PrintDigest("memset 2D", host.data(), host.size() * sizeof(int));
  SHOW(cudaMemcpy2D(host.data(), 4, device, pitch, width * sizeof(int), height, cudaMemcpyDeviceToHost));
  OK(cudaFree(device));
}

static void Volumes() {
  const cudaExtent extent = make_cudaExtent(20 * sizeof(int), 13, 7);
  cudaPitchedPtr volume;
  OK(cudaMalloc3D(&volume, extent));
  std::vector<int> host(20 * 13 * 7), back(host.size());
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<int>(i * i);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(host.data(), 20 * sizeof(int), 20, 13);
  copy.dstPtr = volume;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&copy));
  copy.srcPtr = volume;
  copy.dstPtr = make_cudaPitchedPtr(back.data(), 20 * sizeof(int), 20, 13);
  copy.srcPos = make_cudaPos(5 * sizeof(int), 2, 1);
  copy.dstPos = make_cudaPos(3 * sizeof(int), 4, 2);
  copy.extent = make_cudaExtent(11 * sizeof(int), 6, 4);
  copy.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&copy));
  PrintDigest("volume", back.data(), back.size() * sizeof(int));
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(20, 13, 7)));
  cudaMemcpy3DParms in = {};
  in.srcPtr = make_cudaPitchedPtr(host.data(), 20 * sizeof(int), 20, 13);
  in.dstArray = array;
  in.extent = make_cudaExtent(20, 13, 7);
  in.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&in));
  std::fill(back.begin(), back.end(), 0);
  cudaMemcpy3DParms out = {};
  out.srcArray = array;
  out.dstPtr = make_cudaPitchedPtr(back.data(), 20 * sizeof(int), 20, 13);
  out.extent = make_cudaExtent(20, 13, 7);
  out.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&out));
  PrintDigest("array", back.data(), back.size() * sizeof(int));
  OK(cudaFreeArray(array));
  OK(cudaFree(volume.ptr));
}

static void Host() {
  constexpr int n = 1000;
  int *pinned, *mapped, *device;
  OK(cudaHostAlloc(&pinned, n * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
  OK(cudaHostGetDevicePointer(&mapped, pinned, 0));
  for (int i = 0; i < n; ++i) pinned[i] = i;
  Double<<<8, 128>>>(mapped, n);
  OK(cudaDeviceSynchronize());
  PrintDigest("mapped", pinned, n * sizeof(int));
  std::vector<int> plain(n, 3);
  OK(cudaHostRegister(plain.data(), n * sizeof(int), cudaHostRegisterMapped));
  SHOW(cudaHostRegister(plain.data(), n * sizeof(int), cudaHostRegisterMapped));
  cudaGetLastError();
  OK(cudaHostGetDevicePointer(&device, plain.data(), 0));
  Double<<<8, 128>>>(device, n);
  OK(cudaDeviceSynchronize());
  PrintDigest("registered", plain.data(), n * sizeof(int));
  OK(cudaHostUnregister(plain.data()));
  cudaPointerAttributes attributes;
  OK(cudaPointerGetAttributes(&attributes, pinned + 10));
  std::printf("pinned: type %d, same host pointer %d\n", attributes.type, attributes.hostPointer == pinned + 10);
  OK(cudaPointerGetAttributes(&attributes, &attributes));
  std::printf("plain: type %d\n", attributes.type);
  OK(cudaMalloc(&device, 4));
  OK(cudaPointerGetAttributes(&attributes, device));
  std::printf("device: type %d, device %d\n", attributes.type, attributes.device);
  OK(cudaFree(device));
  OK(cudaFreeHost(pinned));
}

static void Managed() {
  constexpr int n = 5000;
  int* data;
  OK(cudaMallocManaged(&data, n * sizeof(int)));
  for (int i = 0; i < n; ++i) data[i] = i;
  Double<<<40, 128>>>(data, n);
  OK(cudaDeviceSynchronize());
  PrintDigest("managed", data, n * sizeof(int));
  cudaPointerAttributes attributes;
  OK(cudaPointerGetAttributes(&attributes, data));
  std::printf("managed: type %d\n", attributes.type);
  OK(cudaFree(data));
}

static void Pools() {
  constexpr int n = 3000;
  cudaStream_t stream;
  int *a, *b;
  std::vector<int> host(n);
  for (int i = 0; i < n; ++i) host[i] = 3 * i;
  OK(cudaStreamCreate(&stream));
  OK(cudaMallocAsync(&a, n * sizeof(int), stream));
  OK(cudaMemcpyAsync(a, host.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream));
  Double<<<24, 128, 0, stream>>>(a, n);
  OK(cudaMemcpyAsync(host.data(), a, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
  OK(cudaFreeAsync(a, stream));
  OK(cudaMallocAsync(&b, n * sizeof(int), stream));
  OK(cudaMemsetAsync(b, 0, n * sizeof(int), stream));
  OK(cudaStreamSynchronize(stream));
  PrintDigest("pool", host.data(), n * sizeof(int));
  cudaMemPool_t pool;
  OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  uint64_t used = 0;
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  std::printf("pool uses at least one block: %d\n", used >= n * sizeof(int));
  OK(cudaFreeAsync(b, stream));
  OK(cudaStreamSynchronize(stream));
  OK(cudaMemPoolTrimTo(pool, 0));
  OK(cudaStreamDestroy(stream));
}

int main() {
  Pitched();
  Volumes();
  Host();
  Managed();
  Pools();
  size_t available = 0, total = 0;
  OK(cudaMemGetInfo(&available, &total));
  std::printf("memory: %d\n", available > 0 && available <= total);
  return 0;
}
