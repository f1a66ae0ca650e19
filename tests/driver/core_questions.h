// Questions to a CUDA driver about what is no memory and no stream: initialisation, devices, contexts, modules, launches.
// The same source asks a real driver (record/record_core_answers.cpp; answers in core_answers.txt) and ours
// (core_answers_test.cpp asks core_asker.cpp, a process per group). The includer brings the driver's names into scope,
// those with version numbers in them. Only what every device answers alike is asked.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace core_questions {

template <typename... Values>
void TellValues(Values... values) {
  ((std::printf(" %lld", static_cast<long long>(values))), ...);
}

inline void TellEnd() {
  std::printf("\n");
  std::fflush(stdout);
}

// Each line: "label: code values". The values are looked at after the call, if it succeeded.
#define TELL(label, call, ...)                                    \
  do {                                                            \
    const CUresult code_ = call;                                  \
    std::printf("%s: %d", label, static_cast<int>(code_));        \
    if (code_ == CUDA_SUCCESS) TellValues(__VA_ARGS__);           \
    TellEnd();                                                    \
  } while (false)

inline constexpr char kPtx[] = R"(.version 7.0
.target sm_70
.address_size 64
.global .align 4 .u32 counter;
.const .align 8 .b8 table[24];
.visible .entry add(.param .u64 p, .param .u32 n, .param .u16 small) {
  .reg .u64 %rd<3>;
  .reg .u32 %r<3>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  atom.global.add.u32 %r2, [%rd1], %r1;
  ret;
}
.visible .entry nothing() { ret; }
.visible .entry bounded() .maxntid 64, 1, 1 { ret; }
.visible .entry required() .reqntid 64, 2, 1 { ret; }
.visible .entry shares() {
  .shared .align 4 .b8 window[1024];
  .reg .u32 %r<2>;
  mov.u32 %r1, window;
  st.shared.u32 [%r1], %r1;
  ret;
}
.visible .entry traps() { trap; }
.visible .entry reads_null() {
  .reg .u64 %rd<2>;
  .reg .u32 %r<2>;
  mov.u64 %rd1, 0;
  ld.global.u32 %r1, [%rd1];
  st.global.u32 [%rd1], %r1;
  ret;
}
)";

inline CUcontext context = nullptr;

inline void Start() {
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
}

struct Kernels {
  CUmodule module = nullptr;
  CUfunction add = nullptr, nothing = nullptr, bounded = nullptr, required = nullptr, shares = nullptr;
  Kernels() {
    Start();
    cuModuleLoadData(&module, kPtx);
    cuModuleGetFunction(&add, module, "add");
    cuModuleGetFunction(&nothing, module, "nothing");
    cuModuleGetFunction(&bounded, module, "bounded");
    cuModuleGetFunction(&required, module, "required");
    cuModuleGetFunction(&shares, module, "shares");
  }
};

inline CUresult Launch(CUfunction function, unsigned grid, unsigned block, unsigned shared = 0, void** parameters = nullptr, void** extra = nullptr) {
  return cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, nullptr, parameters, extra);
}

inline void AskBeforeInit() {
  int number = 0;
  CUdevice device = 0;
  CUcontext current = nullptr;
  CUmodule module = nullptr;
  const char* text = nullptr;
  void* function = nullptr;
  TELL("before init: version", cuDriverGetVersion(&number));
  TELL("before init: version null", cuDriverGetVersion(nullptr));
  TELL("before init: count", cuDeviceGetCount(&number));
  TELL("before init: count null", cuDeviceGetCount(nullptr));
  TELL("before init: device", cuDeviceGet(&device, 0));
  TELL("before init: attribute", cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  TELL("before init: get current", cuCtxGetCurrent(&current));
  TELL("before init: get current null", cuCtxGetCurrent(nullptr));
  TELL("before init: set current null", cuCtxSetCurrent(nullptr));
  TELL("before init: pop", cuCtxPopCurrent_v2(&current));
  TELL("before init: synchronize", cuCtxSynchronize());
  TELL("before init: retain", cuDevicePrimaryCtxRetain(&current, 0));
  TELL("before init: load", cuModuleLoadData(&module, kPtx));
  TELL("before init: load null", cuModuleLoadData(nullptr, kPtx));
  TELL("before init: unload null", cuModuleUnload(nullptr));
  TELL("before init: launch null", Launch(nullptr, 1, 1));
  TELL("before init: error name", cuGetErrorName(CUDA_SUCCESS, &text));
  TELL("before init: error name of 12345", cuGetErrorName(static_cast<CUresult>(12345), &text), text == nullptr);
  TELL("before init: proc address", cuGetProcAddress_v2("cuInit", &function, 12000, 0, nullptr), function != nullptr);
  TELL("init 1", cuInit(1));
  TELL("init", cuInit(0));
  TELL("init again", cuInit(0));
}

inline void AskProcAddress() {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  const auto ask = [&](const char* label, const char* name, int version, unsigned long long flags) {
    function = reinterpret_cast<void*>(1);
    status = static_cast<CUdriverProcAddressQueryResult>(9);
    const CUresult code = cuGetProcAddress_v2(name, &function, version, flags, &status);
    TELL(label, code, function != nullptr, status);
  };
  cuInit(0);
  ask("proc: plain", "cuMemAlloc", 12000, 0);
  ask("proc: with version in the name", "cuMemAlloc_v2", 12000, 0);
  ask("proc: unknown", "cuNothing", 12000, 0);
  ask("proc: empty", "", 12000, 0);
  ask("proc: too early", "cuLaunchKernelEx", 11000, 0);
  ask("proc: legacy", "cuLaunchKernel", 12000, 1);
  ask("proc: per thread", "cuLaunchKernel", 12000, 2);
  ask("proc: both", "cuLaunchKernel", 12000, 3);
  ask("proc: flag 4", "cuLaunchKernel", 12000, 4);
  ask("proc: version 0", "cuInit", 0, 0);
  ask("proc: version -1", "cuInit", -1, 0);
  ask("proc: far version", "cuInit", 99000, 0);
  void *older = nullptr, *newer = nullptr;
  cuGetProcAddress_v2("cuMemAlloc", &older, 3000, 0, nullptr);
  cuGetProcAddress_v2("cuMemAlloc", &newer, 3020, 0, nullptr);
  TELL("proc: two forms differ", CUDA_SUCCESS, older != newer);
  cuGetProcAddress_v2("cuGetProcAddress", &older, 11030, 0, nullptr);
  cuGetProcAddress_v2("cuGetProcAddress", &newer, 12000, 0, nullptr);
  TELL("proc: two forms of itself differ", CUDA_SUCCESS, older != newer);
}

inline void AskDevices() {
  cuInit(0);
  CUdevice device = 77;
  int number = 0, count = 0;
  char name[64] = {};
  size_t bytes = 0;
  CUuuid uuid;
  cuDeviceGetCount(&count);
  TELL("device -1", cuDeviceGet(&device, -1));
  TELL("device count", cuDeviceGet(&device, count));
  TELL("device 0", cuDeviceGet(&device, 0), device);
  TELL("device null", cuDeviceGet(nullptr, 0));
  TELL("device null, none", cuDeviceGet(nullptr, count));
  TELL("name", cuDeviceGetName(name, sizeof name, 0));
  TELL("name of none", cuDeviceGetName(name, sizeof name, count));
  TELL("name null", cuDeviceGetName(nullptr, 10, 0));
  TELL("name length 4", cuDeviceGetName(name, 4, 0), std::strlen(name));
  TELL("uuid null", cuDeviceGetUuid_v2(nullptr, 0));
  TELL("uuid of none", cuDeviceGetUuid_v2(&uuid, count));
  TELL("memory null", cuDeviceTotalMem_v2(nullptr, 0));
  TELL("memory of none", cuDeviceTotalMem_v2(&bytes, count));
  TELL("warp size", cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), number);
  TELL("attribute 0", cuDeviceGetAttribute(&number, static_cast<CUdevice_attribute>(0), 0));
  TELL("attribute 9999", cuDeviceGetAttribute(&number, static_cast<CUdevice_attribute>(9999), 0));
  TELL("attribute -1", cuDeviceGetAttribute(&number, static_cast<CUdevice_attribute>(-1), 0));
  TELL("attribute null", cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  TELL("attribute of none", cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, count));
  int answered = 0, last = 0;
  for (int i = 1; i < 148; ++i) {
    if (cuDeviceGetAttribute(&number, static_cast<CUdevice_attribute>(i), 0) == CUDA_SUCCESS) ++answered;
    else last = i;
  }
  TELL("attributes answered of 147, last not", CUDA_SUCCESS, answered, last);
  TELL("peer of itself", cuDeviceCanAccessPeer(&number, 0, 0), number);
  TELL("peer of none", cuDeviceCanAccessPeer(&number, 0, count));
  TELL("peer null", cuDeviceCanAccessPeer(nullptr, 0, 0));
  TELL("peer attribute of itself", cuDeviceGetP2PAttribute(&number, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0), number);
  TELL("bus id", cuDeviceGetPCIBusId(name, sizeof name, 0), std::strlen(name));
  TELL("by bus id", cuDeviceGetByPCIBusId(&device, name), device);
  TELL("by short bus id", cuDeviceGetByPCIBusId(&device, name + 5));
  TELL("by nonsense", cuDeviceGetByPCIBusId(&device, "nonsense"));
  TELL("by other bus id", cuDeviceGetByPCIBusId(&device, "0000:fe:1f.0"));
  TELL("bus id of length 5", cuDeviceGetPCIBusId(name, 5, 0));
  TELL("affinity", cuDeviceGetExecAffinitySupport(&number, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
  TELL("affinity type 9", cuDeviceGetExecAffinitySupport(&number, static_cast<CUexecAffinityType>(9), 0));
  TELL("linear texture", cuDeviceGetTexture1DLinearMaxWidth(&bytes, CU_AD_FORMAT_FLOAT, 1, 0));
  TELL("linear texture of 3 channels", cuDeviceGetTexture1DLinearMaxWidth(&bytes, CU_AD_FORMAT_FLOAT, 3, 0));
  TELL("linear texture null", cuDeviceGetTexture1DLinearMaxWidth(nullptr, CU_AD_FORMAT_FLOAT, 1, 0));
}

inline void AskWithoutContext() {
  cuInit(0);
  CUdevice device = 77;
  CUcontext current = reinterpret_cast<CUcontext>(1);
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUlinkState link = nullptr;
  CUmoduleLoadingMode mode = CU_MODULE_LAZY_LOADING;
  unsigned flags = 0;
  size_t size = 0;
  int number = 0;
  unsigned long long id = 0;
  TELL("none: current", cuCtxGetCurrent(&current), current == nullptr);
  TELL("none: device", cuCtxGetDevice(&device));
  TELL("none: flags", cuCtxGetFlags(&flags));
  TELL("none: id", cuCtxGetId(nullptr, &id));
  TELL("none: version", cuCtxGetApiVersion(nullptr, &flags));
  TELL("none: limit", cuCtxGetLimit(&size, CU_LIMIT_STACK_SIZE));
  TELL("none: priorities", cuCtxGetStreamPriorityRange(&number, &number));
  TELL("none: synchronize", cuCtxSynchronize());
  TELL("none: pop", cuCtxPopCurrent_v2(&current));
  TELL("none: push null", cuCtxPushCurrent_v2(nullptr));
  TELL("none: set null", cuCtxSetCurrent(nullptr));
  TELL("none: destroy null", cuCtxDestroy_v2(nullptr));
  TELL("none: load", cuModuleLoadData(&module, kPtx));
  TELL("none: load null", cuModuleLoadData(nullptr, kPtx));
  TELL("none: load nothing", cuModuleLoadData(&module, nullptr));
  TELL("none: load file", cuModuleLoad(&module, "/nowhere/at/all.ptx"));
  TELL("none: unload null", cuModuleUnload(nullptr));
  TELL("none: loading mode", cuModuleGetLoadingMode(&mode), mode);
  TELL("none: launch null", Launch(nullptr, 1, 1));
  TELL("none: link", cuLinkCreate_v2(0, nullptr, nullptr, &link));
  TELL("none: profiler start", cuProfilerStart());
  TELL("none: host function", cuLaunchHostFunc(nullptr, nullptr, nullptr));
  TELL("none: library", cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  TELL("none: kernel", cuLibraryGetKernel(&kernel, library, "nothing"));
  TELL("none: kernel attribute", cuKernelGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
  TELL("none: library module", cuLibraryGetModule(&module, library));
}

inline void AskContexts() {
  cuInit(0);
  CUcontext first = nullptr, second = nullptr, current = nullptr;
  unsigned flags = 99;
  int active = 99;
  TELL("create null", cuCtxCreate_v2(nullptr, 0, 0));
  TELL("create flags 3", cuCtxCreate_v2(&first, 3, 0));
  TELL("create flags 0x100", cuCtxCreate_v2(&first, 0x100, 0));
  TELL("create on none", cuCtxCreate_v2(&first, 0, 99));
  TELL("create", cuCtxCreate_v2(&first, CU_CTX_SCHED_YIELD, 0));
  TELL("current after create", cuCtxGetCurrent(&current), current == first);
  TELL("flags", cuCtxGetFlags(&flags), flags & 7);
  TELL("flags null", cuCtxGetFlags(nullptr));
  TELL("create second", cuCtxCreate_v2(&second, 0, 0));
  TELL("current after second", cuCtxGetCurrent(&current), current == second);
  TELL("pop", cuCtxPopCurrent_v2(&current), current == second);
  TELL("current after pop", cuCtxGetCurrent(&current), current == first);
  TELL("push second", cuCtxPushCurrent_v2(second));
  TELL("set first", cuCtxSetCurrent(first));
  TELL("pop after set", cuCtxPopCurrent_v2(&current), current == first);
  TELL("current after that pop", cuCtxGetCurrent(&current), current == first);
  TELL("set null", cuCtxSetCurrent(nullptr));
  TELL("current after set null", cuCtxGetCurrent(&current), current == nullptr);
  TELL("pop empty", cuCtxPopCurrent_v2(&current));
  TELL("set second", cuCtxSetCurrent(second));
  TELL("destroy first, not current", cuCtxDestroy_v2(first));
  TELL("current after it", cuCtxGetCurrent(&current), current == second);
  TELL("destroy second, current", cuCtxDestroy_v2(second));
  TELL("current after it too", cuCtxGetCurrent(&current), current == nullptr);
  unsigned version = 0;
  cuCtxCreate_v2(&first, 0, 0);
  TELL("api version", cuCtxGetApiVersion(first, &version), version);
  TELL("attach flags", cuCtxAttach(&current, 1));
  TELL("attach", cuCtxAttach(&current, 0), current == first);
  TELL("detach", cuCtxDetach(current));
  TELL("current after detach", cuCtxGetCurrent(&current), current == first);
  TELL("detach last", cuCtxDetach(first));
  TELL("current after last", cuCtxGetCurrent(&current), current == nullptr);
  TELL("primary state", cuDevicePrimaryCtxGetState(0, &flags, &active), flags, active);
  TELL("primary state null", cuDevicePrimaryCtxGetState(0, nullptr, &active));
  TELL("primary state of none", cuDevicePrimaryCtxGetState(99, &flags, &active));
  TELL("primary release", cuDevicePrimaryCtxRelease_v2(0));
  TELL("primary set flags", cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_SPIN));
  TELL("primary set flags 3", cuDevicePrimaryCtxSetFlags_v2(0, 3));
  TELL("primary state after flags", cuDevicePrimaryCtxGetState(0, &flags, &active), flags & 7, active);
  TELL("primary retain null", cuDevicePrimaryCtxRetain(nullptr, 0));
  TELL("primary retain", cuDevicePrimaryCtxRetain(&first, 0));
  TELL("primary retain again", cuDevicePrimaryCtxRetain(&second, 0), first == second);
  TELL("primary is not current", cuCtxGetCurrent(&current), current == nullptr);
  TELL("primary state active", cuDevicePrimaryCtxGetState(0, &flags, &active), flags & 7, active);
  TELL("primary set flags active", cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_YIELD));
  TELL("primary destroy", cuCtxDestroy_v2(first));
  TELL("primary set current", cuCtxSetCurrent(first));
  TELL("primary release 1", cuDevicePrimaryCtxRelease_v2(0));
  TELL("synchronize", cuCtxSynchronize());
  TELL("primary release 2", cuDevicePrimaryCtxRelease_v2(0));
  TELL("primary state released", cuDevicePrimaryCtxGetState(0, &flags, &active), active);
  TELL("current is kept", cuCtxGetCurrent(&current), current == first);
  TELL("synchronize released", cuCtxSynchronize());
  TELL("primary release 3", cuDevicePrimaryCtxRelease_v2(0));
  TELL("primary retain anew", cuDevicePrimaryCtxRetain(&second, 0), first == second);
  TELL("synchronize anew", cuCtxSynchronize());
  TELL("primary reset", cuDevicePrimaryCtxReset_v2(0));
  TELL("primary state reset", cuDevicePrimaryCtxGetState(0, &flags, &active), active);
  TELL("synchronize reset", cuCtxSynchronize());
  TELL("primary release after reset", cuDevicePrimaryCtxRelease_v2(0));
}

inline void AskContextSettings() {
  Start();
  size_t size = 0;
  int least = 0, greatest = 0;
  CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
  CUsharedconfig shared = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
  CUexecAffinityParam affinity;
  CUdevice device = 9;
  for (int limit = -1; limit <= 12; ++limit) {
    const std::string label = "limit " + std::to_string(limit);
    TELL(label.c_str(), cuCtxGetLimit(&size, static_cast<CUlimit>(limit)), size);
  }
  TELL("limit null", cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE));
  TELL("set stack", cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
  TELL("get stack", cuCtxGetLimit(&size, CU_LIMIT_STACK_SIZE), size);
  TELL("set heap", cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 64 << 20));
  TELL("get heap", cuCtxGetLimit(&size, CU_LIMIT_MALLOC_HEAP_SIZE), size);
  TELL("set limit 12", cuCtxSetLimit(static_cast<CUlimit>(12), 1));
  TELL("priorities", cuCtxGetStreamPriorityRange(&least, &greatest), least, greatest);
  TELL("priorities null", cuCtxGetStreamPriorityRange(nullptr, nullptr));
  TELL("cache", cuCtxGetCacheConfig(&cache), cache);
  TELL("set cache", cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
  TELL("cache after", cuCtxGetCacheConfig(&cache), cache);
  TELL("set cache 9", cuCtxSetCacheConfig(static_cast<CUfunc_cache>(9)));
  TELL("shared", cuCtxGetSharedMemConfig(&shared), shared);
  TELL("set shared", cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
  TELL("shared after", cuCtxGetSharedMemConfig(&shared), shared);
  TELL("device", cuCtxGetDevice(&device), device);
  TELL("device null", cuCtxGetDevice(nullptr));
  TELL("set flags", cuCtxSetFlags(CU_CTX_SCHED_YIELD));
  TELL("set flags 3", cuCtxSetFlags(3));
  TELL("affinity", cuCtxGetExecAffinity(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
  TELL("reset persisting", cuCtxResetPersistingL2Cache());
  TELL("profiler start", cuProfilerStart());
  TELL("profiler stop", cuProfilerStop());
}

inline void AskModules() {
  Start();
  CUmodule module = nullptr;
  CUfunction function = nullptr, again = nullptr;
  CUdeviceptr address = 0;
  size_t size = 0, offset = 0;
  unsigned count = 0;
  const char* name = nullptr;
  const std::string broken = std::string(kPtx) + ".visible .entry broken() { add.u32 %nothing, 1; }\n";
  const std::string unknown = std::string(kPtx) + ".visible .entry odd() { nosuch.u32; }\n";
  char log[4096] = "untouched";
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_WALL_TIME};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log), nullptr};
  CUjit_option bad_name = static_cast<CUjit_option>(999);
  TELL("load null", cuModuleLoadData(nullptr, kPtx));
  TELL("load nothing", cuModuleLoadData(&module, nullptr));
  TELL("load garbage", cuModuleLoadData(&module, "this is no PTX at all, whatever one may think of it"));
  TELL("load empty", cuModuleLoadData(&module, "\0\0\0\0\0\0\0\0"));
  TELL("load broken", cuModuleLoadData(&module, broken.c_str()));
  TELL("load unknown instruction", cuModuleLoadData(&module, unknown.c_str()));
  TELL("load broken, log", cuModuleLoadDataEx(&module, broken.c_str(), 3, names, values));
  TELL("log is written", CUDA_SUCCESS, std::strlen(log) > 10, std::strcmp(log, "untouched") != 0);
  TELL("load option 999", cuModuleLoadDataEx(&module, kPtx, 1, &bad_name, values));
  TELL("load file", cuModuleLoad(&module, "/nowhere/at/all.ptx"));
  TELL("load file null", cuModuleLoad(&module, nullptr));
  TELL("load", cuModuleLoadData(&module, kPtx));
  TELL("function count", cuModuleGetFunctionCount(&count, module), count);
  TELL("function null", cuModuleGetFunction(nullptr, module, "add"));
  TELL("function no name", cuModuleGetFunction(&function, module, nullptr));
  TELL("function empty", cuModuleGetFunction(&function, module, ""));
  TELL("function missing", cuModuleGetFunction(&function, module, "missing"));
  TELL("function of variable", cuModuleGetFunction(&function, module, "counter"));
  TELL("function of no module", cuModuleGetFunction(&function, nullptr, "add"));
  TELL("function", cuModuleGetFunction(&function, module, "add"));
  TELL("function again", cuModuleGetFunction(&again, module, "add"), function == again);
  TELL("global", cuModuleGetGlobal_v2(&address, &size, module, "counter"), size, address != 0);
  TELL("global constant", cuModuleGetGlobal_v2(&address, &size, module, "table"), size);
  TELL("global size only", cuModuleGetGlobal_v2(nullptr, &size, module, "table"), size);
  TELL("global neither", cuModuleGetGlobal_v2(nullptr, nullptr, module, "table"));
  TELL("global missing", cuModuleGetGlobal_v2(&address, &size, module, "missing"));
  TELL("global of function", cuModuleGetGlobal_v2(&address, &size, module, "add"));
  TELL("global no name", cuModuleGetGlobal_v2(&address, &size, module, nullptr));
  TELL("name", cuFuncGetName(&name, function), std::strcmp(name, "add"));
  TELL("name null", cuFuncGetName(nullptr, function));
  TELL("parameter 0", cuFuncGetParamInfo(function, 0, &offset, &size), offset, size);
  TELL("parameter 1", cuFuncGetParamInfo(function, 1, &offset, &size), offset, size);
  TELL("parameter 2", cuFuncGetParamInfo(function, 2, &offset, &size), offset, size);
  TELL("parameter 3", cuFuncGetParamInfo(function, 3, &offset, &size));
  TELL("parameter null", cuFuncGetParamInfo(function, 0, nullptr, &size));
  TELL("parameter without size", cuFuncGetParamInfo(function, 1, &offset, nullptr), offset);
  CUmodule back = nullptr;
  TELL("module of function", cuFuncGetModule(&back, function), back == module);
  TELL("unload", cuModuleUnload(module));
  TELL("unload null", cuModuleUnload(nullptr));
}

inline void AskLibraries() {
  Start();
  CUlibrary library = nullptr, owner = nullptr;
  CUkernel kernel = nullptr, again = nullptr, many[16] = {};
  CUfunction function = nullptr;
  CUmodule module = nullptr;
  CUdeviceptr address = 0;
  size_t size = 0, offset = 0;
  unsigned count = 0;
  int number = 0;
  const char* name = nullptr;
  TELL("library null", cuLibraryLoadData(nullptr, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  TELL("library nothing", cuLibraryLoadData(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0));
  TELL("library garbage", cuLibraryLoadData(&library, "no PTX, no cubin, nothing to see here", nullptr, nullptr, 0, nullptr, nullptr, 0));
  TELL("library file", cuLibraryLoadFromFile(&library, "/nowhere/at/all", nullptr, nullptr, 0, nullptr, nullptr, 0));
  TELL("library", cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  TELL("kernel missing", cuLibraryGetKernel(&kernel, library, "missing"));
  TELL("kernel null", cuLibraryGetKernel(nullptr, library, "add"));
  TELL("kernel", cuLibraryGetKernel(&kernel, library, "add"));
  TELL("kernel again", cuLibraryGetKernel(&again, library, "add"), kernel == again);
  TELL("kernel count", cuLibraryGetKernelCount(&count, library), count);
  TELL("enumerate", cuLibraryEnumerateKernels(many, 16, library));
  TELL("enumerate none", cuLibraryEnumerateKernels(many, 0, library));
  TELL("function", cuKernelGetFunction(&function, kernel), function != nullptr);
  TELL("library of kernel", cuKernelGetLibrary(&owner, kernel), owner == library);
  TELL("kernel name", cuKernelGetName(&name, kernel), std::strcmp(name, "add"));
  TELL("kernel parameter 2", cuKernelGetParamInfo(kernel, 2, &offset, &size), offset, size);
  TELL("kernel parameter 3", cuKernelGetParamInfo(kernel, 3, &offset, &size));
  TELL("kernel attribute", cuKernelGetAttribute(&number, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, 0), number);
  TELL("kernel attribute of none", cuKernelGetAttribute(&number, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, 99));
  TELL("kernel set attribute", cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536, kernel, 0));
  TELL("kernel attribute after", cuKernelGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0), number);
  TELL("global", cuLibraryGetGlobal(&address, &size, library, "counter"), size);
  TELL("global missing", cuLibraryGetGlobal(&address, &size, library, "missing"));
  TELL("managed missing", cuLibraryGetManaged(&address, &size, library, "counter"));
  TELL("unified missing", cuLibraryGetUnifiedFunction(reinterpret_cast<void**>(&address), library, "add"));
  TELL("module", cuLibraryGetModule(&module, library));
  TELL("unload its module", cuModuleUnload(module));
  TELL("launch kernel", cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 0, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  TELL("attribute by kernel as function", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, reinterpret_cast<CUfunction>(kernel)));
  TELL("unload", cuLibraryUnload(library));
  TELL("unload null", cuLibraryUnload(nullptr));
}

inline void AskFunctionSettings() {
  Kernels k;
  int number = 0;
  size_t size = 0;
  TELL("max threads", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k.nothing), number);
  TELL("max threads bounded", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k.bounded), number);
  TELL("max threads required", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k.required), number);
  TELL("static shared", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, k.shares), number);
  TELL("ptx version", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_PTX_VERSION, k.nothing), number);
  TELL("max dynamic", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k.nothing), number);
  TELL("max dynamic of shares", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k.shares), number);
  TELL("carveout", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, k.nothing), number);
  TELL("cluster must be set", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, k.nothing), number);
  TELL("cluster width", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, k.nothing), number);
  TELL("non portable", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, k.nothing), number);
  TELL("attribute 16", cuFuncGetAttribute(&number, static_cast<CUfunction_attribute>(16), k.nothing));
  TELL("attribute -1", cuFuncGetAttribute(&number, static_cast<CUfunction_attribute>(-1), k.nothing));
  TELL("attribute null", cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k.nothing));
  TELL("attribute of null", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, nullptr));
  TELL("set max threads", cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 10));
  TELL("set max dynamic 96K", cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 96 << 10));
  TELL("set max dynamic 1", cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1));
  TELL("max dynamic now", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k.nothing), number);
  TELL("set max dynamic -1", cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1));
  TELL("set max dynamic 1M", cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20));
  TELL("set max dynamic full", cuFuncSetAttribute(k.shares, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448 - 1024));
  TELL("set max dynamic full and 1", cuFuncSetAttribute(k.shares, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448 - 1023));
  TELL("set carveout 50", cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
  TELL("set carveout 101", cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101));
  TELL("set carveout -2", cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -2));
  TELL("set cache", cuFuncSetCacheConfig(k.nothing, CU_FUNC_CACHE_PREFER_L1));
  TELL("set cache 9", cuFuncSetCacheConfig(k.nothing, static_cast<CUfunc_cache>(9)));
  TELL("occupancy", cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, k.nothing, 1024, 0), number);
  TELL("occupancy 0 threads", cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, k.nothing, 0, 0));
  TELL("occupancy 2000 threads", cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, k.nothing, 2000, 0), number);
  TELL("occupancy bounded", cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, k.bounded, 128, 0), number);
  TELL("occupancy too much shared", cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, k.add, 32, 100 << 10), number);
  TELL("occupancy null", cuOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, k.nothing, 32, 0));
  TELL("occupancy flags 2", cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&number, k.nothing, 32, 0, 2));
  cuFuncSetAttribute(k.add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10);
  TELL("occupancy of 100K opted in", cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, k.add, 32, 100 << 10), number);
  int grid = 0, block = 0;
  TELL("potential", cuOccupancyMaxPotentialBlockSize(&grid, &block, k.nothing, nullptr, 0, 0), block);
  TELL("potential of bounded", cuOccupancyMaxPotentialBlockSize(&grid, &block, k.bounded, nullptr, 0, 0), block);
  TELL("potential up to 100", cuOccupancyMaxPotentialBlockSize(&grid, &block, k.nothing, nullptr, 0, 100), block);
  TELL("available shared", cuOccupancyAvailableDynamicSMemPerBlock(&size, k.nothing, 1, 1024));
  TELL("available shared of 0 blocks", cuOccupancyAvailableDynamicSMemPerBlock(&size, k.nothing, 0, 1024));
}

inline void AskLaunches() {
  Kernels k;
  CUdeviceptr address = 0;
  size_t bytes = 0;
  cuModuleGetGlobal_v2(&address, &bytes, k.module, "counter");
  unsigned n = 3;
  unsigned short small = 1;
  void* parameters[] = {&address, &n, &small};
  struct {
    CUdeviceptr p;
    unsigned n;
    unsigned short small;
  } buffer = {address, 3, 1};
  size_t size = 14;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  void* no_size[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_END};
  void* odd[] = {reinterpret_cast<void*>(77), &buffer, CU_LAUNCH_PARAM_END};
  TELL("launch null", Launch(nullptr, 1, 1));
  TELL("launch nothing", Launch(k.nothing, 1, 1));
  TELL("launch nothing with parameters", Launch(k.nothing, 1, 1, 0, parameters));
  TELL("launch parameters", Launch(k.add, 1, 1, 0, parameters));
  TELL("launch buffer", Launch(k.add, 1, 1, 0, nullptr, extra));
  size = 16;
  TELL("launch buffer of 16", Launch(k.add, 1, 1, 0, nullptr, extra));
  size = 13;
  TELL("launch buffer of 13", Launch(k.add, 1, 1, 0, nullptr, extra));
  size = 14;
  TELL("launch buffer without size", Launch(k.add, 1, 1, 0, nullptr, no_size));
  TELL("launch odd extra", Launch(k.add, 1, 1, 0, nullptr, odd));
  TELL("launch both", Launch(k.add, 1, 1, 0, parameters, extra));
  TELL("launch neither", Launch(k.add, 1, 1));
  TELL("grid 0", Launch(k.nothing, 0, 1));
  TELL("grid y 65535", cuLaunchKernel(k.nothing, 1, 65535, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  TELL("grid y 65536", cuLaunchKernel(k.nothing, 1, 65536, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  TELL("grid x 2^31", cuLaunchKernel(k.nothing, 0x80000000u, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  TELL("block 0", Launch(k.nothing, 1, 0));
  TELL("block 1024", Launch(k.nothing, 1, 1024));
  TELL("block 1025", Launch(k.nothing, 1, 1025));
  TELL("block z 65", cuLaunchKernel(k.nothing, 1, 1, 1, 1, 1, 65, 0, nullptr, nullptr, nullptr));
  TELL("bounded 64", Launch(k.bounded, 1, 64));
  TELL("bounded 65", Launch(k.bounded, 1, 65));
  TELL("bounded y 64", cuLaunchKernel(k.bounded, 1, 1, 1, 1, 64, 1, 0, nullptr, nullptr, nullptr));
  TELL("required", cuLaunchKernel(k.required, 1, 1, 1, 64, 2, 1, 0, nullptr, nullptr, nullptr));
  TELL("required other", cuLaunchKernel(k.required, 1, 1, 1, 128, 1, 1, 0, nullptr, nullptr, nullptr));
  TELL("required 1", cuLaunchKernel(k.required, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  TELL("shared 48K", Launch(k.nothing, 1, 1, 48 << 10));
  TELL("shared 48K and 1", Launch(k.nothing, 1, 1, (48 << 10) + 1));
  TELL("shared 47K beside 1K", Launch(k.shares, 1, 1, 47 << 10));
  TELL("shared 48K beside 1K", Launch(k.shares, 1, 1, 48 << 10));
  TELL("cooperative", cuLaunchCooperativeKernel(k.nothing, 2, 1, 1, 32, 1, 1, 0, nullptr, nullptr));
  TELL("cooperative too large", cuLaunchCooperativeKernel(k.nothing, 10000000, 1, 1, 1024, 1, 1, 0, nullptr, nullptr));
  TELL("host function null", cuLaunchHostFunc(nullptr, nullptr, nullptr));
  unsigned value = 0;
  cuCtxSynchronize();
  cuMemcpyDtoH_v2(&value, address, 4);
  TELL("sum", CUDA_SUCCESS, value);
  TELL("legacy: shape", cuFuncSetBlockShape(k.add, 2, 1, 1));
  TELL("legacy: shape 0", cuFuncSetBlockShape(k.add, 0, 1, 1));
  TELL("legacy: parameter v", cuParamSetv(k.add, 0, &address, sizeof address));
  TELL("legacy: parameter i", cuParamSeti(k.add, 8, 5));
  TELL("legacy: size", cuParamSetSize(k.add, 14));
  TELL("legacy: shared", cuFuncSetSharedSize(k.add, 0));
  TELL("legacy: launch", cuLaunch(k.add));
  TELL("legacy: grid", cuLaunchGrid(k.add, 2, 1));
  TELL("legacy: grid 0", cuLaunchGrid(k.add, 0, 1));
  cuCtxSynchronize();
  cuMemcpyDtoH_v2(&value, address, 4);
  TELL("legacy: sum", CUDA_SUCCESS, value);
}

inline void AskLaunchAttributes() {
  Kernels k;
  CUlaunchAttribute attributes[2] = {};
  CUlaunchConfig config = {};
  config.gridDimX = 8;
  config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.attrs = attributes;
  const auto launch = [&] { return cuLaunchKernelEx(&config, k.nothing, nullptr, nullptr); };
  TELL("ex null", cuLaunchKernelEx(nullptr, k.nothing, nullptr, nullptr));
  TELL("ex", launch());
  config.numAttrs = 1;
  config.attrs = nullptr;
  TELL("ex without attributes", launch());
  config.attrs = attributes;
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_IGNORE;
  TELL("ex ignore", launch());
  attributes[0].id = static_cast<CUlaunchAttributeID>(500);
  TELL("ex attribute 500", launch());
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  const auto cluster = [&](unsigned x, unsigned y, unsigned z) {
    attributes[0].value.clusterDim.x = x;
    attributes[0].value.clusterDim.y = y;
    attributes[0].value.clusterDim.z = z;
    return launch();
  };
  TELL("cluster 2", cluster(2, 1, 1));
  TELL("cluster 8", cluster(8, 1, 1));
  TELL("cluster 3", cluster(3, 1, 1));
  TELL("cluster 0", cluster(0, 1, 1));
  TELL("cluster y 2", cluster(1, 2, 1));
  config.gridDimX = 32;
  TELL("cluster 16", cluster(16, 1, 1));
  TELL("cluster 32", cluster(32, 1, 1));
  TELL("allow 16", cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  TELL("cluster 16 allowed", cluster(16, 1, 1));
  int clusters = 0, size = 0;
  cluster(2, 1, 1);
  config.blockDimX = 128;
  TELL("max cluster", cuOccupancyMaxPotentialClusterSize(&size, k.nothing, &config), size);
  TELL("active clusters", cuOccupancyMaxActiveClusters(&clusters, k.nothing, &config), clusters > 0);
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[0].value.priority = -1;
  TELL("ex priority", launch());
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attributes[0].value.cooperative = 1;
  TELL("ex cooperative", launch());
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attributes[0].value.programmaticStreamSerializationAllowed = 1;
  TELL("ex early start", launch());
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
  attributes[0].value.sharedMemCarveout = 50;
  TELL("ex carveout", launch());
  TELL("synchronize", cuCtxSynchronize());
}

inline void AskLinks() {
  Start();
  static char caller[] = ".version 7.0\n.target sm_70\n.address_size 64\n.extern .func (.param .u32 r) twice(.param .u32 a);\n.extern .global .u32 shared_counter;\n"
                         ".visible .entry calls() {\n.reg .u32 %r<3>;\n.reg .u64 %rd<2>;\n{ .param .u32 a; .param .u32 r; st.param.u32 [a], 21; call (r), twice, (a); ld.param.u32 %r1, [r]; }\n"
                         "mov.u64 %rd1, shared_counter;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
  static char callee[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .u32 shared_counter;\n.visible .func (.param .u32 r) twice(.param .u32 a) {\n.reg .u32 %r<3>;\n"
                         "ld.param.u32 %r1, [a];\nadd.u32 %r2, %r1, %r1;\nst.param.u32 [r], %r2;\nret;\n}\n";
  CUlinkState state = nullptr;
  void* image = nullptr;
  size_t size = 0;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr address = 0;
  TELL("link null", cuLinkCreate_v2(0, nullptr, nullptr, nullptr));
  TELL("link", cuLinkCreate_v2(0, nullptr, nullptr, &state));
  TELL("link complete empty", cuLinkComplete(state, &image, &size));
  TELL("link add null", cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, nullptr, 10, "a", 0, nullptr, nullptr));
  TELL("link add size 0", cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, caller, 0, "a", 0, nullptr, nullptr));
  TELL("link add type 99", cuLinkAddData_v2(state, static_cast<CUjitInputType>(99), caller, sizeof caller, "a", 0, nullptr, nullptr));
  TELL("link add file", cuLinkAddFile_v2(state, CU_JIT_INPUT_PTX, "/nowhere/at/all", 0, nullptr, nullptr));
  TELL("link destroy", cuLinkDestroy(state));
  TELL("link unresolved", cuLinkCreate_v2(0, nullptr, nullptr, &state));
  TELL("link add caller", cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, caller, sizeof caller, "caller", 0, nullptr, nullptr));
  TELL("link complete unresolved", cuLinkComplete(state, &image, &size));
  TELL("link destroy unresolved", cuLinkDestroy(state));
  TELL("link again", cuLinkCreate_v2(0, nullptr, nullptr, &state));
  TELL("link add caller again", cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, caller, sizeof caller, nullptr, 0, nullptr, nullptr));
  TELL("link add callee", cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, callee, sizeof callee, "callee", 0, nullptr, nullptr));
  TELL("link complete", cuLinkComplete(state, &image, &size), image != nullptr, size > 0);
  TELL("link load", cuModuleLoadData(&module, image));
  TELL("link destroy after", cuLinkDestroy(state));
  TELL("link function", cuModuleGetFunction(&function, module, "calls"));
  TELL("link launch", Launch(function, 1, 1));
  cuModuleGetGlobal_v2(&address, &size, module, "shared_counter");
  unsigned value = 0;
  TELL("link result", cuMemcpyDtoH_v2(&value, address, 4), value);
}

// What is said after a kernel has faulted.
inline void AskAfterFault(const char* kernel) {
  Kernels k;
  CUfunction faults = nullptr;
  cuModuleGetFunction(&faults, k.module, kernel);
  const std::string head = std::string(kernel) + ": ";
  const auto tell = [&](const char* label, CUresult code) { TELL((head + label).c_str(), code); };
  int number = 0;
  CUdeviceptr memory = 0;
  CUcontext current = nullptr;
  CUmodule module = nullptr;
  size_t size = 0;
  CUdevice device = 0;
  tell("launch", Launch(faults, 1, 32));
  tell("synchronize", cuCtxSynchronize());
  tell("synchronize again", cuCtxSynchronize());
  tell("launch after", Launch(k.nothing, 1, 1));
  tell("launch null after", Launch(nullptr, 1, 1));
  tell("allocate after", cuMemAlloc_v2(&memory, 16));
  tell("load after", cuModuleLoadData(&module, kPtx));
  tell("function after", cuModuleGetFunction(&faults, k.module, "add"));
  tell("attribute after", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k.nothing));
  tell("device attribute after", cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  tell("current after", cuCtxGetCurrent(&current));
  tell("device after", cuCtxGetDevice(&device));
  tell("limit after", cuCtxGetLimit(&size, CU_LIMIT_STACK_SIZE));
  tell("unload after", cuModuleUnload(k.module));
  tell("create after", cuCtxCreate_v2(&current, 0, 0));
  tell("synchronize in another", cuCtxSynchronize());
  tell("reset", cuDevicePrimaryCtxReset_v2(0));
  tell("retain after reset", cuDevicePrimaryCtxRetain(&current, 0));
  cuCtxSetCurrent(current);
  tell("synchronize after reset", cuCtxSynchronize());
  tell("load after reset", cuModuleLoadData(&module, kPtx));
}

inline void AskAfterTrap() { AskAfterFault("traps"); }
inline void AskAfterNull() { AskAfterFault("reads_null"); }

inline constexpr std::pair<const char*, void (*)()> kGroups[] = {
    {"before_init", AskBeforeInit},     {"proc_address", AskProcAddress},           {"devices", AskDevices},
    {"without_context", AskWithoutContext}, {"contexts", AskContexts},              {"context_settings", AskContextSettings},
    {"modules", AskModules},            {"libraries", AskLibraries},                {"function_settings", AskFunctionSettings},
    {"launches", AskLaunches},          {"launch_attributes", AskLaunchAttributes}, {"links", AskLinks},
    {"after_trap", AskAfterTrap},       {"after_null", AskAfterNull}};

// Asks one group.
inline int Main(int argc, char** argv) {
  for (const auto& [name, ask] : kGroups) {
    if (argc != 2 || std::strcmp(argv[1], name) != 0) continue;
    ask();
    return 0;
  }
  return 2;
}

}  // namespace core_questions
