// devices: what a CUDA program that runs here finds, queried from the driver library as the program would.
#include <dlfcn.h>
#include <fmt/format.h>

#include <vector>

#include "runtime/cuda/abi/driver_types.h"
#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

namespace {

using namespace cuda;

// The functions of libcuda.so.1 that are needed here.
class Driver {
 public:
  static Result<Driver> Load() {
    const std::string file = TRY(DropInFolder()) + "/libcuda.so.1";
    Driver driver;
    driver.handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (driver.handle_ == nullptr)
      return Fail(ErrorCode::kFile, fmt::format("cannot load the CUDA driver library: {}", dlerror()));
    return driver;
  }
  template <typename... Args>
  Status Call(const char* name, Args... args) const {
    auto function = reinterpret_cast<CUresult (*)(Args...)>(dlsym(handle_, name));
    if (function == nullptr) return Fail(ErrorCode::kInternal, fmt::format("libcuda.so.1 has no {}", name));
    const CUresult result = function(args...);
    if (result == CUDA_SUCCESS) return {};
    return Fail(ErrorCode::kInternal, fmt::format("{} returned {}", name, static_cast<int>(result)));
  }

 private:
  void* handle_ = nullptr;
};

struct DeviceLine {
  char name[256] = {};
  int major = 0, minor = 0, workers = 0, kilohertz = 0;
  size_t memory = 0;
};

Result<DeviceLine> Describe(const Driver& driver, int ordinal) {
  DeviceLine line;
  CUdevice device = 0;
  TRY_STATUS((driver.Call<CUdevice*, int>("cuDeviceGet", &device, ordinal)));
  TRY_STATUS((driver.Call<char*, int, CUdevice>("cuDeviceGetName", line.name, sizeof line.name, device)));
  TRY_STATUS((driver.Call<size_t*, CUdevice>("cuDeviceTotalMem_v2", &line.memory, device)));
  const std::pair<int*, CUdevice_attribute> attributes[] = {
      {&line.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {&line.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {&line.workers, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      {&line.kilohertz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE}};
  for (const auto& [value, attribute] : attributes) {
    TRY_STATUS(
        (driver.Call<int*, CUdevice_attribute, CUdevice>("cuDeviceGetAttribute", value, attribute, device)));
  }
  return line;
}

}  // namespace

Status RunDevices(const Arguments& arguments) {
  const Driver driver = TRY(Driver::Load());
  int count = 0, version = 0;
  TRY_STATUS((driver.Call<unsigned>("cuInit", 0u)));
  TRY_STATUS((driver.Call<int*>("cuDeviceGetCount", &count)));
  TRY_STATUS((driver.Call<int*>("cuDriverGetVersion", &version)));
  std::vector<DeviceLine> devices;
  for (int i = 0; i < count; ++i) devices.push_back(TRY(Describe(driver, i)));
  if (arguments.Has("--json")) {
    fmt::print("{{\"driver_version\": {}, \"devices\": [", version);
    for (size_t i = 0; i < devices.size(); ++i) {
      const DeviceLine& d = devices[i];
      fmt::print(
          "{}\n  {{\"ordinal\": {}, \"name\": \"{}\", \"compute_capability\": \"{}.{}\", "
          "\"multiprocessors\": {}, \"memory_bytes\": {}, \"clock_khz\": {}}}",
          i == 0 ? "" : ",", i, d.name, d.major, d.minor, d.workers, d.memory, d.kilohertz);
    }
    fmt::print("{}]}}\n", devices.empty() ? "" : "\n");
    return {};
  }
  fmt::print("CUDA {}.{}, {} device{}\n", version / 1000, version % 1000 / 10, count, count == 1 ? "" : "s");
  for (size_t i = 0; i < devices.size(); ++i) {
    const DeviceLine& d = devices[i];
    fmt::print("  {}  {}\n     compute capability {}.{}, {} worker{}, {:.1f} GiB\n", i, d.name, d.major,
               d.minor, d.workers, d.workers == 1 ? "" : "s", static_cast<double>(d.memory) / (1ull << 30));
  }
  return {};
}

}  // namespace ptx2cpu::tool
