// Objects of the program that graphs keep.
#pragma once

#include <memory>
#include <mutex>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/core/handles.h"

namespace ptx2cpu::driver {

// A program's object with a destructor, kept as long as graphs and the program hold references.
class UserObject : public std::enable_shared_from_this<UserObject> {
 public:
  using Handle = cuda::CUuserObject;
  static constexpr HandleKind kKind = HandleKind::kUserObject;

  UserObject(void* object, cuda::CUhostFn destroy);
  ~UserObject();
  UserObject(const UserObject&) = delete;
  UserObject& operator=(const UserObject&) = delete;

  // The first references of the program.
  void Hold(unsigned count);
  // More of them. False: it holds none.
  bool Retain(unsigned count);
  // The object, which may be destroyed with the returned pointer. Null: the program holds fewer.
  std::shared_ptr<UserObject> Release(unsigned count);
  // For a graph. Null: the program holds none.
  std::shared_ptr<UserObject> Shared();

 private:
  void* const object_;
  const cuda::CUhostFn destroy_;
  std::mutex mutex_;  // what follows
  unsigned held_ = 0;
  std::shared_ptr<UserObject> self_;  // while the program holds it
};

}  // namespace ptx2cpu::driver
