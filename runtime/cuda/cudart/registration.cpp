#include "runtime/cuda/cudart/registration.h"

#include <array>

#include "runtime/cuda/cudart/context.h"

namespace ptx2cpu::cudart {

using namespace cuda;

cudaError_t Binary::Library(CUlibrary& library) {
  library = library_.load(std::memory_order_acquire);
  if (library != nullptr) [[likely]]
    return cudaSuccess;
  if (const cudaError_t error = BeginDriver()) return error;
  std::lock_guard lock(mutex_);
  if (library_.load(std::memory_order_relaxed) == nullptr && failure_ == cudaSuccess) {
    CUlibrary loaded = nullptr;
    failure_ =
        FromDriver(driver::cuLibraryLoadData(&loaded, wrapper_, nullptr, nullptr, 0, nullptr, nullptr, 0));
    if (failure_ == cudaSuccess) library_.store(loaded, std::memory_order_release);
  }
  library = library_.load(std::memory_order_relaxed);
  return failure_;
}

Registry& Registry::Get() {
  static Registry* const registry = new Registry;  // programs unregister in their last moments
  return *registry;
}

Binary& Registry::Add(const void* wrapper) {
  auto binary = std::make_unique<Binary>(wrapper);
  std::lock_guard lock(mutex_);
  return *(binaries_[binary.get()] = std::move(binary));
}

void Registry::Remove(Binary& binary) {
  std::unique_ptr<Binary> gone;
  {
    std::lock_guard lock(mutex_);
    const auto at = binaries_.find(&binary);
    if (at == binaries_.end()) return;
    gone = std::move(at->second);
    binaries_.erase(at);
    removals_.fetch_add(1, std::memory_order_release);
    std::erase_if(functions_, [&](auto& entry) {
      if (&entry.second->binary != &binary) return false;
      removed_.push_back(std::move(entry.second));
      return true;
    });
    std::erase_if(variables_, [&](const auto& entry) { return entry.second.binary == &binary; });
    std::erase_if(textures_, [&](const auto& entry) { return entry.second.binary == &binary; });
    std::erase_if(managed_, [&](const Managed& managed) { return managed.binary == &binary; });
  }
  if (gone->loaded() != nullptr) driver::cuLibraryUnload(gone->loaded());
}

void Registry::AddFunction(Binary& binary, const void* host, const char* name) {
  std::lock_guard lock(mutex_);
  functions_[host] = std::make_shared<RegisteredFunction>(binary, name);
}

void Registry::AddVariable(const void* host, RegisteredVariable variable) {
  std::lock_guard lock(mutex_);
  variables_.insert_or_assign(host, std::move(variable));
}

void Registry::AddManaged(Binary& binary, void** host, const char* name, size_t size) {
  std::lock_guard lock(mutex_);
  managed_.push_back({&binary, host, name, size});
}

void Registry::AddTexture(const void* host, RegisteredTexture texture) {
  std::lock_guard lock(mutex_);
  textures_.insert_or_assign(host, std::move(texture));
}

cudaError_t Registry::BindManaged(Binary& binary) {
  std::lock_guard lock(mutex_);
  for (Managed& managed : managed_) {
    if (managed.binary != &binary || managed.bound) continue;
    CUlibrary library;
    if (const cudaError_t error = binary.Library(library)) return error;
    CUdeviceptr address = 0;
    size_t bytes = 0;
    if (const CUresult error = driver::cuLibraryGetManaged(&address, &bytes, library, managed.name.c_str()))
      return FromDriver(error);
    *managed.host = reinterpret_cast<void*>(address);
    managed.bound = true;
    // Programs name the variable by its storage, since that is what their reference to it is.
    const RegisteredVariable variable{&binary, managed.name, managed.size, true};
    variables_.insert_or_assign(*managed.host, variable);
    variables_.insert_or_assign(managed.host, variable);
  }
  return cudaSuccess;
}

cudaError_t Registry::BindAllManaged() {
  std::vector<Binary*> binaries;
  {
    std::lock_guard lock(mutex_);
    for (const Managed& managed : managed_) {
      if (!managed.bound) binaries.push_back(managed.binary);
    }
  }
  for (Binary* binary : binaries) {
    if (const cudaError_t error = BindManaged(*binary)) return error;
  }
  return cudaSuccess;
}

// A launch looks its kernel up by address; each thread keeps the last ones it found, so that this takes no
// lock.
RegisteredFunction* Registry::Find(const void* host) {
  constexpr size_t kSlots = 64;
  struct Slot {
    const void* host = nullptr;
    RegisteredFunction* function = nullptr;
    uint32_t removals = 0;
  };
  thread_local std::array<Slot, kSlots> slots;
  const auto word = reinterpret_cast<uintptr_t>(host);
  Slot& slot = slots[(word >> 4 ^ word >> 12) % kSlots];
  const uint32_t removals = removals_.load(std::memory_order_acquire);
  if (slot.host == host && slot.removals == removals) [[likely]]
    return slot.function;
  std::lock_guard lock(mutex_);
  const auto at = functions_.find(host);
  if (at == functions_.end()) return nullptr;
  slot = {host, at->second.get(), removals};
  return slot.function;
}

cudaError_t Registry::Kernel(const void* host, CUkernel& kernel) {
  RegisteredFunction* const function = Find(host);
  if (function == nullptr) return cudaErrorInvalidResourceHandle;
  kernel = function->kernel.load(std::memory_order_acquire);
  if (kernel != nullptr) [[likely]]
    return cudaSuccess;
  CUlibrary library;
  if (const cudaError_t error = function->binary.Library(library)) return error;
  const CUresult result = driver::cuLibraryGetKernel(&kernel, library, function->name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) return cudaErrorInvalidDeviceFunction;
  if (result != CUDA_SUCCESS) return FromDriver(result);
  function->kernel.store(kernel, std::memory_order_release);
  return cudaSuccess;
}

std::optional<RegisteredVariable> Registry::Variable(const void* host) {
  std::lock_guard lock(mutex_);
  const auto at = variables_.find(host);
  if (at == variables_.end()) return std::nullopt;
  return at->second;
}

std::optional<RegisteredTexture> Registry::Texture(const void* host) {
  std::lock_guard lock(mutex_);
  const auto at = textures_.find(host);
  if (at == textures_.end()) return std::nullopt;
  return at->second;
}

const void* Registry::HostOf(CUkernel kernel) {
  std::lock_guard lock(mutex_);
  for (const auto& [host, function] : functions_) {
    if (function->kernel.load(std::memory_order_acquire) == kernel) return host;
  }
  return nullptr;
}

cudaError_t FunctionOf(const void* host, CUfunction& function) {
  CUkernel kernel;
  const cudaError_t error = Registry::Get().Kernel(host, kernel);
  if (error == cudaSuccess) [[likely]] {
    function = reinterpret_cast<CUfunction>(kernel);
    return cudaSuccess;
  }
  if (error != cudaErrorInvalidResourceHandle) return error;
  if (host == nullptr) return cudaErrorInvalidDeviceFunction;
  // A handle, then: the driver recognises its own.
  const char* name = nullptr;
  function = reinterpret_cast<CUfunction>(const_cast<void*>(host));
  if (driver::cuKernelGetName(&name, reinterpret_cast<CUkernel>(function)) == CUDA_SUCCESS)
    return cudaSuccess;
  if (driver::cuFuncGetName(&name, function) == CUDA_SUCCESS) return cudaSuccess;
  return cudaErrorInvalidResourceHandle;
}

cudaError_t SymbolAddress(const void* symbol, void*& address, size_t& size) {
  if (const cudaError_t error = Begin()) return error;
  Registry& registry = Registry::Get();
  std::optional<RegisteredVariable> variable = registry.Variable(symbol);
  if (!variable) {
    if (const cudaError_t error = registry.BindAllManaged()) return error;
    variable = registry.Variable(symbol);
  }
  if (!variable) return cudaErrorInvalidSymbol;
  CUlibrary library;
  if (const cudaError_t error = variable->binary->Library(library)) return error;
  CUdeviceptr pointer = 0;
  const CUresult result = variable->managed
                              ? driver::cuLibraryGetManaged(&pointer, &size, library, variable->name.c_str())
                              : driver::cuLibraryGetGlobal(&pointer, &size, library, variable->name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) return cudaErrorInvalidSymbol;
  address = reinterpret_cast<void*>(pointer);
  return FromDriver(result);
}

}  // namespace ptx2cpu::cudart
