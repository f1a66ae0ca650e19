// The runtime's view of contexts: each thread has a device, and works in that device's primary context, which
// begins when it is first needed. A context that the program made current through the driver API is used as
// it is.
#pragma once

#include "driver_api.h"
#include "runtime/cuda/abi/runtime_types.h"
#include "runtime/cuda/cudart/errors.h"

namespace ptx2cpu::cudart {

// Ensures that the driver exists and has a device. cudaErrorNoDevice, cudaErrorInitializationError.
cuda::cudaError_t BeginDriver();
// Ensures that this thread has a context to work in.
cuda::cudaError_t Begin();

// Calls a driver function in this thread's context.
template <typename... Parameters, typename... Args>
cuda::cudaError_t InContext(cuda::CUresult (*function)(Parameters...), Args... args) {
  if (const cuda::cudaError_t error = Begin()) return error;
  return FromDriver(function(args...));
}
// Calls a driver function that needs no context.
template <typename... Parameters, typename... Args>
cuda::cudaError_t InDriver(cuda::CUresult (*function)(Parameters...), Args... args) {
  if (const cuda::cudaError_t error = BeginDriver()) return error;
  return FromDriver(function(args...));
}

// The device of this thread's context, or the one it will have.
cuda::cudaError_t CurrentDevice(int& device);
// Makes the device's primary context the thread's context, and begins it.
cuda::cudaError_t SetDevice(int device);
// The device whose context this thread begins when it first needs one.
void SetNextDevice(int device);
// Ends the primary context of the device, for all threads.
cuda::cudaError_t ResetDevice(int device);
// The primary context of a device, begun. cudaErrorInvalidDevice.
cuda::cudaError_t PrimaryContext(int device, cuda::CUcontext& context);

inline cuda::CUdeviceptr Address(const void* pointer) { return reinterpret_cast<cuda::CUdeviceptr>(pointer); }
inline cuda::CUdeviceptr* AddressOut(void** pointer) {
  static_assert(sizeof(cuda::CUdeviceptr) == sizeof(void*));
  return reinterpret_cast<cuda::CUdeviceptr*>(pointer);
}
inline cuda::CUarray ArrayOf(cuda::cudaArray_const_t array) {
  return reinterpret_cast<cuda::CUarray>(const_cast<cuda::cudaArray_t>(array));
}
inline cuda::CUmipmappedArray MipmapOf(cuda::cudaMipmappedArray_const_t array) {
  return reinterpret_cast<cuda::CUmipmappedArray>(const_cast<cuda::cudaMipmappedArray_t>(array));
}

// A structure or enumeration of the runtime as the driver's twin: same members in the same places.
template <typename To, typename From>
To* Twin(From* from) {
  static_assert(sizeof(To) == sizeof(From) && alignof(To) == alignof(From));
  return reinterpret_cast<To*>(from);
}

}  // namespace ptx2cpu::cudart
