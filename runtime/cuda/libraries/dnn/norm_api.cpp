// Batch normalisation under its general names, with a layout of the means and variances of its own.
#include "runtime/cuda/libraries/dnn/descriptors.h"

namespace ptx2cpu::cudnn {

namespace {

// What both names of a mode and of what follows are: the same numbers.
static_assert(CUDNN_NORM_PER_ACTIVATION + 0 == CUDNN_BATCHNORM_PER_ACTIVATION + 0);
static_assert(CUDNN_NORM_PER_CHANNEL + 0 == CUDNN_BATCHNORM_SPATIAL + 0);
static_assert(CUDNN_NORM_OPS_NORM_ADD_ACTIVATION + 0 == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION + 0);

bool IsMode(cudnnNormMode_t mode) {
  return mode == CUDNN_NORM_PER_ACTIVATION || mode == CUDNN_NORM_PER_CHANNEL;
}
cudnnBatchNormMode_t BatchMode(cudnnNormMode_t mode) { return static_cast<cudnnBatchNormMode_t>(mode); }
cudnnBatchNormOps_t BatchOps(cudnnNormOps_t ops) { return static_cast<cudnnBatchNormOps_t>(ops); }

// Groups of channels are documented as not supported.
cudnnStatus_t Check(cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t ops, cudnnNormAlgo_t algo,
                    int groups) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM;
  if (!IsMode(mode) || (algo != CUDNN_NORM_ALGO_STANDARD && algo != CUDNN_NORM_ALGO_PERSIST) || groups != 1)
    return CUDNN_STATUS_NOT_SUPPORTED;
  return ops >= CUDNN_NORM_OPS_NORM && ops <= CUDNN_NORM_OPS_NORM_ADD_ACTIVATION ? CUDNN_STATUS_SUCCESS
                                                                                 : CUDNN_STATUS_BAD_PARAM;
}
// What follows a normalisation is only of the persistent algorithm, as recorded.
cudnnStatus_t CheckTraining(cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t ops,
                            cudnnNormAlgo_t algo, int groups) {
  const cudnnStatus_t wrong = Check(handle, mode, ops, algo, groups);
  if (wrong != CUDNN_STATUS_SUCCESS) return wrong;
  return ops == CUDNN_NORM_OPS_NORM || algo == CUDNN_NORM_ALGO_PERSIST ? CUDNN_STATUS_SUCCESS
                                                                       : CUDNN_STATUS_NOT_SUPPORTED;
}
bool AreAlike(cudnnTensorDescriptor_t scales, cudnnTensorDescriptor_t means) {
  return AllGiven(scales, means) && scales->layout.extents == means->layout.extents &&
         scales->layout.type == means->layout.type && means->layout.IsPacked();
}
cudnnStatus_t NoSize(cudnnStatus_t wrong, size_t* size) {
  if (wrong != CUDNN_STATUS_SUCCESS) return wrong;
  if (size == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *size = 0;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t cudnnDeriveNormTensorDescriptor(cudnnTensorDescriptor_t scaleLayout,
                                              cudnnTensorDescriptor_t meanLayout,
                                              cudnnTensorDescriptor_t xLayout, cudnnNormMode_t mode,
                                              int groups) {
  if (!AllGiven(scaleLayout, meanLayout, xLayout) || !IsMode(mode)) return CUDNN_STATUS_BAD_PARAM;
  if (groups != 1) return CUDNN_STATUS_NOT_SUPPORTED;
  const cudnnStatus_t status = cudnnDeriveBNTensorDescriptor(scaleLayout, xLayout, BatchMode(mode));
  if (status == CUDNN_STATUS_SUCCESS) meanLayout->layout = scaleLayout->layout;
  return status;
}

cudnnStatus_t cudnnNormalizationForwardInference(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t ops, cudnnNormAlgo_t algo, const void* alpha,
    const void* beta, cudnnTensorDescriptor_t xLayout, const void* x, cudnnTensorDescriptor_t scaleLayout,
    const void* scale, const void* bias, cudnnTensorDescriptor_t meanLayout, const void* mean,
    const void* variance, cudnnTensorDescriptor_t zLayout, const void* z,
    cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t yLayout, void* y, double epsilon,
    int groups) {
  if (handle != nullptr && ops != CUDNN_NORM_OPS_NORM) return CUDNN_STATUS_NOT_SUPPORTED;
  if (const cudnnStatus_t wrong = Check(handle, mode, ops, algo, groups)) return wrong;
  if (!AreAlike(scaleLayout, meanLayout)) return CUDNN_STATUS_BAD_PARAM;
  return cudnnBatchNormalizationForwardInference(handle, BatchMode(mode), alpha, beta, xLayout, x, yLayout, y,
                                                 scaleLayout, scale, bias, mean, variance, epsilon);
}

cudnnStatus_t cudnnNormalizationForwardTraining(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t ops, cudnnNormAlgo_t algo, const void* alpha,
    const void* beta, cudnnTensorDescriptor_t xLayout, const void* x, cudnnTensorDescriptor_t scaleLayout,
    const void* scale, const void* bias, double factor, cudnnTensorDescriptor_t meanLayout, void* runningMean,
    void* runningVariance, double epsilon, void* savedMean, void* savedInverse,
    cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t zLayout, const void* z,
    cudnnTensorDescriptor_t yLayout, void* y, void* workspace, size_t workspaceSize, void* reserve,
    size_t reserveSize, int groups) {
  if (const cudnnStatus_t wrong = CheckTraining(handle, mode, ops, algo, groups)) return wrong;
  if (!AreAlike(scaleLayout, meanLayout)) return CUDNN_STATUS_BAD_PARAM;
  return cudnnBatchNormalizationForwardTrainingEx(
      handle, BatchMode(mode), BatchOps(ops), alpha, beta, xLayout, x, zLayout, z, yLayout, y, scaleLayout,
      scale, bias, factor, runningMean, runningVariance, epsilon, savedMean, savedInverse, activation,
      workspace, workspaceSize, reserve, reserveSize);
}

cudnnStatus_t cudnnNormalizationBackward(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t ops, cudnnNormAlgo_t algo,
    const void* alphaData, const void* betaData, const void* alphaParam, const void* betaParam,
    cudnnTensorDescriptor_t xLayout, const void* x, cudnnTensorDescriptor_t yLayout, const void* y,
    cudnnTensorDescriptor_t dyLayout, const void* dy, cudnnTensorDescriptor_t dzLayout, void* dz,
    cudnnTensorDescriptor_t dxLayout, void* dx, cudnnTensorDescriptor_t scaleLayout, const void* scale,
    const void* bias, void* dscale, void* dbias, double epsilon, cudnnTensorDescriptor_t meanLayout,
    const void* savedMean, const void* savedInverse, cudnnActivationDescriptor_t activation, void* workspace,
    size_t workspaceSize, void* reserve, size_t reserveSize, int groups) {
  if (const cudnnStatus_t wrong = CheckTraining(handle, mode, ops, algo, groups)) return wrong;
  if (!AreAlike(scaleLayout, meanLayout)) return CUDNN_STATUS_BAD_PARAM;
  return cudnnBatchNormalizationBackwardEx(
      handle, BatchMode(mode), BatchOps(ops), alphaData, betaData, alphaParam, betaParam, xLayout, x, yLayout,
      y, dyLayout, dy, dzLayout, dz, dxLayout, dx, scaleLayout, scale, bias, dscale, dbias, epsilon,
      savedMean, savedInverse, activation, workspace, workspaceSize, reserve, reserveSize);
}

cudnnStatus_t cudnnGetNormalizationForwardTrainingWorkspaceSize(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t ops, cudnnNormAlgo_t algo,
    cudnnTensorDescriptor_t xLayout, cudnnTensorDescriptor_t zLayout, cudnnTensorDescriptor_t yLayout,
    cudnnTensorDescriptor_t scaleLayout, cudnnActivationDescriptor_t activation,
    cudnnTensorDescriptor_t meanLayout, size_t* size, int groups) {
  return NoSize(Check(handle, mode, ops, algo, groups), size);
}
cudnnStatus_t cudnnGetNormalizationBackwardWorkspaceSize(
    cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t ops, cudnnNormAlgo_t algo,
    cudnnTensorDescriptor_t xLayout, cudnnTensorDescriptor_t yLayout, cudnnTensorDescriptor_t dyLayout,
    cudnnTensorDescriptor_t dzLayout, cudnnTensorDescriptor_t dxLayout, cudnnTensorDescriptor_t scaleLayout,
    cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t meanLayout, size_t* size, int groups) {
  return NoSize(Check(handle, mode, ops, algo, groups), size);
}
cudnnStatus_t cudnnGetNormalizationTrainingReserveSpaceSize(cudnnHandle_t handle, cudnnNormMode_t mode,
                                                            cudnnNormOps_t ops, cudnnNormAlgo_t algo,
                                                            cudnnActivationDescriptor_t activation,
                                                            cudnnTensorDescriptor_t xLayout, size_t* size,
                                                            int groups) {
  return NoSize(Check(handle, mode, ops, algo, groups), size);
}

}  // namespace ptx2cpu::cudnn
