// Handles, grids, descriptors.
#include <set>

#include "cudart_api.h"
#include "runtime/cuda/libraries/core/handle.h"
#include "runtime/cuda/libraries/mg/grid.h"

namespace ptx2cpu::cusolvermg {

namespace {

constexpr int kMaxDevices = 32;  // as documented

// Each is a device of this machine, and none appears twice.
bool AreDevices(const int* ids, int count) {
  int devices = 0;
  if (ids == nullptr || count < 1 || count > kMaxDevices) return false;
  if (cudart::cudaGetDeviceCount(&devices) != cudaSuccess) return false;
  const std::set<int> different(ids, ids + count);
  return different.size() == static_cast<size_t>(count) && *different.begin() >= 0 &&
         *different.rbegin() < devices;
}
bool IsElement(cudaDataType type) { return cusolver::IsType(type); }

}  // namespace

cusolverStatus_t cusolverMgCreate(cusolverMgHandle_t* handle) {
  return libraries::CreateHandle(handle, CUSOLVER_STATUS_INVALID_VALUE, CUSOLVER_STATUS_NOT_INITIALIZED);
}
cusolverStatus_t cusolverMgDestroy(cusolverMgHandle_t handle) {
  return libraries::DestroyHandle(handle, CUSOLVER_STATUS_NOT_INITIALIZED);
}
cusolverStatus_t cusolverMgDeviceSelect(cusolverMgHandle_t handle, int count, int devices[]) {
  if (handle == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (!AreDevices(devices, count)) return CUSOLVER_STATUS_INVALID_VALUE;
  handle->devices.assign(devices, devices + count);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverMgCreateDeviceGrid(cudaLibMgGrid_t* grid, int32_t rowDevices, int32_t columnDevices,
                                            const int32_t devices[], cusolverMgGridMapping_t mapping) {
  const bool maps =
      mapping == CUDALIBMG_GRID_MAPPING_ROW_MAJOR || mapping == CUDALIBMG_GRID_MAPPING_COL_MAJOR;
  // As documented: one row of devices.
  if (grid == nullptr || rowDevices != 1 || !maps || !AreDevices(devices, columnDevices))
    return CUSOLVER_STATUS_INVALID_VALUE;
  *grid = new Grid{{devices, devices + columnDevices}};
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverMgDestroyGrid(cudaLibMgGrid_t grid) {
  if (grid == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  delete static_cast<Grid*>(grid);
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverMgCreateMatrixDesc(cudaLibMgMatrixDesc_t* descr, int64_t rows, int64_t columns,
                                            int64_t rowBlock, int64_t columnBlock, cudaDataType type,
                                            const cudaLibMgGrid_t grid) {
  // As documented: blocks have all rows.
  if (descr == nullptr || grid == nullptr || rows < 0 || columns < 0 || rowBlock != rows || columnBlock < 1 ||
      !IsElement(type))
    return CUSOLVER_STATUS_INVALID_VALUE;
  *descr = new Matrix{rows, columns, columnBlock, type, *static_cast<const Grid*>(grid)};
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverMgDestroyMatrixDesc(cudaLibMgMatrixDesc_t descr) {
  if (descr == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  delete static_cast<Matrix*>(descr);
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace ptx2cpu::cusolvermg
