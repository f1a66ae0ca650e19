#include "runtime/cuda/driver/graph/user_object.h"

#include <utility>

namespace ptx2cpu::driver {

using namespace cuda;

UserObject::UserObject(void* object, CUhostFn destroy) : object_(object), destroy_(destroy) {
  Handles::Get().Add(this, kKind);
}

UserObject::~UserObject() {
  Handles::Get().Remove(this, kKind);
  destroy_(object_);
}

void UserObject::Hold(unsigned count) {
  std::lock_guard lock(mutex_);
  held_ = count;
  self_ = shared_from_this();
}

bool UserObject::Retain(unsigned count) {
  std::lock_guard lock(mutex_);
  if (held_ == 0 || count == 0) return false;
  held_ += count;
  return true;
}

std::shared_ptr<UserObject> UserObject::Release(unsigned count) {
  std::lock_guard lock(mutex_);
  if (count == 0 || count > held_) return nullptr;
  held_ -= count;
  return held_ == 0 ? std::move(self_) : self_;
}

std::shared_ptr<UserObject> UserObject::Shared() {
  std::lock_guard lock(mutex_);
  return self_;
}

}  // namespace ptx2cpu::driver
