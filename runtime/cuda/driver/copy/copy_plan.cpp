#include "runtime/cuda/driver/copy/copy_plan.h"

#include "runtime/cuda/driver/image/array.h"
#include "runtime/cuda/driver/memory/allocations.h"
#include "runtime/cuda/driver/memory/memory_heap.h"
#include "runtime/cuda/driver/memory/memory_probe.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

constexpr size_t kMaxPitch = 0x7fffffff;  // CU_DEVICE_ATTRIBUTE_MAX_PITCH

// An end with its address worked out.
struct Place {
  std::byte* start = nullptr;
  size_t pitch = 0, slice = 0;
  EndKind kind = EndKind::kDevice;
  bool sync_memops = false;
  int device = -1;
};

// *sum = a * b + c, false where that does not fit.
bool MultiplyAdd(size_t a, size_t b, size_t c, size_t* sum) {
  size_t product = 0;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(product, c, sum);
}

EndKind KindOf(const Range& range) {
  switch (range.kind) {
    case RangeKind::kPinned:
    case RangeKind::kRegistered:
      return EndKind::kPinned;
    case RangeKind::kManaged:
      return EndKind::kManaged;
    case RangeKind::kDevice:
    case RangeKind::kPitched:
    case RangeKind::kArray:
    case RangeKind::kPool:
    case RangeKind::kVirtual:
    case RangeKind::kModule:
      break;
  }
  return EndKind::kDevice;
}

// Mappings side by side in a reservation are one piece of memory to copies.
bool InMappings(uintptr_t address, size_t extent) {
  for (;;) {
    const auto range = Allocations::Get().Find(address);
    if (!range || range->kind != RangeKind::kVirtual) return false;
    const size_t here = range->size - (address - range->base);
    if (extent <= here) return true;
    address += here;
    extent -= here;
  }
}

// What the bytes [start, start + extent) are. `device`: the program states that they are a device's.
bool Classify(const std::byte* start, size_t extent, bool device, Place* place) {
  const auto address = reinterpret_cast<uintptr_t>(start);
  const Allocations::Found found = Allocations::Get().Look(address);
  if (found.range) {
    if (found.range->kind == RangeKind::kArray) return false;
    if (!found.range->Holds(address, extent) && !InMappings(address, extent)) return false;
    place->kind = KindOf(*found.range);
    place->sync_memops = found.range->sync_memops;
    place->device = found.range->device;
    return true;
  }
  // Memory that is partly known is not legal, as on a GPU.
  place->kind = EndKind::kPageable;
  if (extent > found.end - address) return false;
  return !device || (!MemoryHeap::Get().Shares(start) && Readable(start, extent));
}

CUresult PlaceArray(const CopyEnd& end, size_t width, size_t height, size_t depth, Place* place) {
  const Array* array = From<Array>(end.array);
  if (array == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto fits = [](size_t at, size_t count, size_t extent) {
    return at <= extent && count <= extent - at;
  };
  if (!fits(end.x, width, array->row_bytes()) || !fits(end.y, height, array->rows()) ||
      !fits(end.z, depth, array->slices())) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  place->pitch = array->row_bytes();
  place->slice = array->slice_bytes();
  place->start = array->data() + end.z * place->slice + end.y * place->pitch + end.x;
  return CUDA_SUCCESS;
}

CUresult PlacePointer(const CopyEnd& end, size_t width, size_t height, size_t depth, Place* place) {
  if (end.pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  size_t row = 0, rows = 0;
  if (__builtin_add_overflow(end.x, width, &row) || __builtin_add_overflow(end.y, height, &rows))
    return CUDA_ERROR_INVALID_VALUE;
  place->pitch = end.pitch == 0 ? row : end.pitch;
  const size_t slice_rows = end.height == 0 ? rows : end.height;
  if (place->pitch < row || slice_rows < rows) return CUDA_ERROR_INVALID_VALUE;
  // A pitch that steps over nothing may be as long as the row.
  if (place->pitch > kMaxPitch && (height > 1 || depth > 1 || end.pitch != 0))
    return CUDA_ERROR_INVALID_VALUE;
  size_t offset = 0, extent = 0;
  if (!MultiplyAdd(place->pitch, slice_rows, 0, &place->slice) ||
      !MultiplyAdd(end.y, place->pitch, end.x, &offset) ||
      !MultiplyAdd(end.z, place->slice, offset, &offset) ||
      !MultiplyAdd(height - 1, place->pitch, width, &extent) ||
      !MultiplyAdd(depth - 1, place->slice, extent, &extent)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  size_t last = 0;
  if (__builtin_add_overflow(reinterpret_cast<uintptr_t>(end.pointer), offset, &last) ||
      __builtin_add_overflow(last, extent, &last)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  place->start = const_cast<std::byte*>(static_cast<const std::byte*>(end.pointer)) + offset;
  return Classify(place->start, extent, end.type == CU_MEMORYTYPE_DEVICE, place) ? CUDA_SUCCESS
                                                                                 : CUDA_ERROR_INVALID_VALUE;
}

CUresult PlaceOf(const CopyEnd& end, size_t width, size_t height, size_t depth, Place* place) {
  switch (end.type) {
    case CU_MEMORYTYPE_ARRAY:
      return PlaceArray(end, width, height, depth, place);
    case CU_MEMORYTYPE_HOST:
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
      return PlacePointer(end, width, height, depth, place);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

bool Legal(CUmemorytype type) { return type >= CU_MEMORYTYPE_HOST && type <= CU_MEMORYTYPE_UNIFIED; }

}  // namespace

CUresult PlanCopy(const CopyEnd& from, const CopyEnd& to, size_t width, size_t height, size_t depth,
                  CopyPlan* plan) {
  if (!Legal(from.type) || !Legal(to.type)) return CUDA_ERROR_INVALID_VALUE;
  *plan = CopyPlan{};
  plan->nothing = width == 0 || height == 0 || depth == 0;
  if (plan->nothing) return CUDA_SUCCESS;
  Place source, target;
  if (const CUresult legal = PlaceOf(from, width, height, depth, &source); legal != CUDA_SUCCESS)
    return legal;
  if (const CUresult legal = PlaceOf(to, width, height, depth, &target); legal != CUDA_SUCCESS) return legal;
  plan->work = {source.start, target.start, width,        height,      depth,
                source.pitch, source.slice, target.pitch, target.slice};
  plan->from = source.kind;
  plan->to = target.kind;
  plan->sync_memops = source.sync_memops || target.sync_memops;
  plan->from_device = source.device;
  plan->to_device = target.device;
  return CUDA_SUCCESS;
}

namespace {

template <typename Copy>
CopyRequest Ends(const Copy& c) {
  CopyRequest r;
  // Unified ends are in the device fields.
  r.from = {c.srcMemoryType,
            c.srcMemoryType == CU_MEMORYTYPE_HOST ? c.srcHost : reinterpret_cast<const void*>(c.srcDevice),
            c.srcArray,
            c.srcXInBytes,
            c.srcY,
            0,
            c.srcPitch,
            0};
  r.to = {c.dstMemoryType,
          c.dstMemoryType == CU_MEMORYTYPE_HOST ? c.dstHost : reinterpret_cast<const void*>(c.dstDevice),
          c.dstArray,
          c.dstXInBytes,
          c.dstY,
          0,
          c.dstPitch,
          0};
  r.width = c.WidthInBytes, r.height = c.Height;
  return r;
}

template <typename Copy>
CopyRequest DeepEnds(const Copy& c) {
  CopyRequest r = Ends(c);
  r.from.z = c.srcZ, r.from.height = c.srcHeight;
  r.to.z = c.dstZ, r.to.height = c.dstHeight;
  r.depth = c.Depth;
  return r;
}

}  // namespace

CopyRequest RequestOf(const CUDA_MEMCPY2D& copy) { return Ends(copy); }
CopyRequest RequestOf(const CUDA_MEMCPY3D& copy) { return DeepEnds(copy); }
CopyRequest RequestOf(const CUDA_MEMCPY3D_PEER& copy) { return DeepEnds(copy); }

CUresult PlanFill(CUdeviceptr to, size_t pitch, uint32_t value, unsigned value_bytes, size_t width,
                  size_t height, FillPlan* plan) {
  *plan = FillPlan{};
  plan->nothing = width == 0 || height == 0;
  if (plan->nothing) return CUDA_SUCCESS;
  size_t row = 0, extent = 0;
  if (!MultiplyAdd(width, value_bytes, 0, &row)) return CUDA_ERROR_INVALID_VALUE;
  if (height == 1) pitch = row;
  if (to == 0 || to % value_bytes != 0 || pitch % value_bytes != 0 || pitch < row ||
      !MultiplyAdd(height - 1, pitch, row, &extent)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Place place;
  auto* start = reinterpret_cast<std::byte*>(to);
  if (!Classify(start, extent, true, &place)) return CUDA_ERROR_INVALID_VALUE;
  plan->work = {start, value, static_cast<uint8_t>(value_bytes), width, height, pitch};
  plan->to = place.kind;
  plan->sync_memops = place.sync_memops;
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
