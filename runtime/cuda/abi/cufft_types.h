// The cuFFT ABI: plans, types of transforms, results.
#pragma once

#include <cstddef>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/abi/library_types.h"
#include "runtime/cuda/abi/runtime_types.h"

namespace ptx2cpu::cuda {

using cufftHandle = int;
using cufftReal = float;
using cufftDoubleReal = double;
using cufftComplex = cuComplex;
using cufftDoubleComplex = cuDoubleComplex;

enum cufftResult : int {
  CUFFT_SUCCESS = 0,
  CUFFT_INVALID_PLAN = 1,
  CUFFT_ALLOC_FAILED = 2,
  CUFFT_INVALID_TYPE = 3,
  CUFFT_INVALID_VALUE = 4,
  CUFFT_INTERNAL_ERROR = 5,
  CUFFT_EXEC_FAILED = 6,
  CUFFT_SETUP_FAILED = 7,
  CUFFT_INVALID_SIZE = 8,
  CUFFT_INVALID_DEVICE = 11,
  CUFFT_NOT_IMPLEMENTED = 14,
  CUFFT_NOT_SUPPORTED = 16,
};
enum cufftType : int {
  CUFFT_C2C = 0x29,
  CUFFT_R2C = 0x2a,
  CUFFT_C2R = 0x2c,
  CUFFT_Z2Z = 0x69,
  CUFFT_D2Z = 0x6a,
  CUFFT_Z2D = 0x6c,
};
constexpr int CUFFT_FORWARD = -1, CUFFT_INVERSE = 1;

enum cufftProperty : int {};
enum cufftXtWorkAreaPolicy : int {
  CUFFT_WORKAREA_MINIMAL = 0,
  CUFFT_WORKAREA_USER = 1,
  CUFFT_WORKAREA_PERFORMANCE = 2,
};
enum cufftXtCallbackType : int {};

// Orders of arrays that lie on several devices.
enum cufftXtSubFormat : int {
  CUFFT_XT_FORMAT_INPUT = 0,
  CUFFT_XT_FORMAT_OUTPUT = 1,
  CUFFT_XT_FORMAT_INPLACE = 2,
  CUFFT_XT_FORMAT_INPLACE_SHUFFLED = 3,
  CUFFT_XT_FORMAT_1D_INPUT_SHUFFLED = 4,
};
enum cufftXtCopyType : int {
  CUFFT_COPY_HOST_TO_DEVICE = 0,
  CUFFT_COPY_DEVICE_TO_HOST = 1,
  CUFFT_COPY_DEVICE_TO_DEVICE = 2,
};
enum cufftXtQueryType : int { CUFFT_QUERY_1D_FACTORS = 0 };
struct cufftXt1dFactors {
  long long int size, stringCount, stringLength, substringLength, factor1, factor2;
  long long int stringMask, substringMask, factor1Mask, factor2Mask;
  int stringShift, substringShift, factor1Shift, factor2Shift;
};
static_assert(sizeof(cufftXt1dFactors) == 96);

// An array on several devices.
struct cudaXtDesc {
  int version, nGPUs;
  int GPUs[64];
  void* data[64];
  size_t size[64];
  void* cudaXtState;
};
static_assert(sizeof(cudaXtDesc) == 1296);
struct cudaLibXtDesc {
  int version;
  cudaXtDesc* descriptor;
  int library;
  int subFormat;
  void* libDescriptor;
};
static_assert(sizeof(cudaLibXtDesc) == 32);

}  // namespace ptx2cpu::cuda
