#include "tools/record/cuda_driver.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "tools/record/cuda_images.h"

namespace ptx2cpu::rt {

using CuStatus = int;            // CUresult: 0 is success
using DevicePointer = uint64_t;  // CUdeviceptr

// CUlaunchAttribute: its number and a value of 64 bytes.
struct LaunchAttribute {
  int id;
  int unused;
  union {
    int cooperative;
    unsigned cluster[3];
    char size[64];
  } value;
};

// CUlaunchConfig
struct LaunchConfig {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void* stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct DriverFunctions {
  CuStatus (*Init)(unsigned flags);
  CuStatus (*DriverGetVersion)(int* version);
  CuStatus (*DeviceGet)(int* device, int ordinal);
  CuStatus (*DeviceGetName)(char* name, int length, int device);
  CuStatus (*DeviceGetAttribute)(int* value, int attribute, int device);
  CuStatus (*DevicePrimaryCtxRetain)(void** context, int device);
  CuStatus (*CtxSetCurrent)(void* context);
  CuStatus (*CtxSynchronize)();
  CuStatus (*ModuleLoadDataEx)(void** module, const void* image, unsigned count, int* options, void** values);
  CuStatus (*ModuleUnload)(void* module);
  CuStatus (*ModuleGetFunction)(void** function, void* module, const char* name);
  CuStatus (*ModuleGetGlobal)(DevicePointer* address, size_t* size, void* module, const char* name);
  CuStatus (*FuncSetAttribute)(void* function, int attribute, int value);
  CuStatus (*MemAlloc)(DevicePointer* address, size_t size);
  CuStatus (*MemFree)(DevicePointer address);
  CuStatus (*MemcpyHtoD)(DevicePointer to, const void* from, size_t size);
  CuStatus (*MemcpyDtoH)(void* to, DevicePointer from, size_t size);
  CuStatus (*LaunchKernel)(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                           unsigned bz, unsigned shared, void* stream, void** parameters, void** extra);
  CuStatus (*LaunchKernelEx)(const LaunchConfig* config, void* function, void** parameters, void** extra);
  CuStatus (*GetErrorName)(CuStatus status, const char** name);
  CuStatus (*GetErrorString)(CuStatus status, const char** text);
};

namespace {

constexpr int kComputeCapabilityMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr int kComputeCapabilityMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
constexpr int kMaxDynamicSharedSize = 8;     // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr int kAttributeCooperative = 2;     // CU_LAUNCH_ATTRIBUTE_COOPERATIVE
constexpr int kAttributeCluster = 4;         // CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
constexpr int kJitErrorLogBuffer = 5;        // CU_JIT_ERROR_LOG_BUFFER
constexpr int kJitErrorLogBufferSize = 6;    // CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
constexpr uint32_t kSharedWithoutOptIn = 48 * 1024;
constexpr size_t kGuardBytes = 1024;
constexpr std::byte kGuard{0xA5};

std::unexpected<Error> DriverError(const DriverFunctions& functions, CuStatus status,
                                   const std::string& what) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (functions.GetErrorName) functions.GetErrorName(status, &name);
  if (functions.GetErrorString) functions.GetErrorString(status, &text);
  return Fail(ErrorCode::kFault,
              what + ": " + (name ? name : std::to_string(status)) + (text ? std::string(", ") + text : ""));
}

template <typename Function>
bool Load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// The name of the first function that the library lacks.
std::optional<std::string> LoadAll(void* library, DriverFunctions& f) {
#define LOAD(member, symbol) \
  if (!Load(library, symbol, f.member)) return symbol
  LOAD(Init, "cuInit");
  LOAD(DriverGetVersion, "cuDriverGetVersion");
  LOAD(DeviceGet, "cuDeviceGet");
  LOAD(DeviceGetName, "cuDeviceGetName");
  LOAD(DeviceGetAttribute, "cuDeviceGetAttribute");
  LOAD(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  LOAD(CtxSetCurrent, "cuCtxSetCurrent");
  LOAD(CtxSynchronize, "cuCtxSynchronize");
  LOAD(ModuleLoadDataEx, "cuModuleLoadDataEx");
  LOAD(ModuleUnload, "cuModuleUnload");
  LOAD(ModuleGetFunction, "cuModuleGetFunction");
  LOAD(ModuleGetGlobal, "cuModuleGetGlobal_v2");
  LOAD(FuncSetAttribute, "cuFuncSetAttribute");
  LOAD(MemAlloc, "cuMemAlloc_v2");
  LOAD(MemFree, "cuMemFree_v2");
  LOAD(MemcpyHtoD, "cuMemcpyHtoD_v2");
  LOAD(MemcpyDtoH, "cuMemcpyDtoH_v2");
  LOAD(LaunchKernel, "cuLaunchKernel");
  LOAD(LaunchKernelEx, "cuLaunchKernelEx");
  LOAD(GetErrorName, "cuGetErrorName");
  LOAD(GetErrorString, "cuGetErrorString");
#undef LOAD
  return std::nullopt;
}

#define TRY_CUDA(call, what)                                                                         \
  do {                                                                                               \
    if (const CuStatus status_ = (call); status_ != 0) return DriverError(functions, status_, what); \
  } while (false)

// "NVRM version: NVIDIA UNIX ... Kernel Module for x86_64  570.86.10  Release ..." -> 570.86.10
std::string KernelDriverVersion() {
  std::ifstream in("/proc/driver/nvidia/version");
  std::string line;
  std::getline(in, line);
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    const bool version = std::count(word.begin(), word.end(), '.') >= 1 &&
                         word.find_first_not_of("0123456789.") == std::string::npos;
    if (version) return word;
  }
  return "unknown";
}

// Takes what the process writes to its standard output while it lives: the driver prints for the device.
class StdoutCapture {
 public:
  StdoutCapture() {
    std::fflush(stdout);
    saved_ = dup(STDOUT_FILENO);
    file_ = std::tmpfile();
    if (file_) dup2(fileno(file_), STDOUT_FILENO);
  }
  ~StdoutCapture() {
    std::fflush(stdout);
    dup2(saved_, STDOUT_FILENO);
    close(saved_);
    if (file_) std::fclose(file_);
  }
  std::string Text() {
    if (!file_) return "";
    std::fflush(stdout);
    std::rewind(file_);
    std::string text;
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) text.push_back(static_cast<char>(c));
    return text;
  }

 private:
  int saved_;
  std::FILE* file_;
};

// A loaded module; unloaded at the end of a run.
class Module {
 public:
  Module(const DriverFunctions& functions, void* handle) : functions_(functions), handle_(handle) {}
  ~Module() { functions_.ModuleUnload(handle_); }
  Module(const Module&) = delete;
  void* handle() const { return handle_; }

 private:
  const DriverFunctions& functions_;
  void* handle_;
};

// The device copies of a launch's buffers, and the parameter list that points to them.
class DeviceArguments {
 public:
  DeviceArguments(const DriverFunctions& f, void* library) : functions(f), images_(library) {}
  ~DeviceArguments() {
    for (const DevicePointer address : addresses_)
      if (address != 0) functions.MemFree(address);
  }
  DeviceArguments(const DeviceArguments&) = delete;

  Status Upload(const std::vector<Argument>& arguments, void* module) {
    addresses_.assign(arguments.size(), 0);
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].IsImage()) {
        TRY_STATUS(images_.Make(arguments[i], module));
        image_numbers_[i] = image_numbers_.size();
        if (arguments[i].IsParameter()) parameters_.push_back(images_.handle());
        continue;
      }
      if (!arguments[i].IsBuffer()) {
        parameters_.push_back(const_cast<std::byte*>(arguments[i].data.data()));
        continue;
      }
      std::vector<std::byte> guarded = arguments[i].data;
      guarded.resize(guarded.size() + kGuardBytes, kGuard);
      TRY_CUDA(functions.MemAlloc(&addresses_[i], guarded.size()), "cuMemAlloc");
      TRY_CUDA(functions.MemcpyHtoD(addresses_[i], guarded.data(), guarded.size()), "cuMemcpyHtoD");
      parameters_.push_back(&addresses_[i]);
    }
    return {};
  }

  // Contents of buffer `index` after the launch; an error if anything after it changed, or if an input did.
  Result<std::vector<std::byte>> Download(const Argument& argument, size_t index) {
    if (argument.IsImage()) return images_.Download(argument, image_numbers_.at(index));
    std::vector<std::byte> data(argument.data.size() + kGuardBytes);
    TRY_CUDA(functions.MemcpyDtoH(data.data(), addresses_[index], data.size()), "cuMemcpyDtoH");
    const auto end = data.begin() + static_cast<ptrdiff_t>(argument.data.size());
    if (std::any_of(end, data.end(), [](std::byte b) { return b != kGuard; })) {
      return Fail(ErrorCode::kFault, "the kernel wrote past the end of argument " + std::to_string(index));
    }
    data.erase(end, data.end());
    if (!argument.IsWritten() && data != argument.data) {
      return Fail(ErrorCode::kFault, "the kernel changed its input, argument " + std::to_string(index));
    }
    return data;
  }

  void** parameters() { return parameters_.data(); }

 private:
  const DriverFunctions& functions;
  DeviceImages images_;
  std::map<size_t, size_t> image_numbers_;  // by argument
  std::vector<DevicePointer> addresses_;
  std::vector<void*> parameters_;
};

Result<void*> LoadModule(const DriverFunctions& functions, const std::vector<std::byte>& image) {
  std::vector<std::byte> terminated = image;  // PTX text must end in a NUL; nothing else minds one
  terminated.push_back(std::byte{0});
  char log[4096] = "";
  int options[2] = {kJitErrorLogBuffer, kJitErrorLogBufferSize};
  void* values[2] = {log, reinterpret_cast<void*>(sizeof log)};
  void* module = nullptr;
  const CuStatus status = functions.ModuleLoadDataEx(&module, terminated.data(), 2, options, values);
  if (status != 0) return DriverError(functions, status, std::string("cuModuleLoadDataEx ") + log);
  return module;
}

CuStatus StartKernel(const DriverFunctions& functions, void* function, const GpuLaunch& launch,
                     void** parameters) {
  const auto& [gx, gy, gz] = launch.grid;
  const auto& [bx, by, bz] = launch.block;
  LaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if (launch.cooperative) {
    attributes[count].id = kAttributeCooperative;
    attributes[count++].value.cooperative = 1;
  }
  if (launch.cluster != std::array<uint32_t, 3>{1, 1, 1}) {
    attributes[count].id = kAttributeCluster;
    std::copy(launch.cluster.begin(), launch.cluster.end(), attributes[count++].value.cluster);
  }
  if (count == 0) {
    return functions.LaunchKernel(function, gx, gy, gz, bx, by, bz, launch.shared_bytes, nullptr, parameters,
                                  nullptr);
  }
  const LaunchConfig config{{gx, gy, gz}, {bx, by, bz}, launch.shared_bytes, nullptr, attributes, count};
  return functions.LaunchKernelEx(&config, function, parameters, nullptr);
}

}  // namespace

CudaDriver::CudaDriver(CudaDriver&&) noexcept = default;
CudaDriver& CudaDriver::operator=(CudaDriver&&) noexcept = default;
CudaDriver::~CudaDriver() = default;

Result<CudaDriver> CudaDriver::Open(int ordinal) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (!library) return Fail(ErrorCode::kFile, std::string("no CUDA driver here: ") + dlerror());
  CudaDriver driver;
  driver.library_ = library;
  driver.functions_ = std::make_unique<DriverFunctions>();
  DriverFunctions& functions = *driver.functions_;
  if (const auto missing = LoadAll(library, functions)) {
    return Fail(ErrorCode::kFile, "libcuda.so.1 has no " + *missing);
  }
  TRY_CUDA(functions.Init(0), "cuInit");
  int device = 0;
  TRY_CUDA(functions.DeviceGet(&device, ordinal), "cuDeviceGet");
  char name[256] = "";
  GpuIdentity& identity = driver.identity_;
  TRY_CUDA(functions.DeviceGetName(name, sizeof name, device), "cuDeviceGetName");
  TRY_CUDA(functions.DriverGetVersion(&identity.api_version), "cuDriverGetVersion");
  TRY_CUDA(functions.DeviceGetAttribute(&identity.major, kComputeCapabilityMajor, device),
           "cuDeviceGetAttribute");
  TRY_CUDA(functions.DeviceGetAttribute(&identity.minor, kComputeCapabilityMinor, device),
           "cuDeviceGetAttribute");
  identity.name = name;
  identity.driver = KernelDriverVersion();
  void* context = nullptr;
  TRY_CUDA(functions.DevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  TRY_CUDA(functions.CtxSetCurrent(context), "cuCtxSetCurrent");
  return driver;
}

Result<GpuResult> CudaDriver::Run(const std::vector<std::byte>& image, const GpuLaunch& launch,
                                  const std::vector<Argument>& arguments) {
  const DriverFunctions& functions = *functions_;
  const Module module(functions, TRY(LoadModule(functions, image)));
  void* function = nullptr;
  TRY_CUDA(functions.ModuleGetFunction(&function, module.handle(), launch.kernel.c_str()),
           "cuModuleGetFunction " + launch.kernel);
  for (const auto& [name, data] : launch.variables) {
    DevicePointer address = 0;
    size_t size = 0;
    TRY_CUDA(functions.ModuleGetGlobal(&address, &size, module.handle(), name.c_str()),
             "cuModuleGetGlobal " + name);
    if (size != data.size()) return Fail(ErrorCode::kUsage, "variable " + name + " has another size");
    TRY_CUDA(functions.MemcpyHtoD(address, data.data(), size), "cuMemcpyHtoD " + name);
  }
  if (launch.shared_bytes > kSharedWithoutOptIn) {
    TRY_CUDA(
        functions.FuncSetAttribute(function, kMaxDynamicSharedSize, static_cast<int>(launch.shared_bytes)),
        "cuFuncSetAttribute");
  }
  DeviceArguments on_device(functions, library_);
  TRY_STATUS(on_device.Upload(arguments, module.handle()));
  GpuResult result;
  CuStatus status = 0;
  {
    StdoutCapture capture;
    status = StartKernel(functions, function, launch, on_device.parameters());
    if (status == 0) status = functions.CtxSynchronize();
    result.printed = capture.Text();
  }
  if (status != 0) return DriverError(functions, status, "launch of " + launch.kernel);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].IsBuffer() && !arguments[i].IsWritten()) continue;
    std::vector<std::byte> data = TRY(on_device.Download(arguments[i], i));
    if (arguments[i].IsWritten()) result.buffers.emplace(i, std::move(data));
  }
  return result;
}

}  // namespace ptx2cpu::rt
