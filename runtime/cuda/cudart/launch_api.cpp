// Launches: by <<<...>>> (a configuration is pushed, the stub pops it), by cudaLaunchKernel and its
// relatives, and the three calls of old compilers (configure, set up arguments, launch).
#include <cstring>
#include <span>
#include <vector>

#include "cudart_api.h"
#include "runtime/abi/launch_shape.h"
#include "runtime/abi/limits.h"
#include "runtime/cuda/cudart/context.h"
#include "runtime/cuda/cudart/registration.h"
#include "runtime/cuda/driver/context/working.h"
#include "runtime/worker/per_thread.h"

namespace ptx2cpu::cudart {

namespace {

struct Configuration {
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
};

// Each thread's pushed configurations; an argument of a stub may itself launch.
std::vector<Configuration>& Configurations() { return rt::PerThread<std::vector<Configuration>>(); }

struct OldLaunch {
  Configuration configuration{};
  bool configured = false;
  std::vector<std::byte> arguments;
};
OldLaunch& OldLaunchOfThread() { return rt::PerThread<OldLaunch>(); }

// This thread has a context to work in, and no kernel has faulted there: a launch after a fault returns the
// fault, whatever else is wrong with the launch.
cudaError_t BeginLaunch() {
  if (const cudaError_t error = Begin()) return error;
  return FromDriver(driver::StateOfWork());
}

// The driver counts dynamic shared memory in 32 bits; what is more is more than any device has.
bool SharedFits(size_t bytes) { return bytes <= UINT32_MAX; }

cudaError_t Launch(CUfunction function, const Configuration& shape, void** args, void** extra) {
  if (!SharedFits(shape.shared_bytes)) return cudaErrorInvalidValue;
  const auto [gx, gy, gz] = shape.grid;
  const auto [bx, by, bz] = shape.block;
  return FromDriver(driver::cuLaunchKernel(function, gx, gy, gz, bx, by, bz,
                                           static_cast<unsigned>(shape.shared_bytes), shape.stream, args,
                                           extra));
}

// Until CUDA 12 a shape that no launch can have was a wrong configuration; since 13 it is a wrong argument
// like others.
cudaError_t AsConfiguration(cudaError_t error, const dim3& grid, const dim3& block) {
  if (error != cudaErrorInvalidValue) return error;
  const bool is_legal = IsLegalGrid({grid.x, grid.y, grid.z}) && IsLegalBlock({block.x, block.y, block.z});
  return is_legal ? error : cudaErrorInvalidConfiguration;
}

}  // namespace

unsigned int __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, CUstream_st* stream) {
  Configurations().push_back({gridDim, blockDim, sharedMem, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* gridDim, dim3* blockDim, size_t* sharedMem, void* stream) {
  std::vector<Configuration>& configurations = Configurations();
  if (configurations.empty()) return cudaErrorMissingConfiguration;
  const Configuration& top = configurations.back();
  *gridDim = top.grid;
  *blockDim = top.block;
  *sharedMem = top.shared_bytes;
  std::memcpy(stream, &top.stream, sizeof top.stream);
  configurations.pop_back();
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem,
                             cudaStream_t stream) {
  if (const cudaError_t error = BeginLaunch()) return error;
  CUfunction function;
  if (const cudaError_t error = FunctionOf(func, function)) return error;
  return Launch(function, {gridDim, blockDim, sharedMem, stream}, args, nullptr);
}

cudaError_t cudaLaunchKernel(const void* func, cudaGridDim12 gridDim, dim3 blockDim, void** args,
                             size_t sharedMem, cudaStream_t stream) {
  return AsConfiguration(
      cudaLaunchKernel(func, static_cast<const dim3&>(gridDim), blockDim, args, sharedMem, stream), gridDim,
      blockDim);
}

cudaError_t cudaLaunchCooperativeKernel(const void* func, cudaGridDim12 gridDim, dim3 blockDim, void** args,
                                        size_t sharedMem, cudaStream_t stream) {
  return AsConfiguration(
      cudaLaunchCooperativeKernel(func, static_cast<const dim3&>(gridDim), blockDim, args, sharedMem, stream),
      gridDim, blockDim);
}

// The stub calls once and keeps the result, also after a failure; then that is the host address, by which
// each launch finds the failure again.
cudaError_t __cudaGetKernel(cudaKernel_t* kernelPtr, const void* entryFuncAddr) {
  const cudaError_t error = Registry::Get().Kernel(entryFuncAddr, *kernelPtr);
  if (error != cudaSuccess) *kernelPtr = reinterpret_cast<cudaKernel_t>(const_cast<void*>(entryFuncAddr));
  return error == cudaErrorInvalidResourceHandle ? cudaErrorInvalidDeviceFunction : error;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void** args,
                               size_t sharedMem, cudaStream_t stream) {
  if (const cudaError_t error = BeginLaunch()) return error;
  CUfunction function = reinterpret_cast<CUfunction>(kernel);
  const cudaError_t result = Launch(function, {gridDim, blockDim, sharedMem, stream}, args, nullptr);
  if (result != cudaErrorInvalidResourceHandle) [[likely]]
    return result;
  if (const cudaError_t error = FunctionOf(kernel, function)) return error;
  return Launch(function, {gridDim, blockDim, sharedMem, stream}, args, nullptr);
}

cudaError_t cudaLaunchCooperativeKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args,
                                        size_t sharedMem, cudaStream_t stream) {
  if (const cudaError_t error = BeginLaunch()) return error;
  CUfunction function;
  if (const cudaError_t error = FunctionOf(func, function)) return error;
  if (!SharedFits(sharedMem)) return cudaErrorInvalidValue;
  return FromDriver(driver::cuLaunchCooperativeKernel(function, gridDim.x, gridDim.y, gridDim.z, blockDim.x,
                                                      blockDim.y, blockDim.z,
                                                      static_cast<unsigned>(sharedMem), stream, args));
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* func, void** args) {
  if (const cudaError_t error = BeginLaunch()) return error;
  if (config == nullptr || !SharedFits(config->dynamicSmemBytes)) return cudaErrorInvalidValue;
  CUfunction function;
  if (const cudaError_t error = FunctionOf(func, function)) return error;
  const CUlaunchConfig shape{config->gridDim.x,
                             config->gridDim.y,
                             config->gridDim.z,
                             config->blockDim.x,
                             config->blockDim.y,
                             config->blockDim.z,
                             static_cast<unsigned>(config->dynamicSmemBytes),
                             config->stream,
                             Twin<CUlaunchAttribute>(config->attrs),
                             config->numAttrs};
  return FromDriver(driver::cuLaunchKernelEx(&shape, function, args, nullptr));
}

cudaError_t cudaConfigureCall(dim3 gridDim, dim3 blockDim, size_t sharedMem, cudaStream_t stream) {
  OldLaunch& launch = OldLaunchOfThread();
  launch.configuration = {gridDim, blockDim, sharedMem, stream};
  launch.configured = true;
  launch.arguments.clear();
  return cudaSuccess;
}

cudaError_t cudaSetupArgument(const void* arg, size_t size, size_t offset) {
  OldLaunch& launch = OldLaunchOfThread();
  if (!launch.configured) return cudaErrorMissingConfiguration;
  if (size > kMaxParameterBytes || offset > kMaxParameterBytes - size) return cudaErrorInvalidValue;
  if (launch.arguments.size() < offset + size) launch.arguments.resize(offset + size);
  std::memcpy(launch.arguments.data() + offset, arg, size);
  return cudaSuccess;
}

cudaError_t cudaLaunch(const void* func) {
  OldLaunch& launch = OldLaunchOfThread();
  if (!launch.configured) return cudaErrorMissingConfiguration;
  launch.configured = false;
  if (const cudaError_t error = BeginLaunch()) return error;
  CUfunction function;
  if (const cudaError_t error = FunctionOf(func, function)) return error;
  size_t size = launch.arguments.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, launch.arguments.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &size, CU_LAUNCH_PARAM_END};
  return AsConfiguration(Launch(function, launch.configuration, nullptr, extra), launch.configuration.grid,
                         launch.configuration.block);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  return InContext(&driver::cuLaunchHostFunc, stream, fn, userData);
}

// The mode sets how eagerly the host thread waits for the function, not what is done.
cudaError_t cudaLaunchHostFunc_v2(cudaStream_t stream, cudaHostFn_t fn, void* userData, unsigned int) {
  return cudaLaunchHostFunc(stream, fn, userData);
}

}  // namespace ptx2cpu::cudart
