// Types of the CUDA runtime API's C ABI, as programs built with CUDA 11, 12 and 13 pass them to libcudart.
//
// Sources: the public reference manual of the runtime API and the layouts that compiled programs use; checked
// against a toolkit's own headers where one is installed (tests/runtime_abi). Handles are those of the driver
// API. Types whose layout changed between the majors carry the major in their name: a program of CUDA 11
// passes a cudaDeviceProp11. Structures that only grew at their end have one type; where we write one,
// the older size matters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/abi/runtime_enums.h"

namespace ptx2cpu::cuda {

// --- Handles
// -------------------------------------------------------------------------------------------------------------

using cudaStream_t = CUstream;
using cudaEvent_t = CUevent;
using cudaGraph_t = CUgraph;
using cudaGraphNode_t = CUgraphNode;
using cudaGraphExec_t = CUgraphExec;
using cudaUserObject_t = CUuserObject;
using cudaFunction_t = CUfunction;
using cudaKernel_t = CUkernel;
using cudaLibrary_t = CUlibrary;
using cudaMemPool_t = CUmemoryPool;
using cudaExternalMemory_t = CUexternalMemory;
using cudaExternalSemaphore_t = CUexternalSemaphore;
using cudaTextureObject_t = CUtexObject;
using cudaSurfaceObject_t = CUsurfObject;
using cudaGraphConditionalHandle = unsigned long long;
using cudaGraphDeviceNode_t = CUgraphDeviceNode;
using cudaLogsCallbackHandle = CUlogsCallbackHandle;
using cudaLogIterator = CUlogIterator;
using cudaUUID_t = CUuuid;
// The runtime API has types of its own for these; the pointers are the driver's.
using cudaArray_t = struct cudaArray*;  // CUarray
using cudaArray_const_t = const struct cudaArray*;
using cudaMipmappedArray_t = struct cudaMipmappedArray*;  // CUmipmappedArray
using cudaMipmappedArray_const_t = const struct cudaMipmappedArray*;
using cudaGraphicsResource_t = struct cudaGraphicsResource*;
using cudaAsyncCallbackHandle_t = struct cudaAsyncCallbackEntry*;
using cudaExecutionContext_t = struct cudaExecutionContext_st*;
using cudaDevResourceDesc_t = CUdevResourceDesc;
using cudaEglStreamConnection = struct CUeglStreamConnection_st*;

using cudaHostFn_t = void (*)(void* userData);
using cudaStreamCallback_t = void (*)(cudaStream_t stream, cudaError_t status, void* userData);
using cudaAsyncCallback = void (*)(struct cudaAsyncNotificationInfo* info, void* userData,
                                   cudaAsyncCallbackHandle_t handle);
using cudaLogsCallback_t = void (*)(void* data, cudaLogLevel logLevel, char* message, size_t length);

// --- Small values
// ----------------------------------------------------------------------------------------------------------

struct dim3 {
  unsigned int x, y, z;
};
struct uint3 {
  unsigned int x, y, z;
};
struct cudaExtent {
  size_t width, height, depth;
};
struct cudaPos {
  size_t x, y, z;
};
struct cudaOffset3D {
  size_t x, y, z;
};
struct cudaPitchedPtr {
  void* ptr;
  size_t pitch, xsize, ysize;
};
struct cudaChannelFormatDesc {
  int x, y, z, w;  // bits per component
  cudaChannelFormatKind f;
};
struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};
// Parameters of functions whose type is the same in all majors and whose answer is not.
struct cudaGridDim12 : dim3 {};
struct cudaRuntimeVersion11 {
  int number;
};
struct cudaRuntimeVersion12 {
  int number;
};
struct cudaRuntimeVersion13 {
  int number;
};
struct cudaEntryPoint11 {
  void* function;
};
struct cudaEntryPoint12 {
  void* function;
};
struct cudaIpcEventHandle_t {
  char reserved[64];
};
struct cudaIpcMemHandle_t {
  char reserved[64];
};

// --- Device properties
// -----------------------------------------------------------------------------------------------------

// CUDA 11 (and cudaGetDeviceProperties of 12, whose programs call cudaGetDeviceProperties_v2).
struct cudaDeviceProp11 {
  char name[256];
  cudaUUID_t uuid;
  char luid[8];
  unsigned int luidDeviceNodeMask;
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
  int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DMipmap[2],
      maxTexture2DLinear[3];
  int maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap, maxTexture1DLayered[2];
  int maxTexture2DLayered[3], maxTextureCubemapLayered[2];
  int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3],
      maxSurfaceCubemap;
  int maxSurfaceCubemapLayered[2];
  size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount,
      unifiedAddressing;
  int memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor;
  int streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
  int singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess,
      computePreemptionSupported;
  int canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
  size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor;
  int accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
};

// What CUDA 12 added after it. The same members are at the end of CUDA 13's.
struct cudaDevicePropTail {
  int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported,
      timelineSemaphoreInteropSupported;
  int memoryPoolsSupported, gpuDirectRDMASupported;
  unsigned int gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned int memoryPoolSupportedHandleTypes;
  int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
};

struct cudaDeviceProp12 : cudaDeviceProp11 {
  cudaDevicePropTail tail;
  int reserved[63];
};

// CUDA 13 left out clock rates and what no device differs in any more.
struct cudaDeviceProp13 {
  char name[256];
  cudaUUID_t uuid;
  char luid[8];
  unsigned int luidDeviceNodeMask;
  size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  size_t totalConstMem;
  int major, minor;
  size_t textureAlignment, texturePitchAlignment;
  int multiProcessorCount, integrated, canMapHostMemory;
  int maxTexture1D, maxTexture1DMipmap, maxTexture2D[2], maxTexture2DMipmap[2], maxTexture2DLinear[3];
  int maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap, maxTexture1DLayered[2];
  int maxTexture2DLayered[3], maxTextureCubemapLayered[2];
  int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3],
      maxSurfaceCubemap;
  int maxSurfaceCubemapLayered[2];
  size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount,
      unifiedAddressing;
  int memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor;
  int streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
  size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported;
  int pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported,
      canUseHostPointerForRegisteredMem;
  int cooperativeLaunch;
  size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor;
  int accessPolicyMaxWindowSize;
  size_t reservedSharedMemPerBlock;
  cudaDevicePropTail tail;
  int deviceNumaConfig, deviceNumaId, mpsEnabled, hostNumaId;
  unsigned int gpuPciDeviceID, gpuPciSubsystemID;
  int hostNumaMultinodeIpcSupported, reserved[56];
};

// --- Functions and launches
// ------------------------------------------------------------------------------------------------

struct cudaFuncAttributes11 {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes,
      preferredShmemCarveout;
};
struct cudaFuncAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes,
      preferredShmemCarveout;
  int clusterDimMustBeSet, requiredClusterWidth, requiredClusterHeight, requiredClusterDepth;
  int clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed, reserved[16];
};

struct cudaAccessPolicyWindow {
  void* base_ptr;
  size_t num_bytes;
  float hitRatio;
  cudaAccessProperty hitProp, missProp;
};

union cudaLaunchAttributeValue {
  char pad[64];
  cudaAccessPolicyWindow accessPolicyWindow;
  int cooperative;
  cudaSynchronizationPolicy syncPolicy;
  uint3 clusterDim;
  cudaClusterSchedulingPolicy clusterSchedulingPolicyPreference;
  int programmaticStreamSerializationAllowed;
  struct {
    cudaEvent_t event;
    int flags, triggerAtBlockStart;
  } programmaticEvent;
  int priority;
  struct {
    unsigned char default_, remote;
  } memSyncDomainMap;
  int memSyncDomain;
  uint3 preferredClusterDim;
  struct {
    cudaEvent_t event;
    int flags;
  } launchCompletionEvent;
  struct {
    int deviceUpdatable;
    cudaGraphDeviceNode_t devNode;
  } deviceUpdatableKernelNode;
  unsigned int sharedMemCarveout, nvlinkUtilCentricScheduling;
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  char pad[4];
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned int numAttrs;
};
struct cudaLaunchParams {  // cudaLaunchCooperativeKernelMultiDevice, until CUDA 12
  void* func;
  dim3 gridDim, blockDim;
  void** args;
  size_t sharedMem;
  cudaStream_t stream;
};

// --- Memory
// ----------------------------------------------------------------------------------------------------------------

struct cudaPointerAttributes12 {
  cudaMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
};
struct cudaPointerAttributes13 {
  cudaMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
  long reserved[8];
};

struct cudaMemcpy3DParms {
  cudaArray_t srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  cudaArray_t dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  cudaExtent extent;
  cudaMemcpyKind kind;
};
struct cudaMemcpy3DPeerParms {
  cudaArray_t srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  int srcDevice;
  cudaArray_t dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  int dstDevice;
  cudaExtent extent;
};
struct cudaMemcpyAttributes {
  cudaMemcpySrcAccessOrder srcAccessOrder;
  cudaMemLocation srcLocHint, dstLocHint;
  unsigned int flags;
};
struct cudaMemcpy3DOperand {
  cudaMemcpy3DOperandType type;
  union {
    struct {
      void* ptr;
      size_t rowLength, layerHeight;  // elements and rows; 0: those of the extent
      cudaMemLocation locHint;
    } ptr;
    struct {
      cudaArray_t array;
      cudaOffset3D offset;
    } array;
  } op;
};
struct cudaMemcpy3DBatchOp {
  cudaMemcpy3DOperand src, dst;
  cudaExtent extent;
  cudaMemcpySrcAccessOrder srcAccessOrder;
  unsigned int flags;
};

struct cudaMemAccessDesc {
  cudaMemLocation location;
  cudaMemAccessFlags flags;
};
struct cudaMemPoolProps {
  cudaMemAllocationType allocType;
  cudaMemAllocationHandleType handleTypes;
  cudaMemLocation location;
  void* win32SecurityAttributes;
  size_t maxSize;        // since 12.2; reserved (zero) before
  unsigned short usage;  // since 12.6
  unsigned char reserved[54];
};
struct cudaMemPoolPtrExportData {
  unsigned char reserved[64];
};

// --- Arrays, textures, surfaces
// ----------------------------------------------------------------------------------------------

struct cudaArraySparseProperties {
  struct {
    unsigned int width, height, depth;
  } tileExtent;
  unsigned int miptailFirstLevel;
  unsigned long long miptailSize;
  unsigned int flags, reserved[4];
};
struct cudaArrayMemoryRequirements {
  size_t size, alignment;
  unsigned int reserved[4];
};

union cudaResourceDescUnion {
  struct {
    cudaArray_t array;
  } array;
  struct {
    cudaMipmappedArray_t mipmap;
  } mipmap;
  struct {
    void* devPtr;
    cudaChannelFormatDesc desc;
    size_t sizeInBytes;
  } linear;
  struct {
    void* devPtr;
    cudaChannelFormatDesc desc;
    size_t width, height, pitchInBytes;
  } pitch2D;
};
struct cudaResourceDesc12 {
  cudaResourceType resType;
  cudaResourceDescUnion res;
};
struct cudaResourceDesc13 {
  cudaResourceType resType;
  union {
    cudaResourceDescUnion res;
    int reserved[32];
  };
  unsigned int flags;
};
struct cudaResourceViewDesc12 {
  cudaResourceViewFormat format;
  size_t width, height, depth;
  unsigned int firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
};
struct cudaResourceViewDesc13 : cudaResourceViewDesc12 {
  unsigned int reserved[16];
};
struct cudaTextureDesc11 {
  cudaTextureAddressMode addressMode[3];
  cudaTextureFilterMode filterMode;
  cudaTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned int maxAnisotropy;
  cudaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization;
};
struct cudaTextureDesc : cudaTextureDesc11 {
  int seamlessCubemap;
};
// The program's variable `texture<...>`, until CUDA 11.
struct textureReference {
  int normalized;
  cudaTextureFilterMode filterMode;
  cudaTextureAddressMode addressMode[3];
  cudaChannelFormatDesc channelDesc;
  int sRGB;
  unsigned int maxAnisotropy;
  cudaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, reserved[14];
};
struct surfaceReference {
  cudaChannelFormatDesc channelDesc;
};

struct cudaEglFrame {  // passed by value to a refused function: only its size matters
  union {
    cudaArray_t pArray[3];
    cudaPitchedPtr pPitch[3];
  } frame;
  struct {
    unsigned int width, height, depth, pitch, numChannels;
    cudaChannelFormatDesc channelDesc;
    unsigned int reserved[4];
  } planeDesc[3];
  unsigned int planeCount, frameType, eglColorFormat;
};

// External memory and semaphores are refused: their descriptions are never read.
struct cudaExternalMemoryHandleDesc;
struct cudaExternalMemoryBufferDesc;
struct cudaExternalMemoryMipmappedArrayDesc;
struct cudaExternalSemaphoreHandleDesc;
struct cudaExternalSemaphoreSignalParams;
struct cudaExternalSemaphoreSignalParams_v1;
struct cudaExternalSemaphoreWaitParams;
struct cudaExternalSemaphoreWaitParams_v1;
struct cudaAsyncNotificationInfo;
// So are execution contexts.
struct cudaDevResource;
struct cudaDevSmResourceGroupParams;

}  // namespace ptx2cpu::cuda

#include "runtime/cuda/abi/runtime_graph_types.h"
