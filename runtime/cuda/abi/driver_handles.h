// Handles and plain numbers of the driver API. What a handle points to is known to the driver alone
// (runtime/cuda/driver/core/handles.h). Names, numbers and layouts are those of the CUDA driver API 13.0;
// tests/driver_abi checks them against a toolkit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ptx2cpu::cuda {

using cuuint32_t = uint32_t;
using cuuint64_t = uint64_t;
using CUdeviceptr_v2 = unsigned long long;
// A device pointer is a host pointer here.
using CUdeviceptr = CUdeviceptr_v2;
using CUdevice_v1 = int;
using CUdevice = CUdevice_v1;
struct CUctx_st;
using CUcontext = CUctx_st*;
struct CUmod_st;
using CUmodule = CUmod_st*;
struct CUfunc_st;
using CUfunction = CUfunc_st*;
struct CUlib_st;
using CUlibrary = CUlib_st*;
struct CUkern_st;
using CUkernel = CUkern_st*;
struct CUarray_st;
using CUarray = CUarray_st*;
struct CUmipmappedArray_st;
using CUmipmappedArray = CUmipmappedArray_st*;
struct CUtexref_st;
using CUtexref = CUtexref_st*;
struct CUsurfref_st;
using CUsurfref = CUsurfref_st*;
struct CUevent_st;
using CUevent = CUevent_st*;
struct CUstream_st;
using CUstream = CUstream_st*;
struct CUgraphicsResource_st;
using CUgraphicsResource = CUgraphicsResource_st*;
using CUtexObject_v1 = unsigned long long;
using CUtexObject = CUtexObject_v1;
using CUsurfObject_v1 = unsigned long long;
using CUsurfObject = CUsurfObject_v1;
struct CUextMemory_st;
using CUexternalMemory = CUextMemory_st*;
struct CUextSemaphore_st;
using CUexternalSemaphore = CUextSemaphore_st*;
struct CUgraph_st;
using CUgraph = CUgraph_st*;
struct CUgraphNode_st;
using CUgraphNode = CUgraphNode_st*;
struct CUgraphExec_st;
using CUgraphExec = CUgraphExec_st*;
struct CUmemPoolHandle_st;
using CUmemoryPool = CUmemPoolHandle_st*;
struct CUuserObject_st;
using CUuserObject = CUuserObject_st*;
using CUgraphConditionalHandle = cuuint64_t;
struct CUgraphDeviceUpdatableNode_st;
using CUgraphDeviceNode = CUgraphDeviceUpdatableNode_st*;
struct CUasyncCallbackEntry_st;
using CUasyncCallbackHandle = CUasyncCallbackEntry_st*;
struct CUgreenCtx_st;
using CUgreenCtx = CUgreenCtx_st*;

struct CUuuid {
  char bytes[16];
};

struct CUlinkState_st;
using CUlinkState = CUlinkState_st*;
using CUmemGenericAllocationHandle_v1 = unsigned long long;
using CUmemGenericAllocationHandle = CUmemGenericAllocationHandle_v1;
struct CUdevResourceDesc_st;
using CUdevResourceDesc = CUdevResourceDesc_st*;
struct CUlogsCallbackEntry_st;
using CUlogsCallbackHandle = CUlogsCallbackEntry_st*;
using CUlogIterator = unsigned int;
// 32-bit device addresses: functions of CUDA before 3.2.
using CUdeviceptr_v1 = unsigned int;

inline constexpr int CUDA_VERSION = 13000;
inline constexpr CUdevice CU_DEVICE_CPU = -1;
inline constexpr CUdevice CU_DEVICE_INVALID = -2;
// Handles of streams that need no creation; they are numbers, not objects.
inline const CUstream CU_STREAM_LEGACY = reinterpret_cast<CUstream>(1);
inline const CUstream CU_STREAM_PER_THREAD = reinterpret_cast<CUstream>(2);

}  // namespace ptx2cpu::cuda
