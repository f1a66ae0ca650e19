// The functions of runtime/abi/device_runtime.def. Error numbers and structs are those of the CUDA runtime.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

#include "runtime/check/checks.h"
#include "runtime/device/condition.h"
#include "runtime/launch/launch_job.h"
#include "runtime/launch/launch_state.h"
#include "runtime/launch/run_children.h"
#include "runtime/worker/fault.h"

namespace ptx2cpu::rt {

namespace {

enum CudaError : uint32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInvalidConfiguration = 9,
  kLaunchMaxDepthExceeded = 65,
  kInvalidDeviceFunction = 98,
  kInvalidDevice = 101,
  kLaunchOutOfResources = 701,
  kNotSupported = 801,
};
constexpr std::pair<uint32_t, std::pair<const char*, const char*>> kErrors[] = {
    {kSuccess, {"cudaSuccess", "no error"}},
    {kInvalidValue, {"cudaErrorInvalidValue", "invalid argument"}},
    {kMemoryAllocation, {"cudaErrorMemoryAllocation", "out of memory"}},
    {kInvalidConfiguration, {"cudaErrorInvalidConfiguration", "invalid configuration argument"}},
    {kLaunchMaxDepthExceeded,
     {"cudaErrorLaunchMaxDepthExceeded", "launch would exceed maximum depth of nested launches"}},
    {kInvalidDeviceFunction, {"cudaErrorInvalidDeviceFunction", "invalid device function"}},
    {kInvalidDevice, {"cudaErrorInvalidDevice", "invalid device ordinal"}},
    {kLaunchOutOfResources, {"cudaErrorLaunchOutOfResources", "too many resources requested for launch"}},
    {kNotSupported, {"cudaErrorNotSupported", "operation not supported"}},
};
constexpr uint64_t kTailStream = 3;
constexpr uint32_t kMaxDepth = 24;
constexpr uint32_t kThreadsPerMultiprocessor = 2048, kBlocksPerMultiprocessor = 32;

struct Call {
  ptx2cpu_block* block;
  uint32_t thread;
  const uint64_t* words;

  template <typename T>
  T* Pointer(size_t i) const {
    return reinterpret_cast<T*>(words[i]);
  }
  uint32_t Word(size_t i) const { return static_cast<uint32_t>(words[i]); }
  Dim3 Extent(size_t i) const {
    const auto* extents = Pointer<const uint32_t>(i);
    return {extents[0], extents[1], extents[2]};
  }
  ChildQueue& queue() const { return block->launch->children; }
  uint64_t BlockNumber() const {
    return (uint64_t{block->ctaid[2]} * block->nctaid[1] + block->ctaid[1]) * block->nctaid[0] +
           block->ctaid[0];
  }
  uint64_t Failed(uint32_t error) const {
    if (error != kSuccess) queue().last_error.store(error, std::memory_order_relaxed);
    return error;
  }
  // A value for the caller.
  template <typename T>
  uint64_t Give(size_t i, T value) const {
    if (words[i] == 0) return Failed(kInvalidValue);
    std::memcpy(Pointer<T>(i), &value, sizeof value);
    check::OnResult(*block, thread, Pointer<T>(i), sizeof value);
    return kSuccess;
  }
};

// -- launches --

const ptx2cpu_kernel* FindKernel(const Call& call, KernelFinder* finder, Dim3 block,
                                 const std::byte* parameters) {
  std::string why;
  const ptx2cpu_kernel* kernel = finder == nullptr ? nullptr : finder->Find(block, parameters, &why);
  if (!why.empty())
    call.block->launch->prints.AppendError("ptx2cpu: a kernel launched by a kernel: " + why + "\n");
  if (kernel == nullptr) call.Failed(kInvalidDeviceFunction);
  return kernel;
}

const ptx2cpu_kernel* KernelAt(const Call& call, size_t word, Dim3 block) {
  return FindKernel(call, FindDeviceKernel(call.Pointer<const void>(word)).get(), block, nullptr);
}

uint64_t GetParameterBufferV2(const Call& call) {
  auto launch = std::make_unique<ChildLaunch>();
  launch->shape = {call.Extent(1), call.Extent(2), call.Word(3)};
  launch->finder = FindDeviceKernel(call.Pointer<const void>(0));
  launch->kernel = FindKernel(call, launch->finder.get(), launch->shape.block, nullptr);
  if (launch->kernel == nullptr) return 0;
  const size_t bytes = launch->kernel->parameter_bytes;
  return reinterpret_cast<uint64_t>(call.queue().Prepare(std::move(launch), bytes));
}

uint64_t GetParameterBuffer(const Call& call) {
  return reinterpret_cast<uint64_t>(call.queue().Prepare(std::make_unique<ChildLaunch>(), call.words[1]));
}

uint64_t Enqueue(const Call& call, std::unique_ptr<ChildLaunch> launch, uint64_t stream) {
  if (call.queue().depth + 1 >= kMaxDepth && stream != kTailStream)
    return call.Failed(kLaunchMaxDepthExceeded);
  if (const auto error = CheckShape(*launch->kernel, launch->shape, launch->kernel->parameter_bytes))
    return call.Failed(error->kind == LaunchError::Kind::kShape ? kInvalidConfiguration
                                                                : kLaunchOutOfResources);
  ChildOperation operation;
  operation.tail = stream == kTailStream;
  operation.block = call.BlockNumber();
  operation.launch = std::move(launch);
  call.queue().Add(std::move(operation));
  return kSuccess;
}

uint64_t LaunchDeviceV2(const Call& call) {
  auto launch = call.queue().TakePrepared(call.Pointer<const void>(0));
  if (launch == nullptr || launch->kernel == nullptr) return call.Failed(kInvalidValue);
  launch->kernel = FindKernel(call, launch->finder.get(), launch->shape.block, launch->parameters);
  if (launch->kernel == nullptr) return kInvalidDeviceFunction;
  return Enqueue(call, std::move(launch), call.words[1]);
}

uint64_t LaunchDevice(const Call& call) {
  auto launch = call.queue().TakePrepared(call.Pointer<const void>(1));
  if (launch == nullptr) return call.Failed(kInvalidValue);
  launch->shape = {call.Extent(2), call.Extent(3), call.Word(4)};
  launch->finder = FindDeviceKernel(call.Pointer<const void>(0));
  launch->kernel = FindKernel(call, launch->finder.get(), launch->shape.block, launch->parameters);
  if (launch->kernel == nullptr) return kInvalidDeviceFunction;
  return Enqueue(call, std::move(launch), call.words[5]);
}

uint64_t DeviceSynchronize(const Call& call) {
  ptx2cpu_launch& launch = *call.block->launch;
  if (auto error =
          RunOperations(launch.children.TakeOf(call.BlockNumber()), *launch.options, launch.children.depth)) {
    launch.job->Fail(*std::move(error));
    FaultRecord record;  // ends this block; the error above stays
    record.kind = PTX2CPU_FAULT_TRAP;
    JumpToLandingPoint(record);
  }
  return kSuccess;
}

// -- streams and events: see child_queue.h --

uint64_t GiveHandle(const Call& call) {
  return call.Give<uint64_t>(0, call.queue().next_handle.fetch_add(1));
}
uint64_t Nothing(const Call&) { return kSuccess; }
uint64_t StreamCreateWithFlags(const Call& call) { return GiveHandle(call); }
uint64_t StreamDestroy(const Call& call) { return Nothing(call); }
uint64_t StreamWaitEvent(const Call& call) { return Nothing(call); }
uint64_t EventCreateWithFlags(const Call& call) { return GiveHandle(call); }
uint64_t EventRecord(const Call& call) { return Nothing(call); }
uint64_t EventRecordWithFlags(const Call& call) { return Nothing(call); }
uint64_t EventDestroy(const Call& call) { return Nothing(call); }

// -- errors --

uint64_t GetLastError(const Call& call) { return call.queue().last_error.exchange(kSuccess); }
uint64_t PeekAtLastError(const Call& call) { return call.queue().last_error.load(); }

std::pair<const char*, const char*> NamesOf(uint32_t error) {
  const auto found = std::ranges::find(kErrors, error, [](const auto& row) { return row.first; });
  return found == std::end(kErrors) ? std::pair{"unrecognized error code", "unrecognized error code"}
                                    : found->second;
}
uint64_t GetErrorName(const Call& call) { return reinterpret_cast<uint64_t>(NamesOf(call.Word(0)).first); }
uint64_t GetErrorString(const Call& call) { return reinterpret_cast<uint64_t>(NamesOf(call.Word(0)).second); }

// -- the device --

uint64_t GetDevice(const Call& call) {
  return call.Give<int32_t>(0, call.block->launch->services->device.ordinal);
}
uint64_t GetDeviceCount(const Call& call) {
  return call.Give<int32_t>(0, call.block->launch->services->device.count);
}
uint64_t RuntimeGetVersion(const Call& call) {
  return call.Give<int32_t>(0, call.block->launch->services->device.runtime_version);
}
uint64_t DeviceGetCacheConfig(const Call& call) { return call.Give<int32_t>(0, 0); }  // no preference
uint64_t DeviceGetSharedMemConfig(const Call& call) {
  return call.Give<int32_t>(0, 1);
}  // banks of four bytes

uint64_t DeviceGetAttribute(const Call& call) {
  int32_t value = 0;
  const auto& device = call.block->launch->services->device;
  if (device.attribute == nullptr) return call.Failed(kNotSupported);
  if (!device.attribute(call.Word(1), static_cast<int32_t>(call.Word(2)), &value))
    return call.Failed(kInvalidValue);
  return call.Give(0, value);
}

uint64_t DeviceGetLimit(const Call& call) {
  const DeviceLimits& limits = call.block->launch->services->limits;
  switch (call.Word(1)) {
    case 0:
      return call.Give<uint64_t>(0, limits.stack_bytes);
    case 1:
      return call.Give<uint64_t>(0, limits.printf_bytes);
    case 2:
      return call.Give<uint64_t>(0, limits.heap_bytes);
    default:
      return call.Failed(kInvalidValue);
  }
}

// The head of cudaFuncAttributes; later members are left as they are.
struct FunctionAttributes {
  uint64_t shared_bytes, constant_bytes, local_bytes;
  int32_t most_threads, registers, ptx_version, binary_version;
};
uint64_t FuncGetAttributes(const Call& call) {
  const ptx2cpu_kernel* kernel = KernelAt(call, 1, {});
  if (kernel == nullptr) return kInvalidDeviceFunction;
  uint64_t threads = kMaxThreads;
  if (kernel->max_threads[0] != 0) {
    threads = 1;
    for (uint32_t extent : kernel->max_threads) threads *= std::max(extent, 1u);
  }
  return call.Give<FunctionAttributes>(
      0, {kernel->static_shared_bytes, 0, kernel->local_bytes, static_cast<int32_t>(threads), 32, 90, 90});
}

uint64_t OccupancyMaxActiveBlocksPerMultiprocessor(const Call& call) {
  const uint32_t threads = call.Word(2);
  if (threads == 0 || threads > kMaxThreads) return call.Give<int32_t>(0, 0);
  uint64_t blocks = std::min(kBlocksPerMultiprocessor, kThreadsPerMultiprocessor / threads);
  const ptx2cpu_kernel* kernel = KernelAt(call, 1, {threads, 1, 1});
  if (kernel == nullptr) return kInvalidDeviceFunction;
  if (const uint64_t shared = kernel->static_shared_bytes + call.words[3])
    blocks = std::min(blocks, kMaxSharedBytes / shared);
  return call.Give<int32_t>(0, static_cast<int32_t>(blocks));
}
uint64_t OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(const Call& call) {
  return OccupancyMaxActiveBlocksPerMultiprocessor(call);
}

// -- memory --

uint64_t Malloc(const Call& call) {
  void* memory = ptx2cpu_aligned_malloc(call.block, call.words[1], 256);
  if (memory == nullptr && call.words[1] != 0) return call.Failed(kMemoryAllocation);
  return call.Give<void*>(0, memory);
}
uint64_t Free(const Call& call) {
  const bool keep = check::KeepsFreedBlocks();
  return call.block->launch->services->heap.Free(call.Pointer<void>(0), keep) ? kSuccess
                                                                              : call.Failed(kInvalidValue);
}

uint64_t AddRows(const Call& call, ChildOperation operation, uint64_t stream) {
  if (operation.width == 0 || operation.height == 0) return kSuccess;
  operation.tail = stream == kTailStream;
  operation.block = call.BlockNumber();
  call.queue().Add(std::move(operation));
  return kSuccess;
}
uint64_t MemcpyAsync(const Call& call) {
  ChildOperation copy{ChildOperation::Kind::kCopy};
  copy.to = call.Pointer<std::byte>(0), copy.from = call.Pointer<const std::byte>(1),
  copy.width = call.words[2];
  return AddRows(call, std::move(copy), call.words[4]);
}
uint64_t Memcpy2DAsync(const Call& call) {
  ChildOperation copy{ChildOperation::Kind::kCopy};
  copy.to = call.Pointer<std::byte>(0), copy.to_pitch = call.words[1];
  copy.from = call.Pointer<const std::byte>(2), copy.from_pitch = call.words[3];
  copy.width = call.words[4], copy.height = call.words[5];
  return AddRows(call, std::move(copy), call.words[7]);
}
uint64_t MemsetAsync(const Call& call) {
  ChildOperation fill{ChildOperation::Kind::kFill};
  fill.to = call.Pointer<std::byte>(0), fill.value = static_cast<uint8_t>(call.words[1]),
  fill.width = call.words[2];
  return AddRows(call, std::move(fill), call.words[3]);
}
uint64_t Memset2DAsync(const Call& call) {
  ChildOperation fill{ChildOperation::Kind::kFill};
  fill.to = call.Pointer<std::byte>(0), fill.to_pitch = call.words[1],
  fill.value = static_cast<uint8_t>(call.words[2]);
  fill.width = call.words[3], fill.height = call.words[4];
  return AddRows(call, std::move(fill), call.words[5]);
}

// -- graphs --

uint64_t GraphSetConditional(const Call& call) {
  if (Condition* condition = Condition::Find(call.words[0])) {
    condition->Set(call.Word(1));
    return kSuccess;
  }
  FaultRecord record;
  record.kind = PTX2CPU_FAULT_BAD_ADDRESS;
  std::snprintf(record.text, sizeof record.text,
                "cudaGraphSetConditional of 0x%" PRIx64 ", which is not the handle of a graph's condition",
                call.words[0]);
  JumpToLandingPoint(record);
}

constexpr uint64_t (*kFunctions[])(const Call&) = {
#define DEVICE_RUNTIME(name, arguments, meaning) name,
#include "runtime/abi/device_runtime.def"
#undef DEVICE_RUNTIME
};

}  // namespace

}  // namespace ptx2cpu::rt

extern "C" uint64_t ptx2cpu_device_runtime(ptx2cpu_block* block, uint32_t thread, uint32_t function,
                                           const uint64_t* arguments) {
  return ptx2cpu::rt::kFunctions[function]({block, thread, arguments});
}
