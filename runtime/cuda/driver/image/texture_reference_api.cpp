// The functions of texture and surface references.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "driver_api.h"
#include "runtime/cuda/driver/code/module.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/image/array.h"
#include "runtime/cuda/driver/image/texture.h"
#include "runtime/cuda/driver/image/texture_reference.h"

namespace ptx2cpu::driver {

namespace {

constexpr size_t kAlignment = 512;  // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT

// A working context in which nothing runs, and the reference; INVALID_HANDLE.
template <typename T>
CUresult FindQuiet(typename T::Handle handle, T*& reference) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  reference = From<T>(handle);
  if (reference == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  context->streams().Synchronize();
  return CUDA_SUCCESS;
}

CUresult Find(CUtexref handle, const void* into, TextureReference*& reference) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  reference = From<TextureReference>(handle);
  if (reference == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return into == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// Changes how the texture is read, at once where it is bound.
template <typename Change>
CUresult Sample(CUtexref handle, const Change& change) {
  TextureReference* r = nullptr;
  if (const CUresult error = FindQuiet(handle, r)) return error;
  change(*r);
  return Rebuild(*r);
}

CUresult FindVariable(CUmodule handle, const char* name, std::byte*& variable) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  Module* module = From<Module>(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::span<std::byte> storage;
  if (const CUresult error = module->GetVariable(name, storage)) return error;
  if (storage.size() != sizeof(uint64_t)) return CUDA_ERROR_NOT_FOUND;
  variable = storage.data();
  return CUDA_SUCCESS;
}

CUresult BindFlat(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR* desc, CUdeviceptr pointer, size_t pitch) {
  TextureReference* r = nullptr;
  if (const CUresult error = FindQuiet(handle, r)) return error;
  if (desc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const size_t element = ElementBytes(desc->Format, desc->NumChannels);
  if (element == 0 || desc->Width > SIZE_MAX / element || pitch < desc->Width * element)
    return CUDA_ERROR_INVALID_VALUE;
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_PITCH2D;
  resource.res.pitch2D = {pointer, desc->Format, desc->NumChannels, desc->Width, desc->Height, pitch};
  if (const CUresult error = Bind(*r, resource)) return error;
  r->format = desc->Format, r->channels = desc->NumChannels;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuModuleGetTexRef(CUtexref* pTexRef, CUmodule hmod, const char* name) {
  std::byte* variable = nullptr;
  if (const CUresult error = FindVariable(hmod, name, variable)) return error;
  if (pTexRef == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pTexRef = HandleOf(&References<TextureReference>::Get().Of(variable));
  return CUDA_SUCCESS;
}

CUresult cuModuleGetSurfRef(CUsurfref* pSurfRef, CUmodule hmod, const char* name) {
  std::byte* variable = nullptr;
  if (const CUresult error = FindVariable(hmod, name, variable)) return error;
  if (pSurfRef == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pSurfRef = HandleOf(&References<SurfaceReference>::Get().Of(variable));
  return CUDA_SUCCESS;
}

CUresult cuTexRefCreate(CUtexref* pTexRef) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  if (pTexRef == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pTexRef = Publish(std::make_unique<TextureReference>());
  return CUDA_SUCCESS;
}

CUresult cuTexRefDestroy(CUtexref hTexRef) {
  TextureReference* r = nullptr;
  if (const CUresult error = FindQuiet(hTexRef, r)) return error;
  if (r->variable != nullptr) return CUDA_ERROR_INVALID_VALUE;  // it is its module's
  return Withdraw<TextureReference>(hTexRef) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult cuTexRefSetAddress_v2(size_t* ByteOffset, CUtexref hTexRef, CUdeviceptr dptr, size_t bytes) {
  TextureReference* r = nullptr;
  if (const CUresult error = FindQuiet(hTexRef, r)) return error;
  const size_t offset = dptr % kAlignment;
  if (offset != 0 && ByteOffset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (dptr == 0) {
    r->bound = false;
    r->resource = {};
    r->resource.resType = CU_RESOURCE_TYPE_LINEAR;
    Store(r->variable, nullptr);
  } else {
    CUDA_RESOURCE_DESC resource = {};
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear = {dptr - offset, r->format, r->channels, bytes + offset};
    if (const CUresult error = Bind(*r, resource)) return error;
  }
  if (ByteOffset != nullptr) *ByteOffset = offset;
  return CUDA_SUCCESS;
}

CUresult cuTexRefSetAddress2D_v2(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR* desc, CUdeviceptr dptr,
                                 size_t Pitch) {
  return BindFlat(hTexRef, desc, dptr, Pitch);
}

CUresult cuTexRefSetAddress2D_v3(CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR* desc, CUdeviceptr dptr,
                                 size_t Pitch) {
  return BindFlat(hTexRef, desc, dptr, Pitch);
}

// Whatever Flags are, the array's format is used.
CUresult cuTexRefSetArray(CUtexref hTexRef, CUarray hArray, unsigned int Flags) {
  TextureReference* r = nullptr;
  if (const CUresult error = FindQuiet(hTexRef, r)) return error;
  const Array* array = From<Array>(hArray);
  if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY, resource.res.array.hArray = hArray;
  if (const CUresult error = Bind(*r, resource)) return error;
  r->format = array->description().Format, r->channels = array->description().NumChannels;
  return CUDA_SUCCESS;
}

CUresult cuTexRefSetMipmappedArray(CUtexref hTexRef, CUmipmappedArray hMipmappedArray, unsigned int Flags) {
  TextureReference* r = nullptr;
  if (const CUresult error = FindQuiet(hTexRef, r)) return error;
  const MipmappedArray* mipmap = From<MipmappedArray>(hMipmappedArray);
  if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, resource.res.mipmap.hMipmappedArray = hMipmappedArray;
  if (const CUresult error = Bind(*r, resource)) return error;
  r->format = mipmap->description().Format, r->channels = mipmap->description().NumChannels;
  return CUDA_SUCCESS;
}

CUresult cuTexRefSetFormat(CUtexref hTexRef, CUarray_format fmt, int NumPackedComponents) {
  TextureReference* r = nullptr;
  if (const CUresult error = FindQuiet(hTexRef, r)) return error;
  if (NumPackedComponents != 1 && NumPackedComponents != 2 && NumPackedComponents != 4)
    return CUDA_ERROR_INVALID_VALUE;
  r->format = fmt, r->channels = static_cast<unsigned>(NumPackedComponents);
  return CUDA_SUCCESS;
}

CUresult cuTexRefSetAddressMode(CUtexref hTexRef, int dim, CUaddress_mode am) {
  if (dim < 0 || dim > 2) return CUDA_ERROR_INVALID_VALUE;
  return Sample(hTexRef, [&](TextureReference& r) { r.sampling.addressMode[dim] = am; });
}

CUresult cuTexRefSetFilterMode(CUtexref hTexRef, CUfilter_mode fm) {
  return Sample(hTexRef, [&](TextureReference& r) { r.sampling.filterMode = fm; });
}

CUresult cuTexRefSetFlags(CUtexref hTexRef, unsigned int Flags) {
  constexpr unsigned kKnown = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                              CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
  if ((Flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  return Sample(hTexRef, [&](TextureReference& r) { r.sampling.flags = Flags; });
}

CUresult cuTexRefSetMaxAnisotropy(CUtexref hTexRef, unsigned int maxAniso) {
  return Sample(hTexRef, [&](TextureReference& r) { r.sampling.maxAnisotropy = maxAniso; });
}

CUresult cuTexRefSetMipmapFilterMode(CUtexref hTexRef, CUfilter_mode fm) {
  return Sample(hTexRef, [&](TextureReference& r) { r.sampling.mipmapFilterMode = fm; });
}

CUresult cuTexRefSetMipmapLevelBias(CUtexref hTexRef, float bias) {
  return Sample(hTexRef, [&](TextureReference& r) { r.sampling.mipmapLevelBias = bias; });
}

CUresult cuTexRefSetMipmapLevelClamp(CUtexref hTexRef, float minMipmapLevelClamp, float maxMipmapLevelClamp) {
  return Sample(hTexRef, [&](TextureReference& r) {
    r.sampling.minMipmapLevelClamp = minMipmapLevelClamp;
    r.sampling.maxMipmapLevelClamp = maxMipmapLevelClamp;
  });
}

CUresult cuTexRefSetBorderColor(CUtexref hTexRef, float* pBorderColor) {
  if (pBorderColor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Sample(hTexRef, [&](TextureReference& r) { std::copy_n(pBorderColor, 4, r.sampling.borderColor); });
}

CUresult cuTexRefGetAddress_v2(CUdeviceptr* pdptr, CUtexref hTexRef) {
  TextureReference* r = nullptr;
  if (const CUresult error = Find(hTexRef, pdptr, r)) return error;
  if (r->resource.resType == CU_RESOURCE_TYPE_LINEAR)
    return *pdptr = r->resource.res.linear.devPtr, CUDA_SUCCESS;
  if (r->resource.resType == CU_RESOURCE_TYPE_PITCH2D)
    return *pdptr = r->resource.res.pitch2D.devPtr, CUDA_SUCCESS;
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuTexRefGetArray(CUarray* phArray, CUtexref hTexRef) {
  TextureReference* r = nullptr;
  if (const CUresult error = Find(hTexRef, phArray, r)) return error;
  if (!r->bound || r->resource.resType != CU_RESOURCE_TYPE_ARRAY) return CUDA_ERROR_INVALID_VALUE;
  *phArray = r->resource.res.array.hArray;
  return CUDA_SUCCESS;
}

CUresult cuTexRefGetMipmappedArray(CUmipmappedArray* phMipmappedArray, CUtexref hTexRef) {
  TextureReference* r = nullptr;
  if (const CUresult error = Find(hTexRef, phMipmappedArray, r)) return error;
  if (!r->bound || r->resource.resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) return CUDA_ERROR_INVALID_VALUE;
  *phMipmappedArray = r->resource.res.mipmap.hMipmappedArray;
  return CUDA_SUCCESS;
}

CUresult cuTexRefGetAddressMode(CUaddress_mode* pam, CUtexref hTexRef, int dim) {
  TextureReference* r = nullptr;
  if (const CUresult error = Find(hTexRef, pam, r)) return error;
  if (dim < 0 || dim > 2) return CUDA_ERROR_INVALID_VALUE;
  *pam = r->sampling.addressMode[dim];
  return CUDA_SUCCESS;
}

CUresult cuTexRefGetFilterMode(CUfilter_mode* pfm, CUtexref hTexRef) {
  TextureReference* r = nullptr;
  if (const CUresult error = Find(hTexRef, pfm, r)) return error;
  return *pfm = r->sampling.filterMode, CUDA_SUCCESS;
}

CUresult cuTexRefGetFormat(CUarray_format* pFormat, int* pNumChannels, CUtexref hTexRef) {
  TextureReference* r = nullptr;
  if (const CUresult error = Find(hTexRef, pFormat, r)) return error;
  *pFormat = r->format;
  if (pNumChannels != nullptr) *pNumChannels = static_cast<int>(r->channels);
  return CUDA_SUCCESS;
}

CUresult cuTexRefGetFlags(unsigned int* pFlags, CUtexref hTexRef) {
  TextureReference* r = nullptr;
  if (const CUresult error = Find(hTexRef, pFlags, r)) return error;
  return *pFlags = r->sampling.flags, CUDA_SUCCESS;
}

CUresult cuTexRefGetMaxAnisotropy(int* pmaxAniso, CUtexref hTexRef) {
  TextureReference* r = nullptr;
  if (const CUresult error = Find(hTexRef, pmaxAniso, r)) return error;
  return *pmaxAniso = static_cast<int>(r->sampling.maxAnisotropy), CUDA_SUCCESS;
}

CUresult cuTexRefGetMipmapFilterMode(CUfilter_mode* pfm, CUtexref hTexRef) {
  TextureReference* r = nullptr;
  if (const CUresult error = Find(hTexRef, pfm, r)) return error;
  return *pfm = r->sampling.mipmapFilterMode, CUDA_SUCCESS;
}

CUresult cuTexRefGetMipmapLevelBias(float* pbias, CUtexref hTexRef) {
  TextureReference* r = nullptr;
  if (const CUresult error = Find(hTexRef, pbias, r)) return error;
  return *pbias = r->sampling.mipmapLevelBias, CUDA_SUCCESS;
}

CUresult cuTexRefGetMipmapLevelClamp(float* pminMipmapLevelClamp, float* pmaxMipmapLevelClamp,
                                     CUtexref hTexRef) {
  TextureReference* r = nullptr;
  if (const CUresult error = Find(hTexRef, pminMipmapLevelClamp, r)) return error;
  if (pmaxMipmapLevelClamp == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pminMipmapLevelClamp = r->sampling.minMipmapLevelClamp;
  *pmaxMipmapLevelClamp = r->sampling.maxMipmapLevelClamp;
  return CUDA_SUCCESS;
}

CUresult cuTexRefGetBorderColor(float* pBorderColor, CUtexref hTexRef) {
  TextureReference* r = nullptr;
  if (const CUresult error = Find(hTexRef, pBorderColor, r)) return error;
  std::copy_n(r->sampling.borderColor, 4, pBorderColor);
  return CUDA_SUCCESS;
}

CUresult cuSurfRefSetArray(CUsurfref hSurfRef, CUarray hArray, unsigned int Flags) {
  SurfaceReference* r = nullptr;
  if (const CUresult error = FindQuiet(hSurfRef, r)) return error;
  if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  CUDA_RESOURCE_DESC resource = {};
  resource.resType = CU_RESOURCE_TYPE_ARRAY, resource.res.array.hArray = hArray;
  ptx2cpu_surface fresh = {};
  bool normalized_format = false;
  fresh.kind = PTX2CPU_KIND_SURFACE_REFERENCE;
  if (const CUresult error = DescribeImage(resource, &fresh.image, &normalized_format)) return error;
  r->device = fresh;
  r->array = hArray;
  Store(r->variable, &r->device);
  return CUDA_SUCCESS;
}

CUresult cuSurfRefGetArray(CUarray* phArray, CUsurfref hSurfRef) {
  Context* context = nullptr;
  if (const CUresult error = WorkingContext(context)) return error;
  const SurfaceReference* r = From<SurfaceReference>(hSurfRef);
  if (r == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (phArray == nullptr || r->array == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *phArray = r->array;
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
