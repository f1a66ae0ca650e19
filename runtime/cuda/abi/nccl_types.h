// The NCCL ABI: communicators, types of elements, reductions, status.
#pragma once

#include <cstddef>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/abi/runtime_types.h"

namespace ptx2cpu::cuda {

using ncclComm_t = struct ncclComm*;
using ncclWindow_t = struct ncclWindow_vidmem*;

// Made by one rank, passed to the others by the program.
struct ncclUniqueId {
  char internal[128];
};

enum ncclResult_t : int {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};

// The fields that every version has; later ones have more after them, as `size` states.
struct ncclConfig_t {
  size_t size;
  unsigned int magic, version;
  int blocking;
};
inline constexpr unsigned int kNcclConfigMagic = 0xcafebeef;
struct ncclSimInfo_t {
  size_t size;
  unsigned int magic, version;
  float estimatedTime;
};

enum ncclRedOp_t : int {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5,  // from here on those of ncclRedOpCreatePreMulSum
  ncclMaxRedOp = 0x7fffffff,
};
enum ncclDataType_t : int {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12,
};
enum ncclScalarResidence_t : int { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 };

inline constexpr int NCCL_SPLIT_NOCOLOR = -1;

}  // namespace ptx2cpu::cuda
