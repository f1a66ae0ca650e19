// The functions that choose a thread's device.
#include <array>
#include <atomic>
#include <span>

#include "cudart_api.h"
#include "runtime/cuda/cudart/context.h"

namespace ptx2cpu::cudart {

cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = BeginDriver()) return error;
  return CurrentDevice(*device);
}

cudaError_t cudaSetDevice(int device) { return SetDevice(device); }

cudaError_t cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags) {
  if ((flags & ~cudaInitDeviceFlagsAreValid) != 0) return cudaErrorInvalidValue;
  if ((flags & cudaInitDeviceFlagsAreValid) != 0) {
    if (const cudaError_t error = InDriver(&driver::cuDevicePrimaryCtxSetFlags_v2, device, deviceFlags))
      return error;
  }
  CUcontext context;
  return PrimaryContext(device, context);
}

// The devices are tried in the order given; they are all alike, so the first one serves.
cudaError_t cudaSetValidDevices(int* device_arr, int len) {
  if (len < 0 || (len > 0 && device_arr == nullptr)) return cudaErrorInvalidValue;
  int count = 0;
  if (const cudaError_t error = InDriver(&driver::cuDeviceGetCount, &count)) return error;
  for (const int device : std::span(device_arr, static_cast<size_t>(len))) {
    if (device < 0 || device >= count) return cudaErrorInvalidDevice;
  }
  SetNextDevice(len == 0 ? 0 : device_arr[0]);
  return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  if ((flags & ~cudaDeviceMask) != 0) return cudaErrorInvalidValue;
  int device = 0;
  if (const cudaError_t error = CurrentDevice(device)) return error;
  return InDriver(&driver::cuDevicePrimaryCtxSetFlags_v2, device,
                  flags & ~cudaDeviceMapHost);  // memory is always mapped
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  if (flags == nullptr) return cudaErrorInvalidValue;
  int device = 0, active = 0;
  if (const cudaError_t error = CurrentDevice(device)) return error;
  if (const cudaError_t error = InDriver(&driver::cuDevicePrimaryCtxGetState, device, flags, &active))
    return error;
  *flags |= cudaDeviceMapHost;
  return cudaSuccess;
}

cudaError_t cudaDeviceReset() {
  int device = 0;
  if (const cudaError_t error = BeginDriver()) return error;
  if (const cudaError_t error = CurrentDevice(device)) return error;
  return ResetDevice(device);
}

cudaError_t cudaDeviceSynchronize() { return InContext(&driver::cuCtxSynchronize); }
cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }

}  // namespace ptx2cpu::cudart
