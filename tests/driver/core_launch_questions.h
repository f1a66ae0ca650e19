// Questions of core_questions.h: launches, and the results after a fault.
#pragma once

#include "core_kernels.h"

namespace core_questions {

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
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
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
  TELL("cooperative too large",
       cuLaunchCooperativeKernel(k.nothing, 10000000, 1, 1, 1024, 1, 1, 0, nullptr, nullptr));
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

// The results after a kernel has faulted.
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

}  // namespace core_questions
