// The simulated devices: PTX2CPU_DEVICES of them, seen through CUDA_VISIBLE_DEVICES, each with all of the
// machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/cuda/abi/driver_types.h"

namespace ptx2cpu::driver {

class Context;

// CUDA_SUCCESS after cuInit; CUDA_ERROR_NOT_INITIALIZED before, and in a forked child of a process that had
// called it (the child lacks the threads that do the work).
cuda::CUresult CheckInitialised();
// cuInit. NOT_INITIALIZED in a forked child of a process that had called it; NO_DEVICE.
cuda::CUresult Initialise();

class Device {
 public:
  // `number`: which of the simulated devices; `ordinal`: how the program counts it.
  Device(int ordinal, int number);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int ordinal() const { return ordinal_; }
  const std::string& name() const { return name_; }
  const cuda::CUuuid& uuid() const { return uuid_; }
  int pci_bus() const { return number_ + 1; }
  size_t memory_bytes() const;
  int multiprocessors() const;  // = worker threads
  // Nothing: no such attribute.
  std::optional<int> Attribute(cuda::CUdevice_attribute attribute) const;

  // The object is never destroyed; it is active between the first retain and the last release.
  Context& primary() const { return *primary_; }

 private:
  const int ordinal_, number_;
  const std::string name_;
  cuda::CUuuid uuid_;
  std::unique_ptr<Context> primary_;
};

class Devices {
 public:
  static Devices& Get();  // reads the environment at first use

  int count() const { return static_cast<int>(devices_.size()); }
  Device* Find(cuda::CUdevice ordinal) const;  // null: no such device
  Device& operator[](int ordinal) const { return *devices_[static_cast<size_t>(ordinal)]; }
  // As programs see it: 90 for 9.0. PTX2CPU_COMPUTE_CAPABILITY=M.m chooses it; images are then chosen for
  // that device.
  uint32_t compute_capability() const { return compute_capability_; }
  // True: only images that such a device takes are loaded. Else any PTX is, if need be.
  bool strict_images() const { return strict_images_; }

 private:
  Devices();
  std::vector<std::unique_ptr<Device>> devices_;
  uint32_t compute_capability_;
  bool strict_images_;
};

// The device of that ordinal, after cuInit. NOT_INITIALIZED, INVALID_DEVICE.
cuda::CUresult FindDevice(cuda::CUdevice ordinal, Device*& device);

// cuDeviceGetAttribute, for a pointer that is not null.
cuda::CUresult DeviceAttribute(int* value, cuda::CUdevice_attribute attribute, cuda::CUdevice ordinal);

}  // namespace ptx2cpu::driver
