// Attributes of launches, streams and kernel nodes.
#pragma once

#include <cstring>

#include "driver_api.h"
#include "runtime/cuda/abi/runtime_types.h"

namespace ptx2cpu::cudart {

// Bytes of the value that an attribute uses. Until CUDA 11.7 programs have room for those and no more.
inline size_t ValueBytes(cuda::cudaLaunchAttributeID attribute) {
  switch (attribute) {
    case cuda::cudaLaunchAttributeAccessPolicyWindow:
      return sizeof(cuda::cudaAccessPolicyWindow);
    case cuda::cudaLaunchAttributeClusterDimension:
    case cuda::cudaLaunchAttributePreferredClusterDimension:
      return sizeof(cuda::uint3);
    case cuda::cudaLaunchAttributeProgrammaticEvent:
    case cuda::cudaLaunchAttributeLaunchCompletionEvent:
    case cuda::cudaLaunchAttributeDeviceUpdatableKernelNode:
      return 16;
    default:
      return sizeof(int);
  }
}

template <typename Call>
cuda::cudaError_t GetAttribute(cuda::cudaLaunchAttributeID attribute, cuda::cudaLaunchAttributeValue* value,
                               const Call& call) {
  if (value == nullptr) return cuda::cudaErrorInvalidValue;
  cuda::CUlaunchAttributeValue whole{};
  const cuda::cudaError_t error = call(static_cast<cuda::CUlaunchAttributeID>(attribute), &whole);
  if (error == cuda::cudaSuccess) std::memcpy(value, &whole, ValueBytes(attribute));
  return error;
}

template <typename Call>
cuda::cudaError_t SetAttribute(cuda::cudaLaunchAttributeID attribute,
                               const cuda::cudaLaunchAttributeValue* value, const Call& call) {
  if (value == nullptr) return cuda::cudaErrorInvalidValue;
  cuda::CUlaunchAttributeValue whole{};
  std::memcpy(&whole, value, ValueBytes(attribute));
  return call(static_cast<cuda::CUlaunchAttributeID>(attribute), &whole);
}

}  // namespace ptx2cpu::cudart
