// Attributes of kernels, read and set, and how many of their blocks fit.
#include "cudart_api.h"
#include "runtime/cuda/cudart/context.h"
#include "runtime/cuda/cudart/registration.h"

namespace ptx2cpu::cudart {

namespace {

// Finds the function in this thread's context and calls `call(function)`.
template <typename Body>
cudaError_t WithFunction(const void* func, const Body& call) {
  if (const cudaError_t error = Begin()) return error;
  CUfunction function;
  if (const cudaError_t error = FunctionOf(func, function)) return error;
  return FromDriver(call(function));
}

template <typename T>
CUresult Get(CUfunction function, CUfunction_attribute attribute, T& value) {
  int number = 0;
  const CUresult result = driver::cuFuncGetAttribute(&number, attribute, function);
  value = static_cast<T>(number);
  return result;
}

template <typename Attributes>
CUresult GetCommon(CUfunction function, Attributes& attributes) {
  const struct {
    CUfunction_attribute attribute;
    int* number;
  } numbers[] = {
      {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &attributes.maxThreadsPerBlock},
      {CU_FUNC_ATTRIBUTE_NUM_REGS, &attributes.numRegs},
      {CU_FUNC_ATTRIBUTE_PTX_VERSION, &attributes.ptxVersion},
      {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &attributes.binaryVersion},
      {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &attributes.cacheModeCA},
      {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &attributes.maxDynamicSharedSizeBytes},
      {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &attributes.preferredShmemCarveout},
  };
  for (const auto& [attribute, number] : numbers) {
    if (const CUresult error = Get(function, attribute, *number)) return error;
  }
  if (const CUresult error = Get(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, attributes.sharedSizeBytes))
    return error;
  if (const CUresult error = Get(function, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, attributes.constSizeBytes))
    return error;
  return Get(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, attributes.localSizeBytes);
}

}  // namespace

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes11* attr, const void* func) {
  if (attr == nullptr) return cudaErrorInvalidValue;
  return WithFunction(func, [&](CUfunction function) { return GetCommon(function, *attr); });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attr, const void* func) {
  if (attr == nullptr) return cudaErrorInvalidValue;
  return WithFunction(func, [&](CUfunction function) {
    *attr = {};
    if (const CUresult error = GetCommon(function, *attr)) return error;
    const struct {
      CUfunction_attribute attribute;
      int* number;
    } numbers[] = {
        {CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &attr->clusterDimMustBeSet},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &attr->requiredClusterWidth},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &attr->requiredClusterHeight},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &attr->requiredClusterDepth},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, &attr->clusterSchedulingPolicyPreference},
        {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, &attr->nonPortableClusterSizeAllowed},
    };
    for (const auto& [attribute, number] : numbers) {
      if (const CUresult error = Get(function, attribute, *number)) return error;
    }
    return CUDA_SUCCESS;
  });
}

cudaError_t cudaFuncSetAttribute(const void* func, cudaFuncAttribute attr, int value) {
  return WithFunction(func, [&](CUfunction function) {
    return driver::cuFuncSetAttribute(function, static_cast<CUfunction_attribute>(attr), value);
  });
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attr, int value,
                                            int device) {
  return InDriver(&driver::cuKernelSetAttribute, static_cast<CUfunction_attribute>(attr), value, kernel,
                  device);
}

cudaError_t cudaFuncSetCacheConfig(const void* func, cudaFuncCache cacheConfig) {
  return WithFunction(func, [&](CUfunction function) {
    return driver::cuFuncSetCacheConfig(function, static_cast<CUfunc_cache>(cacheConfig));
  });
}

cudaError_t cudaFuncSetSharedMemConfig(const void* func, cudaSharedMemConfig config) {
  return WithFunction(func, [&](CUfunction function) {
    return driver::cuFuncSetSharedMemConfig(function, static_cast<CUsharedconfig>(config));
  });
}

cudaError_t cudaFuncGetName(const char** name, const void* func) {
  return WithFunction(func, [&](CUfunction function) { return driver::cuFuncGetName(name, function); });
}

cudaError_t cudaFuncGetParamInfo(const void* func, size_t paramIndex, size_t* paramOffset,
                                 size_t* paramSize) {
  return WithFunction(func, [&](CUfunction function) {
    return driver::cuFuncGetParamInfo(function, paramIndex, paramOffset, paramSize);
  });
}

cudaError_t cudaFuncGetParamCount(const void* func, size_t* paramCount) {
  if (paramCount == nullptr) return cudaErrorInvalidValue;
  return WithFunction(func, [&](CUfunction function) {
    size_t count = 0, offset = 0, size = 0;
    while (driver::cuFuncGetParamInfo(function, count, &offset, &size) == CUDA_SUCCESS) ++count;
    *paramCount = count;
    return CUDA_SUCCESS;
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* functionPtr, const void* symbolPtr) {
  if (functionPtr == nullptr) return cudaErrorInvalidValue;
  CUkernel kernel;
  if (const cudaError_t error = cudaGetKernel(&kernel, symbolPtr)) return error;
  return FromDriver(driver::cuKernelGetFunction(functionPtr, kernel));
}

cudaError_t cudaGetKernel(cudaKernel_t* kernelPtr, const void* entryFuncAddr) {
  if (kernelPtr == nullptr) return cudaErrorInvalidValue;
  if (const cudaError_t error = Begin()) return error;
  const cudaError_t error = Registry::Get().Kernel(entryFuncAddr, *kernelPtr);
  return error == cudaErrorInvalidResourceHandle ? cudaErrorInvalidDeviceFunction : error;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, const void* func, int blockSize,
                                                          size_t dynamicSMemSize) {
  return WithFunction(func, [&](CUfunction function) {
    return driver::cuOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, function, blockSize,
                                                               dynamicSMemSize);
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, const void* func,
                                                                   int blockSize, size_t dynamicSMemSize,
                                                                   unsigned int flags) {
  return WithFunction(func, [&](CUfunction function) {
    return driver::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, function, blockSize,
                                                                        dynamicSMemSize, flags);
  });
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize, const void* func,
                                                      int numBlocks, int blockSize) {
  return WithFunction(func, [&](CUfunction function) {
    return driver::cuOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, function, numBlocks, blockSize);
  });
}

namespace {

CUlaunchConfig ConfigOf(const cudaLaunchConfig_t& config) {
  return {config.gridDim.x,
          config.gridDim.y,
          config.gridDim.z,
          config.blockDim.x,
          config.blockDim.y,
          config.blockDim.z,
          static_cast<unsigned>(config.dynamicSmemBytes),
          config.stream,
          Twin<CUlaunchAttribute>(config.attrs),
          config.numAttrs};
}

}  // namespace

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* clusterSize, const void* func,
                                                 const cudaLaunchConfig_t* launchConfig) {
  if (launchConfig == nullptr) return cudaErrorInvalidValue;
  const CUlaunchConfig config = ConfigOf(*launchConfig);
  return WithFunction(func, [&](CUfunction function) {
    return driver::cuOccupancyMaxPotentialClusterSize(clusterSize, function, &config);
  });
}

cudaError_t cudaOccupancyMaxActiveClusters(int* numClusters, const void* func,
                                           const cudaLaunchConfig_t* launchConfig) {
  if (launchConfig == nullptr) return cudaErrorInvalidValue;
  const CUlaunchConfig config = ConfigOf(*launchConfig);
  return WithFunction(func, [&](CUfunction function) {
    return driver::cuOccupancyMaxActiveClusters(numClusters, function, &config);
  });
}

}  // namespace ptx2cpu::cudart
