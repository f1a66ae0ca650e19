// Functions for handles and their fields, the same in every library. Success is 0 in each library's status.
#pragma once

#include <type_traits>

#include "runtime/cuda/libraries/core/stream_call.h"

namespace ptx2cpu::libraries {

template <typename Context, typename Status>
Status CreateHandle(Context** handle, std::type_identity_t<Status> no_place, Status no_device) {
  if (handle == nullptr) return no_place;
  if (Begin() != cuda::CUDA_SUCCESS) return no_device;
  *handle = new Context;
  return Status{};
}

// An object of the library that needs no device.
template <typename Object, typename Status>
Status CreateObject(Object** object, Status no_place) {
  if (object == nullptr) return no_place;
  *object = new Object;
  return Status{};
}
template <typename Context, typename Status>
Status DestroyHandle(Context* handle, Status no_handle) {
  if (handle == nullptr) return no_handle;
  delete handle;
  return Status{};
}

// A field, unless the arguments are wrong.
template <typename Status, typename Context, typename Value>
Status Write(Status wrong, Context* handle, Value Context::* field, std::type_identity_t<Value> value) {
  if (wrong == Status{}) handle->*field = value;
  return wrong;
}
template <typename Status, typename Context, typename Value>
Status Read(Status wrong, const Context* handle, Value Context::* field, std::type_identity_t<Value>* value) {
  if (wrong == Status{}) *value = handle->*field;
  return wrong;
}

}  // namespace ptx2cpu::libraries
