#include "runtime/cuda/libraries/mg/grid.h"

#include "cudart_api.h"

namespace ptx2cpu::cusolvermg {

namespace {

CUresult WaitForDevices(const std::vector<int>& devices) {
  int before = 0;
  if (const cudaError_t error = cudart::cudaGetDevice(&before)) return static_cast<CUresult>(error);
  cudaError_t result = cudaSuccess;
  for (const int device : devices) {
    if (result == cudaSuccess) result = cudart::cudaSetDevice(device);
    if (result == cudaSuccess) result = cudart::cudaDeviceSynchronize();
  }
  const cudaError_t restored = cudart::cudaSetDevice(before);
  return static_cast<CUresult>(result != cudaSuccess ? result : restored);
}
cusolverStatus_t FromDriver(CUresult result) {
  return result == CUDA_SUCCESS               ? CUSOLVER_STATUS_SUCCESS
         : result == CUDA_ERROR_OUT_OF_MEMORY ? CUSOLVER_STATUS_ALLOC_FAILED
                                              : CUSOLVER_STATUS_EXECUTION_FAILED;
}

}  // namespace

cusolverStatus_t RunAndWait(const cusolverMgContext& handle, const char* name, std::function<void()> run) {
  if (!libraries::LoadBlas(name)) return CUSOLVER_STATUS_NOT_SUPPORTED;
  if (const CUresult error = WaitForDevices(handle.devices)) return FromDriver(error);
  if (const CUresult error = libraries::Submit(nullptr, name, std::move(run))) return FromDriver(error);
  return FromDriver(libraries::Synchronize(nullptr));
}

}  // namespace ptx2cpu::cusolvermg
