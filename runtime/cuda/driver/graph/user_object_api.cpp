// Objects of the program that live as long as graphs or the program refer to them.
#include <algorithm>

#include "runtime/cuda/driver/graph/graph.h"
#include "runtime/cuda/driver/graph/user_object.h"

namespace ptx2cpu::driver {

using namespace cuda;

CUresult cuUserObjectCreate(CUuserObject* object_out, void* ptr, CUhostFn destroy,
                            unsigned int initialRefcount, unsigned int flags) {
  if (object_out == nullptr || destroy == nullptr || initialRefcount == 0 ||
      flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
    return CUDA_ERROR_INVALID_VALUE;
  const auto object = std::make_shared<UserObject>(ptr, destroy);
  object->Hold(initialRefcount);
  *object_out = HandleOf(object.get());
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count) {
  UserObject* const retained = From<UserObject>(object);
  return retained != nullptr && retained->Retain(count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count) {
  UserObject* const released = From<UserObject>(object);
  return released != nullptr && released->Release(count) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags) {
  Graph* const owner = From<Graph>(graph);
  UserObject* const retained = From<UserObject>(object);
  if (owner == nullptr || retained == nullptr || count == 0 ||
      (flags & ~unsigned{CU_GRAPH_USER_OBJECT_MOVE}) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<UserObject> shared = flags != 0 ? retained->Release(count) : retained->Shared();
  if (shared == nullptr) return CUDA_ERROR_INVALID_VALUE;
  owner->user_objects[std::move(shared)] += count;
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
