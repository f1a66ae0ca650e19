// Texture and surface references: variables of a module that the host binds to memory. Kernels read the
// binding's handle from the variable; the binding is changed only while no kernel of the context runs.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "runtime/abi/texture.h"
#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/core/handles.h"

namespace ptx2cpu::driver {

struct TextureReference {
  using Handle = cuda::CUtexref;
  static constexpr HandleKind kKind = HandleKind::kTexref;

  TextureReference() {
    for (cuda::CUaddress_mode& mode : sampling.addressMode) mode = cuda::CU_TR_ADDRESS_MODE_CLAMP;
  }

  ptx2cpu_texture device = {};
  std::byte* variable = nullptr;  // 8 bytes of the module; null: made by cuTexRefCreate
  bool bound = false;
  cuda::CUDA_RESOURCE_DESC resource = {};  // of what is bound
  cuda::CUDA_TEXTURE_DESC sampling = {};
  cuda::CUarray_format format = cuda::CU_AD_FORMAT_FLOAT;
  unsigned channels = 1;
};

struct SurfaceReference {
  using Handle = cuda::CUsurfref;
  static constexpr HandleKind kKind = HandleKind::kSurfref;

  ptx2cpu_surface device = {};
  std::byte* variable = nullptr;
  cuda::CUarray array = nullptr;
};

// References of modules, by the address of their variable: the same for every request.
template <typename T>
class References {
 public:
  static References& Get() {
    static auto* all = new References;
    return *all;
  }

  T& Of(std::byte* variable) {
    const std::lock_guard lock(mutex_);
    auto& known = references_[variable];
    if (known == nullptr) {
      known = std::make_unique<T>();
      known->variable = variable;
      Handles::Get().Add(known.get(), T::kKind);
    }
    return *known;
  }

  // Called when its module has been unloaded.
  void Forget(std::byte* variable) {
    const std::lock_guard lock(mutex_);
    const auto found = references_.find(variable);
    if (found == references_.end()) return;
    Handles::Get().Remove(found->second.get(), T::kKind);
    references_.erase(found);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::byte*, std::unique_ptr<T>> references_;
};

// Writes the handle that kernels read from the variable of a reference; null: the reference has none.
void Store(std::byte* variable, const void* handle);
// Makes the structure that kernels read from the state. An illegal image is refused.
cuda::CUresult Rebuild(TextureReference& reference);
// The state before stays where the resource is refused.
cuda::CUresult Bind(TextureReference& reference, const cuda::CUDA_RESOURCE_DESC& resource);
// Removes the references of a module's variable.
void ForgetReferences(std::byte* variable);

}  // namespace ptx2cpu::driver
