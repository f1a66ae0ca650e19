// The driver API, found with dlopen as language runtimes do: PTX text, its JIT's log, linking, launches,
// attributes.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/cuda/abi/driver_types.h"

using namespace ptx2cpu::cuda;

namespace {

void* library;

template <typename... Args>
CUresult Call(const char* name, Args... args) {
  auto function = reinterpret_cast<CUresult (*)(Args...)>(dlsym(library, name));
  if (function == nullptr) {
    std::printf("no %s\n", name);
    std::exit(1);
  }
  return function(args...);
}

const char* NameOf(CUresult result) {
  const char* text = "?";
  Call("cuGetErrorName", result, &text);
  return text;
}

template <typename... Args>
void Ok(const char* name, Args... args) {
  const CUresult result = Call(name, args...);
  if (result == CUDA_SUCCESS) return;
  std::printf("%s: %s\n", name, NameOf(result));
  std::exit(1);
}
template <typename... Args>
void Show(const char* name, Args... args) {
  std::printf("%s: %s\n", name, NameOf(Call(name, args...)));
}

constexpr char kPtx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .b32 total;
.visible .const .align 4 .b32 factor = 3;
.visible .entry add(.param .u64 data, .param .u32 count, .param .u32 value) {
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [count];
  ld.param.u32 %r2, [value];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r3, %r3, %r4, %r5;
  setp.ge.u32 %p, %r3, %r1;
  @%p bra done;
  mul.wide.u32 %rd2, %r3, 4;
  add.s64 %rd1, %rd1, %rd2;
  ld.global.u32 %r6, [%rd1];
  ld.const.u32 %r7, [factor];
  mad.lo.s32 %r6, %r6, %r7, %r2;
  st.global.u32 [%rd1], %r6;
  red.global.add.u32 [total], 1;
done:
  ret;
}
)";

constexpr char kCaller[] = R"(
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 result) twice(.param .b32 x);
.visible .entry use(.param .u64 out) {
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, 21;
  {
    .param .b32 a;
    .param .b32 b;
    st.param.b32 [a], %r1;
    call.uni (b), twice, (a);
    ld.param.b32 %r2, [b];
  }
  st.global.u32 [%rd1], %r2;
  ret;
}
)";

constexpr char kCallee[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .func (.param .b32 result) twice(.param .b32 x) {
  .reg .b32 %r<3>;
  ld.param.b32 %r1, [x];
  add.s32 %r2, %r1, %r1;
  st.param.b32 [result], %r2;
  ret;
}
)";

void Modules() {
  CUmodule module;
  CUfunction add;
  CUdeviceptr data, total, factor;
  size_t bytes;
  Ok("cuModuleLoadData", &module, static_cast<const void*>(kPtx));
  Ok("cuModuleGetFunction", &add, module, "add");
  Show("cuModuleGetFunction", &add, module, "nothing");
  Ok("cuModuleGetFunction", &add, module, "add");
  std::vector<int> host(1000, 5);
  Ok("cuMemAlloc_v2", &data, host.size() * 4);
  Ok("cuMemcpyHtoD_v2", data, static_cast<const void*>(host.data()), host.size() * 4);
  int count = 1000, value = 7;
  void* arguments[] = {&data, &count, &value};
  Ok("cuLaunchKernel", add, 8u, 1u, 1u, 128u, 1u, 1u, 0u, CUstream(nullptr), static_cast<void**>(arguments),
     static_cast<void**>(nullptr));
  Ok("cuModuleGetGlobal_v2", &factor, &bytes, module, "factor");
  const int five = 5;
  Ok("cuMemcpyHtoD_v2", factor, static_cast<const void*>(&five), bytes);
  struct {
    CUdeviceptr data;
    int count, value;
  } packed = {data, 500, -1};
  size_t packed_bytes = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &packed_bytes,
                   CU_LAUNCH_PARAM_END};
  Ok("cuLaunchKernel", add, 8u, 1u, 1u, 128u, 1u, 1u, 0u, CUstream(nullptr), static_cast<void**>(nullptr),
     static_cast<void**>(extra));
  Ok("cuCtxSynchronize");
  Ok("cuMemcpyDtoH_v2", static_cast<void*>(host.data()), data, host.size() * 4);
  int launched = 0;
  Ok("cuModuleGetGlobal_v2", &total, &bytes, module, "total");
  Ok("cuMemcpyDtoH_v2", static_cast<void*>(&launched), total, bytes);
  std::printf("first %d, last %d, threads %d\n", host[0], host[999], launched);
  int threads = 0;
  Ok("cuFuncGetAttribute", &threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add);
  std::printf("threads per block %d\n", threads);
  Show("cuLaunchKernel", add, 0u, 1u, 1u, 128u, 1u, 1u, 0u, CUstream(nullptr), static_cast<void**>(arguments),
       static_cast<void**>(nullptr));
  Ok("cuMemFree_v2", data);
  Show("cuMemFree_v2", data);
  Ok("cuModuleUnload", module);
}

void BadPtx() {
  char log[4096] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUmodule module;
  Show("cuModuleLoadDataEx", &module,
       static_cast<const void*>(
           ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { frobnicate.s32 %r1; }\n"),
       2u, options, values);
  std::printf("the log says something: %d\n", std::strlen(log) > 10);
}

void Linking() {
  CUlinkState state;
  void* image;
  size_t bytes;
  Ok("cuLinkCreate_v2", 0u, static_cast<CUjit_option*>(nullptr), static_cast<void**>(nullptr), &state);
  Ok("cuLinkAddData_v2", state, CU_JIT_INPUT_PTX, const_cast<void*>(static_cast<const void*>(kCaller)),
     sizeof kCaller, "caller", 0u, static_cast<CUjit_option*>(nullptr), static_cast<void**>(nullptr));
  Ok("cuLinkAddData_v2", state, CU_JIT_INPUT_PTX, const_cast<void*>(static_cast<const void*>(kCallee)),
     sizeof kCallee, "callee", 0u, static_cast<CUjit_option*>(nullptr), static_cast<void**>(nullptr));
  Ok("cuLinkComplete", state, &image, &bytes);
  CUmodule module;
  CUfunction use;
  CUdeviceptr out;
  int result = 0;
  Ok("cuModuleLoadData", &module, static_cast<const void*>(image));
  Ok("cuLinkDestroy", state);
  Ok("cuModuleGetFunction", &use, module, "use");
  Ok("cuMemAlloc_v2", &out, size_t{4});
  void* arguments[] = {&out};
  Ok("cuLaunchKernel", use, 1u, 1u, 1u, 1u, 1u, 1u, 0u, CUstream(nullptr), static_cast<void**>(arguments),
     static_cast<void**>(nullptr));
  Ok("cuMemcpyDtoH_v2", static_cast<void*>(&result), out, size_t{4});
  std::printf("linked %d\n", result);
}

void EntryPoints() {
  void *two = nullptr, *one = nullptr, *none = &library;
  CUdriverProcAddressQueryResult status;
  Ok("cuGetProcAddress_v2", "cuMemAlloc", &two, 12000, cuuint64_t{0}, &status);
  Ok("cuGetProcAddress_v2", "cuMemAlloc", &one, 2000, cuuint64_t{0}, &status);
  std::printf("versions differ %d, the newer is the exported one %d\n", one != two,
              two == dlsym(library, "cuMemAlloc_v2"));
  const CUresult result = Call("cuGetProcAddress_v2", "cuNothing", &none, 12000, cuuint64_t{0}, &status);
  std::printf("unknown: %s, null %d, status %d\n", NameOf(result), none == nullptr, static_cast<int>(status));
}

}  // namespace

int main() {
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  int count = 0;
  Show("cuDeviceGetCount", &count);
  Ok("cuInit", 0u);
  Ok("cuDeviceGetCount", &count);
  CUdevice device;
  CUcontext context, current;
  Ok("cuDeviceGet", &device, 0);
  CUdeviceptr memory;
  Show("cuMemAlloc_v2", &memory, size_t{4});
  Ok("cuDevicePrimaryCtxRetain", &context, device);
  Ok("cuCtxSetCurrent", context);
  Ok("cuCtxGetCurrent", &current);
  int warp = 0, threads = 0;
  Ok("cuDeviceGetAttribute", &warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device);
  Ok("cuDeviceGetAttribute", &threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device);
  std::printf("devices %d, current %d, warp %d, threads %d\n", count > 0, current == context, warp, threads);
  Modules();
  BadPtx();
  Linking();
  EntryPoints();
  Ok("cuDevicePrimaryCtxRelease_v2", device);
  return 0;
}
