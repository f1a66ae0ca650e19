// Numbers of the libraries' four types: which are complex, and the type of their parts.
#pragma once

#include <complex>

namespace ptx2cpu {

template <typename T>
inline constexpr bool kComplex = requires(T value) { value.imag(); };
template <typename T>
struct RealType {
  using Type = T;
};
template <typename T>
struct RealType<std::complex<T>> {
  using Type = T;
};
template <typename T>
using Real = typename RealType<T>::Type;

}  // namespace ptx2cpu
