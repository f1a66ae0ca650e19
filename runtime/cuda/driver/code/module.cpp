#include "runtime/cuda/driver/code/module.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "runtime/cuda/driver/code/load.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/core/errors.h"
#include "runtime/cuda/driver/image/texture_reference.h"
#include "runtime/cuda/driver/memory/allocations.h"
#include "runtime/cuda/driver/memory/memory_heap.h"
#include "runtime/worker/thread_pool.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

bool HasManaged(const Sources& sources) {
  return std::any_of(sources.begin(), sources.end(), [](const rt::ModuleSource& source) {
    return std::any_of(source.texts.begin(), source.texts.end(), [](const rt::PtxText& text) {
      return text.text.find(".managed") != std::string::npos;
    });
  });
}

// Finds a variable among several parts.
const rt::ModuleVariable* FindVariable(const std::vector<rt::ModuleVariable>& variables,
                                       std::string_view name) {
  const auto found = std::find_if(variables.begin(), variables.end(), [&](const auto& variable) {
    return variable.name == name && !variable.is_extern;
  });
  return found == variables.end() ? nullptr : &*found;
}

CUresult Reported(const Error& error) {
  Warn(rt::JitLog(error));
  return ResultOf(error);
}

}  // namespace

Module::Module(Context& context, const Sources& sources, Library* library)
    : context_(context), context_id_(context.id()), library_(library) {
  for (const rt::ModuleSource& source : sources)
    parts_.push_back(rt::KernelModule::Make(source.texts, source.options));
  Handles::Get().Add(this, kKind);
}

Module::~Module() {
  Handles::Get().Remove(this, kKind);
  if (library_ != nullptr) library_->Forget(context_id_);
  for (const auto& [name, storage] : variables_) {
    ForgetReferences(storage.data());
    Allocations::Get().Remove(reinterpret_cast<uintptr_t>(storage.data()),
                              [this](const Range& range) { return range.owner == this; });
  }
}

std::vector<std::string> Module::KernelNames() const {
  std::vector<std::string> names;
  for (const auto& part : parts_) names.insert(names.end(), part->Kernels().begin(), part->Kernels().end());
  return names;
}

Status Module::Check() {
  for (const auto& part : parts_) TRY_STATUS(part->Check());
  return {};
}

void Module::CompileAll() {
  for (const auto& part : parts_) {
    const std::vector<std::string>& names = part->Kernels();
    std::atomic<size_t> next{0};
    const auto work = [&] {
      for (size_t i; (i = next.fetch_add(1)) < names.size();) static_cast<void>(part->Compile(names[i]));
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < std::min<size_t>(rt::ThreadPool::Get().size(), names.size()); ++i)
      threads.emplace_back(work);
    work();
  }
}

CUresult Module::GetFunction(std::string_view name, std::shared_ptr<FunctionSettings> settings,
                             Function*& function) {
  std::lock_guard lock(mutex_);
  auto found = functions_.find(name);
  if (found == functions_.end()) {
    const auto part =
        std::find_if(parts_.begin(), parts_.end(), [&](const auto& p) { return p->Defines(name); });
    if (part == parts_.end()) return CUDA_ERROR_NOT_FOUND;
    if (settings == nullptr) settings = std::make_shared<FunctionSettings>();
    found =
        functions_
            .emplace(name, std::make_unique<Function>(*this, *part, std::string(name), std::move(settings)))
            .first;
  }
  function = found->second.get();
  return CUDA_SUCCESS;
}

CUresult Module::GetVariable(std::string_view name, std::span<std::byte>& storage) {
  std::lock_guard lock(mutex_);
  if (const auto found = variables_.find(name); found != variables_.end()) {
    storage = found->second;
    return CUDA_SUCCESS;
  }
  for (const auto& part : parts_) {
    const auto variables = part->Variables();
    if (!variables) return Reported(variables.error());
    const rt::ModuleVariable* const variable = FindVariable(*variables, name);
    if (variable == nullptr) continue;
    const auto bytes = part->Variable(name);
    if (!bytes) return Reported(bytes.error());
    storage = *bytes;
    variables_.emplace(name, storage);
    const bool shared = variable->is_managed && library_ != nullptr;  // then it is the library's, and known
    if (!shared && !storage.empty()) {
      Allocations::Get().Insert({.base = reinterpret_cast<uintptr_t>(storage.data()),
                                 .size = storage.size(),
                                 .kind = variable->is_managed ? RangeKind::kManaged : RangeKind::kModule,
                                 .device = context_.device().ordinal(),
                                 .context = &context_,
                                 .owner = this});
    }
    return CUDA_SUCCESS;
  }
  const bool is_kernel =
      std::any_of(parts_.begin(), parts_.end(), [&](const auto& part) { return part->Defines(name); });
  return is_kernel ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
}

// Storage of one __managed__ variable. Its first contents are those that the first module to bind it writes.
struct Library::Managed {
  Managed(size_t size, Library* library) : bytes(size) {
    memory = static_cast<std::byte*>(MemoryHeap::Get().Allocate(bytes));
    if (memory != nullptr) {
      Allocations::Get().Insert({.base = reinterpret_cast<uintptr_t>(memory),
                                 .size = bytes,
                                 .kind = RangeKind::kManaged,
                                 .flags = CU_MEM_ATTACH_GLOBAL,
                                 .owner = library});
    }
  }
  ~Managed() {
    if (memory == nullptr) return;
    Allocations::Get().Remove(reinterpret_cast<uintptr_t>(memory), [](const Range&) { return true; });
    MemoryHeap::Get().Free(memory, bytes);
  }
  Managed(const Managed&) = delete;
  Managed& operator=(const Managed&) = delete;
  const size_t bytes;
  std::byte* memory = nullptr;
  bool initialised = false;
};

Library::Library(Sources sources) : sources_(std::move(sources)), has_managed_(HasManaged(sources_)) {
  for (const rt::ModuleSource& source : sources_) {
    // Names only: nothing is parsed before it is needed.
    const auto part = rt::KernelModule::Make(source.texts, source.options);
    kernel_names_.insert(kernel_names_.end(), part->Kernels().begin(), part->Kernels().end());
    probes_.push_back(part);
  }
  Handles::Get().Add(this, kKind);
}

Library::~Library() {
  Handles::Get().Remove(this, kKind);
  for (;;) {
    std::unique_lock lock(mutex_);
    if (modules_.empty()) break;
    Module* const module = modules_.begin()->second;
    lock.unlock();
    if (module->context().Disown(module))
      delete module;  // which calls Forget
    else
      Forget(module->context_id());
  }
}

void Library::Forget(uint64_t context_id) {
  std::lock_guard lock(mutex_);
  modules_.erase(context_id);
  for (const auto& [name, kernel] : kernels_) kernel->Forget(context_id);
}

Status Library::Check() {
  for (const auto& probe : probes_) TRY_STATUS(probe->Check());
  return {};
}

CUresult Library::GetKernel(std::string_view name, Kernel*& kernel) {
  std::lock_guard lock(mutex_);
  auto found = kernels_.find(name);
  if (found == kernels_.end()) {
    if (std::find(kernel_names_.begin(), kernel_names_.end(), name) == kernel_names_.end())
      return CUDA_ERROR_NOT_FOUND;
    found = kernels_.emplace(name, std::make_unique<Kernel>(*this, std::string(name))).first;
  }
  kernel = found->second.get();
  return CUDA_SUCCESS;
}

CUresult Library::In(Context& context, Module*& module) {
  std::unique_ptr<Module> loaded;  // goes after the lock, which its destructor takes
  std::lock_guard lock(mutex_);
  if (const auto found = modules_.find(context.id()); found != modules_.end()) {
    module = found->second;
    return CUDA_SUCCESS;
  }
  loaded = std::make_unique<Module>(context, sources_, this);
  if (has_managed_) {
    if (const CUresult error = BindManaged(*loaded)) return error;
  }
  if (LoadsEagerly()) loaded->CompileAll();
  module = loaded.release();
  modules_.emplace(context.id(), module);
  context.Own(module, [](void* object) { delete static_cast<Module*>(object); });
  return CUDA_SUCCESS;
}

CUresult Library::FindManaged() {
  if (managed_known_) return CUDA_SUCCESS;
  for (const auto& probe : probes_) {
    const auto variables = probe->Variables();
    if (!variables) return Reported(variables.error());
    for (const rt::ModuleVariable& variable : *variables) {
      if (!variable.is_managed || variable.is_extern || managed_.contains(variable.name)) continue;
      auto managed = std::make_unique<Managed>(variable.size, this);
      if (managed->memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
      managed_.emplace(variable.name, std::move(managed));
    }
    // The probe writes the first contents, so that the program can read the variable before any context has
    // it.
    if (const CUresult error = BindManaged(*probe)) return error;
  }
  managed_known_ = true;
  return CUDA_SUCCESS;
}

CUresult Library::BindManaged(rt::KernelModule& part) {
  const auto variables = part.Variables();
  if (!variables) return Reported(variables.error());
  // All are bound before one is queried: with the first query the part gets storage for what has none.
  std::vector<std::pair<std::string_view, Managed*>> bound;
  std::vector<std::vector<std::byte>> contents;
  for (const auto& [name, managed] : managed_) {
    if (FindVariable(*variables, name) == nullptr) continue;
    bound.emplace_back(name, managed.get());
    contents.emplace_back(managed->memory, managed->memory + managed->bytes);
    if (const Status status = part.Bind(name, managed->memory); !status) return Reported(status.error());
  }
  // Binding writes the variable's first contents; what the program has written since is put back.
  for (size_t i = 0; i < bound.size(); ++i) {
    const auto& [name, managed] = bound[i];
    if (const auto storage = part.Variable(name); !storage) return Reported(storage.error());
    if (managed->initialised) std::memcpy(managed->memory, contents[i].data(), contents[i].size());
    managed->initialised = true;
  }
  return CUDA_SUCCESS;
}
CUresult Library::BindManaged(Module& module) {
  if (const CUresult error = FindManaged()) return error;
  for (const auto& part : module.parts()) {
    if (const CUresult error = BindManaged(*part)) return error;
  }
  return CUDA_SUCCESS;
}

CUresult Library::GetManaged(std::string_view name, std::span<std::byte>& storage) {
  std::lock_guard lock(mutex_);
  if (!has_managed_) return CUDA_ERROR_NOT_FOUND;
  if (const CUresult error = FindManaged()) return error;
  const auto found = managed_.find(name);
  if (found == managed_.end()) return CUDA_ERROR_NOT_FOUND;
  storage = {found->second->memory, found->second->bytes};
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
