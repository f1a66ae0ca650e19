// A failed CHECK ends our own programs with its message. Inside a user's process it throws InternalError, so
// that only the work that met it fails and the process continues.
#pragma once

#include <stdexcept>

namespace ptx2cpu {

// A failed CHECK: file, line, condition.
class InternalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// While one lives, a failed CHECK of this thread throws InternalError. The code that makes one catches it.
class ThrowInternalErrors {
 public:
  ThrowInternalErrors();
  ~ThrowInternalErrors();
  ThrowInternalErrors(const ThrowInternalErrors&) = delete;
  ThrowInternalErrors& operator=(const ThrowInternalErrors&) = delete;
  static bool Active();
};

}  // namespace ptx2cpu
