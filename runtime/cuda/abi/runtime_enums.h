// Enumerations of the CUDA runtime API; part of runtime_types.h. Numbers are the ABI. Where the driver API
// has an enumeration of the same numbers, only the members that the runtime's own code names are here.
#pragma once

namespace ptx2cpu::cuda {

enum cudaError_t : int {
#define PTX2CPU_CUDA_ERROR(name, number, text) name = number,
#include "runtime/cuda/abi/runtime_errors.def"
#undef PTX2CPU_CUDA_ERROR
};

inline constexpr unsigned kHostAllocFlags = 0x7, kHostRegisterFlags = 0xf;  // every flag there is
inline constexpr int cudaCpuDeviceId = -1, cudaInvalidDeviceId = -2;
inline constexpr unsigned cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2;
inline constexpr unsigned cudaDeviceScheduleMask = 0x7, cudaDeviceMapHost = 0x8, cudaDeviceMask = 0xff;
inline constexpr unsigned cudaArrayLayered = 1, cudaArrayCubemap = 4;
inline constexpr unsigned cudaInitDeviceFlagsAreValid = 1;
inline constexpr unsigned cudaMemAttachGlobal = 1;

enum cudaMemcpyKind : unsigned {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};
enum cudaMemoryType : unsigned {
  cudaMemoryTypeUnregistered = 0,
  cudaMemoryTypeHost = 1,
  cudaMemoryTypeDevice = 2,
  cudaMemoryTypeManaged = 3,
};
enum cudaChannelFormatKind : unsigned {
  cudaChannelFormatKindSigned = 0,
  cudaChannelFormatKindUnsigned = 1,
  cudaChannelFormatKindFloat = 2,
  cudaChannelFormatKindNone = 3,
  cudaChannelFormatKindNV12 = 4,
  cudaChannelFormatKindUnsignedNormalized8X1 = 5,
  cudaChannelFormatKindUnsignedNormalized8X2 = 6,
  cudaChannelFormatKindUnsignedNormalized8X4 = 7,
  cudaChannelFormatKindUnsignedNormalized16X1 = 8,
  cudaChannelFormatKindUnsignedNormalized16X2 = 9,
  cudaChannelFormatKindUnsignedNormalized16X4 = 10,
  cudaChannelFormatKindSignedNormalized8X1 = 11,
  cudaChannelFormatKindSignedNormalized8X2 = 12,
  cudaChannelFormatKindSignedNormalized8X4 = 13,
  cudaChannelFormatKindSignedNormalized16X1 = 14,
  cudaChannelFormatKindSignedNormalized16X2 = 15,
  cudaChannelFormatKindSignedNormalized16X4 = 16,
  // 17 to 30: block compressed
  cudaChannelFormatKindUnsignedNormalized1010102 = 31,
};

enum cudaMemLocationType : unsigned {
  cudaMemLocationTypeInvalid = 0,
  cudaMemLocationTypeDevice = 1,
  cudaMemLocationTypeHost = 2,
  cudaMemLocationTypeHostNuma = 3,
  cudaMemLocationTypeHostNumaCurrent = 4,
};
enum cudaMemAccessFlags : unsigned {
  cudaMemAccessFlagsProtNone = 0,
  cudaMemAccessFlagsProtRead = 1,
  cudaMemAccessFlagsProtReadWrite = 3,
};
enum cudaMemAllocationType : unsigned { cudaMemAllocationTypePinned = 1, cudaMemAllocationTypeManaged = 2 };
enum cudaMemAllocationHandleType : unsigned {
  cudaMemHandleTypeNone = 0,
  cudaMemHandleTypePosixFileDescriptor = 1
};
enum cudaMemcpySrcAccessOrder : unsigned {
  cudaMemcpySrcAccessOrderStream = 1,
  cudaMemcpySrcAccessOrderDuringApiCall = 2,
  cudaMemcpySrcAccessOrderAny = 3
};
enum cudaMemcpy3DOperandType : unsigned { cudaMemcpyOperandTypePointer = 1, cudaMemcpyOperandTypeArray = 2 };

enum cudaResourceType : unsigned {
  cudaResourceTypeArray = 0,
  cudaResourceTypeMipmappedArray = 1,
  cudaResourceTypeLinear = 2,
  cudaResourceTypePitch2D = 3,
};
enum cudaResourceViewFormat : unsigned {
  cudaResViewFormatNone = 0
};  // further numbers as in CUresourceViewFormat
enum cudaTextureAddressMode : unsigned {
  cudaAddressModeWrap = 0,
  cudaAddressModeClamp = 1,
  cudaAddressModeMirror = 2,
  cudaAddressModeBorder = 3,
};
enum cudaTextureFilterMode : unsigned { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureReadMode : unsigned { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };

enum cudaFuncAttribute : unsigned {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeClusterDimMustBeSet = 10,
  cudaFuncAttributeRequiredClusterWidth = 11,
  cudaFuncAttributeRequiredClusterHeight = 12,
  cudaFuncAttributeRequiredClusterDepth = 13,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 14,
  cudaFuncAttributeClusterSchedulingPolicyPreference = 15,
};
enum cudaLaunchAttributeID : unsigned {
  cudaLaunchAttributeIgnore = 0,
  cudaLaunchAttributeAccessPolicyWindow = 1,
  cudaLaunchAttributeCooperative = 2,
  cudaLaunchAttributeSynchronizationPolicy = 3,
  cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeClusterSchedulingPolicyPreference = 5,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6,
  cudaLaunchAttributeProgrammaticEvent = 7,
  cudaLaunchAttributePriority = 8,
  cudaLaunchAttributeMemSyncDomainMap = 9,
  cudaLaunchAttributeMemSyncDomain = 10,
  cudaLaunchAttributePreferredClusterDimension = 11,
  cudaLaunchAttributeLaunchCompletionEvent = 12,
  cudaLaunchAttributeDeviceUpdatableKernelNode = 13,
  cudaLaunchAttributePreferredSharedMemoryCarveout = 14,
  cudaLaunchAttributeNvlinkUtilCentricScheduling = 16,
};
enum cudaStreamCaptureStatus : unsigned {
  cudaStreamCaptureStatusNone = 0,
  cudaStreamCaptureStatusActive = 1,
  cudaStreamCaptureStatusInvalidated = 2,
};
enum cudaDriverEntryPointQueryResult : unsigned {
  cudaDriverEntryPointSuccess = 0,
  cudaDriverEntryPointSymbolNotFound = 1,
  cudaDriverEntryPointVersionNotSufficent = 2,
};
enum cudaGraphNodeType : unsigned {
  cudaGraphNodeTypeKernel = 0,
  cudaGraphNodeTypeMemcpy = 1,
  cudaGraphNodeTypeMemset = 2,
  cudaGraphNodeTypeHost = 3,
  cudaGraphNodeTypeGraph = 4,
  cudaGraphNodeTypeEmpty = 5,
  cudaGraphNodeTypeWaitEvent = 6,
  cudaGraphNodeTypeEventRecord = 7,
  cudaGraphNodeTypeExtSemaphoreSignal = 8,
  cudaGraphNodeTypeExtSemaphoreWait = 9,
  cudaGraphNodeTypeMemAlloc = 10,
  cudaGraphNodeTypeMemFree = 11,
  cudaGraphNodeTypeConditional = 13,
};

// The same numbers as the driver's enumerations of like name.
enum cudaDeviceAttr : unsigned {};
enum cudaDeviceP2PAttr : unsigned {};
enum cudaLimit : unsigned {};
enum cudaFuncCache : unsigned {};
enum cudaSharedMemConfig : unsigned {};
enum cudaMemoryAdvise : unsigned {};
enum cudaMemRangeAttribute : unsigned {};
enum cudaMemPoolAttr : unsigned {};
enum cudaGraphMemAttributeType : unsigned {};
enum cudaAccessProperty : unsigned {};
enum cudaSynchronizationPolicy : unsigned {};
enum cudaClusterSchedulingPolicy : unsigned {};
enum cudaStreamCaptureMode : unsigned {};
enum cudaGraphConditionalNodeType : unsigned {};
enum cudaGraphChildGraphNodeOwnership : unsigned {};
enum cudaGraphExecUpdateResult : unsigned {};
enum cudaGraphInstantiateResult : unsigned {};
enum cudaFlushGPUDirectRDMAWritesScope : unsigned {};
enum cudaFlushGPUDirectRDMAWritesTarget : unsigned {};
enum cudaJitOption : unsigned {};
enum cudaLibraryOption : unsigned {};
enum cudaLogLevel : unsigned {};
enum cudaAtomicOperation : unsigned {};
enum cudaGLDeviceList : unsigned {};
enum cudaGLMapFlags : unsigned {};
enum cudaOutputMode_t : unsigned {};
enum cudaDevResourceType : unsigned {};

}  // namespace ptx2cpu::cuda
