#include "runtime/cuda/driver/image/texture_reference.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "runtime/cuda/driver/image/texture.h"

namespace ptx2cpu::driver {

using namespace cuda;

void Store(std::byte* variable, const void* handle) {
  if (variable != nullptr) std::memcpy(variable, &handle, sizeof handle);
}

namespace {

// References accept any number as a mode; invalid ones read as the first mode.
CUDA_TEXTURE_DESC Legal(CUDA_TEXTURE_DESC sampling) {
  for (CUaddress_mode& mode : sampling.addressMode) {
    if (mode < CU_TR_ADDRESS_MODE_WRAP || mode > CU_TR_ADDRESS_MODE_BORDER) mode = CU_TR_ADDRESS_MODE_CLAMP;
  }
  for (CUfilter_mode* mode : {&sampling.filterMode, &sampling.mipmapFilterMode}) {
    if (*mode != CU_TR_FILTER_MODE_LINEAR) *mode = CU_TR_FILTER_MODE_POINT;
  }
  return sampling;
}

}  // namespace

CUresult Rebuild(TextureReference& r) {
  if (!r.bound) {
    Store(r.variable, nullptr);
    return CUDA_SUCCESS;
  }
  ptx2cpu_texture fresh = {};
  bool normalized_format = false;
  fresh.kind = PTX2CPU_KIND_TEXTURE_REFERENCE;
  if (const CUresult error = DescribeImage(r.resource, &fresh.image, &normalized_format)) return error;
  if (const CUresult error = DescribeSampling(Legal(r.sampling), normalized_format, &fresh)) return error;
  r.device = fresh;
  Store(r.variable, &r.device);
  return CUDA_SUCCESS;
}

CUresult Bind(TextureReference& r, const CUDA_RESOURCE_DESC& resource) {
  const CUDA_RESOURCE_DESC before = r.resource;
  const bool was_bound = r.bound;
  r.resource = resource;
  r.bound = true;
  const CUresult result = Rebuild(r);
  if (result != CUDA_SUCCESS) r.resource = before, r.bound = was_bound;
  return result;
}

void ForgetReferences(std::byte* variable) {
  References<TextureReference>::Get().Forget(variable);
  References<SurfaceReference>::Get().Forget(variable);
}

}  // namespace ptx2cpu::driver
