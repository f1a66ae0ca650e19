// Questions about devices, limits and peers.
#include <cstring>

#include "cudart_api.h"
#include "runtime/cuda/cudart/context.h"

namespace ptx2cpu::cudart {

cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  *count = 0;
  if (const cudaError_t error = BeginDriver()) return error;
  const CUresult result = driver::cuDeviceGetCount(count);
  if (result == CUDA_SUCCESS && *count == 0) return cudaErrorNoDevice;
  return FromDriver(result);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  return InDriver(&driver::cuDeviceGetAttribute, value, static_cast<CUdevice_attribute>(attr), device);
}

// All devices are alike: the first will do.
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp11* prop) {
  if (device == nullptr || prop == nullptr) return cudaErrorInvalidValue;
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count)) return error;
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp13* prop) {
  return cudaChooseDevice(device, reinterpret_cast<const cudaDeviceProp11*>(prop));
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* pciBusId) {
  return InDriver(&driver::cuDeviceGetByPCIBusId, device, pciBusId);
}

cudaError_t cudaDeviceGetPCIBusId(char* pciBusId, int len, int device) {
  return InDriver(&driver::cuDeviceGetPCIBusId, pciBusId, len, device);
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return InContext(&driver::cuCtxSetLimit, static_cast<CUlimit>(limit), value);
}

cudaError_t cudaDeviceGetLimit(size_t* pValue, cudaLimit limit) {
  return InContext(&driver::cuCtxGetLimit, pValue, static_cast<CUlimit>(limit));
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* pCacheConfig) {
  return InContext(&driver::cuCtxGetCacheConfig, Twin<CUfunc_cache>(pCacheConfig));
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache cacheConfig) {
  return InContext(&driver::cuCtxSetCacheConfig, static_cast<CUfunc_cache>(cacheConfig));
}

cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* pConfig) {
  return InContext(&driver::cuCtxGetSharedMemConfig, Twin<CUsharedconfig>(pConfig));
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
  return InContext(&driver::cuCtxSetSharedMemConfig, static_cast<CUsharedconfig>(config));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  return InContext(&driver::cuCtxGetStreamPriorityRange, leastPriority, greatestPriority);
}

cudaError_t cudaThreadSetLimit(cudaLimit limit, size_t value) { return cudaDeviceSetLimit(limit, value); }
cudaError_t cudaThreadGetLimit(size_t* pValue, cudaLimit limit) { return cudaDeviceGetLimit(pValue, limit); }
cudaError_t cudaThreadGetCacheConfig(cudaFuncCache* pCacheConfig) {
  return cudaDeviceGetCacheConfig(pCacheConfig);
}
cudaError_t cudaThreadSetCacheConfig(cudaFuncCache cacheConfig) {
  return cudaDeviceSetCacheConfig(cacheConfig);
}

cudaError_t cudaDeviceGetHostAtomicCapabilities(unsigned int* capabilities,
                                                const cudaAtomicOperation* operations, unsigned int count,
                                                int device) {
  return InDriver(&driver::cuDeviceGetHostAtomicCapabilities, capabilities,
                  Twin<const CUatomicOperation>(operations), count, device);
}

cudaError_t cudaDeviceGetP2PAtomicCapabilities(unsigned int* capabilities,
                                               const cudaAtomicOperation* operations, unsigned int count,
                                               int srcDevice, int dstDevice) {
  return InDriver(&driver::cuDeviceGetP2PAtomicCapabilities, capabilities,
                  Twin<const CUatomicOperation>(operations), count, srcDevice, dstDevice);
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attr, int srcDevice, int dstDevice) {
  return InDriver(&driver::cuDeviceGetP2PAttribute, value, static_cast<CUdevice_P2PAttribute>(attr),
                  srcDevice, dstDevice);
}

cudaError_t cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
  return InDriver(&driver::cuDeviceCanAccessPeer, canAccessPeer, device, peerDevice);
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags) {
  CUcontext peer;
  if (const cudaError_t error = PrimaryContext(peerDevice, peer)) return error;
  int device = 0;
  if (const cudaError_t error = CurrentDevice(device)) return error;
  if (device == peerDevice) return cudaErrorPeerAccessUnsupported;
  return InContext(&driver::cuCtxEnablePeerAccess, peer, flags);
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice) {
  CUcontext peer;
  if (const cudaError_t error = PrimaryContext(peerDevice, peer)) return error;
  int device = 0;
  if (const cudaError_t error = CurrentDevice(device)) return error;
  if (device == peerDevice) return cudaErrorPeerAccessNotEnabled;
  return InContext(&driver::cuCtxDisablePeerAccess, peer);
}

cudaError_t cudaDriverGetVersion(int* driverVersion) {
  if (driverVersion == nullptr) return cudaErrorInvalidValue;
  return FromDriver(driver::cuDriverGetVersion(driverVersion));
}

namespace {

// The last release of each major version when this was written; programs only ask for "at least".
template <typename Version>
cudaError_t RuntimeVersion(Version* version, int number) {
  if (version == nullptr) return cudaErrorInvalidValue;
  version->number = number;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaRuntimeGetVersion(cudaRuntimeVersion11* runtimeVersion) {
  return RuntimeVersion(runtimeVersion, 11080);
}
cudaError_t cudaRuntimeGetVersion(cudaRuntimeVersion12* runtimeVersion) {
  return RuntimeVersion(runtimeVersion, 12090);
}
cudaError_t cudaRuntimeGetVersion(cudaRuntimeVersion13* runtimeVersion) {
  return RuntimeVersion(runtimeVersion, CUDA_VERSION);
}

}  // namespace ptx2cpu::cudart
