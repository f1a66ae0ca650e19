// Settings of emulation. Values and status as an H200 gives them.
#include "runtime/cuda/libraries/blas/call.h"
#include "runtime/cuda/libraries/core/handle.h"

namespace ptx2cpu::cublas {

cublasStatus_t cublasSetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t value) {
  const bool right = value >= CUBLAS_EMULATION_STRATEGY_DEFAULT && value <= CUBLAS_EMULATION_STRATEGY_EAGER;
  return libraries::Write(Check(handle, right), handle, &cublasContext::emulation, value);
}
cublasStatus_t cublasGetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t* value) {
  return libraries::Read(Check(handle, value != nullptr), handle, &cublasContext::emulation, value);
}
cublasStatus_t cublasSetEmulationSpecialValuesSupport(cublasHandle_t handle,
                                                      cudaEmulationSpecialValuesSupport value) {
  const bool right = (value & ~CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT) == 0;
  return libraries::Write(Check(handle, right), handle, &cublasContext::special_values, value);
}
cublasStatus_t cublasGetEmulationSpecialValuesSupport(cublasHandle_t handle,
                                                      cudaEmulationSpecialValuesSupport* value) {
  return libraries::Read(Check(handle, value != nullptr), handle, &cublasContext::special_values, value);
}
cublasStatus_t cublasSetFixedPointEmulationMantissaControl(cublasHandle_t handle,
                                                           cudaEmulationMantissaControl value) {
  const bool right =
      value == CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC || value == CUDA_EMULATION_MANTISSA_CONTROL_FIXED;
  return libraries::Write(Check(handle, right), handle, &cublasContext::mantissa_control, value);
}
cublasStatus_t cublasGetFixedPointEmulationMantissaControl(cublasHandle_t handle,
                                                           cudaEmulationMantissaControl* value) {
  return libraries::Read(Check(handle, value != nullptr), handle, &cublasContext::mantissa_control, value);
}
cublasStatus_t cublasSetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t handle, int value) {
  return libraries::Write(Check(handle, value >= 0), handle, &cublasContext::max_mantissa_bits, value);
}
cublasStatus_t cublasGetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t handle, int* value) {
  return libraries::Read(Check(handle, value != nullptr), handle, &cublasContext::max_mantissa_bits, value);
}
cublasStatus_t cublasSetFixedPointEmulationMantissaBitOffset(cublasHandle_t handle, int value) {
  return libraries::Write(Check(handle), handle, &cublasContext::mantissa_bit_offset, value);
}
cublasStatus_t cublasGetFixedPointEmulationMantissaBitOffset(cublasHandle_t handle, int* value) {
  return libraries::Read(Check(handle, value != nullptr), handle, &cublasContext::mantissa_bit_offset, value);
}
cublasStatus_t cublasSetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle, int* value) {
  return libraries::Write(Check(handle), handle, &cublasContext::mantissa_bits, value);
}
cublasStatus_t cublasGetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t handle, int** value) {
  return libraries::Read(Check(handle, value != nullptr), handle, &cublasContext::mantissa_bits, value);
}

}  // namespace ptx2cpu::cublas
