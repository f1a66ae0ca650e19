// From the launch that a program requests to the work of a stream: limits, parameters, reports of faults.
#include "runtime/cuda/driver/launch/kernel_work.h"

#include <algorithm>
#include <cstring>

#include "runtime/abi/launch_shape.h"
#include "runtime/check/checks.h"
#include "runtime/check/finding.h"
#include "runtime/check/wanted.h"
#include "runtime/cuda/driver/code/function.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/core/errors.h"
#include "runtime/cuda/driver/launch/checked_launch.h"
#include "runtime/cuda/driver/launch/occupancy.h"
#include "runtime/cuda/driver/launch/recorder.h"
#include "runtime/cuda/driver/memory/allocations.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

// Copies each parameter from its address.
CUresult Gather(const ptx2cpu_kernel& kernel, void* const* parameters, std::byte* to) {
  for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
    if (parameters[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const ptx2cpu_parameter& parameter = kernel.parameters[i];
    std::memcpy(to + parameter.offset, parameters[i], parameter.size);
  }
  return CUDA_SUCCESS;
}

// The buffer of `extra`. It may be shorter than the parameters, whose end is then undefined, but not longer.
CUresult FromBuffer(const ptx2cpu_kernel& kernel, void* const* extra, std::byte* to) {
  const void* buffer = nullptr;
  const size_t* size = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = extra[1];
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
      size = static_cast<const size_t*>(extra[1]);
    else
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (buffer == nullptr || size == nullptr) return CUDA_ERROR_INVALID_VALUE;
  size_t needed = 0;
  if (kernel.parameter_count != 0) {
    const ptx2cpu_parameter& last = kernel.parameters[kernel.parameter_count - 1];
    needed = last.offset + last.size;
  }
  if (*size > needed) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  std::memcpy(to, buffer, *size);
  std::memset(to + *size, 0, kernel.parameter_bytes - *size);
  return CUDA_SUCCESS;
}

CUresult PackParameters(const ptx2cpu_kernel& kernel, const LaunchRequest& request,
                        rt::ParameterBlock& block) {
  if (request.parameters != nullptr && request.extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::byte* const to = block.Resize(kernel.parameter_bytes);
  if (request.extra != nullptr) return FromBuffer(kernel, request.extra, to);
  if (kernel.parameter_count == 0) return CUDA_SUCCESS;
  return request.parameters == nullptr ? CUDA_ERROR_INVALID_VALUE : Gather(kernel, request.parameters, to);
}

// Sets the cluster that the function was given, if the launch has none; checks the size.
CUresult SettleCluster(const Function& function, const ptx2cpu_kernel& kernel, rt::LaunchShape& shape) {
  FunctionSettings& settings = function.settings();
  if (Volume(shape.cluster) == 1 && settings.cluster_width.load(std::memory_order_relaxed) > 0) {
    shape.cluster = {static_cast<uint32_t>(settings.cluster_width),
                     static_cast<uint32_t>(std::max(1, settings.cluster_height.load())),
                     static_cast<uint32_t>(std::max(1, settings.cluster_depth.load()))};
  }
  const Dim3 c = rt::WithCluster(kernel, shape).cluster;
  if (Volume(c) == 1) [[likely]]
    return CUDA_SUCCESS;
  const uint64_t most = settings.non_portable_cluster.load(std::memory_order_relaxed) != 0
                            ? kMaxClusterBlocks
                            : kPortableClusterBlocks;
  if (Volume(c) == 0 || Volume(c) > most) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  const Dim3& g = shape.grid;
  return g.x % c.x != 0 || g.y % c.y != 0 || g.z % c.z != 0 ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
}

// On the thread that ran the kernel: the program learns of it by the sticky error, a person here.
void ReportFault(const rt::KernelCode& code, const rt::KernelWork& work, rt::LaunchError& error) {
  const bool is_finding = error.kind == rt::LaunchError::Kind::kFault && rt::check::Checks(*work.kernel);
  if (is_finding && rt::check::ReportsOnlyJson()) return;
  code.FindThread(work.shape, work.params.bytes(), error);
  std::string message = error.message;
  if (error.kind == rt::LaunchError::Kind::kFault) {
    if (error.fault == PTX2CPU_FAULT_BAD_ADDRESS || error.fault == PTX2CPU_FAULT_MISALIGNED) {
      const std::string near = Allocations::Get().Near(error.address);
      if (!near.empty()) message += ": " + near;
    }
    const rt::FaultPlace place = code.module().Locate(error);
    if (place.line != 0) {
      message += "\n  " + place.file + ":" + std::to_string(place.line) + ": " + place.excerpt;
      if (!place.source_file.empty())
        message += "\n  from " + place.source_file + ":" + std::to_string(place.source_line);
    }
  }
  Warn(message + "\n  The program sees " + NameOf(ResultOf(error)) + ".");
}

}  // namespace

CUresult MakeKernelWork(Function& function, const LaunchRequest& request, rt::KernelWork& work) {
  const rt::KernelCode* code;
  const uint64_t blocks = Volume(request.shape.grid);
  if (const CUresult error = function.Code(code, request.shape.block, blocks)) return error;
  const ptx2cpu_kernel& any = code->kernel();
  work.shape = request.shape;
  // A block of CU_LAUNCH_KERNEL_REQUIRED_BLOCK_DIM threads: what the kernel requires.
  if (any.required_threads[0] != 0 && Volume(work.shape.block) == CU_LAUNCH_KERNEL_REQUIRED_BLOCK_DIM) {
    work.shape.block = {any.required_threads[0], std::max(1u, any.required_threads[1]),
                        std::max(1u, any.required_threads[2])};
  }
  if (const CUresult error = SettleCluster(function, any, work.shape)) return error;
  if (rt::CheckShape(any, work.shape, any.parameter_bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (work.shape.dynamic_shared_bytes > function.MaxDynamicShared(any)) return CUDA_ERROR_INVALID_VALUE;
  const auto cannot = [&](const Error& error) {
    Warn("kernel '" + function.name() + "' cannot be compiled for this launch\n" + rt::JitLog(error));
    return ResultOf(error);
  };
  const auto kernel = code->ForBlock(work.shape.block, blocks);
  if (!kernel) return cannot(kernel.error());
  work.kernel = *kernel;
  work.cooperative = request.cooperative;
  if (request.cooperative && Volume(work.shape.grid) > MaxCooperativeGrid(function, any, work.shape))
    return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  if (const CUresult error = PackParameters(any, request, work.params)) return error;
  const auto suited = code->ForParameters(work.kernel, work.shape.block, work.params.bytes().data());
  if (!suited) return cannot(suited.error());
  work.kernel = *suited;
  work.later = code->LaterThan(work.kernel, work.shape.block);
  work.keep = function.shared_code();
  work.services = &function.context().services();
  work.report = [code](const rt::KernelWork& faulted, rt::LaunchError& error) {
    ReportFault(*code, faulted, error);
  };
  if (rt::check::WantedKinds() != 0) PrepareChecks(*code, work.keep, function.context());
  work.witness = TheRecorder();
  return CUDA_SUCCESS;
}

rt::LaunchCode LatestCode(const rt::KernelWork& work) {
  const auto& code = *static_cast<const rt::KernelCode*>(work.keep.get());
  auto kernel = code.ForBlock(work.shape.block, Volume(work.shape.grid));
  if (kernel) kernel = code.ForParameters(*kernel, work.shape.block, work.params.bytes().data());
  if (!kernel) return {work.kernel, work.later};
  return {*kernel, code.LaterThan(*kernel, work.shape.block)};
}

}  // namespace ptx2cpu::driver
