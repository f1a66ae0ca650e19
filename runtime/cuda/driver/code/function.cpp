#include "runtime/cuda/driver/code/function.h"

#include <algorithm>
#include <span>

#include "runtime/cuda/driver/code/module.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/core/errors.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

// The shared memory that a launch may use without cuFuncSetAttribute, including the static part.
constexpr int kSharedWithoutOptIn = 48 << 10;
constexpr int kRegisters = 32;  // no such thing here; what programs compute occupancy with

int MaxThreads(const rt::KernelDeclaration& kernel) {
  const auto& most = kernel.max_threads;  // .reqntid does not count here
  if (most[0] == 0) return kMaxThreads;
  return static_cast<int>(
      std::min<uint64_t>(uint64_t{most[0]} * std::max(1u, most[1]) * std::max(1u, most[2]), kMaxThreads));
}

rt::KernelDeclaration DeclarationOf(const ptx2cpu_kernel& kernel) {
  rt::KernelDeclaration declaration;
  for (const ptx2cpu_parameter& parameter : std::span(kernel.parameters, kernel.parameter_count))
    declaration.parameters.push_back({parameter.offset, parameter.size});
  std::ranges::copy(kernel.max_threads, declaration.max_threads.begin());
  std::ranges::copy(kernel.required_cluster, declaration.required_cluster.begin());
  return declaration;
}

int ConstantBytes(rt::KernelModule& part) {
  const auto variables = part.Variables();
  uint64_t bytes = 0;
  if (variables) {
    for (const rt::ModuleVariable& variable : *variables) bytes += variable.is_constant ? variable.size : 0;
  }
  return static_cast<int>(bytes);
}

int ClusterSide(const std::atomic<int>& set, uint32_t required) {
  return set.load(std::memory_order_relaxed) != 0 ? set.load(std::memory_order_relaxed)
                                                  : static_cast<int>(required);
}

}  // namespace

Function::Function(Module& module, std::shared_ptr<rt::KernelModule> part, std::string name,
                   std::shared_ptr<FunctionSettings> settings)
    : module_(module), part_(std::move(part)), name_(std::move(name)), settings_(std::move(settings)) {
  Handles::Get().Add(this, kKind);
}

Function::~Function() { Handles::Get().Remove(this, kKind); }

Context& Function::context() const { return module_.context(); }

CUresult Function::Code(const rt::KernelCode*& code, std::optional<Dim3> first_block, uint64_t blocks) {
  code = code_.load(std::memory_order_acquire);
  if (code != nullptr) [[likely]]
    return CUDA_SUCCESS;
  std::lock_guard lock(mutex_);
  if (failure_ != CUDA_SUCCESS) return failure_;
  if (shared_code_ == nullptr) {
    auto compiled = part_->Compile(name_, first_block, blocks);
    if (!compiled) return FailWith(compiled.error());
    shared_code_ = *std::move(compiled);
    code_.store(shared_code_.get(), std::memory_order_release);
  }
  code = shared_code_.get();
  return CUDA_SUCCESS;
}

CUresult Function::FailWith(const Error& error) {
  Warn("kernel '" + name_ + "' cannot be compiled\n" + rt::JitLog(error));
  const CUresult result = ResultOf(error);
  if (error.code != ErrorCode::kLaunch) failure_ = result;  // there may be memory later
  return result;
}

CUresult Function::Declaration(const rt::KernelDeclaration*& declaration) {
  std::lock_guard lock(mutex_);
  if (failure_ != CUDA_SUCCESS) return failure_;
  if (!declaration_ && shared_code_ != nullptr) declaration_ = DeclarationOf(shared_code_->kernel());
  if (!declaration_) {
    auto declared = part_->Declaration(name_);
    if (!declared) return FailWith(declared.error());
    declaration_ = *std::move(declared);
  }
  declaration = &*declaration_;
  return CUDA_SUCCESS;
}

CUresult Function::Description(const ptx2cpu_kernel*& kernel) {
  std::lock_guard lock(mutex_);
  if (failure_ != CUDA_SUCCESS) return failure_;
  if (shared_code_ != nullptr) {
    kernel = &shared_code_->kernel();
    return CUDA_SUCCESS;
  }
  if (description_ == nullptr) {
    const auto described = part_->Description(name_);
    if (!described) return FailWith(described.error());
    description_ = *described;
  }
  kernel = description_;
  return CUDA_SUCCESS;
}

uint32_t Function::MaxDynamicShared(const ptx2cpu_kernel& kernel) const {
  const int set = settings_->max_dynamic_shared.load(std::memory_order_relaxed);
  if (set >= 0) return static_cast<uint32_t>(set);
  return static_cast<uint32_t>(
      std::max(kSharedWithoutOptIn - static_cast<int>(kernel.static_shared_bytes), 0));
}

template <typename Size>
CUresult Function::CodeSize(int& value, const Size& size) {
  const ptx2cpu_kernel* kernel;
  if (const CUresult error = Description(kernel)) return error;
  value = static_cast<int>(size(*kernel));
  return CUDA_SUCCESS;
}

CUresult Function::Attribute(CUfunction_attribute attribute, int& value) {
  if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
  const rt::KernelDeclaration* declared;
  if (const CUresult error = Declaration(declared)) return error;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      value = MaxThreads(*declared);
      break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return CodeSize(value, [](const ptx2cpu_kernel& kernel) { return kernel.static_shared_bytes; });
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      value = ConstantBytes(*part_);
      break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return CodeSize(value, [](const ptx2cpu_kernel& kernel) { return kernel.local_bytes; });
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      value = kRegisters;
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      value = static_cast<int>(part_->target());
      break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      value = static_cast<int>(Devices::Get().compute_capability());
      break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      value = 0;
      break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return CodeSize(value, [this](const ptx2cpu_kernel& kernel) { return MaxDynamicShared(kernel); });
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      value = settings_->shared_carveout;
      break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      value = 0;
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      value = ClusterSide(settings_->cluster_width, declared->required_cluster[0]);
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
      value = ClusterSide(settings_->cluster_height, declared->required_cluster[1]);
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      value = ClusterSide(settings_->cluster_depth, declared->required_cluster[2]);
      break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      value = settings_->non_portable_cluster;
      break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      value = settings_->cluster_scheduling;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult Function::SetAttribute(CUfunction_attribute attribute, int value) {
  FunctionSettings& settings = *settings_;
  const auto set = [&](std::atomic<int>& to, int least, int most) {
    if (value < least || value > most) return CUDA_ERROR_INVALID_VALUE;
    to = value;
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
      // What the largest static part leaves, every kernel may have.
      constexpr int kAlwaysFree = static_cast<int>(kMaxSharedBytes) - kSharedWithoutOptIn;
      if (value <= kAlwaysFree) {
        const rt::KernelDeclaration* declared;
        if (const CUresult error = Declaration(declared)) return error;
        return set(settings.max_dynamic_shared, 0, kAlwaysFree);
      }
      const ptx2cpu_kernel* kernel;
      if (const CUresult error = Description(kernel)) return error;
      return set(settings.max_dynamic_shared, 0,
                 static_cast<int>(kMaxSharedBytes) - static_cast<int>(kernel->static_shared_bytes));
    }
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return set(settings.shared_carveout, -1, 100);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      return set(settings.cluster_width, 0, kMaxClusterBlocks);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
      return set(settings.cluster_height, 0, kMaxClusterBlocks);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      return set(settings.cluster_depth, 0, kMaxClusterBlocks);
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return set(settings.non_portable_cluster, 0, 1);
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return set(settings.cluster_scheduling, 0, CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

Kernel::Kernel(Library& library, std::string name) : library_(library), name_(std::move(name)) {
  Handles::Get().Add(this, kKind);
}

Kernel::~Kernel() { Handles::Get().Remove(this, kKind); }

CUresult Kernel::In(Context& context, Function*& function) {
  const uint64_t id = context.id();
  function = last_function_.load(std::memory_order_acquire);
  if (function != nullptr && function->module().context_id() == id) [[likely]]
    return CUDA_SUCCESS;
  Module* module;
  if (const CUresult error = library_.In(context, module)) return error;
  if (const CUresult error = module->GetFunction(name_, settings(context.device()), function)) return error;
  last_function_.store(function, std::memory_order_release);
  return CUDA_SUCCESS;
}

void Kernel::Forget(uint64_t context_id) {
  Function* const last = last_function_.load(std::memory_order_acquire);
  if (last != nullptr && last->module().context_id() == context_id)
    last_function_.store(nullptr, std::memory_order_release);
}

std::shared_ptr<FunctionSettings> Kernel::settings(const Device& device) {
  std::lock_guard lock(mutex_);
  auto& settings = settings_[device.ordinal()];
  if (settings == nullptr) settings = std::make_shared<FunctionSettings>();
  return settings;
}

CUresult FunctionOf(CUfunction handle, Context& context, Function*& function) {
  function = From<Function>(handle);
  if (function != nullptr) return CUDA_SUCCESS;
  Kernel* const kernel = From<Kernel>(reinterpret_cast<CUkernel>(handle));
  return kernel == nullptr ? CUDA_ERROR_INVALID_HANDLE : kernel->In(context, function);
}

CUresult FunctionOf(CUfunction handle, Function*& function) {
  Context* context;
  if (const CUresult error = WorkingContext(context)) return error;
  return FunctionOf(handle, *context, function);
}

}  // namespace ptx2cpu::driver
