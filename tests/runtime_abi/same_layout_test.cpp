// Our declarations of the runtime API against a toolkit's own headers (CUDA 13): same sizes, same offsets,
// same numbers. Compiled only where CMake finds such headers; nothing runs, the compiler is the test.
// clang-format off
#include "runtime/cuda/abi/runtime_types.h"  // first: the toolkit's flags are macros
#include <cuda_egl_interop.h>
#include <cuda_runtime_api.h>
// clang-format on

#include <catch2/catch.hpp>
#include <type_traits>

#if CUDART_VERSION >= 13000 && CUDART_VERSION < 14000

namespace ours = ptx2cpu::cuda;

#define SAME_SIZE(theirs, mine) \
  static_assert(sizeof(::theirs) == sizeof(ours::mine) && alignof(::theirs) == alignof(ours::mine), #theirs)
#define SAME_PLACE(theirs, mine, member) \
  static_assert(offsetof(::theirs, member) == offsetof(ours::mine, member), #theirs "." #member)
#define SAME_NUMBER(name) \
  static_assert(static_cast<long long>(::name) == static_cast<long long>(ours::name), #name)

#pragma clang diagnostic ignored "-Winvalid-offsetof"

#define PTX2CPU_CUDA_ERROR(name, number, text) static_assert(static_cast<int>(::name) == number, #name);
#include "runtime/cuda/abi/runtime_errors.def"
#undef PTX2CPU_CUDA_ERROR

SAME_SIZE(cudaDeviceProp, cudaDeviceProp13);
SAME_PLACE(cudaDeviceProp, cudaDeviceProp13, totalGlobalMem);
SAME_PLACE(cudaDeviceProp, cudaDeviceProp13, major);
SAME_PLACE(cudaDeviceProp, cudaDeviceProp13, multiProcessorCount);
SAME_PLACE(cudaDeviceProp, cudaDeviceProp13, maxTexture2DLayered);
SAME_PLACE(cudaDeviceProp, cudaDeviceProp13, maxSurfaceCubemapLayered);
SAME_PLACE(cudaDeviceProp, cudaDeviceProp13, surfaceAlignment);
SAME_PLACE(cudaDeviceProp, cudaDeviceProp13, memoryBusWidth);
SAME_PLACE(cudaDeviceProp, cudaDeviceProp13, sharedMemPerMultiprocessor);
SAME_PLACE(cudaDeviceProp, cudaDeviceProp13, cooperativeLaunch);
SAME_PLACE(cudaDeviceProp, cudaDeviceProp13, sharedMemPerBlockOptin);
SAME_PLACE(cudaDeviceProp, cudaDeviceProp13, reservedSharedMemPerBlock);
static_assert(offsetof(::cudaDeviceProp, hostRegisterSupported) == offsetof(ours::cudaDeviceProp13, tail));
static_assert(offsetof(::cudaDeviceProp, clusterLaunch) ==
              offsetof(ours::cudaDeviceProp13, tail) + offsetof(ours::cudaDevicePropTail, clusterLaunch));
SAME_PLACE(cudaDeviceProp, cudaDeviceProp13, deviceNumaConfig);
SAME_PLACE(cudaDeviceProp, cudaDeviceProp13, reserved);

SAME_SIZE(cudaFuncAttributes, cudaFuncAttributes);
SAME_PLACE(cudaFuncAttributes, cudaFuncAttributes, preferredShmemCarveout);
SAME_PLACE(cudaFuncAttributes, cudaFuncAttributes, nonPortableClusterSizeAllowed);
SAME_SIZE(cudaPointerAttributes, cudaPointerAttributes13);
SAME_PLACE(cudaPointerAttributes, cudaPointerAttributes13, hostPointer);
SAME_SIZE(cudaChannelFormatDesc, cudaChannelFormatDesc);
SAME_SIZE(cudaExtent, cudaExtent);
SAME_SIZE(cudaPitchedPtr, cudaPitchedPtr);
SAME_SIZE(cudaMemcpy3DParms, cudaMemcpy3DParms);
SAME_PLACE(cudaMemcpy3DParms, cudaMemcpy3DParms, kind);
SAME_SIZE(cudaMemcpy3DPeerParms, cudaMemcpy3DPeerParms);
SAME_PLACE(cudaMemcpy3DPeerParms, cudaMemcpy3DPeerParms, extent);
SAME_SIZE(cudaMemcpyAttributes, cudaMemcpyAttributes);
SAME_SIZE(cudaMemcpy3DOperand, cudaMemcpy3DOperand);
SAME_SIZE(cudaMemcpy3DBatchOp, cudaMemcpy3DBatchOp);
SAME_SIZE(cudaMemPoolProps, cudaMemPoolProps);
SAME_PLACE(cudaMemPoolProps, cudaMemPoolProps, maxSize);
SAME_SIZE(cudaMemPoolPtrExportData, cudaMemPoolPtrExportData);
SAME_SIZE(cudaMemAccessDesc, cudaMemAccessDesc);
SAME_SIZE(cudaMemLocation, cudaMemLocation);
SAME_SIZE(cudaIpcMemHandle_t, cudaIpcMemHandle_t);
SAME_SIZE(cudaIpcEventHandle_t, cudaIpcEventHandle_t);
SAME_SIZE(cudaUUID_t, cudaUUID_t);
SAME_SIZE(dim3, dim3);

SAME_SIZE(cudaArraySparseProperties, cudaArraySparseProperties);
SAME_SIZE(cudaArrayMemoryRequirements, cudaArrayMemoryRequirements);
SAME_SIZE(cudaResourceDesc, cudaResourceDesc13);
SAME_PLACE(cudaResourceDesc, cudaResourceDesc13, flags);
static_assert(offsetof(::cudaResourceDesc, res) == offsetof(ours::cudaResourceDesc12, res));
static_assert(offsetof(::cudaResourceDesc, res.pitch2D.pitchInBytes) ==
              offsetof(ours::cudaResourceDesc12, res.pitch2D.pitchInBytes));
SAME_SIZE(cudaResourceViewDesc, cudaResourceViewDesc13);
SAME_PLACE(cudaResourceViewDesc, cudaResourceViewDesc13, lastLayer);
SAME_SIZE(cudaTextureDesc, cudaTextureDesc);
SAME_PLACE(cudaTextureDesc, cudaTextureDesc, seamlessCubemap);
SAME_PLACE(cudaTextureDesc, cudaTextureDesc, normalizedCoords);
SAME_SIZE(cudaEglFrame, cudaEglFrame);

SAME_SIZE(cudaLaunchAttributeValue, cudaLaunchAttributeValue);
SAME_PLACE(cudaLaunchAttributeValue, cudaLaunchAttributeValue, programmaticEvent.triggerAtBlockStart);
SAME_PLACE(cudaLaunchAttributeValue, cudaLaunchAttributeValue, deviceUpdatableKernelNode.devNode);
SAME_SIZE(cudaLaunchAttribute, cudaLaunchAttribute);
SAME_PLACE(cudaLaunchAttribute, cudaLaunchAttribute, val);
SAME_SIZE(cudaLaunchConfig_t, cudaLaunchConfig_t);
SAME_PLACE(cudaLaunchConfig_t, cudaLaunchConfig_t, numAttrs);

SAME_SIZE(cudaKernelNodeParams, cudaKernelNodeParams);
SAME_PLACE(cudaKernelNodeParams, cudaKernelNodeParams, extra);
SAME_SIZE(cudaKernelNodeParamsV2, cudaKernelNodeParams);
SAME_SIZE(cudaMemsetParams, cudaMemsetParams);
SAME_SIZE(cudaHostNodeParams, cudaHostNodeParams);
SAME_SIZE(cudaMemAllocNodeParams, cudaMemAllocNodeParams);
SAME_SIZE(cudaMemcpyNodeParams, cudaMemcpyNodeParams);
SAME_SIZE(cudaConditionalNodeParams, cudaConditionalNodeParams);
SAME_SIZE(cudaGraphNodeParams, cudaGraphNodeParams);
SAME_PLACE(cudaGraphNodeParams, cudaGraphNodeParams, kernel);
SAME_PLACE(cudaGraphNodeParams, cudaGraphNodeParams, reserved2);
SAME_SIZE(cudaGraphEdgeData, cudaGraphEdgeData);
SAME_SIZE(cudaGraphInstantiateParams, cudaGraphInstantiateParams);
SAME_SIZE(cudaGraphExecUpdateResultInfo, cudaGraphExecUpdateResultInfo);

SAME_NUMBER(cudaMemcpyDefault);
SAME_NUMBER(cudaMemoryTypeManaged);
SAME_NUMBER(cudaChannelFormatKindNV12);
SAME_NUMBER(cudaChannelFormatKindUnsignedNormalized16X4);
SAME_NUMBER(cudaChannelFormatKindSignedNormalized8X1);
SAME_NUMBER(cudaChannelFormatKindSignedNormalized16X4);
SAME_NUMBER(cudaChannelFormatKindUnsignedNormalized1010102);
SAME_NUMBER(cudaMemLocationTypeHostNumaCurrent);
SAME_NUMBER(cudaMemAccessFlagsProtReadWrite);
SAME_NUMBER(cudaMemcpySrcAccessOrderAny);
SAME_NUMBER(cudaMemcpyOperandTypeArray);
SAME_NUMBER(cudaResourceTypePitch2D);
SAME_NUMBER(cudaAddressModeBorder);
SAME_NUMBER(cudaFilterModeLinear);
SAME_NUMBER(cudaReadModeNormalizedFloat);
SAME_NUMBER(cudaFuncAttributeClusterSchedulingPolicyPreference);
SAME_NUMBER(cudaLaunchAttributeDeviceUpdatableKernelNode);
SAME_NUMBER(cudaLaunchAttributeNvlinkUtilCentricScheduling);
SAME_NUMBER(cudaStreamCaptureStatusInvalidated);
SAME_NUMBER(cudaDriverEntryPointVersionNotSufficent);
SAME_NUMBER(cudaGraphNodeTypeConditional);

TEST_CASE("layouts of the runtime API are those of the toolkit's headers", "[cudart]") {
  REQUIRE(std::is_same_v<std::underlying_type_t<ours::cudaError_t>,
                         int>);  // the rest was asserted at compile time
}

#endif
