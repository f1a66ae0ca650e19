// Handles, parameters of methods, and the library's version and properties.
#include "runtime/cuda/libraries/core/handle.h"
#include "runtime/cuda/libraries/core/soname.h"
#include "runtime/cuda/libraries/solver/eigen.h"

// What a cusolverDnParams_t points to: every algorithm computes the same here.
struct ptx2cpu::cuda::cusolverDnParams {};

namespace ptx2cpu::cusolver {

namespace {

// The last release of each soname.
struct Release {
  int soname, major, minor, patch;
};
constexpr Release kReleases[] = {{11, 11, 7, 5}, {12, 12, 0, 4}};
Release ThisRelease() { return *std::ranges::find(kReleases, libraries::kSonameMajor, &Release::soname); }

template <typename Info>
cusolverStatus_t Create(Info** info) {
  return libraries::CreateObject(info, CUSOLVER_STATUS_INVALID_VALUE);
}
template <typename Info>
cusolverStatus_t Destroy(Info* info) {
  delete info;
  return CUSOLVER_STATUS_SUCCESS;
}
template <typename Info, typename Value>
cusolverStatus_t Set(Info* info, Value Info::* field, Value value) {
  if (info == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  info->*field = value;
  return CUSOLVER_STATUS_SUCCESS;
}
// Both wait, as documented.
template <typename Info>
cusolverStatus_t ReportResidual(cusolverDnHandle_t handle, Info* info, double* residual) {
  if (const cusolverStatus_t wrong = Check(handle, info != nullptr, residual != nullptr)) return wrong;
  if (const CUresult error = libraries::Synchronize(handle->stream)) return FromDriver(error);
  *residual = info->state->residual;
  return CUSOLVER_STATUS_SUCCESS;
}
template <typename Info>
cusolverStatus_t ReportSweeps(cusolverDnHandle_t handle, Info* info, int* sweeps) {
  if (const cusolverStatus_t wrong = Check(handle, info != nullptr, sweeps != nullptr)) return wrong;
  if (const CUresult error = libraries::Synchronize(handle->stream)) return FromDriver(error);
  *sweeps = 1;
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  return libraries::CreateHandle(handle, CUSOLVER_STATUS_INVALID_VALUE, CUSOLVER_STATUS_NOT_INITIALIZED);
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  return libraries::DestroyHandle(handle, CUSOLVER_STATUS_NOT_INITIALIZED);
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  return libraries::Write(Check(handle), handle, &cusolverDnContext::stream, stream);
}
cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t* stream) {
  return libraries::Read(Check(handle, stream != nullptr), handle, &cusolverDnContext::stream, stream);
}
// Results are always the same.
cusolverStatus_t cusolverDnSetDeterministicMode(cusolverDnHandle_t handle, cusolverDeterministicMode_t mode) {
  const bool right =
      mode == CUSOLVER_DETERMINISTIC_RESULTS || mode == CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS;
  if (handle == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (!right) return CUSOLVER_STATUS_INTERNAL_ERROR;  // as an H100 does
  handle->deterministic = mode;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnGetDeterministicMode(cusolverDnHandle_t handle,
                                                cusolverDeterministicMode_t* mode) {
  return libraries::Read(Check(handle, mode != nullptr), handle, &cusolverDnContext::deterministic, mode);
}
cusolverStatus_t cusolverDnSetMathMode(cusolverDnHandle_t handle, cusolverMathMode_t mode) {
  const bool right = mode == CUSOLVER_DEFAULT_MATH || mode == CUSOLVER_FP32_EMULATED_BF16X9_MATH;
  return libraries::Write(Check(handle, right), handle, &cusolverDnContext::math, mode);
}
cusolverStatus_t cusolverDnGetMathMode(cusolverDnHandle_t handle, cusolverMathMode_t* mode) {
  return libraries::Read(Check(handle, mode != nullptr), handle, &cusolverDnContext::math, mode);
}
// Nothing is emulated: results have the requested precision.
cusolverStatus_t cusolverDnSetEmulationStrategy(cusolverDnHandle_t handle, cudaEmulationStrategy_t strategy) {
  const bool right = strategy >= CUDA_EMULATION_STRATEGY_DEFAULT && strategy <= CUDA_EMULATION_STRATEGY_EAGER;
  return libraries::Write(Check(handle, right), handle, &cusolverDnContext::emulation, strategy);
}
cusolverStatus_t cusolverDnGetEmulationStrategy(cusolverDnHandle_t handle,
                                                cudaEmulationStrategy_t* strategy) {
  return libraries::Read(Check(handle, strategy != nullptr), handle, &cusolverDnContext::emulation, strategy);
}
cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUSOLVER_STATUS_INVALID_VALUE;
  const Release release = ThisRelease();
  *value = type == MAJOR_VERSION ? release.major : type == MINOR_VERSION ? release.minor : release.patch;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverGetVersion(int* version) {
  if (version == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  const Release release = ThisRelease();
  *version = release.major * 1000 + release.minor * 100 + release.patch;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* params) { return Create(params); }
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params) { return Destroy(params); }
cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t params, cusolverDnFunction_t function,
                                         cusolverAlgMode_t algo) {
  const bool right = params != nullptr && function >= CUSOLVERDN_GETRF &&
                     function <= CUSOLVERDN_SYEVBATCHED && algo >= CUSOLVER_ALG_0 && algo <= CUSOLVER_ALG_2;
  return right ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;
}

cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t* info) { return Create(info); }
cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t info) { return Destroy(info); }
cusolverStatus_t cusolverDnXsyevjSetTolerance(syevjInfo_t info, double tolerance) {
  return Set(info, &syevjInfo::tolerance, tolerance);
}
cusolverStatus_t cusolverDnXsyevjSetMaxSweeps(syevjInfo_t info, int sweeps) {
  return Set(info, &syevjInfo::max_sweeps, sweeps);
}
cusolverStatus_t cusolverDnXsyevjSetSortEig(syevjInfo_t info, int sort) {
  return Set(info, &syevjInfo::sorts, sort != 0);
}
cusolverStatus_t cusolverDnXsyevjGetResidual(cusolverDnHandle_t handle, syevjInfo_t info, double* residual) {
  return ReportResidual(handle, info, residual);
}
cusolverStatus_t cusolverDnXsyevjGetSweeps(cusolverDnHandle_t handle, syevjInfo_t info, int* sweeps) {
  return ReportSweeps(handle, info, sweeps);
}
cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t* info) { return Create(info); }
cusolverStatus_t cusolverDnDestroyGesvdjInfo(gesvdjInfo_t info) { return Destroy(info); }
cusolverStatus_t cusolverDnXgesvdjSetTolerance(gesvdjInfo_t info, double tolerance) {
  return Set(info, &gesvdjInfo::tolerance, tolerance);
}
cusolverStatus_t cusolverDnXgesvdjSetMaxSweeps(gesvdjInfo_t info, int sweeps) {
  return Set(info, &gesvdjInfo::max_sweeps, sweeps);
}
cusolverStatus_t cusolverDnXgesvdjSetSortEig(gesvdjInfo_t info, int sort) {
  return Set(info, &gesvdjInfo::sorts, sort != 0);
}
cusolverStatus_t cusolverDnXgesvdjGetResidual(cusolverDnHandle_t handle, gesvdjInfo_t info,
                                              double* residual) {
  return ReportResidual(handle, info, residual);
}
cusolverStatus_t cusolverDnXgesvdjGetSweeps(cusolverDnHandle_t handle, gesvdjInfo_t info, int* sweeps) {
  return ReportSweeps(handle, info, sweeps);
}

}  // namespace ptx2cpu::cusolver
