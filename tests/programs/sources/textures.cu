// Texture and surface objects: linear, pitched and array memory; point and linear filtering; all address modes.
#include <cstring>
#include <vector>

#include "check.h"

__global__ void Fetch1D(cudaTextureObject_t texture, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex1Dfetch<float>(texture, i) + 0.5f;
}
__global__ void Sample2D(cudaTextureObject_t texture, float4* out, int width, int height, float scale, float shift) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < width && y < height) out[y * width + x] = tex2D<float4>(texture, x * scale + shift, y * scale - shift);
}
__global__ void Sample3D(cudaTextureObject_t texture, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex3D<float>(texture, i * 0.013f, i * 0.007f, i * 0.003f);
}
__global__ void Layers(cudaTextureObject_t texture, float* out, int n, int layers) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    for (int layer = 0; layer < layers; ++layer) out[layer * n + i] = tex2DLayered<float>(texture, i % 16 + 0.25f, i / 16 + 0.75f, layer);
  }
}
__global__ void Cube(cudaTextureObject_t texture, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = texCubemap<float>(texture, (i % 7) - 3.0f, (i % 11) - 5.0f, (i % 13) - 6.5f);
}
__global__ void Paint(cudaSurfaceObject_t surface, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x >= width || y >= height) return;
  const uchar4 old = surf2Dread<uchar4>(surface, (width - 1 - x) * 4, y);
  (void)old;
  surf2Dwrite(make_uchar4(x, y, x + y, x * y), surface, x * 4, y);
}

static cudaTextureObject_t MakeTexture(const cudaResourceDesc& resource, cudaTextureAddressMode address, cudaTextureFilterMode filter, bool normalised, cudaTextureReadMode read) {
  cudaTextureDesc desc = {};
  for (auto& mode : desc.addressMode) mode = address;
  desc.filterMode = filter;
  desc.readMode = read;
  desc.normalizedCoords = normalised;
  cudaTextureObject_t texture;
  OK(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
  return texture;
}

static void Linear() {
  constexpr int n = 1000;
  std::vector<float> host(n);
  for (int i = 0; i < n; ++i) host[i] = i * 0.25f;
  float *data, *out;
  OK(cudaMalloc(&data, n * sizeof(float)));
  OK(cudaMalloc(&out, n * sizeof(float)));
  OK(cudaMemcpy(data, host.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = data;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = n * sizeof(float);
  const auto texture = MakeTexture(resource, cudaAddressModeClamp, cudaFilterModePoint, false, cudaReadModeElementType);
  Fetch1D<<<8, 128>>>(texture, out, n);
  OK(cudaMemcpy(host.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost));
  PrintDigest("linear", host.data(), n * sizeof(float));
  OK(cudaDestroyTextureObject(texture));
}

static void Planes() {
  constexpr int width = 64, height = 48;
  std::vector<uchar4> texels(width * height);
  for (int i = 0; i < width * height; ++i) texels[i] = make_uchar4(i, i / 3, i / 7, 255 - i);
  const auto format = cudaCreateChannelDesc<uchar4>();
  cudaArray_t array;
  OK(cudaMallocArray(&array, &format, width, height));
  OK(cudaMemcpy2DToArray(array, 0, 0, texels.data(), width * 4, width * 4, height, cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  float4* out;
  OK(cudaMalloc(&out, width * height * sizeof(float4)));
  std::vector<float4> host(width * height);
  for (const bool normalised : {false, true}) {
    for (const auto address : {cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder}) {
      if (!normalised && (address == cudaAddressModeWrap || address == cudaAddressModeMirror)) continue;
      for (const auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
        const auto texture = MakeTexture(resource, address, filter, normalised, cudaReadModeNormalizedFloat);
        Sample2D<<<dim3(1, height), width>>>(texture, out, width, height, normalised ? 0.0371f : 1.37f, normalised ? 0.3f : 7.3f);
        OK(cudaMemcpy(host.data(), out, host.size() * sizeof(float4), cudaMemcpyDeviceToHost));
        std::printf("normalised %d, address %d, filter %d ", normalised, address, filter);
        PrintDigest("sampled", host.data(), host.size() * sizeof(float4));
        OK(cudaDestroyTextureObject(texture));
      }
    }
  }
  OK(cudaFreeArray(array));
}

static void Volume() {
  constexpr int side = 8, n = 2000;
  std::vector<float> host(side * side * side), result(n);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(i % 37);
  const auto format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(side, side, side)));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(host.data(), side * sizeof(float), side, side);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(side, side, side);
  copy.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&copy));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  float* out;
  OK(cudaMalloc(&out, n * sizeof(float)));
  for (const auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
    const auto texture = MakeTexture(resource, cudaAddressModeWrap, filter, true, cudaReadModeElementType);
    Sample3D<<<16, 128>>>(texture, out, n);
    OK(cudaMemcpy(result.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost));
    PrintDigest("volume", result.data(), n * sizeof(float));
    OK(cudaDestroyTextureObject(texture));
  }
}

static void LayersAndCube() {
  constexpr int side = 16, layers = 6, n = side * side;
  std::vector<float> host(n * layers), result(n * layers);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(i % 101);
  const auto format = cudaCreateChannelDesc<float>();
  float* out;
  OK(cudaMalloc(&out, host.size() * sizeof(float)));
  for (const unsigned flags : {cudaArrayLayered, cudaArrayCubemap}) {
    cudaArray_t array;
    OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(side, side, layers), flags));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host.data(), side * sizeof(float), side, side);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(side, side, layers);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    const auto texture = MakeTexture(resource, cudaAddressModeClamp, cudaFilterModePoint, flags == cudaArrayCubemap, cudaReadModeElementType);
    OK(cudaMemset(out, 0, host.size() * sizeof(float)));
    if (flags == cudaArrayLayered) Layers<<<2, 128>>>(texture, out, n, layers);
    else Cube<<<2, 128>>>(texture, out, n);
    OK(cudaMemcpy(result.data(), out, result.size() * sizeof(float), cudaMemcpyDeviceToHost));
    PrintDigest(flags == cudaArrayLayered ? "layers" : "cube", result.data(), result.size() * sizeof(float));
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(array));
  }
}

static void Surface() {
  constexpr int width = 100, height = 30;
  const auto format = cudaCreateChannelDesc<uchar4>();
  cudaArray_t array;
  OK(cudaMallocArray(&array, &format, width, height, cudaArraySurfaceLoadStore));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  OK(cudaCreateSurfaceObject(&surface, &resource));
  Paint<<<dim3(1, height), 128>>>(surface, width, height);
  std::vector<uchar4> host(width * height);
  OK(cudaMemcpy2DFromArray(host.data(), width * 4, array, 0, 0, width * 4, height, cudaMemcpyDeviceToHost));
  PrintDigest("surface", host.data(), host.size() * 4);
  OK(cudaDestroySurfaceObject(surface));
  OK(cudaFreeArray(array));
}

int main() {
  Linear();
  Planes();
  Volume();
  LayersAndCube();
  Surface();
  return 0;
}
