#include "runtime/cuda/driver/image/array.h"

#include <algorithm>
#include <bit>

#include "runtime/cuda/driver/memory/allocations.h"
#include "runtime/cuda/driver/memory/memory_heap.h"

namespace ptx2cpu::driver {

using namespace cuda;

ElementFormat ElementFormatOf(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return {8, 0};
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return {16, 0};
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return {32, 0};
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X1:
      return {8, 1};
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X2:
      return {8, 2};
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X4:
      return {8, 4};
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X1:
      return {16, 1};
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X2:
      return {16, 2};
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X4:
      return {16, 4};
    default:
      return {};
  }
}

size_t ElementBytes(CUarray_format format, unsigned channels) {
  const ElementFormat element = ElementFormatOf(format);
  if (channels != 1 && channels != 2 && channels != 4) return 0;
  if (element.channels != 0 && element.channels != channels) return 0;
  return element.bytes(channels);
}

namespace {

constexpr unsigned kLayered = CUDA_ARRAY3D_LAYERED, kCube = CUDA_ARRAY3D_CUBEMAP;
// Colour attachments and depth textures are for graphics interop; sparse arrays and deferred mapping for tile
// pools.
constexpr unsigned kKnownFlags = kLayered | kCube | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_TEXTURE_GATHER;
constexpr size_t kMaxWidth = 131072, kMaxHeight = 65536, kMaxLayers = 2048;

CUresult CheckExtents(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  if (d.Width == 0 || d.Width > kMaxWidth || d.Height > kMaxHeight) return CUDA_ERROR_INVALID_VALUE;
  const bool layered = (d.Flags & kLayered) != 0, cube = (d.Flags & kCube) != 0;
  if (layered && (d.Depth == 0 || d.Depth > kMaxLayers)) return CUDA_ERROR_INVALID_VALUE;
  if (cube && (d.Height != d.Width || (layered ? d.Depth % 6 != 0 : d.Depth != 6)))
    return CUDA_ERROR_INVALID_VALUE;
  if (d.Height == 0 && d.Depth != 0 && !layered) return CUDA_ERROR_INVALID_VALUE;
  const bool flat = d.Height != 0 && (d.Depth == 0 || layered);
  if ((d.Flags & CUDA_ARRAY3D_TEXTURE_GATHER) != 0 && (!flat || cube)) return CUDA_ERROR_INVALID_VALUE;
  // No product below overflows: 2^17 * 2^16 * 16 leaves 2^27 for the depth.
  return d.Depth < (size_t{1} << 26) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

size_t BytesOf(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  return d.Width * std::max<size_t>(d.Height, 1) * std::max<size_t>(d.Depth, 1) *
         ElementBytes(d.Format, d.NumChannels);
}

CUDA_ARRAY3D_DESCRIPTOR LevelOf(CUDA_ARRAY3D_DESCRIPTOR d, unsigned level) {
  const auto halve = [level](size_t extent) {
    return extent == 0 ? 0 : std::max<size_t>(extent >> level, 1);
  };
  d.Width = halve(d.Width);
  d.Height = halve(d.Height);
  if ((d.Flags & (kLayered | kCube)) == 0) d.Depth = halve(d.Depth);
  return d;
}

std::byte* TakeMemory(size_t bytes, int device, const void* context) {
  auto* data = static_cast<std::byte*>(MemoryHeap::Get().Allocate(bytes));
  if (data == nullptr) return nullptr;
  Range range;
  range.base = reinterpret_cast<uintptr_t>(data), range.size = bytes, range.kind = RangeKind::kArray;
  range.device = device, range.context = context;
  Allocations::Get().Insert(range);
  return data;
}

void GiveBack(std::byte* data, size_t bytes) {
  Allocations::Get().Remove(reinterpret_cast<uintptr_t>(data),
                            [](const Range& range) { return range.kind == RangeKind::kArray; });
  MemoryHeap::Get().Free(data, bytes);
}

}  // namespace

CUresult CheckArray(const CUDA_ARRAY3D_DESCRIPTOR& description) {
  if ((description.Flags & ~kKnownFlags) != 0 ||
      ElementBytes(description.Format, description.NumChannels) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  return CheckExtents(description);
}

Array::Array(const CUDA_ARRAY3D_DESCRIPTOR& description, std::byte* data, MipmappedArray* whole,
             Context* context)
    : description_(description),
      element_bytes_(ElementBytes(description.Format, description.NumChannels)),
      data_(data),
      whole_(whole),
      context_(context) {}

Array::~Array() {
  if (whole_ == nullptr) GiveBack(data_, bytes());
}

CUresult Array::Make(const CUDA_ARRAY3D_DESCRIPTOR& description, int device, Context* context,
                     std::unique_ptr<Array>* made) {
  if (const CUresult legal = CheckArray(description); legal != CUDA_SUCCESS) return legal;
  std::byte* data = TakeMemory(BytesOf(description), device, context);
  if (data == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *made = std::make_unique<Array>(description, data, nullptr, context);
  return CUDA_SUCCESS;
}

CUresult MipmappedArray::Make(const CUDA_ARRAY3D_DESCRIPTOR& description, unsigned levels, int device,
                              Context* context, std::unique_ptr<MipmappedArray>* made) {
  if (const CUresult legal = CheckArray(description); legal != CUDA_SUCCESS) return legal;
  const bool deep = (description.Flags & (kLayered | kCube)) == 0;
  const size_t longest =
      std::max({description.Width, description.Height, deep ? description.Depth : size_t{0}});
  levels = std::clamp(levels, 1u, static_cast<unsigned>(std::bit_width(longest)));
  size_t bytes = 0;
  for (unsigned level = 0; level < levels; ++level) {
    bytes += (BytesOf(LevelOf(description, level)) + MemoryHeap::kAlignment - 1) / MemoryHeap::kAlignment *
             MemoryHeap::kAlignment;
  }
  std::byte* data = TakeMemory(bytes, device, context);
  if (data == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  std::unique_ptr<MipmappedArray> whole(new MipmappedArray(data, bytes, context));
  for (unsigned level = 0; level < levels; ++level) {
    const CUDA_ARRAY3D_DESCRIPTOR part = LevelOf(description, level);
    whole->levels_.push_back(std::make_unique<Array>(part, data, whole.get(), context));
    Handles::Get().Add(whole->levels_.back().get(), Array::kKind);
    data += (BytesOf(part) + MemoryHeap::kAlignment - 1) / MemoryHeap::kAlignment * MemoryHeap::kAlignment;
  }
  *made = std::move(whole);
  return CUDA_SUCCESS;
}

MipmappedArray::~MipmappedArray() {
  for (const auto& level : levels_) Handles::Get().Remove(level.get(), Array::kKind);
  GiveBack(data_, bytes_);
}

}  // namespace ptx2cpu::driver
