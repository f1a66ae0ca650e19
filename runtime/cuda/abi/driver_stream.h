// Streams, events and launches: flags, launch attributes, memory operations in streams.
// Names, numbers and layouts are those of the CUDA driver API 13.0; tests/driver_abi checks them against a
// toolkit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/abi/driver_handles.h"
#include "runtime/cuda/abi/driver_result.h"

namespace ptx2cpu::cuda {

enum CUevent_sched_flags : int32_t {
  CU_EVENT_SCHED_AUTO = 0,
  CU_EVENT_SCHED_SPIN = 1,
  CU_EVENT_SCHED_YIELD = 2,
  CU_EVENT_SCHED_BLOCKING_SYNC = 4,
};

enum CUstream_flags : int32_t {
  CU_STREAM_DEFAULT = 0,
  CU_STREAM_NON_BLOCKING = 1,
};

enum CUevent_flags : int32_t {
  CU_EVENT_DEFAULT = 0,
  CU_EVENT_BLOCKING_SYNC = 1,
  CU_EVENT_DISABLE_TIMING = 2,
  CU_EVENT_INTERPROCESS = 4,
};

enum CUevent_record_flags : int32_t {
  CU_EVENT_RECORD_DEFAULT = 0,
  CU_EVENT_RECORD_EXTERNAL = 1,
};

enum CUevent_wait_flags : int32_t {
  CU_EVENT_WAIT_DEFAULT = 0,
  CU_EVENT_WAIT_EXTERNAL = 1,
};

enum CUstreamWaitValue_flags : int32_t {
  CU_STREAM_WAIT_VALUE_GEQ = 0,
  CU_STREAM_WAIT_VALUE_EQ = 1,
  CU_STREAM_WAIT_VALUE_AND = 2,
  CU_STREAM_WAIT_VALUE_NOR = 3,
  CU_STREAM_WAIT_VALUE_FLUSH = 0x40000000,
};

enum CUstreamWriteValue_flags : int32_t {
  CU_STREAM_WRITE_VALUE_DEFAULT = 0,
  CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 1,
};

enum CUstreamBatchMemOpType : int32_t {
  CU_STREAM_MEM_OP_WAIT_VALUE_32 = 1,
  CU_STREAM_MEM_OP_WRITE_VALUE_32 = 2,
  CU_STREAM_MEM_OP_WAIT_VALUE_64 = 4,
  CU_STREAM_MEM_OP_WRITE_VALUE_64 = 5,
  CU_STREAM_MEM_OP_BARRIER = 6,
  CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES = 3,
};

enum CUstreamMemoryBarrier_flags : int32_t {
  CU_STREAM_MEMORY_BARRIER_TYPE_SYS = 0,
  CU_STREAM_MEMORY_BARRIER_TYPE_GPU = 1,
};

// One operation of cuStreamBatchMemOp; `operation` selects the valid member.
union CUstreamBatchMemOpParams_v1 {
  CUstreamBatchMemOpType operation;
  struct {
    CUstreamBatchMemOpType operation;
    CUdeviceptr address;
    union {
      cuuint32_t value;
      cuuint64_t value64;
    };
    unsigned int flags;
    CUdeviceptr alias;
  } waitValue;
  struct {
    CUstreamBatchMemOpType operation;
    CUdeviceptr address;
    union {
      cuuint32_t value;
      cuuint64_t value64;
    };
    unsigned int flags;
    CUdeviceptr alias;
  } writeValue;
  struct {
    CUstreamBatchMemOpType operation;
    unsigned int flags;
  } flushRemoteWrites;
  struct {
    CUstreamBatchMemOpType operation;
    unsigned int flags;
  } memoryBarrier;
  cuuint64_t pad[6];
};

using CUstreamBatchMemOpParams = CUstreamBatchMemOpParams_v1;

enum CUstreamUpdateCaptureDependencies_flags : int32_t {
  CU_STREAM_ADD_CAPTURE_DEPENDENCIES = 0,
  CU_STREAM_SET_CAPTURE_DEPENDENCIES = 1,
};

using CUhostFn = void (*)(void*);

enum CUaccessProperty : int32_t {
  CU_ACCESS_PROPERTY_NORMAL = 0,
  CU_ACCESS_PROPERTY_STREAMING = 1,
  CU_ACCESS_PROPERTY_PERSISTING = 2,
};

struct CUaccessPolicyWindow_v1 {
  void* base_ptr;
  size_t num_bytes;
  float hitRatio;
  CUaccessProperty hitProp;
  CUaccessProperty missProp;
};

using CUaccessPolicyWindow = CUaccessPolicyWindow_v1;

enum CUsynchronizationPolicy : int32_t {
  CU_SYNC_POLICY_AUTO = 1,
  CU_SYNC_POLICY_SPIN = 2,
  CU_SYNC_POLICY_YIELD = 3,
  CU_SYNC_POLICY_BLOCKING_SYNC = 4,
};

enum CUclusterSchedulingPolicy : int32_t {
  CU_CLUSTER_SCHEDULING_POLICY_DEFAULT = 0,
  CU_CLUSTER_SCHEDULING_POLICY_SPREAD = 1,
  CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING = 2,
};

enum CUlaunchMemSyncDomain : int32_t {
  CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT = 0,
  CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE = 1,
};

struct CUlaunchMemSyncDomainMap {
  unsigned char default_;
  unsigned char remote;
};

enum CUlaunchAttributeID : int32_t {
  CU_LAUNCH_ATTRIBUTE_IGNORE = 0,
  CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW = 1,
  CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
  CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY = 3,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE = 5,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT = 7,
  CU_LAUNCH_ATTRIBUTE_PRIORITY = 8,
  CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP = 9,
  CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN = 10,
  CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION = 11,
  CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT = 12,
  CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE = 13,
  CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 14,
  CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING = 16,
  CU_LAUNCH_ATTRIBUTE_MAX = 17,
};

// 64 bytes whatever the attribute.
union CUlaunchAttributeValue {
  char pad[64];
  CUaccessPolicyWindow accessPolicyWindow;
  int cooperative;
  CUsynchronizationPolicy syncPolicy;
  struct {
    unsigned int x;
    unsigned int y;
    unsigned int z;
  } clusterDim;
  CUclusterSchedulingPolicy clusterSchedulingPolicyPreference;
  int programmaticStreamSerializationAllowed;
  struct {
    CUevent event;
    int flags;
    int triggerAtBlockStart;
  } programmaticEvent;
  struct {
    CUevent event;
    int flags;
  } launchCompletionEvent;
  int priority;
  CUlaunchMemSyncDomainMap memSyncDomainMap;
  CUlaunchMemSyncDomain memSyncDomain;
  struct {
    unsigned int x;
    unsigned int y;
    unsigned int z;
  } preferredClusterDim;
  struct {
    int deviceUpdatable;
    CUgraphDeviceNode devNode;
  } deviceUpdatableKernelNode;
  unsigned int sharedMemCarveout;
  unsigned int nvlinkUtilCentricScheduling;
};

struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  char pad[4];
  CUlaunchAttributeValue value;
};

// Shape of cuLaunchKernelEx.
struct CUlaunchConfig {
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned int numAttrs;
};

using CUkernelNodeAttrID = CUlaunchAttributeID;
using CUkernelNodeAttrValue_v1 = CUlaunchAttributeValue;
using CUkernelNodeAttrValue = CUkernelNodeAttrValue_v1;

enum CUstreamCaptureStatus : int32_t {
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
  CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
};

enum CUstreamCaptureMode : int32_t {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
};

using CUstreamAttrID = CUlaunchAttributeID;
using CUstreamAttrValue_v1 = CUlaunchAttributeValue;
using CUstreamAttrValue = CUstreamAttrValue_v1;
using CUstreamCallback = void (*)(CUstream, CUresult, void*);

// One device of a cooperative launch over several.
struct CUDA_LAUNCH_PARAMS_v1 {
  CUfunction function;
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  CUstream hStream;
  void** kernelParams;
};

using CUDA_LAUNCH_PARAMS = CUDA_LAUNCH_PARAMS_v1;

// Names in the `extra` array of a launch.
inline void* const CU_LAUNCH_PARAM_END = nullptr;
inline void* const CU_LAUNCH_PARAM_BUFFER_POINTER = reinterpret_cast<void*>(1);
inline void* const CU_LAUNCH_PARAM_BUFFER_SIZE = reinterpret_cast<void*>(2);
inline constexpr unsigned CU_LAUNCH_KERNEL_REQUIRED_BLOCK_DIM = 1;
inline constexpr unsigned CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC = 0x01;
inline constexpr unsigned CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC = 0x02;

// Kernel nodes and streams have launch attributes under names of their own.
inline constexpr CUlaunchAttributeID CU_KERNEL_NODE_ATTRIBUTE_ACCESS_POLICY_WINDOW =
    CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
inline constexpr CUlaunchAttributeID CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
inline constexpr CUlaunchAttributeID CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION =
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
inline constexpr CUlaunchAttributeID CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE =
    CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
inline constexpr CUlaunchAttributeID CU_KERNEL_NODE_ATTRIBUTE_PRIORITY = CU_LAUNCH_ATTRIBUTE_PRIORITY;
inline constexpr CUlaunchAttributeID CU_KERNEL_NODE_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP =
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP;
inline constexpr CUlaunchAttributeID CU_KERNEL_NODE_ATTRIBUTE_MEM_SYNC_DOMAIN =
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
inline constexpr CUlaunchAttributeID CU_KERNEL_NODE_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION =
    CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION;
inline constexpr CUlaunchAttributeID CU_KERNEL_NODE_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE =
    CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
inline constexpr CUlaunchAttributeID CU_KERNEL_NODE_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT =
    CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
inline constexpr CUlaunchAttributeID CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW =
    CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
inline constexpr CUlaunchAttributeID CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY =
    CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
inline constexpr CUlaunchAttributeID CU_STREAM_ATTRIBUTE_PRIORITY = CU_LAUNCH_ATTRIBUTE_PRIORITY;
inline constexpr CUlaunchAttributeID CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP =
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP;
inline constexpr CUlaunchAttributeID CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN =
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;

}  // namespace ptx2cpu::cuda
