#include "tools/record/cuda_images.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

namespace ptx2cpu::rt {

namespace {

using CuStatus = int;
using DevicePointer = uint64_t;

enum : unsigned { kLayered = 1, kSurfaceAccess = 2, kCubemap = 4, kGather = 8 };      // CUDA_ARRAY3D_*
enum : unsigned { kReadAsInteger = 1, kNormalized = 2, kSrgb = 16, kSeamless = 64 };  // CU_TRSF_*
enum : int { kResourceArray = 0, kResourceMipmapped = 1, kResourceLinear = 2, kResourcePitch = 3 };
enum : int { kMemoryHost = 1, kMemoryArray = 3 };  // CUmemorytype

struct ArrayDescription {  // CUDA_ARRAY3D_DESCRIPTOR
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
};

struct PlaneDescription {  // CUDA_ARRAY_DESCRIPTOR
  size_t width, height;
  int format;
  unsigned channels;
};

struct Copy3d {  // CUDA_MEMCPY3D
  size_t from_x, from_y, from_z, from_lod;
  int from_type;
  const void* from_host;
  DevicePointer from_device;
  void* from_array;
  void* reserved0;
  size_t from_pitch, from_height;
  size_t to_x, to_y, to_z, to_lod;
  int to_type;
  void* to_host;
  DevicePointer to_device;
  void* to_array;
  void* reserved1;
  size_t to_pitch, to_height;
  size_t width, height, depth;
};
static_assert(sizeof(Copy3d) == 200);

struct ResourceDescription {  // CUDA_RESOURCE_DESC
  int type;
  union {
    void* array;
    struct {
      DevicePointer pointer;
      int format;
      unsigned channels;
      size_t bytes;
    } linear;
    struct {
      DevicePointer pointer;
      int format;
      unsigned channels;
      size_t width, height, pitch;
    } plane;
    int reserved[32];
  };
  unsigned flags;
};
static_assert(sizeof(ResourceDescription) == 144);

struct SamplerDescription {  // CUDA_TEXTURE_DESC
  int address[3];
  int filter;
  unsigned flags, max_anisotropy;
  int mip_filter;
  float bias, min_lod, max_lod;
  float border[4];
  int reserved[12];
};
static_assert(sizeof(SamplerDescription) == 104);

int FormatOf(const ScalarType& type) {  // CUarray_format
  const int size = type.size == 1 ? 0 : type.size == 2 ? 1 : 2;
  if (type.kind == ScalarKind::kFloat) return type.size == 2 ? 0x10 : 0x20;
  return (type.kind == ScalarKind::kSigned ? 8 : 1) + size;
}

constexpr size_t kPitchAlign = 256;

}  // namespace

struct DeviceImages::Functions {
  CuStatus (*MemAlloc)(DevicePointer*, size_t);
  CuStatus (*MemFree)(DevicePointer);
  CuStatus (*MemcpyHtoD)(DevicePointer, const void*, size_t);
  CuStatus (*MemcpyDtoH)(void*, DevicePointer, size_t);
  CuStatus (*TensorMapEncodeTiled)(void*, int, uint32_t, DevicePointer, const uint64_t*, const uint64_t*,
                                   const uint32_t*, const uint32_t*, int, int, int, int);
  CuStatus (*TensorMapEncodeIm2col)(void*, int, uint32_t, DevicePointer, const uint64_t*, const uint64_t*,
                                    const int*, const int*, uint32_t, uint32_t, const uint32_t*, int, int,
                                    int, int);
  CuStatus (*Array3DCreate)(void**, const ArrayDescription*);
  CuStatus (*ArrayDestroy)(void*);
  CuStatus (*MipmappedArrayCreate)(void**, const ArrayDescription*, unsigned);
  CuStatus (*MipmappedArrayGetLevel)(void**, void*, unsigned);
  CuStatus (*MipmappedArrayDestroy)(void*);
  CuStatus (*Memcpy3D)(const Copy3d*);
  CuStatus (*TexObjectCreate)(uint64_t*, const ResourceDescription*, const SamplerDescription*, const void*);
  CuStatus (*TexObjectDestroy)(uint64_t);
  CuStatus (*SurfObjectCreate)(uint64_t*, const ResourceDescription*);
  CuStatus (*SurfObjectDestroy)(uint64_t);
  CuStatus (*ModuleGetTexRef)(void**, void*, const char*);
  CuStatus (*ModuleGetSurfRef)(void**, void*, const char*);
  CuStatus (*TexRefSetArray)(void*, void*, unsigned);
  CuStatus (*TexRefSetMipmappedArray)(void*, void*, unsigned);
  CuStatus (*TexRefSetAddress)(size_t*, void*, DevicePointer, size_t);
  CuStatus (*TexRefSetAddress2D)(void*, const PlaneDescription*, DevicePointer, size_t);
  CuStatus (*TexRefSetFormat)(void*, int, int);
  CuStatus (*TexRefSetAddressMode)(void*, int, int);
  CuStatus (*TexRefSetFilterMode)(void*, int);
  CuStatus (*TexRefSetFlags)(void*, unsigned);
  CuStatus (*TexRefSetBorderColor)(void*, float*);
  CuStatus (*SurfRefSetArray)(void*, void*, unsigned);
  CuStatus (*GetErrorName)(CuStatus, const char**);
};

struct DeviceImages::Image {
  DevicePointer memory = 0, map = 0;
  size_t pitch = 0;
  void* array = nullptr;
  void* mipmapped = nullptr;
  std::vector<void*> levels;  // arrays
  uint64_t texture = 0, surface = 0, handle = 0;
};

#define TRY_CUDA(call)                                                                \
  do {                                                                                \
    if (const CuStatus status_ = (call); status_ != 0) return Failed(status_, #call); \
  } while (false)

DeviceImages::DeviceImages(void* library) : functions_(std::make_unique<Functions>()) {
  // A function that is missing is null: programs whose kernels take no images need none of them.
  const auto load = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
  };
  Functions& f = *functions_;
  load("cuMemAlloc_v2", f.MemAlloc);
  load("cuMemFree_v2", f.MemFree);
  load("cuMemcpyHtoD_v2", f.MemcpyHtoD);
  load("cuMemcpyDtoH_v2", f.MemcpyDtoH);
  load("cuTensorMapEncodeTiled", f.TensorMapEncodeTiled);
  load("cuTensorMapEncodeIm2col", f.TensorMapEncodeIm2col);
  load("cuArray3DCreate_v2", f.Array3DCreate);
  load("cuArrayDestroy", f.ArrayDestroy);
  load("cuMipmappedArrayCreate", f.MipmappedArrayCreate);
  load("cuMipmappedArrayGetLevel", f.MipmappedArrayGetLevel);
  load("cuMipmappedArrayDestroy", f.MipmappedArrayDestroy);
  load("cuMemcpy3D_v2", f.Memcpy3D);
  load("cuTexObjectCreate", f.TexObjectCreate);
  load("cuTexObjectDestroy", f.TexObjectDestroy);
  load("cuSurfObjectCreate", f.SurfObjectCreate);
  load("cuSurfObjectDestroy", f.SurfObjectDestroy);
  load("cuModuleGetTexRef", f.ModuleGetTexRef);
  load("cuModuleGetSurfRef", f.ModuleGetSurfRef);
  load("cuTexRefSetArray", f.TexRefSetArray);
  load("cuTexRefSetMipmappedArray", f.TexRefSetMipmappedArray);
  load("cuTexRefSetAddress_v2", f.TexRefSetAddress);
  load("cuTexRefSetAddress2D_v3", f.TexRefSetAddress2D);
  load("cuTexRefSetFormat", f.TexRefSetFormat);
  load("cuTexRefSetAddressMode", f.TexRefSetAddressMode);
  load("cuTexRefSetFilterMode", f.TexRefSetFilterMode);
  load("cuTexRefSetFlags", f.TexRefSetFlags);
  load("cuTexRefSetBorderColor", f.TexRefSetBorderColor);
  load("cuSurfRefSetArray", f.SurfRefSetArray);
  load("cuGetErrorName", f.GetErrorName);
}

DeviceImages::~DeviceImages() {
  const Functions& f = *functions_;
  for (const auto& image : images_) {
    if (image->texture != 0) f.TexObjectDestroy(image->texture);
    if (image->surface != 0) f.SurfObjectDestroy(image->surface);
    if (image->array != nullptr) f.ArrayDestroy(image->array);
    if (image->mipmapped != nullptr) f.MipmappedArrayDestroy(image->mipmapped);
    if (image->memory != 0) f.MemFree(image->memory);
    if (image->map != 0) f.MemFree(image->map);
  }
}

std::unexpected<Error> DeviceImages::Failed(int status, const char* what) const {
  const char* name = nullptr;
  if (functions_->GetErrorName != nullptr) functions_->GetErrorName(status, &name);
  // Not kFault: the context still works.
  return Fail(ErrorCode::kUsage,
              std::string(what) + ": " + (name != nullptr ? name : std::to_string(status)));
}

uint64_t* DeviceImages::handle() { return &images_.back()->handle; }

Status DeviceImages::Make(const Argument& argument, void* module) {
  images_.push_back(std::make_unique<Image>());
  Image& image = *images_.back();
  if (argument.IsTensor()) return MakeTensor(argument, image);
  TRY_STATUS(argument.image->IsMemory() ? MakeMemory(argument, image) : MakeArray(argument, image));
  return argument.image->name.empty() ? MakeHandle(argument, image) : Bind(argument, image, module);
}

Status DeviceImages::MakeMemory(const Argument& argument, Image& image) {
  const ImageSpec& spec = *argument.image;
  const size_t row = size_t{spec.width} * spec.channels * argument.type->size;
  image.pitch = spec.shape == ImageShape::kLinear ? row : (row + kPitchAlign - 1) / kPitchAlign * kPitchAlign;
  std::vector<std::byte> bytes(image.pitch * spec.height);
  for (size_t y = 0; y < spec.height; ++y)
    std::memcpy(bytes.data() + y * image.pitch, argument.data.data() + y * row, row);
  TRY_CUDA(functions_->MemAlloc(&image.memory, bytes.size()));
  TRY_CUDA(functions_->MemcpyHtoD(image.memory, bytes.data(), bytes.size()));
  return {};
}

Status DeviceImages::MakeTensor(const Argument& argument, Image& image) {
  const TensorSpec& spec = *argument.image->tensor;
  const Functions& f = *functions_;
  if (f.TensorMapEncodeTiled == nullptr || f.TensorMapEncodeIm2col == nullptr)
    return Fail(ErrorCode::kUsage, "this driver has no tensor maps");
  TRY_CUDA(f.MemAlloc(&image.memory, argument.data.size()));
  TRY_CUDA(f.MemcpyHtoD(image.memory, argument.data.data(), argument.data.size()));
  alignas(128) std::array<std::byte, 128> map;
  const int type = static_cast<int>(spec.type), swizzle = static_cast<int>(spec.swizzle);
  if (spec.is_im2col) {
    TRY_CUDA(f.TensorMapEncodeIm2col(map.data(), type, spec.rank, image.memory, spec.sizes.data(),
                                     spec.strides.data(), spec.lower.data(), spec.upper.data(), spec.channels,
                                     spec.pixels, spec.steps.data(), 0, swizzle, 0, spec.nan));
  } else {
    TRY_CUDA(f.TensorMapEncodeTiled(map.data(), type, spec.rank, image.memory, spec.sizes.data(),
                                    spec.strides.data(), spec.box.data(), spec.steps.data(), 0, swizzle, 0,
                                    spec.nan));
  }
  TRY_CUDA(f.MemAlloc(&image.map, map.size()));
  TRY_CUDA(f.MemcpyHtoD(image.map, map.data(), map.size()));
  image.handle = image.map;
  return {};
}

Status DeviceImages::MakeArray(const Argument& argument, Image& image) {
  const ImageSpec& spec = *argument.image;
  ArrayDescription description{spec.width, spec.height, spec.slices, FormatOf(*argument.type), spec.channels,
                               0};
  const bool is_1d = spec.shape == ImageShape::k1d || spec.shape == ImageShape::k1dLayered;
  if (is_1d) description.height = 0;
  if (spec.shape == ImageShape::k1d || spec.shape == ImageShape::k2d) description.depth = 0;
  if (spec.IsLayered()) description.flags |= kLayered;
  if (spec.IsCube()) description.flags |= kCubemap;
  if (spec.gather) description.flags |= kGather;
  if (argument.role == ArgumentRole::kSurface) description.flags |= kSurfaceAccess;
  if (spec.levels > 1) {
    TRY_CUDA(functions_->MipmappedArrayCreate(&image.mipmapped, &description, spec.levels));
    image.levels.resize(spec.levels);
    for (uint32_t level = 0; level < spec.levels; ++level)
      TRY_CUDA(functions_->MipmappedArrayGetLevel(&image.levels[level], image.mipmapped, level));
  } else {
    TRY_CUDA(functions_->Array3DCreate(&image.array, &description));
    image.levels = {image.array};
  }
  std::vector<std::byte> data = argument.data;
  return CopyArrays(image, spec, data.data(), argument.type->size, true);
}

Status DeviceImages::CopyArrays(const Image& image, const ImageSpec& spec, std::byte* data, size_t element,
                                bool to_device) {
  for (uint32_t level = 0; level < spec.levels; ++level) {
    const ImageSpec::Extent extent = spec.Level(level);
    Copy3d copy{};
    copy.width = extent.width * spec.channels * element;
    copy.height = extent.height;
    copy.depth = extent.slices;
    copy.from_pitch = copy.to_pitch = copy.width;
    copy.from_height = copy.to_height = copy.height;
    copy.from_type = to_device ? kMemoryHost : kMemoryArray;
    copy.to_type = to_device ? kMemoryArray : kMemoryHost;
    (to_device ? copy.to_array : copy.from_array) = image.levels[level];
    copy.from_host = to_device ? data : nullptr;
    copy.to_host = to_device ? nullptr : data;
    TRY_CUDA(functions_->Memcpy3D(&copy));
    data += copy.width * copy.height * copy.depth;
  }
  return {};
}

namespace {
unsigned FlagsOf(const ImageSpec& spec) {
  return (spec.integer ? kReadAsInteger : 0) | (spec.normalized ? kNormalized : 0) | (spec.srgb ? kSrgb : 0) |
         (spec.seamless ? kSeamless : 0);
}
}  // namespace

Status DeviceImages::MakeHandle(const Argument& argument, Image& image) {
  const ImageSpec& spec = *argument.image;
  const int format = FormatOf(*argument.type);
  ResourceDescription resource{};
  if (spec.shape == ImageShape::kLinear) {
    resource.type = kResourceLinear;
    resource.linear = {image.memory, format, spec.channels, image.pitch};
  } else if (spec.shape == ImageShape::kPitch) {
    resource.type = kResourcePitch;
    resource.plane = {image.memory, format, spec.channels, spec.width, spec.height, image.pitch};
  } else {
    resource.type = image.mipmapped != nullptr ? kResourceMipmapped : kResourceArray;
    resource.array = image.mipmapped != nullptr ? image.mipmapped : image.array;
  }
  if (argument.role == ArgumentRole::kSurface) {
    TRY_CUDA(functions_->SurfObjectCreate(&image.surface, &resource));
    image.handle = image.surface;
    return {};
  }
  SamplerDescription sampler{};
  for (int i = 0; i < 3; ++i) sampler.address[i] = static_cast<int>(spec.address[static_cast<size_t>(i)]);
  sampler.filter = spec.linear_filter;
  sampler.mip_filter = spec.linear_mip;
  sampler.flags = FlagsOf(spec);
  sampler.bias = spec.bias;
  sampler.min_lod = spec.min_lod;
  sampler.max_lod = spec.max_lod;
  std::copy(spec.border.begin(), spec.border.end(), sampler.border);
  TRY_CUDA(functions_->TexObjectCreate(&image.texture, &resource, &sampler, nullptr));
  image.handle = image.texture;
  return {};
}

Status DeviceImages::Bind(const Argument& argument, Image& image, void* module) {
  const ImageSpec& spec = *argument.image;
  const Functions& f = *functions_;
  void* reference = nullptr;
  if (argument.role == ArgumentRole::kSurface) {
    if (f.ModuleGetSurfRef == nullptr || f.SurfRefSetArray == nullptr)
      return Fail(ErrorCode::kUsage, "this driver has no surface references");
    TRY_CUDA(f.ModuleGetSurfRef(&reference, module, spec.name.c_str()));
    TRY_CUDA(f.SurfRefSetArray(reference, image.array, 0));
    return {};
  }
  if (f.ModuleGetTexRef == nullptr || f.TexRefSetArray == nullptr || f.TexRefSetAddress2D == nullptr)
    return Fail(ErrorCode::kUsage, "this driver has no texture references");
  TRY_CUDA(f.ModuleGetTexRef(&reference, module, spec.name.c_str()));
  const int format = FormatOf(*argument.type);
  for (int i = 0; i < 3; ++i)
    TRY_CUDA(f.TexRefSetAddressMode(reference, i, static_cast<int>(spec.address[static_cast<size_t>(i)])));
  TRY_CUDA(f.TexRefSetFilterMode(reference, spec.linear_filter));
  TRY_CUDA(f.TexRefSetFlags(reference, FlagsOf(spec)));
  float border[4];
  std::copy(spec.border.begin(), spec.border.end(), border);
  TRY_CUDA(f.TexRefSetBorderColor(reference, border));
  TRY_CUDA(f.TexRefSetFormat(reference, format, static_cast<int>(spec.channels)));
  if (spec.shape == ImageShape::kLinear) {
    size_t offset = 0;
    TRY_CUDA(f.TexRefSetAddress(&offset, reference, image.memory, image.pitch));
  } else if (spec.shape == ImageShape::kPitch) {
    const PlaneDescription plane{spec.width, spec.height, format, spec.channels};
    TRY_CUDA(f.TexRefSetAddress2D(reference, &plane, image.memory, image.pitch));
  } else if (image.mipmapped != nullptr) {
    TRY_CUDA(f.TexRefSetMipmappedArray(reference, image.mipmapped, 1));
  } else {
    TRY_CUDA(f.TexRefSetArray(reference, image.array, 1));
  }
  return {};
}

Result<std::vector<std::byte>> DeviceImages::Download(const Argument& argument, size_t number) {
  std::vector<std::byte> data(argument.data.size());
  if (argument.IsTensor()) {
    TRY_CUDA(functions_->MemcpyDtoH(data.data(), images_[number]->memory, data.size()));
    return data;
  }
  TRY_STATUS(CopyArrays(*images_[number], *argument.image, data.data(), argument.type->size, false));
  return data;
}

}  // namespace ptx2cpu::rt
