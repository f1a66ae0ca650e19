#include "tools/bench/suite/opencl.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "tools/bench/suite/contender.h"

namespace ptx2cpu::suite {

namespace {

// What we use of the OpenCL 1.2 API (Khronos OpenCL Specification 1.2): handles are pointers, flags are 64
// bits.
using Handle = void*;
constexpr uint64_t kDeviceTypeCpu = 1 << 1, kMemReadWrite = 1 << 0, kMemUseHostPtr = 1 << 3;
constexpr uint32_t kDeviceVersion = 0x102F, kPlatformName = 0x0902, kProgramBuildLog = 0x1183;

struct Functions {
  int32_t (*clGetPlatformIDs)(uint32_t, Handle*, uint32_t*);
  int32_t (*clGetPlatformInfo)(Handle, uint32_t, size_t, void*, size_t*);
  int32_t (*clGetDeviceIDs)(Handle, uint64_t, uint32_t, Handle*, uint32_t*);
  int32_t (*clGetDeviceInfo)(Handle, uint32_t, size_t, void*, size_t*);
  Handle (*clCreateContext)(const intptr_t*, uint32_t, const Handle*, void*, void*, int32_t*);
  Handle (*clCreateCommandQueue)(Handle, Handle, uint64_t, int32_t*);
  Handle (*clCreateProgramWithSource)(Handle, uint32_t, const char**, const size_t*, int32_t*);
  int32_t (*clBuildProgram)(Handle, uint32_t, const Handle*, const char*, void*, void*);
  int32_t (*clGetProgramBuildInfo)(Handle, Handle, uint32_t, size_t, void*, size_t*);
  Handle (*clCreateKernel)(Handle, const char*, int32_t*);
  int32_t (*clSetKernelArg)(Handle, uint32_t, size_t, const void*);
  Handle (*clCreateBuffer)(Handle, uint64_t, size_t, void*, int32_t*);
  int32_t (*clEnqueueNDRangeKernel)(Handle, Handle, uint32_t, const size_t*, const size_t*, const size_t*,
                                    uint32_t, const Handle*, Handle*);
  int32_t (*clFinish)(Handle);
  int32_t (*clReleaseMemObject)(Handle);
  int32_t (*clReleaseKernel)(Handle);
  int32_t (*clReleaseProgram)(Handle);
};

Status Called(int32_t error, const std::string& what) {
  return error == 0 ? Status() : Fail(ErrorCode::kInternal, fmt::format("OpenCL: {}: error {}", what, error));
}

Result<Functions> Resolve(void* library) {
  Functions functions{};
  const std::pair<const char*, void*> entries[] = {
#define ENTRY(name) {#name, &functions.name}
      ENTRY(clGetPlatformIDs),
      ENTRY(clGetPlatformInfo),
      ENTRY(clGetDeviceIDs),
      ENTRY(clGetDeviceInfo),
      ENTRY(clCreateContext),
      ENTRY(clCreateCommandQueue),
      ENTRY(clCreateProgramWithSource),
      ENTRY(clBuildProgram),
      ENTRY(clGetProgramBuildInfo),
      ENTRY(clCreateKernel),
      ENTRY(clSetKernelArg),
      ENTRY(clCreateBuffer),
      ENTRY(clEnqueueNDRangeKernel),
      ENTRY(clFinish),
      ENTRY(clReleaseMemObject),
      ENTRY(clReleaseKernel),
      ENTRY(clReleaseProgram)};
#undef ENTRY
  for (const auto& [name, slot] : entries) {
    void* address = dlsym(library, name);
    if (address == nullptr) return Fail(ErrorCode::kUsage, fmt::format("libOpenCL lacks {}", name));
    std::memcpy(slot, &address, sizeof address);
  }
  return functions;
}

}  // namespace

struct OpenCl::State {
  Functions cl{};
  struct Device {
    Handle device = nullptr, context = nullptr, queue = nullptr;
  };
  Device devices[2];  // of one thread, of all
  std::string version;
};

namespace {

// What one contender holds.
struct Prepared {
  std::shared_ptr<OpenCl::State> opencl;
  OpenCl::State::Device device;
  Handle program = nullptr;
  std::map<uint32_t, Handle> buffers;     // by argument
  std::map<std::string, Handle> kernels;  // by name

  ~Prepared() {
    for (const auto& [argument, buffer] : buffers) opencl->cl.clReleaseMemObject(buffer);
    for (const auto& [name, kernel] : kernels) opencl->cl.clReleaseKernel(kernel);
    if (program != nullptr) opencl->cl.clReleaseProgram(program);
  }

  Status Build(const std::string& folder, const std::string& family) {
    std::ifstream file(folder + "/" + family + "/kernels.cl");
    const std::string source{std::istreambuf_iterator<char>(file), {}};
    const char* text = source.c_str();
    const size_t length = source.size();
    int32_t error = 0;
    program = opencl->cl.clCreateProgramWithSource(device.context, 1, &text, &length, &error);
    TRY_STATUS(Called(error, "source of " + family));
    error = opencl->cl.clBuildProgram(program, 1, &device.device, ("-cl-std=CL1.2 -I " + folder).c_str(),
                                      nullptr, nullptr);
    if (error == 0) return {};
    std::string log(16384, '\0');
    opencl->cl.clGetProgramBuildInfo(program, device.device, kProgramBuildLog, log.size(), log.data(),
                                     nullptr);
    return Fail(ErrorCode::kInternal, fmt::format("OpenCL: {}/kernels.cl: {}", family, log.c_str()));
  }

  Status Find(const Problem& problem) {
    int32_t error = 0;
    for (uint32_t i = 0; i < problem.data.size(); ++i) {
      const auto& memory = problem.data[i].buffer;
      if (memory == nullptr) continue;
      buffers[i] = opencl->cl.clCreateBuffer(device.context, kMemReadWrite | kMemUseHostPtr, memory->size(),
                                             memory->data(), &error);
      TRY_STATUS(Called(error, "buffer"));
    }
    for (const KernelLaunch& launch : problem.launches) {
      if (kernels.contains(launch.kernel)) continue;
      kernels[launch.kernel] = opencl->cl.clCreateKernel(program, launch.kernel.c_str(), &error);
      TRY_STATUS(Called(error, "kernel " + launch.kernel));
    }
    return {};
  }

  Status Enqueue(const Problem& problem, const KernelLaunch& launch) {
    const Handle kernel = kernels.at(launch.kernel);
    for (uint32_t i = 0; i < launch.arguments.size(); ++i) {
      const Datum& datum = problem.data[launch.arguments[i]];
      const void* value =
          datum.buffer ? static_cast<const void*>(&buffers.at(launch.arguments[i])) : datum.value.data();
      TRY_STATUS(
          Called(opencl->cl.clSetKernelArg(kernel, i, datum.bytes, value), "argument of " + launch.kernel));
    }
    const size_t local[] = {launch.block.x, launch.block.y, launch.block.z},
                 global[] = {size_t{launch.grid.x} * local[0], size_t{launch.grid.y} * local[1],
                             size_t{launch.grid.z} * local[2]};
    return Called(opencl->cl.clEnqueueNDRangeKernel(device.queue, kernel, 3, nullptr, global, local, 0,
                                                    nullptr, nullptr),
                  "launch of " + launch.kernel);
  }
};

}  // namespace

Result<std::shared_ptr<const OpenCl>> OpenCl::Open() {
  setenv("POCL_DEVICES", "basic pthread", 0);
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Fail(ErrorCode::kUsage, "OpenCL is not installed (libOpenCL.so.1)");
  auto state = std::make_shared<State>();
  state->cl = TRY(Resolve(library));
  const Functions& cl = state->cl;
  Handle platforms[8], devices[2];
  uint32_t count = 0, found = 0;
  if (cl.clGetPlatformIDs(8, platforms, &count) != 0) count = 0;
  for (uint32_t p = 0; p < std::min(count, 8u); ++p) {
    char name[256] = {};
    cl.clGetPlatformInfo(platforms[p], kPlatformName, sizeof name - 1, name, nullptr);
    if (std::string_view(name) != "Portable Computing Language") continue;
    if (cl.clGetDeviceIDs(platforms[p], kDeviceTypeCpu, 2, devices, &found) != 0) found = 0;
  }
  if (found < 2)
    return Fail(ErrorCode::kUsage, "OpenCL has no PoCL platform with two devices (POCL_DEVICES)");
  for (int i = 0; i < 2; ++i) {
    int32_t error = 0;
    State::Device& device = state->devices[i];
    device.device = devices[i];
    device.context = cl.clCreateContext(nullptr, 1, &devices[i], nullptr, nullptr, &error);
    TRY_STATUS(Called(error, "context"));
    device.queue = cl.clCreateCommandQueue(device.context, devices[i], 0, &error);
    TRY_STATUS(Called(error, "queue"));
  }
  char version[256] = {};
  cl.clGetDeviceInfo(devices[1], kDeviceVersion, sizeof version - 1, version, nullptr);
  state->version = version;
  return std::make_shared<const OpenCl>(std::move(state));
}

std::string OpenCl::version() const { return state_->version; }

Result<Contender> OpenCl::Contend(const Row& row, const Problem& problem, unsigned workers,
                                  const std::string& suite) const {
  auto prepared = std::make_shared<Prepared>(state_, state_->devices[workers == 1 ? 0 : 1]);
  TRY_STATUS(prepared->Build(suite, std::string(row.family)));
  TRY_STATUS(prepared->Find(problem));
  return Contender{Who::kOpenCl, [prepared, &problem]() -> Status {
                     for (const KernelLaunch& launch : problem.launches)
                       TRY_STATUS(prepared->Enqueue(problem, launch));
                     return Called(prepared->opencl->cl.clFinish(prepared->device.queue), "clFinish");
                   }};
}

}  // namespace ptx2cpu::suite
