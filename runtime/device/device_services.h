// Services that the kernels of one context share: the limits that the host sets and the heap of device
// malloc.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/device/device_heap.h"

namespace ptx2cpu::rt {

// In bytes, with CUDA's defaults. May be set at any time; a launch reads them as it goes.
struct DeviceLimits {
  std::atomic<uint64_t> printf_bytes{uint64_t{1} << 20};  // text of one launch; the oldest is lost beyond
  std::atomic<uint64_t> stack_bytes{1024};  // of a thread, as the host requested; arenas grow as kernels need
  std::atomic<uint64_t> heap_bytes{uint64_t{8} << 20};  // beyond, malloc returns null
};

// Facts about the device that device code may query.
struct DeviceFacts {
  int32_t ordinal = 0, count = 1;
  int32_t runtime_version = 13000;
  // cudaDeviceGetAttribute; false: no such attribute or device. Null: unknown.
  bool (*attribute)(uint32_t attribute, int32_t device, int32_t* value) = nullptr;
};

struct DeviceServices {
  DeviceFacts device;
  DeviceLimits limits;
  DeviceHeap heap;
  std::atomic<bool> printed{false};  // since the context began
};

// The services of launches that name no others.
DeviceServices& DefaultServices();

}  // namespace ptx2cpu::rt
