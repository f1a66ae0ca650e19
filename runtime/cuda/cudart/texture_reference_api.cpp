// texture<> and surface<> variables of CUDA 11: bound to memory or an array by host calls, read by name in
// the module.
#include <mutex>
#include <unordered_map>

#include "cudart_api.h"
#include "runtime/cuda/cudart/channel.h"
#include "runtime/cuda/cudart/context.h"
#include "runtime/cuda/cudart/registration.h"

namespace ptx2cpu::cudart {

namespace {

cudaError_t ModuleOf(const RegisteredTexture& texture, CUmodule& module) {
  if (const cudaError_t error = Begin()) return error;
  CUlibrary library;
  if (const cudaError_t error = texture.binary->Library(library)) return error;
  return FromDriver(driver::cuLibraryGetModule(&module, library));
}

struct Reference {
  CUtexref handle = nullptr;
  bool reads_fractions = false;
};

cudaError_t Find(const textureReference* texref, Reference& reference) {
  const std::optional<RegisteredTexture> texture = Registry::Get().Texture(texref);
  if (!texture) return cudaErrorInvalidTexture;
  CUmodule module;
  if (const cudaError_t error = ModuleOf(*texture, module)) return error;
  reference.reads_fractions = texture->reads_fractions;
  const CUresult result = driver::cuModuleGetTexRef(&reference.handle, module, texture->name.c_str());
  return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidTexture : FromDriver(result);
}

// Where in its aligned block the bound memory begins; an entry for each reference bound to linear memory.
class Offsets {
 public:
  static Offsets& Get() {
    static auto* const offsets = new Offsets;
    return *offsets;
  }
  void Set(const textureReference* texref, std::optional<size_t> offset) {
    std::lock_guard lock(mutex_);
    if (offset) {
      offsets_[texref] = *offset;
    } else {
      offsets_.erase(texref);
    }
  }
  std::optional<size_t> Of(const textureReference* texref) {
    std::lock_guard lock(mutex_);
    const auto at = offsets_.find(texref);
    return at == offsets_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const textureReference*, size_t> offsets_;
};

// What the program wrote into its variable decides how the texture is read.
cudaError_t Prepare(const textureReference& texref, const cudaChannelFormatDesc* desc,
                    const Reference& reference, Format& format) {
  if (const cudaError_t error = FormatOf(desc == nullptr ? texref.channelDesc : *desc, format)) return error;
  const CUtexref handle = reference.handle;
  for (int axis = 0; axis < 3; ++axis) {
    const auto mode = static_cast<CUaddress_mode>(texref.addressMode[axis]);
    if (const CUresult error = driver::cuTexRefSetAddressMode(handle, axis, mode)) return FromDriver(error);
  }
  unsigned flags = texref.normalized != 0 ? CU_TRSF_NORMALIZED_COORDINATES : 0;
  if (texref.sRGB != 0) flags |= CU_TRSF_SRGB;
  const bool integers = format.format != CU_AD_FORMAT_FLOAT && format.format != CU_AD_FORMAT_HALF;
  if (integers && !reference.reads_fractions) flags |= CU_TRSF_READ_AS_INTEGER;
  if (const CUresult error =
          driver::cuTexRefSetFilterMode(handle, static_cast<CUfilter_mode>(texref.filterMode)))
    return FromDriver(error);
  if (const CUresult error = driver::cuTexRefSetFlags(handle, flags)) return FromDriver(error);
  return FromDriver(driver::cuTexRefSetFormat(handle, format.format, static_cast<int>(format.channels)));
}

// Prepares the reference and calls `bind(handle, format)`; afterwards it is bound at `offset`, or to an
// array.
template <typename Bind>
cudaError_t BindTo(const textureReference* texref, const cudaChannelFormatDesc* desc, const Bind& bind) {
  Reference reference;
  Format format;
  if (const cudaError_t error = Find(texref, reference)) return error;
  if (const cudaError_t error = Prepare(*texref, desc, reference, format)) return error;
  Offsets::Get().Set(texref, std::nullopt);
  return bind(reference.handle, format);
}

}  // namespace

cudaError_t cudaGetTextureReference(const textureReference** texref, const void* symbol) {
  if (texref == nullptr) return cudaErrorInvalidValue;
  if (!Registry::Get().Texture(symbol)) return cudaErrorInvalidTexture;
  *texref = static_cast<const textureReference*>(symbol);
  return cudaSuccess;
}

cudaError_t cudaGetSurfaceReference(const surfaceReference** surfref, const void* symbol) {
  if (surfref == nullptr) return cudaErrorInvalidValue;
  if (!Registry::Get().Texture(symbol)) return cudaErrorInvalidSurface;
  *surfref = static_cast<const surfaceReference*>(symbol);
  return cudaSuccess;
}

cudaError_t cudaBindTexture(size_t* offset, const textureReference* texref, const void* devPtr,
                            const cudaChannelFormatDesc* desc, size_t size) {
  return BindTo(texref, desc, [&](CUtexref reference, const Format&) {
    // A program that does not request the offset relies on it being 0; the driver checks that.
    size_t moved = 0;
    size_t* const out = offset == nullptr ? nullptr : &moved;
    if (const CUresult error = driver::cuTexRefSetAddress_v2(out, reference, Address(devPtr), size)) {
      return FromDriver(error);
    }
    if (offset != nullptr) *offset = moved;
    Offsets::Get().Set(texref, moved);
    return cudaSuccess;
  });
}

cudaError_t cudaBindTexture2D(size_t* offset, const textureReference* texref, const void* devPtr,
                              const cudaChannelFormatDesc* desc, size_t width, size_t height, size_t pitch) {
  return BindTo(texref, desc, [&](CUtexref reference, const Format& format) {
    const CUDA_ARRAY_DESCRIPTOR shape{width, height, format.format, format.channels};
    if (const CUresult error = driver::cuTexRefSetAddress2D_v3(reference, &shape, Address(devPtr), pitch))
      return FromDriver(error);
    if (offset != nullptr) *offset = 0;
    Offsets::Get().Set(texref, 0);
    return cudaSuccess;
  });
}

cudaError_t cudaBindTextureToArray(const textureReference* texref, cudaArray_const_t array,
                                   const cudaChannelFormatDesc* desc) {
  return BindTo(texref, desc, [&](CUtexref reference, const Format&) {
    const CUresult result = driver::cuTexRefSetArray(reference, ArrayOf(array), CU_TRSA_OVERRIDE_FORMAT);
    if (result == CUDA_SUCCESS) Offsets::Get().Set(texref, 0);
    return FromDriver(result);
  });
}

cudaError_t cudaBindTextureToMipmappedArray(const textureReference* texref,
                                            cudaMipmappedArray_const_t mipmappedArray,
                                            const cudaChannelFormatDesc* desc) {
  return BindTo(texref, desc, [&](CUtexref reference, const Format&) {
    const auto filter = static_cast<CUfilter_mode>(texref->mipmapFilterMode);
    if (const CUresult error = driver::cuTexRefSetMipmapFilterMode(reference, filter))
      return FromDriver(error);
    if (const CUresult error = driver::cuTexRefSetMipmapLevelBias(reference, texref->mipmapLevelBias))
      return FromDriver(error);
    if (const CUresult error = driver::cuTexRefSetMipmapLevelClamp(reference, texref->minMipmapLevelClamp,
                                                                   texref->maxMipmapLevelClamp)) {
      return FromDriver(error);
    }
    const CUresult result =
        driver::cuTexRefSetMipmappedArray(reference, MipmapOf(mipmappedArray), CU_TRSA_OVERRIDE_FORMAT);
    if (result == CUDA_SUCCESS) Offsets::Get().Set(texref, 0);
    return FromDriver(result);
  });
}

cudaError_t cudaUnbindTexture(const textureReference* texref) {
  Reference reference;
  if (const cudaError_t error = Find(texref, reference)) return error;
  Offsets::Get().Set(texref, std::nullopt);
  size_t moved = 0;
  return FromDriver(driver::cuTexRefSetAddress_v2(&moved, reference.handle, 0, 0));
}

cudaError_t cudaGetTextureAlignmentOffset(size_t* offset, const textureReference* texref) {
  if (offset == nullptr) return cudaErrorInvalidValue;
  if (!Registry::Get().Texture(texref)) return cudaErrorInvalidTexture;
  const std::optional<size_t> bound = Offsets::Get().Of(texref);
  if (!bound) return cudaErrorInvalidTextureBinding;
  *offset = *bound;
  return cudaSuccess;
}

cudaError_t cudaBindSurfaceToArray(const surfaceReference* surfref, cudaArray_const_t array,
                                   const cudaChannelFormatDesc*) {
  const std::optional<RegisteredTexture> surface = Registry::Get().Texture(surfref);
  if (!surface) return cudaErrorInvalidSurface;
  CUmodule module;
  if (const cudaError_t error = ModuleOf(*surface, module)) return error;
  CUsurfref reference;
  const CUresult result = driver::cuModuleGetSurfRef(&reference, module, surface->name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) return cudaErrorInvalidSurface;
  if (result != CUDA_SUCCESS) return FromDriver(result);
  return FromDriver(driver::cuSurfRefSetArray(reference, ArrayOf(array), 0));
}

}  // namespace ptx2cpu::cudart
