#include "runtime/cuda/driver/graph/graph_memory.h"

#include <mutex>
#include <unordered_map>

#include "runtime/cuda/driver/graph/graph_footprint.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

struct Allocation {
  bool freed_by_node = false;
  bool live = false;  // a launch has left it allocated
};

struct GraphAllocations {
  std::mutex mutex;
  std::unordered_map<CUdeviceptr, Allocation> table;
  static GraphAllocations& Get() {
    static GraphAllocations& allocations = *new GraphAllocations;
    return allocations;
  }
};

struct Note {
  const CUdeviceptr address;
  explicit Note(CUdeviceptr noted) : address(noted) {}
  ~Note() {
    GraphAllocations& all = GraphAllocations::Get();
    std::lock_guard lock(all.mutex);
    all.table.erase(address);
  }
};

}  // namespace

std::shared_ptr<const void> NoteGraphAllocation(CUdeviceptr address) {
  GraphAllocations& all = GraphAllocations::Get();
  std::lock_guard lock(all.mutex);
  all.table[address] = {};
  return std::make_shared<Note>(address);
}

CUresult NoteGraphFree(CUdeviceptr address) {
  GraphAllocations& all = GraphAllocations::Get();
  std::lock_guard lock(all.mutex);
  const auto found = all.table.find(address);
  if (found == all.table.end() || found->second.freed_by_node) return CUDA_ERROR_INVALID_VALUE;
  found->second.freed_by_node = true;
  return CUDA_SUCCESS;
}

void NoteGraphReuse(CUdeviceptr address) {
  GraphAllocations& all = GraphAllocations::Get();
  std::lock_guard lock(all.mutex);
  all.table[address].freed_by_node = false;
}

void EndGraphMemory(CUdeviceptr address) {
  GraphAllocations& all = GraphAllocations::Get();
  std::lock_guard lock(all.mutex);
  const auto found = all.table.find(address);
  if (found != all.table.end()) found->second.live = false;
}

CUresult BeginGraphMemory(const std::vector<CUdeviceptr>& left, bool free_automatically) {
  if (left.empty()) return CUDA_SUCCESS;
  GraphAllocations& all = GraphAllocations::Get();
  std::lock_guard lock(all.mutex);
  for (const CUdeviceptr address : left) {
    if (all.table[address].live && !free_automatically) return CUDA_ERROR_INVALID_VALUE;
  }
  for (const CUdeviceptr address : left) all.table[address].live = true;
  return CUDA_SUCCESS;
}

CUresult FreeGraphMemory(CUdeviceptr address) {
  GraphAllocations& all = GraphAllocations::Get();
  std::lock_guard lock(all.mutex);
  const auto found = all.table.find(address);
  if (found == all.table.end() || !found->second.live) return CUDA_ERROR_INVALID_VALUE;
  found->second.live = false;
  GraphFootprint::Get().Free(address);
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
