// The same launches through OpenCL, on the CPU device of whatever implementation is installed (PoCL). The few
// functions that are needed are declared here, as the OpenCL 1.2 specification has them.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "tools/launch_bench/measure.h"

namespace ptx2cpu::launch_bench {

namespace {

using Handle = void*;
constexpr uint64_t kCpuDevice = 1u << 1, kReadWrite = 1;
constexpr uint32_t kPlatformName = 0x0902;

constexpr char kSource[] =
    "kernel void nothing() {}\n"
    "kernel void count(global uint* to) { *to = get_group_id(0); }\n";

struct OpenCl {
  Handle queue = nullptr, nothing = nullptr, count = nullptr;
  int (*enqueue)(Handle, Handle, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t,
                 const Handle*, Handle*) = nullptr;
  int (*finish)(Handle) = nullptr;
  int (*flush)(Handle) = nullptr;
};

void Check(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "%s: OpenCL error %d\n", what, code);
  std::exit(1);
}

template <typename T>
T Find(void* library, const char* name) {
  return reinterpret_cast<T>(dlsym(library, name));
}

}  // namespace

System OpenOpenCl(std::string& why) {
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW);
  if (library == nullptr) {
    why = dlerror();
    return {};
  }
  Handle platform = nullptr, device = nullptr;
  uint32_t number = 0;
  int code = 0;
  const auto platforms = Find<int (*)(uint32_t, Handle*, uint32_t*)>(library, "clGetPlatformIDs");
  const auto devices =
      Find<int (*)(Handle, uint64_t, uint32_t, Handle*, uint32_t*)>(library, "clGetDeviceIDs");
  if (platforms(1, &platform, &number) != 0 || devices(platform, kCpuDevice, 1, &device, &number) != 0) {
    why = "no OpenCL implementation has a CPU device";
    return {};
  }
  auto cl = std::make_shared<OpenCl>();
  Handle context = Find<Handle (*)(const void*, uint32_t, const Handle*, void*, void*, int*)>(
      library, "clCreateContext")(nullptr, 1, &device, nullptr, nullptr, &code);
  Check(code, "clCreateContext");
  cl->queue = Find<Handle (*)(Handle, Handle, uint64_t, int*)>(library, "clCreateCommandQueue")(
      context, device, 0, &code);
  Check(code, "clCreateCommandQueue");
  const char* source = kSource;
  Handle program = Find<Handle (*)(Handle, uint32_t, const char**, const size_t*, int*)>(
      library, "clCreateProgramWithSource")(context, 1, &source, nullptr, &code);
  Check(code, "clCreateProgramWithSource");
  Check(Find<int (*)(Handle, uint32_t, const Handle*, const char*, void*, void*)>(library, "clBuildProgram")(
            program, 1, &device, "", nullptr, nullptr),
        "clBuildProgram");
  const auto kernel = Find<Handle (*)(Handle, const char*, int*)>(library, "clCreateKernel");
  cl->nothing = kernel(program, "nothing", &code);
  cl->count = kernel(program, "count", &code);
  Handle buffer = Find<Handle (*)(Handle, uint64_t, size_t, void*, int*)>(library, "clCreateBuffer")(
      context, kReadWrite, 4, nullptr, &code);
  Check(Find<int (*)(Handle, uint32_t, size_t, const void*)>(library, "clSetKernelArg")(
            cl->count, 0, sizeof buffer, &buffer),
        "clSetKernelArg");
  cl->enqueue = Find<decltype(cl->enqueue)>(library, "clEnqueueNDRangeKernel");
  cl->finish = Find<int (*)(Handle)>(library, "clFinish");
  cl->flush = Find<int (*)(Handle)>(library, "clFlush");
  char name[256] = "OpenCL";
  Find<int (*)(Handle, uint32_t, size_t, void*, size_t*)>(library, "clGetPlatformInfo")(
      platform, kPlatformName, sizeof name, name, nullptr);
  System system;
  system.name = name;
  system.launch = [cl] {
    const size_t size = 32;
    Check(cl->enqueue(cl->queue, cl->nothing, 1, nullptr, &size, &size, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
    cl->flush(cl->queue);
  };
  system.finish = [cl] { cl->finish(cl->queue); };
  system.launch_grid = [cl](unsigned blocks) {
    const size_t global = blocks, local = 1;
    Check(cl->enqueue(cl->queue, cl->count, 1, nullptr, &global, &local, 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  };
  return system;
}

}  // namespace ptx2cpu::launch_bench
