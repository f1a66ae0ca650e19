// Memory of graphs' allocation nodes: pools of their own, one for each device, that no program has a handle
// of.
#include <map>
#include <memory>
#include <mutex>

#include "driver_api.h"
#include "runtime/cuda/driver/core/device.h"
#include "runtime/cuda/driver/graph/graph_footprint.h"
#include "runtime/cuda/driver/memory/pool.h"

namespace ptx2cpu::driver {

namespace {

constexpr unsigned kGraphMemory = 1;  // in flags of a pool's range

MemoryPool& GraphPool(int device) {
  static std::mutex mutex;
  static auto* pools = new std::map<int, std::shared_ptr<MemoryPool>>;
  const std::lock_guard lock(mutex);
  auto& pool = (*pools)[device];
  if (pool == nullptr) {
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    pool = std::make_shared<MemoryPool>(properties);
  }
  return *pool;
}

struct GraphMemory {
  uintptr_t base = 0;
  ~GraphMemory() {
    GraphFootprint::Get().Free(base);
    const auto gone = Allocations::Get().Remove(base, IsGraphMemory);
    if (gone) FreePoolMemory(*gone, {});
  }
};

}  // namespace

bool IsGraphMemory(const Range& range) {
  return range.kind == RangeKind::kPool && range.flags == kGraphMemory;
}

std::shared_ptr<const void> AllocateForGraph(const CUmemPoolProps& properties, size_t bytes,
                                             CUdeviceptr* made) {
  const bool on_device = properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (AllocateFromPool(GraphPool(on_device ? properties.location.id : 0), bytes, nullptr, made) !=
      CUDA_SUCCESS)
    return nullptr;
  Allocations::Get().Update(static_cast<uintptr_t>(*made), [](Range& range) { range.flags = kGraphMemory; });
  auto memory = std::make_shared<GraphMemory>();
  memory->base = static_cast<uintptr_t>(*made);
  return memory;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void* value) {
  Device* found = nullptr;
  if (const CUresult error = FindDevice(device, found)) return error;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const GraphFootprint::Sizes sizes = GraphFootprint::Get().SizesOf(found->ordinal());
  auto* bytes = static_cast<cuuint64_t*>(value);
  switch (attr) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
      return *bytes = sizes.used, CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      return *bytes = sizes.used_high, CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// The high watermarks can be reset, by setting them to 0.
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void* value) {
  Device* found = nullptr;
  if (const CUresult error = FindDevice(device, found)) return error;
  if (value == nullptr || *static_cast<const cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (attr != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attr != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
    return CUDA_ERROR_INVALID_VALUE;
  GraphFootprint::Get().ResetHigh(found->ordinal());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  Device* found = nullptr;
  if (const CUresult error = FindDevice(device, found)) return error;
  GraphPool(found->ordinal()).blocks().Trim(0);
  GraphFootprint::Get().Trim(found->ordinal());
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
