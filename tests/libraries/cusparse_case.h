// What the tests of cuSPARSE share: the library, a random matrix in dense and in sparse form, descriptors.
#pragma once

#include <complex>
#include <random>
#include <vector>

#include "cudart_api.h"
#include "runtime/cuda/abi/cusparse_types.h"
#include "tests/libraries/dropin.h"

namespace ptx2cpu::cusparse_case {

using namespace cuda;

class Sparse {
 public:
  Sparse() { REQUIRE(Cusparse().Call("cusparseCreate", &handle) == 0); }
  ~Sparse() { Cusparse().Call("cusparseDestroy", handle); }
  Sparse(const Sparse&) = delete;
  // The function of that name, with the handle first.
  template <typename... Args>
  int operator()(const std::string& name, Args... args) const {
    return Cusparse().Call("cusparse" + name, handle, args...);
  }
  cusparseHandle_t handle = nullptr;
};

inline void Wait() { REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess); }

template <typename T>
inline constexpr cudaDataType kDataType = CUDA_R_32F;
template <>
inline constexpr cudaDataType kDataType<double> = CUDA_R_64F;
template <>
inline constexpr cudaDataType kDataType<cuComplex> = CUDA_C_32F;
template <>
inline constexpr cudaDataType kDataType<cuDoubleComplex> = CUDA_C_64F;
// Whether a function takes the operation: real matrices have no conjugate.
template <typename T>
constexpr bool Conjugates(int op) {
  return op != CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE || !std::is_floating_point_v<T>;
}
template <>
inline constexpr cudaDataType kDataType<int32_t> = CUDA_R_32I;

template <typename T>
T Number(std::mt19937& engine) {
  std::uniform_real_distribution<double> range(-1, 1);
  if constexpr (requires(T value) { value.imag(); }) {
    return T(static_cast<typename T::value_type>(range(engine)),
             static_cast<typename T::value_type>(range(engine)));
  } else {
    return static_cast<T>(range(engine));
  }
}

// Dense, row-major, and its entries by rows.
template <typename T>
struct Matrix {
  int rows, columns;
  std::vector<T> dense;
  std::vector<int> offsets, indices, row_indices;
  std::vector<T> values;
  T& at(int i, int j) { return dense[static_cast<size_t>(i * columns + j)]; }
  const T& at(int i, int j) const { return dense[static_cast<size_t>(i * columns + j)]; }
  int nnz() const { return static_cast<int>(values.size()); }

  void Compress(int base) {
    offsets = {base}, indices.clear(), row_indices.clear(), values.clear();
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) {
        if (at(i, j) == T{}) continue;
        indices.push_back(j + base), row_indices.push_back(i + base), values.push_back(at(i, j));
      }
      offsets.push_back(nnz() + base);
    }
  }
};

template <typename T>
Matrix<T> RandomMatrix(int rows, int columns, double density, unsigned seed, int base = 0) {
  std::mt19937 engine(seed);
  std::bernoulli_distribution stored(density);
  Matrix<T> m{rows, columns, std::vector<T>(static_cast<size_t>(rows * columns)), {}, {}, {}, {}};
  for (T& value : m.dense) value = stored(engine) ? Number<T>(engine) : T{};
  m.Compress(base);
  return m;
}

template <typename T>
Matrix<T> Transposed(const Matrix<T>& m, int base) {
  Matrix<T> t{m.columns, m.rows, std::vector<T>(m.dense.size()), {}, {}, {}, {}};
  for (int i = 0; i < m.rows; ++i) {
    for (int j = 0; j < m.columns; ++j) t.at(j, i) = m.at(i, j);
  }
  t.Compress(base);
  return t;
}

// op(M)(i, j) of a row-major matrix.
template <typename T>
T Element(const std::vector<T>& m, int rows, int columns, int op, int i, int j) {
  if (op == 0) return m[static_cast<size_t>(i * columns + j)];
  const T value = m[static_cast<size_t>(j * columns + i)];
  (void)rows;
  if constexpr (requires { value.imag(); }) {
    return op == 2 ? std::conj(value) : value;
  } else {
    return value;
  }
}

template <typename T>
void CheckClose(const T& found, const T& expected, double tolerance) {
  INFO(found << " for " << expected);
  REQUIRE(std::abs(found - expected) <= tolerance * (1 + std::abs(expected)));
}
template <typename T>
inline constexpr double kTolerance = 1e-12;
template <>
inline constexpr double kTolerance<float> = 2e-5;
template <>
inline constexpr double kTolerance<cuComplex> = 2e-5;

template <typename T>
cusparseDnVecDescr_t VectorOf(std::vector<T>& values, cudaDataType type = kDataType<T>) {
  cusparseDnVecDescr_t descr = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateDnVec", &descr, static_cast<int64_t>(values.size()),
                          static_cast<void*>(values.data()), type) == 0);
  return descr;
}
template <typename T>
cusparseDnMatDescr_t DenseOf(std::vector<T>& values, int rows, int columns, int ld, cusparseOrder_t order) {
  cusparseDnMatDescr_t descr = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateDnMat", &descr, int64_t{rows}, int64_t{columns}, int64_t{ld},
                          static_cast<void*>(values.data()), kDataType<T>, order) == 0);
  return descr;
}
template <typename T>
cusparseSpMatDescr_t CsrOf(Matrix<T>& m, int base = 0) {
  cusparseSpMatDescr_t descr = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateCsr", &descr, int64_t{m.rows}, int64_t{m.columns}, int64_t{m.nnz()},
                          static_cast<void*>(m.offsets.data()), static_cast<void*>(m.indices.data()),
                          static_cast<void*>(m.values.data()), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                          static_cast<cusparseIndexBase_t>(base), kDataType<T>) == 0);
  return descr;
}
inline void Destroy(cusparseSpMatDescr_t m) { REQUIRE(Cusparse().Call("cusparseDestroySpMat", m) == 0); }
inline void Destroy(cusparseDnMatDescr_t m) { REQUIRE(Cusparse().Call("cusparseDestroyDnMat", m) == 0); }
inline void Destroy(cusparseDnVecDescr_t v) { REQUIRE(Cusparse().Call("cusparseDestroyDnVec", v) == 0); }

}  // namespace ptx2cpu::cusparse_case
