// Launches through libcuda.so.1, as programs do.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "runtime/cuda/abi/driver_types.h"
#include "tools/launch_bench/measure.h"

namespace ptx2cpu::launch_bench {

namespace {

using namespace cuda;

constexpr char kPtx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry count(.param .u64 to) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, %ctaid.x;
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

class Driver {
 public:
  explicit Driver(void* library) : library_(library) {}

  template <typename... Args>
  void Call(const char* name, Args... args) {
    auto function = reinterpret_cast<CUresult (*)(Args...)>(dlsym(library_, name));
    const CUresult result = function == nullptr ? CUDA_ERROR_NOT_FOUND : function(args...);
    if (result == CUDA_SUCCESS) return;
    std::fprintf(stderr, "%s: error %d\n", name, static_cast<int>(result));
    std::exit(1);
  }
  template <typename T>
  T Find(const char* name) {
    return reinterpret_cast<T>(dlsym(library_, name));
  }

  CUfunction nothing = nullptr, count = nullptr;
  CUdeviceptr word = 0;
  CUstream stream = nullptr;
  CUgraphExec graph = nullptr;
  std::vector<CUstream> others;

 private:
  void* library_;
};

void MakeGraph(Driver& driver) {
  CUgraph graph;
  driver.Call("cuStreamBeginCapture_v2", driver.stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  for (unsigned i = 0; i < kGraphNodes; ++i) {
    driver.Call("cuLaunchKernel", driver.nothing, 1u, 1u, 1u, 32u, 1u, 1u, 0u, driver.stream,
                static_cast<void**>(nullptr), static_cast<void**>(nullptr));
  }
  driver.Call("cuStreamEndCapture", driver.stream, &graph);
  driver.Call("cuGraphInstantiateWithFlags", &driver.graph, graph, 0ull);
}

}  // namespace

System OpenDriver(const std::string& file, std::string& why) {
  void* library = dlopen(file.c_str(), RTLD_NOW);
  if (library == nullptr) {
    why = dlerror();
    return {};
  }
  auto driver = std::make_shared<Driver>(library);
  CUcontext context;
  CUmodule module;
  driver->Call("cuInit", 0u);
  driver->Call("cuDevicePrimaryCtxRetain", &context, CUdevice{0});
  driver->Call("cuCtxSetCurrent", context);
  driver->Call("cuModuleLoadData", &module, static_cast<const void*>(kPtx));
  driver->Call("cuModuleGetFunction", &driver->nothing, module, "nothing");
  driver->Call("cuModuleGetFunction", &driver->count, module, "count");
  driver->Call("cuMemAlloc_v2", &driver->word, size_t{4});
  driver->Call("cuStreamCreate", &driver->stream, 1u);
  MakeGraph(*driver);
  using Launch = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, CUstream, void**, void**);
  const auto launch = driver->Find<Launch>("cuLaunchKernel");
  const auto synchronize = driver->Find<CUresult (*)(CUstream)>("cuStreamSynchronize");
  const auto graph = driver->Find<CUresult (*)(CUgraphExec, CUstream)>("cuGraphLaunch");
  System system;
  system.name = "ptx2cpu";
  system.launch = [=] { launch(driver->nothing, 1, 1, 1, 32, 1, 1, 0, driver->stream, nullptr, nullptr); };
  system.finish = [=] { synchronize(driver->stream); };
  system.launch_grid = [=](unsigned blocks) {
    void* arguments[] = {&driver->word};
    launch(driver->count, blocks, 1, 1, 1, 1, 1, 0, driver->stream, arguments, nullptr);
  };
  system.streams = [=](unsigned number) {
    while (driver->others.size() + 1 < number) {
      CUstream other;
      driver->Call("cuStreamCreate", &other, 0u);
      driver->others.push_back(other);
      launch(driver->nothing, 1, 1, 1, 32, 1, 1, 0, other, nullptr, nullptr);
    }
    driver->Call("cuCtxSynchronize");
  };
  system.graph = [=] { graph(driver->graph, driver->stream); };
  return system;
}

}  // namespace ptx2cpu::launch_bench
