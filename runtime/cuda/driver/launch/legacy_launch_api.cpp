// The launch interface of CUDA 1 to 3: shape and parameters are kept in the function until cuLaunch.
#include <cstring>

#include "driver_api.h"
#include "runtime/cuda/driver/code/function.h"

namespace ptx2cpu::driver {

namespace {

CUresult SetParameter(CUfunction handle, int offset, const void* from, size_t bytes) {
  Function* function;
  if (const CUresult error = FunctionOf(handle, function)) return error;
  if (offset < 0 || from == nullptr || static_cast<size_t>(offset) + bytes > kMaxParameterBytes)
    return CUDA_ERROR_INVALID_VALUE;
  LegacyLaunch& legacy = function->legacy();
  std::lock_guard lock(legacy.mutex);
  if (legacy.parameters.size() < static_cast<size_t>(offset) + bytes)
    legacy.parameters.resize(static_cast<size_t>(offset) + bytes);
  std::memcpy(legacy.parameters.data() + offset, from, bytes);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z) {
  Function* function;
  if (const CUresult error = FunctionOf(hfunc, function)) return error;
  if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
  LegacyLaunch& legacy = function->legacy();
  std::lock_guard lock(legacy.mutex);
  legacy.block = {static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z)};
  return CUDA_SUCCESS;
}

CUresult cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes) {
  Function* function;
  if (const CUresult error = FunctionOf(hfunc, function)) return error;
  LegacyLaunch& legacy = function->legacy();
  std::lock_guard lock(legacy.mutex);
  legacy.shared_bytes = bytes;
  return CUDA_SUCCESS;
}

CUresult cuParamSetSize(CUfunction hfunc, unsigned int numbytes) {
  Function* function;
  if (const CUresult error = FunctionOf(hfunc, function)) return error;
  if (numbytes > kMaxParameterBytes) return CUDA_ERROR_INVALID_VALUE;
  LegacyLaunch& legacy = function->legacy();
  std::lock_guard lock(legacy.mutex);
  legacy.parameters.resize(numbytes);
  return CUDA_SUCCESS;
}

CUresult cuParamSeti(CUfunction hfunc, int offset, unsigned int value) {
  return SetParameter(hfunc, offset, &value, sizeof value);
}
CUresult cuParamSetf(CUfunction hfunc, int offset, float value) {
  return SetParameter(hfunc, offset, &value, sizeof value);
}
CUresult cuParamSetv(CUfunction hfunc, int offset, void* ptr, unsigned int numbytes) {
  return SetParameter(hfunc, offset, ptr, numbytes);
}

CUresult cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream) {
  Function* function;
  if (const CUresult error = FunctionOf(f, function)) return error;
  if (grid_width <= 0 || grid_height <= 0) return CUDA_ERROR_INVALID_VALUE;
  LegacyLaunch& legacy = function->legacy();
  std::unique_lock lock(legacy.mutex);
  std::vector<std::byte> parameters = legacy.parameters;
  const Dim3 block = legacy.block;
  const unsigned shared = legacy.shared_bytes;
  lock.unlock();
  size_t size = parameters.size();
  std::byte none;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, size == 0 ? &none : parameters.data(),
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  return cuLaunchKernel(f, static_cast<unsigned>(grid_width), static_cast<unsigned>(grid_height), 1, block.x,
                        block.y, block.z, shared, hStream, nullptr, extra);
}

CUresult cuLaunchGrid(CUfunction f, int grid_width, int grid_height) {
  return cuLaunchGridAsync(f, grid_width, grid_height, nullptr);
}
CUresult cuLaunch(CUfunction f) { return cuLaunchGridAsync(f, 1, 1, nullptr); }

}  // namespace ptx2cpu::driver
