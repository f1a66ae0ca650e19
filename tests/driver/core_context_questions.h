// Questions of core_questions.h: initialisation, entry points, devices, contexts.
#pragma once

#include "core_kernels.h"

namespace core_questions {

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
  TELL("before init: error name of 12345", cuGetErrorName(static_cast<CUresult>(12345), &text),
       text == nullptr);
  TELL("before init: proc address", cuGetProcAddress_v2("cuInit", &function, 12000, 0, nullptr),
       function != nullptr);
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
    if (cuDeviceGetAttribute(&number, static_cast<CUdevice_attribute>(i), 0) == CUDA_SUCCESS)
      ++answered;
    else
      last = i;
  }
  TELL("attributes answered of 147, last not", CUDA_SUCCESS, answered, last);
  TELL("peer of itself", cuDeviceCanAccessPeer(&number, 0, 0), number);
  TELL("peer of none", cuDeviceCanAccessPeer(&number, 0, count));
  TELL("peer null", cuDeviceCanAccessPeer(nullptr, 0, 0));
  TELL("peer attribute of itself",
       cuDeviceGetP2PAttribute(&number, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0), number);
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
  TELL("none: kernel attribute",
       cuKernelGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
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

}  // namespace core_questions
