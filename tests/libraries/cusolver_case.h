// What the tests of cuSOLVER share: the library, names by type, dense matrices and their products.
#pragma once

#include <complex>
#include <random>
#include <vector>

#include "cudart_api.h"
#include "runtime/cuda/abi/cusolver_types.h"
#include "tests/libraries/dropin.h"
#include "tests/libraries/number_types.h"

namespace ptx2cpu::cusolver_case {

using namespace cuda;

class Solver {
 public:
  Solver() { REQUIRE(Cusolver().Call("cusolverDnCreate", &handle) == 0); }
  ~Solver() { Cusolver().Call("cusolverDnDestroy", handle); }
  Solver(const Solver&) = delete;
  template <typename... Args>
  int operator()(const std::string& name, Args... args) const {
    return Cusolver().Call("cusolverDn" + name, handle, args...);
  }
  cusolverDnHandle_t handle = nullptr;
};

inline void Wait() { REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess); }

template <typename T>
char LetterOf() {
  return sizeof(Real<T>) == 4 ? (kComplex<T> ? 'C' : 'S') : (kComplex<T> ? 'Z' : 'D');
}
template <typename T>
cudaDataType TypeOf() {
  return sizeof(Real<T>) == 4 ? (kComplex<T> ? CUDA_C_32F : CUDA_R_32F)
                              : (kComplex<T> ? CUDA_C_64F : CUDA_R_64F);
}
template <typename T>
cudaDataType RealTypeOf() {
  return sizeof(Real<T>) == 4 ? CUDA_R_32F : CUDA_R_64F;
}
// "gesvd" as it is for the type; "orgqr ungqr" for real and complex ones.
template <typename T>
std::string Named(const std::string& real, const std::string& complex = "") {
  return LetterOf<T>() + (kComplex<T> && !complex.empty() ? complex : real);
}
template <typename T>
T Conj(T value) {
  if constexpr (kComplex<T>) {
    return std::conj(value);
  } else {
    return value;
  }
}

// Column-major, ld = rows.
template <typename T>
struct Dense {
  int rows, columns;
  std::vector<T> values;
  Dense(int m, int n) : rows(m), columns(n), values(static_cast<size_t>(m * n)) {}
  T& operator()(int i, int j) { return values[static_cast<size_t>(i + j * rows)]; }
  const T& operator()(int i, int j) const { return values[static_cast<size_t>(i + j * rows)]; }
  T* data() { return values.data(); }
};
template <typename T>
Dense<T> Random(int m, int n, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<Real<T>> range(-1, 1);
  Dense<T> a(m, n);
  for (T& value : a.values) {
    if constexpr (kComplex<T>) {
      value = {range(engine), range(engine)};
    } else {
      value = range(engine);
    }
  }
  return a;
}
template <typename T>
Dense<T> Multiply(const Dense<T>& a, const Dense<T>& b) {
  Dense<T> c(a.rows, b.columns);
  for (int i = 0; i < a.rows; ++i) {
    for (int j = 0; j < b.columns; ++j) {
      for (int k = 0; k < a.columns; ++k) c(i, j) += a(i, k) * b(k, j);
    }
  }
  return c;
}
template <typename T>
Dense<T> Adjoint(const Dense<T>& a) {
  Dense<T> t(a.columns, a.rows);
  for (int i = 0; i < a.rows; ++i) {
    for (int j = 0; j < a.columns; ++j) t(j, i) = Conj(a(i, j));
  }
  return t;
}
template <typename T>
Dense<T> Hermitian(int n, unsigned seed, double diagonal) {
  const Dense<T> a = Random<T>(n, n, seed), t = Adjoint(a);
  Dense<T> h(n, n);
  for (size_t i = 0; i < h.values.size(); ++i) h.values[i] = a.values[i] + t.values[i];
  for (int i = 0; i < n; ++i) h(i, i) += T(static_cast<Real<T>>(diagonal));
  return h;
}
template <typename T>
void CheckNear(const Dense<T>& found, const Dense<T>& expected) {
  const double tolerance = sizeof(Real<T>) == 4 ? 2e-4 : 1e-11;
  REQUIRE(found.values.size() == expected.values.size());
  for (size_t i = 0; i < found.values.size(); ++i) {
    INFO(i << ": " << found.values[i] << " for " << expected.values[i]);
    REQUIRE(std::abs(found.values[i] - expected.values[i]) <= tolerance * (1 + std::abs(expected.values[i])));
  }
}
template <typename T>
Dense<T> Scaled(const Dense<T>& a, const std::vector<Real<T>>& s, int columns) {
  Dense<T> b(a.rows, columns);
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < a.rows; ++i) b(i, j) = a(i, j) * s[j];
  }
  return b;
}

}  // namespace ptx2cpu::cusolver_case

#define SOLVER_TYPES float, double, cuComplex, cuDoubleComplex
