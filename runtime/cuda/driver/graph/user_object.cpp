// An object of the program, destroyed with the last reference.
#include <algorithm>
#include <unordered_map>

#include "runtime/cuda/driver/graph/graph.h"

namespace ptx2cpu::driver {

using namespace cuda;

UserObject::UserObject(void* object, CUhostFn destroy) : object_(object), destroy_(destroy) {
  Handles::Get().Add(this, kKind);
}

UserObject::~UserObject() {
  Handles::Get().Remove(this, kKind);
  destroy_(object_);
}

}  // namespace ptx2cpu::driver
