// Numbers in the libraries over matrices: the real types of complex ones, conjugates, scalar parameters.
#pragma once

#include <complex>

#include "runtime/cuda/abi/library_types.h"

namespace ptx2cpu::libraries {

template <typename T>
struct RealOf {
  using Type = T;
};
template <typename R>
struct RealOf<std::complex<R>> {
  using Type = R;
};
template <>
struct RealOf<cuda::__half> {
  using Type = float;
};
template <typename T>
using Real = typename RealOf<T>::Type;

template <typename T>
inline constexpr bool kIsComplex = false;
template <typename R>
inline constexpr bool kIsComplex<std::complex<R>> = true;

template <typename T>
T Conjugate(T value) {
  if constexpr (kIsComplex<T>) {
    return std::conj(value);
  } else {
    return value;
  }
}

// A scalar parameter: read when the function is called, or on the device when the work runs, by the handle's
// pointer mode. In all libraries the host's is 0.
template <typename T>
class Scalar {
 public:
  template <typename Context>
  Scalar(const Context* handle, const T* pointer)
      : value_(static_cast<int>(handle->pointer_mode) == 0 ? *pointer : T{}),
        device_(static_cast<int>(handle->pointer_mode) == 0 ? nullptr : pointer) {}
  template <typename Context>
  Scalar(const Context* handle, const void* pointer) : Scalar(handle, static_cast<const T*>(pointer)) {}
  Scalar(T value) : value_(value), device_(nullptr) {}
  T operator()() const { return device_ != nullptr ? *device_ : value_; }

 private:
  T value_;
  const T* device_;
};

}  // namespace ptx2cpu::libraries
