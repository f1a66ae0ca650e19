// cuLaunchKernel and its kin: kernels into streams.
#include "driver_api.h"
#include "runtime/cuda/driver/code/function.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/launch/kernel_work.h"
#include "runtime/cuda/driver/stream/submit.h"

namespace ptx2cpu::driver {

namespace {

// What launch attributes request beside the shape.
struct Extras {
  CUevent programmatic_event = nullptr, completion_event = nullptr;
};

CUresult ReadAttributes(const CUlaunchConfig& config, LaunchRequest& request, Extras& extras) {
  if (config.numAttrs > 0 && config.attrs == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttributeValue& value = config.attrs[i].value;
    switch (config.attrs[i].id) {
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        if (value.clusterDim.x == 0 || value.clusterDim.y == 0 || value.clusterDim.z == 0)
          return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        request.shape.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
        break;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        request.cooperative = value.cooperative != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        extras.programmatic_event = value.programmaticEvent.event;
        break;
      case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        extras.completion_event = value.launchCompletionEvent.event;
        break;
      default:
        // Priorities, early starts of dependent launches, cache windows, domains: a launch in order honours
        // them all.
        if (config.attrs[i].id < 0 || config.attrs[i].id >= CU_LAUNCH_ATTRIBUTE_MAX)
          return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

void DescribeKernel(CUgraphNodeParams& node, CUfunction handle, const LaunchRequest& request,
                    Context& context) {
  node.type = CU_GRAPH_NODE_TYPE_KERNEL;
  const bool is_kernel = From<Kernel>(reinterpret_cast<CUkernel>(handle)) != nullptr;
  node.kernel.func = is_kernel ? nullptr : handle;
  node.kernel.kern = is_kernel ? reinterpret_cast<CUkernel>(handle) : nullptr;
  node.kernel.gridDimX = request.shape.grid.x;
  node.kernel.gridDimY = request.shape.grid.y;
  node.kernel.gridDimZ = request.shape.grid.z;
  node.kernel.blockDimX = request.shape.block.x;
  node.kernel.blockDimY = request.shape.block.y;
  node.kernel.blockDimZ = request.shape.block.z;
  node.kernel.sharedMemBytes = request.shape.dynamic_shared_bytes;
  node.kernel.kernelParams = request.parameters;
  node.kernel.extra = request.extra;
  node.kernel.ctx = HandleOf(&context);
}

CUresult LaunchIn(StreamObject& stream, CUfunction handle, const LaunchRequest& request) {
  Context& context = stream.context();
  Function* function;
  if (const CUresult error = FunctionOf(handle, context, function)) return error;
  if (&function->context() != &context) return CUDA_ERROR_INVALID_CONTEXT;
  rt::Work work{std::in_place_type<rt::KernelWork>};
  if (const CUresult error = MakeKernelWork(*function, request, *std::get_if<rt::KernelWork>(&work)))
    return error;
  return Submit(stream, std::move(work),
                [&](CUgraphNodeParams& node) { DescribeKernel(node, handle, request, context); });
}

}  // namespace

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                        unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                        unsigned int sharedMemBytes, CUstream hStream, void** kernelParams, void** extra) {
  StreamObject* stream;
  if (const CUresult error = StreamOf(hStream, stream)) return error;
  const LaunchRequest request{
      .shape = {{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes},
      .parameters = kernelParams,
      .extra = extra};
  return LaunchIn(*stream, f, request);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                   unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                                   unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                                   void** kernelParams) {
  StreamObject* stream;
  if (const CUresult error = StreamOf(hStream, stream)) return error;
  const LaunchRequest request{
      .shape = {{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes},
      .cooperative = true,
      .parameters = kernelParams};
  return LaunchIn(*stream, f, request);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  StreamObject* stream;
  if (const CUresult error = StreamOf(config->hStream, stream)) return error;
  LaunchRequest request{.shape = {{config->gridDimX, config->gridDimY, config->gridDimZ},
                                  {config->blockDimX, config->blockDimY, config->blockDimZ},
                                  config->sharedMemBytes},
                        .parameters = kernelParams,
                        .extra = extra};
  Extras extras;
  if (const CUresult error = ReadAttributes(*config, request, extras)) return error;
  if (const CUresult error = LaunchIn(*stream, f, request)) return error;
  for (const CUevent event : {extras.programmatic_event, extras.completion_event}) {
    if (event == nullptr) continue;
    if (const CUresult error = cuEventRecord(event, config->hStream)) return error;
  }
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
