// The few functions of the CUDA driver API that recording needs, loaded from libcuda.so.1 at run time, so
// that this program builds and starts without any CUDA installation. Declared from the public documentation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ir/result.h"
#include "tools/record/spec.h"

namespace ptx2cpu::rt {

struct DriverFunctions;  // the function pointers; private to cuda_driver.cpp

// A GPU's own account of itself, kept beside every record.
struct GpuIdentity {
  std::string name;
  std::string driver;        // version of the kernel driver, e.g. 570.86.10, if known
  int api_version = 0;       // of the driver API, e.g. 12080
  int major = 0, minor = 0;  // compute capability
};

struct GpuLaunch {
  std::string kernel;
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  uint32_t shared_bytes = 0;
  bool cooperative = false;
  std::array<uint32_t, 3> cluster{1, 1, 1};
  std::vector<std::pair<std::string, std::vector<std::byte>>> variables = {};  // module variables set before
};

struct GpuResult {
  std::map<size_t, std::vector<std::byte>> buffers;  // argument index -> contents after the launch
  std::string printed;                               // what the kernel printed
};

// The driver with the primary context of one device.
class CudaDriver {
 public:
  static Result<CudaDriver> Open(int device = 0);
  CudaDriver(CudaDriver&&) noexcept;
  CudaDriver& operator=(CudaDriver&&) noexcept;
  ~CudaDriver();

  const GpuIdentity& identity() const { return identity_; }

  // Loads `image` (fat binary, cubin, or PTX text) as a fresh module, runs the kernel once and reads back
  // every written buffer and surface. Each buffer has a guard band after it; a kernel that writes there is
  // an error. After a fault (ErrorCode::kFault) the context is unusable, so the caller should end.
  Result<GpuResult> Run(const std::vector<std::byte>& image, const GpuLaunch& launch,
                        const std::vector<Argument>& arguments);

 private:
  CudaDriver() = default;

  std::unique_ptr<DriverFunctions> functions_;
  void* library_ = nullptr;
  GpuIdentity identity_;
};

}  // namespace ptx2cpu::rt
