// cuDevice*: what a program sizes itself by.
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>

#include "driver_api.h"
#include "runtime/cuda/driver/context/device.h"

namespace ptx2cpu::driver {

namespace {

// Bytes of one channel; 0: no format of plain elements.
size_t ChannelBytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

// What atomics of one kind of operation can do between processor and device: here both are the same cores.
unsigned AtomicCapabilities(CUatomicOperation operation) {
  constexpr unsigned kIntegers = CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_UNSIGNED;
  constexpr unsigned kScalars = CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_SCALAR_64;
  constexpr unsigned kReduction = CU_ATOMIC_CAPABILITY_REDUCTION;
  switch (operation) {
    case CU_ATOMIC_OPERATION_INTEGER_ADD:
    case CU_ATOMIC_OPERATION_INTEGER_MIN:
    case CU_ATOMIC_OPERATION_INTEGER_MAX:
      return kIntegers | kScalars | kReduction;
    case CU_ATOMIC_OPERATION_INTEGER_INCREMENT:
    case CU_ATOMIC_OPERATION_INTEGER_DECREMENT:
      return CU_ATOMIC_CAPABILITY_UNSIGNED | CU_ATOMIC_CAPABILITY_SCALAR_32 | kReduction;
    case CU_ATOMIC_OPERATION_AND:
    case CU_ATOMIC_OPERATION_OR:
    case CU_ATOMIC_OPERATION_XOR:
      return CU_ATOMIC_CAPABILITY_UNSIGNED | kScalars | kReduction;
    case CU_ATOMIC_OPERATION_EXCHANGE:
    case CU_ATOMIC_OPERATION_CAS:
      return CU_ATOMIC_CAPABILITY_UNSIGNED | kScalars | CU_ATOMIC_CAPABILITY_SCALAR_128;
    case CU_ATOMIC_OPERATION_FLOAT_ADD:
      return CU_ATOMIC_CAPABILITY_SIGNED | kScalars | kReduction;
    default:
      return 0;
  }
}

CUresult ListAtomicCapabilities(unsigned* capabilities, const CUatomicOperation* operations, unsigned count) {
  if (capabilities == nullptr || operations == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    if (operations[i] < 0 || operations[i] >= CU_ATOMIC_OPERATION_MAX) return CUDA_ERROR_INVALID_VALUE;
  }
  std::transform(operations, operations + count, capabilities, AtomicCapabilities);
  return CUDA_SUCCESS;
}

std::string BusId(const Device& device) {
  char text[16];
  std::snprintf(text, sizeof text, "0000:%02x:00.0", device.pci_bus());
  return text;
}

}  // namespace

CUresult cuInit(unsigned int flags) { return flags != 0 ? CUDA_ERROR_INVALID_VALUE : Initialise(); }

CUresult cuDeviceGetCount(int* count) {
  if (const CUresult error = CheckInitialised()) return error;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = Devices::Get().count();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  Device* found;
  if (const CUresult error = CheckInitialised()) return error;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = FindDevice(ordinal, found)) return error;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int len, CUdevice dev) {
  Device* device;
  if (const CUresult error = FindDevice(dev, device)) return error;
  if (name == nullptr || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(name, static_cast<size_t>(len), "%s", device->name().c_str());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice dev) {
  Device* device;
  if (const CUresult error = FindDevice(dev, device)) return error;
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *uuid = device->uuid();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev) { return cuDeviceGetUuid(uuid, dev); }

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev) {
  Device* device;
  if (const CUresult error = FindDevice(dev, device)) return error;
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *bytes = device->memory_bytes();
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(unsigned int* bytes, CUdevice dev) {
  size_t wide = 0;
  if (const CUresult error = cuDeviceTotalMem_v2(bytes == nullptr ? nullptr : &wide, dev)) return error;
  *bytes = static_cast<unsigned>(std::min<size_t>(wide, UINT_MAX));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  if (const CUresult error = CheckInitialised()) return error;
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return DeviceAttribute(pi, attrib, dev);
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice dev) {
  Device* device;
  if (const CUresult error = FindDevice(dev, device)) return error;
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *major = device->Attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR).value();
  *minor = device->Attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR).value();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop* prop, CUdevice dev) {
  Device* device;
  if (const CUresult error = FindDevice(dev, device)) return error;
  if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto value = [&](CUdevice_attribute attribute) { return device->Attribute(attribute).value(); };
  *prop = {};
  prop->maxThreadsPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  for (int i = 0; i < 3; ++i) {
    prop->maxThreadsDim[i] = value(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i));
    prop->maxGridSize[i] = value(static_cast<CUdevice_attribute>(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i));
  }
  prop->sharedMemPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  prop->totalConstantMemory = value(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  prop->SIMDWidth = value(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  prop->memPitch = value(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  prop->regsPerBlock = value(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  prop->clockRate = value(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  prop->textureAlign = value(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
  Device* device;
  if (const CUresult error = FindDevice(dev, device)) return error;
  if (pciBusId == nullptr || len <= static_cast<int>(BusId(*device).size())) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(pciBusId, static_cast<size_t>(len), "%s", BusId(*device).c_str());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice* dev, const char* pciBusId) {
  if (const CUresult error = CheckInitialised()) return error;
  if (dev == nullptr || pciBusId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  if (std::sscanf(pciBusId, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
    domain = function = 0;
    if (std::sscanf(pciBusId, "%x:%x.%x", &bus, &slot, &function) < 2) return CUDA_ERROR_INVALID_VALUE;
  }
  for (int i = 0; i < Devices::Get().count(); ++i) {
    if (domain == 0 && slot == 0 && function == 0 && static_cast<int>(bus) == Devices::Get()[i].pci_bus()) {
      *dev = i;
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetExecAffinitySupport(int* pi, CUexecAffinityType type, CUdevice dev) {
  Device* device;
  if (const CUresult error = FindDevice(dev, device)) return error;
  if (pi == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pi = 0;  // of no type
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetHostAtomicCapabilities(unsigned int* capabilities, const CUatomicOperation* operations,
                                           unsigned int count, CUdevice dev) {
  Device* device;
  if (const CUresult error = FindDevice(dev, device)) return error;
  return ListAtomicCapabilities(capabilities, operations, count);
}

CUresult cuDeviceGetP2PAtomicCapabilities(unsigned int* capabilities, const CUatomicOperation* operations,
                                          unsigned int count, CUdevice srcDevice, CUdevice dstDevice) {
  Device *from, *to;
  if (const CUresult error = FindDevice(srcDevice, from)) return error;
  if (const CUresult error = FindDevice(dstDevice, to)) return error;
  return from == to ? CUDA_ERROR_INVALID_DEVICE : ListAtomicCapabilities(capabilities, operations, count);
}

CUresult cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  Device *device, *peer;
  if (const CUresult error = FindDevice(dev, device)) return error;
  if (const CUresult error = FindDevice(peerDev, peer)) return error;
  if (canAccessPeer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *canAccessPeer = device != peer ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                 CUdevice dstDevice) {
  Device *from, *to;
  if (const CUresult error = FindDevice(srcDevice, from)) return error;
  if (const CUresult error = FindDevice(dstDevice, to)) return error;
  if (from == to) return CUDA_ERROR_INVALID_DEVICE;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attrib) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
      *value = 0;
      break;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
      *value = 1;
      break;
    case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
      *value = 0;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* maxWidthInElements, CUarray_format format,
                                            unsigned numChannels, CUdevice dev) {
  Device* device;
  if (const CUresult error = FindDevice(dev, device)) return error;
  if (maxWidthInElements == nullptr || ChannelBytes(format) == 0) return CUDA_ERROR_INVALID_VALUE;
  if (numChannels != 1 && numChannels != 2 && numChannels != 4) return CUDA_ERROR_INVALID_VALUE;
  *maxWidthInElements =
      static_cast<size_t>(device->Attribute(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH).value());
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
