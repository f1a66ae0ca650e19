// Memory of graphs' allocation nodes: pools of their own, one for each device, that no program has a handle
// of.
#include <map>
#include <memory>
#include <mutex>

#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/graph/graph_footprint.h"
#include "runtime/cuda/driver/graph/graph_memory.h"

namespace ptx2cpu::driver {

using namespace cuda;

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

namespace {

struct GraphMemory {
  uintptr_t base = 0;
  ~GraphMemory() {
    GraphFootprint::Get().Free(base);
    const auto gone = Allocations::Get().Remove(base, IsGraphMemory);
    if (gone) FreePoolMemory(*gone, {});
  }
};

}  // namespace

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

}  // namespace ptx2cpu::driver
