// Products of sparse matrices against sums over dense ones: types, operations, formats, bases, batches.
#include <bit>

#include "runtime/cuda/libraries/core/narrow.h"
#include "tests/libraries/cusparse_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cusparse_case;

namespace {

template <typename T>
std::vector<T> Numbers(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> values(count);
  for (T& value : values) value = Number<T>(engine);
  return values;
}

// The formats that store a matrix with one index per entry.
template <typename T>
cusparseSpMatDescr_t Stored(cusparseFormat_t format, Matrix<T>& m, Matrix<T>& transposed, int base) {
  if (format == CUSPARSE_FORMAT_CSR) return CsrOf(m, base);
  cusparseSpMatDescr_t descr = nullptr;
  if (format == CUSPARSE_FORMAT_CSC) {
    REQUIRE(Cusparse().Call("cusparseCreateCsc", &descr, int64_t{m.rows}, int64_t{m.columns},
                            int64_t{m.nnz()}, static_cast<void*>(transposed.offsets.data()),
                            static_cast<void*>(transposed.indices.data()),
                            static_cast<void*>(transposed.values.data()), CUSPARSE_INDEX_32I,
                            CUSPARSE_INDEX_32I, static_cast<cusparseIndexBase_t>(base), kDataType<T>) == 0);
  } else {
    REQUIRE(Cusparse().Call("cusparseCreateCoo", &descr, int64_t{m.rows}, int64_t{m.columns},
                            int64_t{m.nnz()}, static_cast<void*>(m.row_indices.data()),
                            static_cast<void*>(m.indices.data()), static_cast<void*>(m.values.data()),
                            CUSPARSE_INDEX_32I, static_cast<cusparseIndexBase_t>(base), kDataType<T>) == 0);
  }
  return descr;
}

constexpr cusparseFormat_t kFormats[] = {CUSPARSE_FORMAT_CSR, CUSPARSE_FORMAT_CSC, CUSPARSE_FORMAT_COO};

}  // namespace

TEMPLATE_TEST_CASE("cusparse: SpMV of every format, operation and base", "", float, double, cuComplex,
                   cuDoubleComplex) {
  using T = TestType;
  const Sparse sparse;
  for (const cusparseFormat_t format : kFormats) {
    for (int op = 0; op < (Conjugates<T>(2) ? 3 : 2); ++op) {
      for (int base = 0; base < 2; ++base) {
        Matrix<T> m = RandomMatrix<T>(37, 53, 0.3, 7u + static_cast<unsigned>(op), base),
                  t = Transposed(m, base);
        const cusparseSpMatDescr_t a = Stored(format, m, t, base);
        const int rows = op == 0 ? 37 : 53, columns = op == 0 ? 53 : 37;
        std::vector<T> x = Numbers<T>(static_cast<size_t>(columns), 1),
                       y = Numbers<T>(static_cast<size_t>(rows), 2);
        const std::vector<T> before = y;
        const T alpha(2), beta(base == 0 ? 0.5 : 0);
        if (base == 1) y[0] = T(std::numeric_limits<float>::quiet_NaN());  // beta 0: not read
        const cusparseDnVecDescr_t dx = VectorOf(x), dy = VectorOf(y);
        size_t size = 0;
        REQUIRE(sparse("SpMV_bufferSize", op, &alpha, a, dx, &beta, dy, kDataType<T>, 0, &size) == 0);
        std::vector<char> buffer(size);
        REQUIRE(sparse("SpMV", op, &alpha, a, dx, &beta, dy, kDataType<T>, 0, buffer.data()) == 0);
        Wait();
        for (int i = 0; i < rows; ++i) {
          T sum{};
          for (int j = 0; j < columns; ++j) sum += Element(m.dense, 37, 53, op, i, j) * x[j];
          CheckClose(y[i], alpha * sum + (base == 1 ? T{} : beta * before[i]), kTolerance<T>);
        }
        Destroy(a), Destroy(dx), Destroy(dy);
      }
    }
  }
}

TEST_CASE("cusparse: SpMV with 64-bit indices, narrow values, large enough for several threads") {
  const Sparse sparse;
  const int n = 3000;
  std::vector<int64_t> offsets, indices;
  std::vector<__half> values;
  std::vector<float> wide;
  std::mt19937 engine(3);
  for (int i = 0; i < n; ++i) {
    offsets.push_back(static_cast<int64_t>(indices.size()));
    // One long row and many short ones.
    for (int k = 0; k < (i == 17 ? 20000 : 12); ++k) {
      indices.push_back(static_cast<int64_t>(engine() % n));
      __half half;
      libraries::FromFloat(static_cast<float>(engine() % 17) - 8, half);
      values.push_back(half);
      wide.push_back(libraries::ToFloat(half));
    }
  }
  offsets.push_back(static_cast<int64_t>(indices.size()));
  std::vector<__half> x(n);
  for (__half& value : x) libraries::FromFloat(static_cast<float>(engine() % 9) - 4, value);
  std::vector<float> y(n, 1.0f);
  cusparseSpMatDescr_t a = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateCsr", &a, int64_t{n}, int64_t{n},
                          static_cast<int64_t>(indices.size()), static_cast<void*>(offsets.data()),
                          static_cast<void*>(indices.data()), static_cast<void*>(values.data()),
                          CUSPARSE_INDEX_64I, CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_16F) == 0);
  const cusparseDnVecDescr_t dx = VectorOf(x, CUDA_R_16F), dy = VectorOf(y);
  const float alpha = 1, beta = 3;
  REQUIRE(sparse("SpMV", 0, &alpha, a, dx, &beta, dy, CUDA_R_32F, 0, nullptr) == 0);
  Wait();
  for (int i = 0; i < n; ++i) {
    float sum = 3;  // small integers: exact in any order
    for (int64_t p = offsets[i]; p < offsets[i + 1]; ++p) sum += wide[p] * libraries::ToFloat(x[indices[p]]);
    REQUIRE(y[i] == sum);
  }
  Destroy(a), Destroy(dx), Destroy(dy);
}

TEMPLATE_TEST_CASE("cusparse: SpMM of every format, operation and order", "", float, double, cuComplex,
                   cuDoubleComplex) {
  using T = TestType;
  const Sparse sparse;
  for (const cusparseFormat_t format : kFormats) {
    for (int ops = 0; ops < 9; ++ops) {
      for (int orders = 0; orders < 4; ++orders) {
        const int op_a = ops % 3, op_b = ops / 3, n = 21;
        if (!Conjugates<T>(op_a)) continue;
        Matrix<T> m = RandomMatrix<T>(19, 25, 0.4, 11), t = Transposed(m, 0);
        const cusparseSpMatDescr_t a = Stored(format, m, t, 0);
        const int rows = op_a == 0 ? 19 : 25, depth = op_a == 0 ? 25 : 19;
        const cusparseOrder_t order_b = orders % 2 == 0 ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW,
                              order_c = orders / 2 == 0 ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW;
        const int rows_b = op_b == 0 ? depth : n, columns_b = op_b == 0 ? n : depth;
        const int ldb = (order_b == CUSPARSE_ORDER_COL ? rows_b : columns_b) + 2,
                  ldc = (order_c == CUSPARSE_ORDER_COL ? rows : n) + 1;
        std::vector<T> b = Numbers<T>(static_cast<size_t>(30 * 30), 5), c = Numbers<T>(30 * 30, 6);
        const std::vector<T> before = c;
        const T alpha(1.5), beta(-2);
        const cusparseDnMatDescr_t db = DenseOf(b, rows_b, columns_b, ldb, order_b),
                                   dc = DenseOf(c, rows, n, ldc, order_c);
        REQUIRE(sparse("SpMM", op_a, op_b, &alpha, a, db, &beta, dc, kDataType<T>, 0, nullptr) == 0);
        Wait();
        const auto place = [](cusparseOrder_t order, int ld, int i, int j) {
          return static_cast<size_t>(order == CUSPARSE_ORDER_COL ? i + j * ld : i * ld + j);
        };
        std::vector<T> expected = before;
        for (int i = 0; i < rows; ++i) {
          for (int j = 0; j < n; ++j) {
            T sum{};
            for (int k = 0; k < depth; ++k) {
              T right = op_b == 0 ? b[place(order_b, ldb, k, j)] : b[place(order_b, ldb, j, k)];
              if constexpr (requires { right.imag(); }) {
                if (op_b == 2) right = std::conj(right);
              }
              sum += Element(m.dense, 19, 25, op_a, i, k) * right;
            }
            T& to = expected[place(order_c, ldc, i, j)];
            to = alpha * sum + beta * to;
          }
        }
        for (size_t i = 0; i < c.size(); ++i) CheckClose(c[i], expected[i], kTolerance<T>);
        Destroy(a), Destroy(db), Destroy(dc);
      }
    }
  }
}

TEST_CASE("cusparse: SpMM of blocks and of batches") {
  const Sparse sparse;
  // Two block rows of 2 by 3 blocks; the second one has one block.
  std::vector<int> offsets = {0, 2, 3}, columns = {0, 2, 1};
  std::vector<double> values(18), b(9 * 2), c(2 * 4 * 2);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i + 1);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i % 5) - 2;
  for (const cusparseOrder_t order : {CUSPARSE_ORDER_ROW, CUSPARSE_ORDER_COL}) {
    cusparseSpMatDescr_t a = nullptr;
    REQUIRE(Cusparse().Call("cusparseCreateBsr", &a, int64_t{2}, int64_t{3}, int64_t{3}, int64_t{2},
                            int64_t{3}, static_cast<void*>(offsets.data()),
                            static_cast<void*>(columns.data()), static_cast<void*>(values.data()),
                            CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F,
                            order) == 0);
    // The same product into both matrices of a batch.
    const cusparseDnMatDescr_t db = DenseOf(b, 9, 2, 9, CUSPARSE_ORDER_COL),
                               dc = DenseOf(c, 4, 2, 4, CUSPARSE_ORDER_COL);
    REQUIRE(Cusparse().Call("cusparseDnMatSetStridedBatch", dc, 2, int64_t{8}) == 0);
    const double one = 1, zero = 0;
    REQUIRE(sparse("SpMM", 0, 0, &one, a, db, &zero, dc, CUDA_R_64F, 0, nullptr) == 0);
    Wait();
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 2; ++j) {
        double sum = 0;
        for (int p = offsets[i / 2]; p < offsets[i / 2 + 1]; ++p) {
          for (int k = 0; k < 3; ++k) {
            const int place = order == CUSPARSE_ORDER_ROW ? i % 2 * 3 + k : k * 2 + i % 2;
            sum += values[p * 6 + place] * b[columns[p] * 3 + k + j * 9];
          }
        }
        CHECK(c[i + j * 4] == sum);
        CHECK(c[8 + i + j * 4] == sum);
      }
    }
    Destroy(a), Destroy(db), Destroy(dc);
  }
}

TEST_CASE("cusparse: SpMM of blocked ELL, SpMV of sliced ELL") {
  const Sparse sparse;
  // 4 by 6 in blocks of 2: each block row stores two blocks; as recorded, -1 counts as the first column.
  std::vector<int> blocks = {0, 2, 1, -1};
  std::vector<float> values(16), b(6), c(4), expected(4, 0.0f);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * i) - 3;
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 4; ++k) {
      const int block = std::max(0, blocks[i / 2 * 2 + k / 2]);
      expected[i] += values[i * 4 + k] * b[block * 2 + k % 2];
    }
  }
  cusparseSpMatDescr_t a = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateBlockedEll", &a, int64_t{4}, int64_t{6}, int64_t{2}, int64_t{4},
                          static_cast<void*>(blocks.data()), static_cast<void*>(values.data()),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F) == 0);
  const cusparseDnMatDescr_t db = DenseOf(b, 6, 1, 6, CUSPARSE_ORDER_COL),
                             dc = DenseOf(c, 4, 1, 4, CUSPARSE_ORDER_COL);
  const float one = 1, zero = 0;
  REQUIRE(sparse("SpMM", 0, 0, &one, a, db, &zero, dc, CUDA_R_32F, 0, nullptr) == 0);
  Wait();
  CHECK(c == expected);
  Destroy(a), Destroy(db), Destroy(dc);

  // Slices of two rows, column after column: {1 . 2}, {. 3 .}, {4 . .}, and a row of padding.
  std::vector<int> offsets = {0, 4, 6}, columns = {0, 1, 2, -1, 0, -1};
  std::vector<float> entries = {1, 3, 2, 0, 4, 0}, x = {10, 20, 30}, y(3, 0.0f);
  REQUIRE(Cusparse().Call("cusparseCreateSlicedEll", &a, int64_t{3}, int64_t{3}, int64_t{4}, int64_t{6},
                          int64_t{2}, static_cast<void*>(offsets.data()), static_cast<void*>(columns.data()),
                          static_cast<void*>(entries.data()), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F) == 0);
  const cusparseDnVecDescr_t dx = VectorOf(x), dy = VectorOf(y);
  REQUIRE(sparse("SpMV", 0, &one, a, dx, &zero, dy, CUDA_R_32F, 0, nullptr) == 0);
  Wait();
  CHECK(y == std::vector<float>{70, 60, 40});
  Destroy(a), Destroy(dx), Destroy(dy);
}

TEMPLATE_TEST_CASE("cusparse: SDDMM", "", float, double, cuComplex, cuDoubleComplex) {
  using T = TestType;
  const Sparse sparse;
  for (int ops = 0; ops < 4; ++ops) {
    const int op_a = ops % 2, op_b = ops / 2, depth = 9;
    Matrix<T> m = RandomMatrix<T>(14, 11, 0.3, 21);
    const Matrix<T> before = m;
    std::vector<T> a = Numbers<T>(14 * 9, 1), b = Numbers<T>(11 * 9, 2);
    // Row-major, as stored.
    const cusparseDnMatDescr_t da = op_a == 0 ? DenseOf(a, 14, depth, depth, CUSPARSE_ORDER_ROW)
                                              : DenseOf(a, depth, 14, 14, CUSPARSE_ORDER_ROW);
    const cusparseDnMatDescr_t db = op_b == 0 ? DenseOf(b, depth, 11, 11, CUSPARSE_ORDER_ROW)
                                              : DenseOf(b, 11, depth, depth, CUSPARSE_ORDER_ROW);
    const cusparseSpMatDescr_t c = CsrOf(m);
    const T alpha(2), beta(0.25);
    REQUIRE(sparse("SDDMM", op_a, op_b, &alpha, da, db, &beta, c, kDataType<T>, 0, nullptr) == 0);
    Wait();
    for (int p = 0; p < m.nnz(); ++p) {
      T sum{};
      const int i = m.row_indices[p], j = m.indices[p];
      for (int k = 0; k < depth; ++k) {
        sum +=
            (op_a == 0 ? a[i * depth + k] : a[k * 14 + i]) * (op_b == 0 ? b[k * 11 + j] : b[j * depth + k]);
      }
      CheckClose(m.values[p], alpha * sum + beta * before.values[p], kTolerance<T>);
    }
    Destroy(da), Destroy(db), Destroy(c);
  }
}

TEMPLATE_TEST_CASE("cusparse: SpGEMM, and again with other values", "", float, double, cuComplex,
                   cuDoubleComplex) {
  using T = TestType;
  const Sparse sparse;
  Matrix<T> a = RandomMatrix<T>(40, 33, 0.15, 31), b = RandomMatrix<T>(33, 27, 0.2, 32);
  cusparseSpMatDescr_t c = nullptr;
  std::vector<int> offsets(41);
  REQUIRE(Cusparse().Call("cusparseCreateCsr", &c, int64_t{40}, int64_t{27}, int64_t{0},
                          static_cast<void*>(offsets.data()), nullptr, nullptr, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, kDataType<T>) == 0);
  const cusparseSpMatDescr_t da = CsrOf(a), db = CsrOf(b);
  cusparseSpGEMMDescr_t descr = nullptr;
  REQUIRE(Cusparse().Call("cusparseSpGEMM_createDescr", &descr) == 0);
  const T alpha(3), beta{};
  size_t size = 0;
  char buffer[256];
  const auto call = [&](const char* name, auto... rest) {
    return sparse(name, 0, 0, &alpha, da, db, &beta, c, kDataType<T>, 0, descr, rest...);
  };
  void* const none = nullptr;
  REQUIRE(call("SpGEMM_workEstimation", &size, none) == 0);
  REQUIRE(size <= sizeof buffer);
  REQUIRE(size > 0);
  REQUIRE(call("SpGEMM_workEstimation", &size, static_cast<void*>(buffer)) == 0);
  REQUIRE(call("SpGEMM_compute", &size, none) == 0);
  REQUIRE(call("SpGEMM_compute", &size, static_cast<void*>(buffer)) == 0);
  int64_t rows = 0, columns = 0, nnz = 0;
  REQUIRE(Cusparse().Call("cusparseSpMatGetSize", c, &rows, &columns, &nnz) == 0);
  std::vector<int> indices(static_cast<size_t>(nnz));
  std::vector<T> values(static_cast<size_t>(nnz));
  REQUIRE(Cusparse().Call("cusparseCsrSetPointers", c, static_cast<void*>(offsets.data()),
                          static_cast<void*>(indices.data()), static_cast<void*>(values.data())) == 0);
  REQUIRE(call("SpGEMM_copy") == 0);
  Wait();
  const auto check = [&] {
    std::vector<T> found(40 * 27);
    REQUIRE(offsets[40] == nnz);
    for (int i = 0; i < 40; ++i) {
      for (int p = offsets[i]; p < offsets[i + 1]; ++p) {
        if (p > offsets[i]) REQUIRE(indices[p - 1] < indices[p]);
        found[i * 27 + indices[p]] = values[p];
      }
    }
    for (int i = 0; i < 40; ++i) {
      for (int j = 0; j < 27; ++j) {
        T sum{};
        for (int k = 0; k < 33; ++k) sum += a.at(i, k) * b.at(k, j);
        CheckClose(found[i * 27 + j], alpha * sum, kTolerance<T>);
      }
    }
  };
  check();
  int64_t products = 0, expected_products = 0;
  REQUIRE(Cusparse().Call("cusparseSpGEMM_getNumProducts", descr, &products) == 0);
  for (const int k : a.indices) expected_products += b.offsets[k + 1] - b.offsets[k];
  CHECK(products == expected_products);

  const auto structure = [&](const char* name, auto... rest) {
    return sparse(name, 0, 0, da, db, c, 0, descr, rest...);
  };
  void* const room = buffer;
  size_t size3 = 0, size4 = 0;
  // What one type has computed is not copied as another: the reused structure is computed in floats.
  const int other = std::is_same_v<T, float> ? 0 : CUSPARSE_STATUS_INVALID_VALUE;
  REQUIRE(structure("SpGEMMreuse_copy", &size, room) == other);
  REQUIRE(structure("SpGEMMreuse_workEstimation", &size, room) == 0);
  REQUIRE(structure("SpGEMMreuse_nnz", &size, none, &size3, none, &size4, none) == 0);
  REQUIRE(structure("SpGEMMreuse_nnz", &size, room, &size3, room, &size4, room) == 0);
  REQUIRE(call("SpGEMM_copy") == other);
  Wait();
  std::fill(indices.begin(), indices.end(), -1);
  REQUIRE(structure("SpGEMMreuse_copy", &size, room) == 0);
  for (T& value : a.values) value *= T(2);
  for (T& value : a.dense) value *= T(2);
  REQUIRE(call("SpGEMMreuse_compute") == 0);
  Wait();
  check();
  REQUIRE(Cusparse().Call("cusparseSpGEMM_destroyDescr", descr) == 0);
  Destroy(da), Destroy(db), Destroy(c);
}
