// texture<> and surface<> variables of CUDA 11: bound to memory or an array by host calls, read by name in
// the module.
#include "cudart_api.h"
#include "runtime/cudart/channel.h"
#include "runtime/cudart/context.h"
#include "runtime/cudart/registration.h"

namespace ptx2cpu::cudart {

namespace {

cudaError_t ModuleOf(const void* host, cudaError_t unknown, CUmodule& module, std::string& name) {
  if (const cudaError_t error = Begin()) return error;
  const std::optional<RegisteredTexture> texture = Registry::Get().Texture(host);
  if (!texture) return unknown;
  name = texture->name;
  CUlibrary library;
  if (const cudaError_t error = texture->binary->Library(library)) return error;
  return FromDriver(driver::cuLibraryGetModule(&module, library));
}

cudaError_t Reference(const textureReference* texref, CUtexref& reference) {
  CUmodule module;
  std::string name;
  if (const cudaError_t error = ModuleOf(texref, cudaErrorInvalidTexture, module, name)) return error;
  const CUresult result = driver::cuModuleGetTexRef(&reference, module, name.c_str());
  return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidTexture : FromDriver(result);
}

// What the program wrote into its variable decides how the texture is read.
cudaError_t Prepare(const textureReference& texref, const cudaChannelFormatDesc* desc, CUtexref reference,
                    Format& format) {
  if (const cudaError_t error = FormatOf(desc == nullptr ? texref.channelDesc : *desc, format)) return error;
  for (int axis = 0; axis < 3; ++axis) {
    if (const CUresult error = driver::cuTexRefSetAddressMode(
            reference, axis, static_cast<CUaddress_mode>(texref.addressMode[axis])))
      return FromDriver(error);
  }
  unsigned flags = texref.normalized != 0 ? CU_TRSF_NORMALIZED_COORDINATES : 0;
  if (texref.sRGB != 0) flags |= CU_TRSF_SRGB;
  // The read mode is part of the variable's type, which only the kernel's code knows; integers are read as
  // such there.
  if (format.format != CU_AD_FORMAT_FLOAT && format.format != CU_AD_FORMAT_HALF)
    flags |= CU_TRSF_READ_AS_INTEGER;
  if (const CUresult error =
          driver::cuTexRefSetFilterMode(reference, static_cast<CUfilter_mode>(texref.filterMode)))
    return FromDriver(error);
  if (const CUresult error = driver::cuTexRefSetFlags(reference, flags)) return FromDriver(error);
  return FromDriver(driver::cuTexRefSetFormat(reference, format.format, static_cast<int>(format.channels)));
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
  CUtexref reference;
  Format format;
  if (const cudaError_t error = Reference(texref, reference)) return error;
  if (const cudaError_t error = Prepare(*texref, desc, reference, format)) return error;
  size_t moved = 0;
  const CUresult result = driver::cuTexRefSetAddress_v2(&moved, reference, Address(devPtr), size);
  if (offset != nullptr) *offset = moved;
  return FromDriver(result);
}

cudaError_t cudaBindTexture2D(size_t* offset, const textureReference* texref, const void* devPtr,
                              const cudaChannelFormatDesc* desc, size_t width, size_t height, size_t pitch) {
  CUtexref reference;
  Format format;
  if (const cudaError_t error = Reference(texref, reference)) return error;
  if (const cudaError_t error = Prepare(*texref, desc, reference, format)) return error;
  const CUDA_ARRAY_DESCRIPTOR shape{width, height, format.format, format.channels};
  if (offset != nullptr) *offset = 0;
  return FromDriver(driver::cuTexRefSetAddress2D_v3(reference, &shape, Address(devPtr), pitch));
}

cudaError_t cudaBindTextureToArray(const textureReference* texref, cudaArray_const_t array,
                                   const cudaChannelFormatDesc* desc) {
  CUtexref reference;
  Format format;
  if (const cudaError_t error = Reference(texref, reference)) return error;
  if (const cudaError_t error = Prepare(*texref, desc, reference, format)) return error;
  return FromDriver(driver::cuTexRefSetArray(reference, ArrayOf(array), CU_TRSA_OVERRIDE_FORMAT));
}

cudaError_t cudaBindTextureToMipmappedArray(const textureReference* texref,
                                            cudaMipmappedArray_const_t mipmappedArray,
                                            const cudaChannelFormatDesc* desc) {
  CUtexref reference;
  Format format;
  if (const cudaError_t error = Reference(texref, reference)) return error;
  if (const cudaError_t error = Prepare(*texref, desc, reference, format)) return error;
  return FromDriver(
      driver::cuTexRefSetMipmappedArray(reference, MipmapOf(mipmappedArray), CU_TRSA_OVERRIDE_FORMAT));
}

cudaError_t cudaUnbindTexture(const textureReference* texref) {
  CUtexref reference;
  if (const cudaError_t error = Reference(texref, reference)) return error;
  size_t moved = 0;
  return FromDriver(driver::cuTexRefSetAddress_v2(&moved, reference, 0, 0));
}

cudaError_t cudaGetTextureAlignmentOffset(size_t* offset, const textureReference* texref) {
  if (offset == nullptr) return cudaErrorInvalidValue;
  CUtexref reference;
  if (const cudaError_t error = Reference(texref, reference)) return error;
  CUdeviceptr address = 0;
  if (driver::cuTexRefGetAddress_v2(&address, reference) != CUDA_SUCCESS || address == 0)
    return cudaErrorInvalidTextureBinding;
  *offset = 0;  // memory may be bound at any alignment
  return cudaSuccess;
}

cudaError_t cudaBindSurfaceToArray(const surfaceReference* surfref, cudaArray_const_t array,
                                   const cudaChannelFormatDesc*) {
  CUmodule module;
  std::string name;
  if (const cudaError_t error = ModuleOf(surfref, cudaErrorInvalidSurface, module, name)) return error;
  CUsurfref reference;
  const CUresult result = driver::cuModuleGetSurfRef(&reference, module, name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND) return cudaErrorInvalidSurface;
  if (result != CUDA_SUCCESS) return FromDriver(result);
  return FromDriver(driver::cuSurfRefSetArray(reference, ArrayOf(array), 0));
}

}  // namespace ptx2cpu::cudart
