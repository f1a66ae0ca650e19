// Sparse matrices for cuSOLVER: a handle with its matrix descriptor, a matrix by rows, a grid whose order is
// shuffled.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "cudart_api.h"
#include "runtime/cuda/abi/cusolver_types.h"
#include "tests/libraries/dropin.h"
#include "tests/libraries/number_types.h"

namespace ptx2cpu::cusolver_sparse_case {

struct SparseSolver {
  explicit SparseSolver(cuda::cusparseIndexBase_t base = cuda::CUSPARSE_INDEX_BASE_ZERO) {
    REQUIRE(Cusolver().Call("cusolverSpCreate", &handle) == 0);
    REQUIRE(Cusparse().Call("cusparseCreateMatDescr", &descr) == 0);
    REQUIRE(Cusparse().Call("cusparseSetMatIndexBase", descr, base) == 0);
  }
  ~SparseSolver() {
    Cusolver().Call("cusolverSpDestroy", handle);
    Cusparse().Call("cusparseDestroyMatDescr", descr);
  }
  SparseSolver(const SparseSolver&) = delete;
  SparseSolver& operator=(const SparseSolver&) = delete;
  template <typename... Args>
  int operator()(const std::string& name, Args... args) const {
    return Cusolver().Call("cusolverSp" + name, handle, args...);
  }
  cuda::cusolverSpHandle_t handle = nullptr;
  cuda::cusparseMatDescr_t descr = nullptr;
};

template <typename T>
const char* Letter() {
  return sizeof(Real<T>) == 4 ? (kComplex<T> ? "C" : "S") : (kComplex<T> ? "Z" : "D");
}
template <typename T>
T Number(int seed) {
  const auto part = [](int x) { return static_cast<Real<T>>((x * 37 + 11) % 41 - 20) / 16; };
  if constexpr (kComplex<T>) {
    return {part(seed), part(seed + 7)};
  } else {
    return part(seed);
  }
}
template <typename T>
T Conjugated(T value) {
  if constexpr (kComplex<T>) {
    return std::conj(value);
  } else {
    return value;
  }
}

template <typename T>
struct Matrix {
  int rows, columns, base;
  std::vector<int> begins, indices;
  std::vector<T> values;

  Matrix(int m, int n, int from, const std::vector<std::vector<T>>& dense) : rows(m), columns(n), base(from) {
    begins.push_back(base);
    for (const auto& row : dense) {
      for (size_t j = 0; j < row.size(); ++j) {
        if (row[j] != T{}) indices.push_back(static_cast<int>(j) + base), values.push_back(row[j]);
      }
      begins.push_back(base + static_cast<int>(indices.size()));
    }
  }
  int nnz() const { return static_cast<int>(values.size()); }
  std::vector<T> Times(const std::vector<T>& x) const {
    std::vector<T> y(static_cast<size_t>(rows));
    for (size_t i = 0; i < y.size(); ++i) {
      for (int at = begins[i] - base; at < begins[i + 1] - base; ++at)
        y[i] +=
            values[static_cast<size_t>(at)] * x[static_cast<size_t>(indices[static_cast<size_t>(at)] - base)];
    }
    return y;
  }
};

// A grid's neighbours, in a shuffled order; unsymmetric, with a few zeros on the diagonal.
constexpr int kSide = 7, kSize = kSide * kSide;
template <typename T>
std::vector<std::vector<T>> Grid(bool positive) {
  std::vector<std::vector<T>> dense(kSize, std::vector<T>(kSize));
  const auto place = [](int x, int y) { return static_cast<size_t>((y * kSide + x) * 23 % kSize); };
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const size_t i = place(x, y);
      dense[i][i] = positive ? T{12} : (x + y) % 5 == 0 ? T{} : Number<T>(x * 3 + y) + T{1};
      for (const auto& [dx, dy] : {std::pair{1, 0}, std::pair{0, 1}}) {
        if (x + dx >= kSide || y + dy >= kSide) continue;
        const size_t j = place(x + dx, y + dy);
        dense[i][j] = Number<T>(x * 5 + y + dx);
        if (dense[i][j] == T{}) dense[i][j] = T{1};
        dense[j][i] = positive ? Conjugated(dense[i][j]) : Number<T>(x + y * 9 + dy) + T{3};
      }
    }
  }
  return dense;
}

template <typename T>
double Error(const std::vector<T>& a, const std::vector<T>& b) {
  double error = 0;
  for (size_t i = 0; i < a.size(); ++i) error = std::max(error, static_cast<double>(std::abs(a[i] - b[i])));
  return error;
}
template <typename T>
double Bound() {
  return sizeof(Real<T>) == 4 ? 2e-3 : 1e-9;
}

}  // namespace ptx2cpu::cusolver_sparse_case
