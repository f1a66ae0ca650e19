// What the tests of cuBLAS share: a handle, random matrices, and the plain loops that define the results.
#pragma once

#include <complex>
#include <random>
#include <vector>

#include "cudart_api.h"
#include "runtime/cuda/abi/cublas_types.h"
#include "tests/libraries/dropin.h"
#include "tests/libraries/number_types.h"

namespace ptx2cpu::blas_case {

using namespace cuda;
using Wide = std::complex<double>;

inline const DropIn& Cublas() {
  static const DropIn library("libcublas.so.13");
  return library;
}

template <typename T>
std::string LetterOf() {
  return std::is_same_v<T, float>       ? "S"
         : std::is_same_v<T, double>    ? "D"
         : std::is_same_v<T, cuComplex> ? "C"
                                        : "Z";
}

template <typename T>
T FromWide(Wide value) {
  if constexpr (kComplex<T>) {
    return T(value);
  } else {
    return static_cast<T>(value.real());
  }
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  template <typename T>
  T Value() {
    std::uniform_real_distribution<double> range(-1, 1);
    const double re = range(engine_);
    return FromWide<T>({re, kComplex<T> ? range(engine_) : 0.0});
  }
  template <typename T>
  std::vector<T> Values(size_t count) {
    std::vector<T> values(count);
    for (T& value : values) value = Value<T>();
    return values;
  }
  int Below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(engine_); }

 private:
  std::mt19937 engine_;
};

// A handle on the default stream; the test's vectors are device memory, since device pointers are host
// pointers.
class Blas {
 public:
  Blas() { REQUIRE(Cublas().Call("cublasCreate_v2", &handle) == CUBLAS_STATUS_SUCCESS); }
  ~Blas() { Cublas().Call("cublasDestroy_v2", handle); }
  // Calls cublas<name> and waits for its work.
  template <typename... Args>
  int operator()(const std::string& name, Args... args) const {
    INFO(name);
    const int status = Cublas().Call("cublas" + name, handle, args...);
    REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
    return status;
  }
  cublasHandle_t handle = nullptr;
};

template <typename T>
double Tolerance(int64_t terms) {
  return (sizeof(Real<T>) == 4 ? 4e-7 : 8e-16) * static_cast<double>(terms + 8);
}

template <typename T>
void CheckNear(const std::vector<T>& found, const std::vector<Wide>& expected, int64_t terms) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const double error = std::abs(Wide(found[i]) - expected[i]);
    if (!(error <= Tolerance<T>(terms) * (1 + std::abs(expected[i])))) {
      INFO("element " << i << ": " << Wide(found[i]) << " for " << expected[i]);
      REQUIRE(error <= Tolerance<T>(terms) * (1 + std::abs(expected[i])));
    }
  }
}

// op(A) as a full matrix of `rows` by `columns`.
template <typename T>
std::vector<Wide> Stored(cublasOperation_t op, int rows, int columns, const std::vector<T>& a, int ld) {
  std::vector<Wide> full(static_cast<size_t>(rows) * columns);
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) {
      const bool transposes = op == CUBLAS_OP_T || op == CUBLAS_OP_C;
      const Wide value(a[transposes ? j + static_cast<size_t>(i) * ld : i + static_cast<size_t>(j) * ld]);
      full[i + static_cast<size_t>(j) * rows] =
          op == CUBLAS_OP_C || op == CUBLAS_OP_CONJG ? std::conj(value) : value;
    }
  }
  return full;
}
template <typename T>
std::vector<Wide> Widened(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}
// a (m by k) times b (k by n).
inline std::vector<Wide> Times(int m, int n, int k, const std::vector<Wide>& a, const std::vector<Wide>& b) {
  std::vector<Wide> c(static_cast<size_t>(m) * n);
  for (int j = 0; j < n; ++j) {
    for (int l = 0; l < k; ++l) {
      for (int i = 0; i < m; ++i)
        c[i + static_cast<size_t>(j) * m] +=
            a[i + static_cast<size_t>(l) * m] * b[l + static_cast<size_t>(j) * k];
    }
  }
  return c;
}
// Which triangle, or everything, of a matrix whose leading dimension is `ld` becomes alpha product + beta c.
enum class Part : uint8_t { kAll, kLower, kUpper };
template <typename T>
std::vector<Wide> Updated(Part part, int m, int n, Wide alpha, const std::vector<Wide>& product, Wide beta,
                          const std::vector<T>& c, int ld) {
  std::vector<Wide> result = Widened(c);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      if ((part == Part::kLower && i < j) || (part == Part::kUpper && i > j)) continue;
      Wide& to = result[i + static_cast<size_t>(j) * ld];
      to = alpha * product[i + static_cast<size_t>(j) * m] + (beta == 0.0 ? 0.0 : beta * to);
    }
  }
  return result;
}
inline Part PartOf(cublasFillMode_t uplo) {
  return uplo == CUBLAS_FILL_MODE_LOWER ? Part::kLower : Part::kUpper;
}

// The full matrix that one stored triangle means.
enum class Kind : uint8_t { kSymmetric, kHermitian, kTriangular, kUnitTriangular };
template <typename T>
std::vector<Wide> FromTriangle(Kind kind, cublasFillMode_t uplo, int n, const std::vector<T>& a, int ld) {
  std::vector<Wide> full(static_cast<size_t>(n) * n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      const bool here = uplo == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j;
      const Wide own(a[i + static_cast<size_t>(j) * ld]), mirrored(a[j + static_cast<size_t>(i) * ld]);
      Wide value = here                       ? own
                   : kind == Kind::kSymmetric ? mirrored
                   : kind == Kind::kHermitian ? std::conj(mirrored)
                                              : 0.0;
      if (i == j && kind == Kind::kUnitTriangular) value = 1;
      if (i == j && kind == Kind::kHermitian) value = value.real();
      full[i + static_cast<size_t>(j) * n] = value;
    }
  }
  return full;
}
// A vector's elements in order, from memory with a stride.
template <typename T>
std::vector<Wide> Gathered(const std::vector<T>& x, int n, int inc) {
  std::vector<Wide> values(n);
  for (int i = 0; i < n; ++i) values[i] = Wide(x[inc > 0 ? i * inc : (i - n + 1) * inc]);
  return values;
}
template <typename T>
std::vector<Wide> Scattered(const std::vector<Wide>& values, std::vector<T> x, int inc) {
  std::vector<Wide> all = Widened(x);
  const int n = static_cast<int>(values.size());
  for (int i = 0; i < n; ++i) all[inc > 0 ? i * inc : (i - n + 1) * inc] = values[i];
  return all;
}
inline size_t Room(int n, int inc) { return static_cast<size_t>(n) * std::abs(inc) + 1; }

constexpr cublasOperation_t kOperations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
constexpr cublasFillMode_t kFills[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};
constexpr cublasSideMode_t kSides[] = {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT};
constexpr cublasDiagType_t kDiags[] = {CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT};

}  // namespace ptx2cpu::blas_case
