// The ABI of cuDNN's graph API: descriptors, their attributes, modes of operations.
#pragma once

#include "runtime/cuda/abi/cudnn_types.h"

namespace ptx2cpu::cuda {

using cudnnBackendDescriptor_t = struct cudnnBackendStruct*;

enum cudnnBackendAttributeType_t : int {
#define VALUE(name, number, bytes) CUDNN_TYPE_##name = number,
#include "runtime/cuda/abi/cudnn_backend.def"
};
enum cudnnBackendDescriptorType_t : int {
#define DESCRIPTOR(name, number) CUDNN_BACKEND_##name##_DESCRIPTOR = number,
#include "runtime/cuda/abi/cudnn_backend.def"
};
enum cudnnBackendAttributeName_t : int {
#define ATTRIBUTE(descriptor, name, number, type, most, use) CUDNN_ATTR_##name = number,
#include "runtime/cuda/abi/cudnn_backend.def"
};

enum cudnnPointwiseMode_t : int {
#define POINTWISE(name, number) CUDNN_POINTWISE_##name = number,
#include "runtime/cuda/abi/cudnn_pointwise.def"
};
enum cudnnResampleMode_t : int {
  CUDNN_RESAMPLE_NEAREST = 0,
  CUDNN_RESAMPLE_BILINEAR = 1,
  CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING = 2,
  CUDNN_RESAMPLE_MAXPOOL = 3,
  CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING = 4,
};
enum cudnnPaddingMode_t : int { CUDNN_ZERO_PAD = 0, CUDNN_NEG_INF_PAD = 1, CUDNN_EDGE_VAL_PAD = 2 };
enum cudnnBackendNormMode_t : int {
  CUDNN_LAYER_NORM = 0,
  CUDNN_INSTANCE_NORM = 1,
  CUDNN_BATCH_NORM = 2,
  CUDNN_GROUP_NORM = 3,
  CUDNN_RMS_NORM = 4,
  CUDNN_ADA_LAYER_NORM = 5,
};
enum cudnnBackendNormFwdPhase_t : int { CUDNN_NORM_FWD_INFERENCE = 0, CUDNN_NORM_FWD_TRAINING = 1 };
enum cudnnBnFinalizeStatsMode_t : int {
  CUDNN_BN_FINALIZE_STATISTICS_TRAINING = 0,
  CUDNN_BN_FINALIZE_STATISTICS_INFERENCE = 1,
};
enum cudnnRngDistribution_t : int {
  CUDNN_RNG_DISTRIBUTION_BERNOULLI = 0,
  CUDNN_RNG_DISTRIBUTION_UNIFORM = 1,
  CUDNN_RNG_DISTRIBUTION_NORMAL = 2,
};
// A number of strides and paddings.
struct cudnnFraction_t {
  int64_t numerator, denominator;
};

}  // namespace ptx2cpu::cuda
