// cudaGetDeviceProperties in the layouts of CUDA 11, 12 and 13: each member is an attribute of the driver.
#include <cstring>

#include "cudart_api.h"
#include "runtime/cuda/cudart/context.h"

namespace ptx2cpu::cudart {

namespace {

class Attributes {
 public:
  explicit Attributes(int device) : device_(device) {}
  cudaError_t error() const { return error_; }

  // `into` = the attribute; a device that does not know it has 0 of it.
  template <typename T>
  void Set(T& into, CUdevice_attribute attribute) {
    int value = 0;
    const CUresult result = driver::cuDeviceGetAttribute(&value, attribute, device_);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_VALUE) error_ = FromDriver(result);
    into = static_cast<T>(value);
  }
  template <size_t N>
  void Set(int (&into)[N], const CUdevice_attribute (&attributes)[N]) {
    for (size_t i = 0; i < N; ++i) Set(into[i], attributes[i]);
  }

 private:
  const int device_;
  cudaError_t error_ = cudaSuccess;
};

template <typename Prop>
void SetIdentity(Prop& prop, int device) {
  driver::cuDeviceGetName(prop.name, sizeof prop.name, device);
  driver::cuDeviceGetUuid_v2(&prop.uuid, device);
  driver::cuDeviceTotalMem_v2(&prop.totalGlobalMem, device);
}

template <typename Prop>
void SetTexturesAndSurfaces(Prop& prop, Attributes& of) {
  of.Set(prop.textureAlignment, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  of.Set(prop.texturePitchAlignment, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
  of.Set(prop.surfaceAlignment, CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT);
  of.Set(prop.maxTexture1D, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH);
  of.Set(prop.maxTexture1DMipmap, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH);
  of.Set(prop.maxTexture2D,
         {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT});
  of.Set(prop.maxTexture2DMipmap, {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH,
                                   CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT});
  of.Set(prop.maxTexture2DLinear, {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH,
                                   CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT,
                                   CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH});
  of.Set(prop.maxTexture2DGather, {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH,
                                   CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT});
  of.Set(prop.maxTexture3D,
         {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT,
          CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH});
  of.Set(prop.maxTexture3DAlt, {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE,
                                CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE,
                                CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE});
  of.Set(prop.maxTextureCubemap, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH);
  of.Set(prop.maxTexture1DLayered, {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH,
                                    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS});
  of.Set(prop.maxTexture2DLayered, {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH,
                                    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT,
                                    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS});
  of.Set(prop.maxTextureCubemapLayered, {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH,
                                         CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS});
  of.Set(prop.maxSurface1D, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH);
  of.Set(prop.maxSurface2D,
         {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT});
  of.Set(prop.maxSurface3D,
         {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT,
          CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH});
  of.Set(prop.maxSurface1DLayered, {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH,
                                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS});
  of.Set(prop.maxSurface2DLayered, {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH,
                                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT,
                                    CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS});
  of.Set(prop.maxSurfaceCubemap, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH);
  of.Set(prop.maxSurfaceCubemapLayered, {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH,
                                         CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS});
}

template <typename Prop>
void SetMultiprocessor(Prop& prop, Attributes& of) {
  of.Set(prop.sharedMemPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  of.Set(prop.regsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  of.Set(prop.warpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  of.Set(prop.memPitch, CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  of.Set(prop.maxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  of.Set(prop.maxThreadsDim, {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
                              CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z});
  of.Set(prop.maxGridSize, {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                            CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z});
  of.Set(prop.totalConstMem, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  of.Set(prop.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  of.Set(prop.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  of.Set(prop.multiProcessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  of.Set(prop.maxThreadsPerMultiProcessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  of.Set(prop.sharedMemPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  of.Set(prop.regsPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  of.Set(prop.sharedMemPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  of.Set(prop.maxBlocksPerMultiProcessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  of.Set(prop.reservedSharedMemPerBlock, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  of.Set(prop.globalL1CacheSupported, CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED);
  of.Set(prop.localL1CacheSupported, CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED);
}

template <typename Prop>
void SetSystem(Prop& prop, Attributes& of) {
  of.Set(prop.integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
  of.Set(prop.canMapHostMemory, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
  of.Set(prop.concurrentKernels, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
  of.Set(prop.ECCEnabled, CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
  of.Set(prop.pciBusID, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  of.Set(prop.pciDeviceID, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
  of.Set(prop.pciDomainID, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
  of.Set(prop.tccDriver, CU_DEVICE_ATTRIBUTE_TCC_DRIVER);
  of.Set(prop.asyncEngineCount, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  of.Set(prop.unifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  of.Set(prop.memoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  of.Set(prop.l2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  of.Set(prop.persistingL2CacheMaxSize, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE);
  of.Set(prop.accessPolicyMaxWindowSize, CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE);
  of.Set(prop.streamPrioritiesSupported, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED);
  of.Set(prop.managedMemory, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
  of.Set(prop.isMultiGpuBoard, CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD);
  of.Set(prop.multiGpuBoardGroupID, CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID);
  of.Set(prop.hostNativeAtomicSupported, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED);
  of.Set(prop.pageableMemoryAccess, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
  of.Set(prop.concurrentManagedAccess, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
  of.Set(prop.computePreemptionSupported, CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED);
  of.Set(prop.canUseHostPointerForRegisteredMem, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM);
  of.Set(prop.cooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  of.Set(prop.pageableMemoryAccessUsesHostPageTables,
         CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES);
  of.Set(prop.directManagedMemAccessFromHost, CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST);
}

void SetTail(cudaDevicePropTail& tail, Attributes& of) {
  of.Set(tail.hostRegisterSupported, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
  of.Set(tail.sparseCudaArraySupported, CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED);
  of.Set(tail.hostRegisterReadOnlySupported, CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED);
  of.Set(tail.timelineSemaphoreInteropSupported, CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED);
  of.Set(tail.memoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
  of.Set(tail.gpuDirectRDMASupported, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED);
  of.Set(tail.gpuDirectRDMAFlushWritesOptions, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS);
  of.Set(tail.gpuDirectRDMAWritesOrdering, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING);
  of.Set(tail.memoryPoolSupportedHandleTypes, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES);
  of.Set(tail.deferredMappingCudaArraySupported, CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED);
  of.Set(tail.ipcEventSupported, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED);
  of.Set(tail.clusterLaunch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
  of.Set(tail.unifiedFunctionPointers, CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS);
}

// Members that CUDA 13 dropped.
void SetDropped(cudaDeviceProp11& prop, Attributes& of) {
  of.Set(prop.clockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  of.Set(prop.deviceOverlap, CU_DEVICE_ATTRIBUTE_GPU_OVERLAP);
  of.Set(prop.kernelExecTimeoutEnabled, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT);
  of.Set(prop.computeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
  of.Set(prop.maxTexture1DLinear, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
  of.Set(prop.memoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  of.Set(prop.singleToDoublePrecisionPerfRatio, CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO);
  of.Set(prop.cooperativeMultiDeviceLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH);
}

// Members that CUDA 13 brought.
void SetNew(cudaDeviceProp13& prop, Attributes& of) {
  of.Set(prop.deviceNumaConfig, CU_DEVICE_ATTRIBUTE_NUMA_CONFIG);
  of.Set(prop.deviceNumaId, CU_DEVICE_ATTRIBUTE_NUMA_ID);
  of.Set(prop.mpsEnabled, CU_DEVICE_ATTRIBUTE_MPS_ENABLED);
  of.Set(prop.hostNumaId, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID);
  of.Set(prop.gpuPciDeviceID, CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID);
  of.Set(prop.gpuPciSubsystemID, CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID);
  of.Set(prop.hostNumaMultinodeIpcSupported, CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED);
}

template <typename Prop, typename Rest>
cudaError_t GetProperties(Prop* prop, int device, const Rest& rest) {
  if (prop == nullptr) return cudaErrorInvalidValue;
  CUdevice handle;
  if (const cudaError_t error = InDriver(&driver::cuDeviceGet, &handle, device)) return error;
  Attributes of(handle);
  *prop = {};
  SetIdentity(*prop, handle);
  SetMultiprocessor(*prop, of);
  SetTexturesAndSurfaces(*prop, of);
  SetSystem(*prop, of);
  rest(of);
  return of.error();
}

}  // namespace

cudaError_t cudaGetDeviceProperties(cudaDeviceProp11* prop, int device) {
  return GetProperties(prop, device, [&](Attributes& of) { SetDropped(*prop, of); });
}

cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp12* prop, int device) {
  return GetProperties(prop, device, [&](Attributes& of) {
    SetDropped(*prop, of);
    SetTail(prop->tail, of);
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp13* prop, int device) {
  return GetProperties(prop, device, [&](Attributes& of) {
    SetTail(prop->tail, of);
    SetNew(*prop, of);
  });
}

}  // namespace ptx2cpu::cudart
