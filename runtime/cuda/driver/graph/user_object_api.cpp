// Objects of the program that live as long as graphs refer to them: the program's own references.
#include <algorithm>
#include <unordered_map>

#include "runtime/cuda/driver/graph/graph.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

// The references that the program itself holds.
struct Held {
  std::shared_ptr<UserObject> object;
  unsigned count;
};

struct HeldObjects {
  std::mutex mutex;
  std::unordered_map<CUuserObject, Held> objects;
  static HeldObjects& Get() {
    static HeldObjects& held = *new HeldObjects;
    return held;
  }
};

// Releases references of the program; the object may be destroyed with the returned pointer.
CUresult Release(CUuserObject handle, unsigned count, std::shared_ptr<UserObject>& last) {
  HeldObjects& held = HeldObjects::Get();
  std::lock_guard lock(held.mutex);
  const auto found = held.objects.find(handle);
  if (found == held.objects.end() || count == 0 || count > found->second.count)
    return CUDA_ERROR_INVALID_VALUE;
  last = found->second.object;
  if ((found->second.count -= count) == 0) held.objects.erase(found);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuUserObjectCreate(CUuserObject* object_out, void* ptr, CUhostFn destroy,
                            unsigned int initialRefcount, unsigned int flags) {
  if (object_out == nullptr || destroy == nullptr || initialRefcount == 0 ||
      flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
    return CUDA_ERROR_INVALID_VALUE;
  auto object = std::make_shared<UserObject>(ptr, destroy);
  *object_out = HandleOf(object.get());
  HeldObjects& held = HeldObjects::Get();
  std::lock_guard lock(held.mutex);
  held.objects[*object_out] = {std::move(object), initialRefcount};
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count) {
  HeldObjects& held = HeldObjects::Get();
  std::lock_guard lock(held.mutex);
  const auto found = held.objects.find(object);
  if (found == held.objects.end() || count == 0) return CUDA_ERROR_INVALID_VALUE;
  found->second.count += count;
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count) {
  std::shared_ptr<UserObject> last;
  return Release(object, count, last);
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags) {
  Graph* const owner = From<Graph>(graph);
  if (owner == nullptr || count == 0 || (flags & ~unsigned{CU_GRAPH_USER_OBJECT_MOVE}) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<UserObject> shared;
  if (flags != 0) {
    if (const CUresult error = Release(object, count, shared)) return error;
  } else {
    HeldObjects& held = HeldObjects::Get();
    std::lock_guard lock(held.mutex);
    const auto found = held.objects.find(object);
    if (found == held.objects.end()) return CUDA_ERROR_INVALID_VALUE;
    shared = found->second.object;
  }
  owner->user_objects[shared] += count;
  return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count) {
  Graph* const owner = From<Graph>(graph);
  if (owner == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  if (From<UserObject>(object) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (auto entry = owner->user_objects.begin(); entry != owner->user_objects.end(); ++entry) {
    if (HandleOf(entry->first.get()) != object) continue;
    entry->second -= std::min(count, entry->second);
    if (entry->second == 0) owner->user_objects.erase(entry);
    break;
  }
  return CUDA_SUCCESS;  // more than there were, or none: as the driver
}

}  // namespace ptx2cpu::driver
