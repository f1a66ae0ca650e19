// cuSPARSE: triangular systems, incomplete factorisations, conversions, sums, sparse vectors; streams,
// capture, status.
#include <algorithm>
#include <numeric>

#include "tests/libraries/cusparse_case.h"
#include "tools/api_table/api_table.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cusparse_case;

namespace {

// A strong diagonal makes every triangle well conditioned.
template <typename T>
Matrix<T> Dominant(int n, double density, unsigned seed, int base) {
  Matrix<T> m = RandomMatrix<T>(n, n, density, seed, base);
  for (int i = 0; i < n; ++i) m.at(i, i) = T(4) + m.at(i, i);
  m.Compress(base);
  return m;
}

void SetTriangle(cusparseSpMatDescr_t a, int fill, int diagonal) {
  REQUIRE(Cusparse().Call("cusparseSpMatSetAttribute", a, CUSPARSE_SPMAT_FILL_MODE, static_cast<void*>(&fill),
                          sizeof fill) == 0);
  REQUIRE(Cusparse().Call("cusparseSpMatSetAttribute", a, CUSPARSE_SPMAT_DIAG_TYPE,
                          static_cast<void*>(&diagonal), sizeof diagonal) == 0);
}

// What op of the triangle times x gives.
template <typename T>
std::vector<T> TriangleTimes(const Matrix<T>& m, int op, int fill, int diagonal, const std::vector<T>& x) {
  const int n = m.rows;
  Matrix<T> t = m;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      if (i == j && diagonal == 1) t.at(i, j) = T(1);
      if (fill == 0 ? j > i : j < i) t.at(i, j) = T{};
    }
  }
  std::vector<T> b(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) b[i] += Element(t.dense, n, n, op, i, j) * x[j];
  }
  return b;
}

}  // namespace

TEMPLATE_TEST_CASE("cusparse: SpSV solves with each triangle, operation and diagonal", "", float, double,
                   cuComplex, cuDoubleComplex) {
  using T = TestType;
  const Sparse sparse;
  const int n = 40;
  for (int variant = 0; variant < 24; ++variant) {
    const int op = variant % 3, fill = variant / 3 % 2, diagonal = variant / 6 % 2, base = variant / 12;
    if (!Conjugates<T>(op)) continue;
    Matrix<T> m = Dominant<T>(n, 0.1, 5, base);
    std::mt19937 engine(9);
    std::vector<T> expected(static_cast<size_t>(n)), y(static_cast<size_t>(n));
    for (T& value : expected) value = Number<T>(engine);
    std::vector<T> x = TriangleTimes(m, op, fill, diagonal, expected);
    const cusparseSpMatDescr_t a = CsrOf(m, base);
    SetTriangle(a, fill, diagonal);
    const cusparseDnVecDescr_t dx = VectorOf(x), dy = VectorOf(y);
    cusparseSpSVDescr_t descr = nullptr;
    REQUIRE(Cusparse().Call("cusparseSpSV_createDescr", &descr) == 0);
    const T alpha(2);
    size_t size = 0;
    REQUIRE(sparse("SpSV_bufferSize", op, &alpha, a, dx, dy, kDataType<T>, 0, descr, &size) == 0);
    CHECK(sparse("SpSV_solve", op, &alpha, a, dx, dy, kDataType<T>, 0, descr) ==
          CUSPARSE_STATUS_NOT_INITIALIZED);
    std::vector<char> buffer(size);
    REQUIRE(sparse("SpSV_analysis", op, &alpha, a, dx, dy, kDataType<T>, 0, descr, buffer.data()) == 0);
    REQUIRE(sparse("SpSV_solve", op, &alpha, a, dx, dy, kDataType<T>, 0, descr) == 0);
    Wait();
    for (int i = 0; i < n; ++i) CheckClose(y[i], alpha * expected[i], 100 * kTolerance<T>);

    // New values of the whole matrix.
    std::vector<T> halves = m.values;
    for (T& value : halves) value *= T(0.5);
    const double factor = diagonal == 1 ? 0 : 4;
    REQUIRE(Cusparse().Call("cusparseSpSV_updateMatrix", sparse.handle, descr,
                            static_cast<void*>(halves.data()), CUSPARSE_SPSV_UPDATE_GENERAL) == 0);
    REQUIRE(sparse("SpSV_solve", op, &alpha, a, dx, dy, kDataType<T>, 0, descr) == 0);
    Wait();
    if (factor != 0) {
      for (int i = 0; i < n; ++i) CheckClose(y[i], T(factor) * expected[i], 100 * kTolerance<T>);
    }
    REQUIRE(Cusparse().Call("cusparseSpSV_destroyDescr", descr) == 0);
    Destroy(a), Destroy(dx), Destroy(dy);
  }
}

TEST_CASE("cusparse: SpSV of a wide system solves its levels on several threads") {
  // Row i >= half depends on row i - half only: two levels.
  const Sparse sparse;
  const int n = 80000, half = n / 2;
  Matrix<double> m{n, n, {}, {0}, {}, {}, {}};
  for (int i = 0; i < n; ++i) {
    if (i >= half) m.indices.push_back(i - half), m.values.push_back(3);
    m.indices.push_back(i), m.values.push_back(2);
    m.offsets.push_back(m.nnz());
  }
  std::vector<double> x(static_cast<size_t>(n), 8), y(static_cast<size_t>(n));
  const cusparseSpMatDescr_t a = CsrOf(m);
  SetTriangle(a, 0, 0);
  const cusparseDnVecDescr_t dx = VectorOf(x), dy = VectorOf(y);
  cusparseSpSVDescr_t descr = nullptr;
  REQUIRE(Cusparse().Call("cusparseSpSV_createDescr", &descr) == 0);
  const double one = 1;
  REQUIRE(sparse("SpSV_analysis", 0, &one, a, dx, dy, CUDA_R_64F, 0, descr, nullptr) == 0);
  REQUIRE(sparse("SpSV_solve", 0, &one, a, dx, dy, CUDA_R_64F, 0, descr) == 0);
  Wait();
  CHECK(std::count(y.begin(), y.begin() + half, 4.0) == half);
  CHECK(std::count(y.begin() + half, y.end(), -2.0) == half);
  REQUIRE(Cusparse().Call("cusparseSpSV_destroyDescr", descr) == 0);
  Destroy(a), Destroy(dx), Destroy(dy);
}

TEMPLATE_TEST_CASE("cusparse: SpSM solves for several right sides", "", double, cuComplex) {
  using T = TestType;
  const Sparse sparse;
  const int n = 24, columns = 5;
  for (int variant = 0; variant < 12; ++variant) {
    const int op_a = variant % 3, op_b = variant / 3 % 2, fill = variant / 6;
    if (!Conjugates<T>(op_a)) continue;
    Matrix<T> m = Dominant<T>(n, 0.2, 15, 0);
    std::mt19937 engine(10);
    std::vector<T> expected(static_cast<size_t>(n * columns)), b(expected.size()), c(expected.size());
    for (int j = 0; j < columns; ++j) {
      std::vector<T> x(static_cast<size_t>(n));
      for (T& value : x) value = Number<T>(engine);
      std::copy(x.begin(), x.end(), expected.begin() + j * n);
      const std::vector<T> right = TriangleTimes(m, op_a, fill, 0, x);
      for (int i = 0; i < n; ++i) b[op_b == 0 ? i + j * n : j + i * columns] = right[i];
    }
    const cusparseSpMatDescr_t a = CsrOf(m);
    SetTriangle(a, fill, 0);
    const cusparseDnMatDescr_t db = op_b == 0 ? DenseOf(b, n, columns, n, CUSPARSE_ORDER_COL)
                                              : DenseOf(b, columns, n, columns, CUSPARSE_ORDER_COL),
                               dc = DenseOf(c, n, columns, n, CUSPARSE_ORDER_COL);
    cusparseSpSMDescr_t descr = nullptr;
    REQUIRE(Cusparse().Call("cusparseSpSM_createDescr", &descr) == 0);
    const T alpha(3);
    size_t size = 0;
    REQUIRE(sparse("SpSM_bufferSize", op_a, op_b, &alpha, a, db, dc, kDataType<T>, 0, descr, &size) == 0);
    REQUIRE(sparse("SpSM_analysis", op_a, op_b, &alpha, a, db, dc, kDataType<T>, 0, descr, nullptr) == 0);
    REQUIRE(sparse("SpSM_solve", op_a, op_b, &alpha, a, db, dc, kDataType<T>, 0, descr) == 0);
    Wait();
    for (size_t i = 0; i < c.size(); ++i) CheckClose(c[i], alpha * expected[i], 100 * kTolerance<T>);
    REQUIRE(Cusparse().Call("cusparseSpSM_destroyDescr", descr) == 0);
    Destroy(a), Destroy(db), Destroy(dc);
  }
}

namespace {

template <typename T>
std::string Named(const char* text) {
  const char letter = sizeof(T) == 4 ? 'S' : std::is_same_v<T, double> ? 'D' : sizeof(T) == 8 ? 'C' : 'Z';
  return letter + std::string(text);
}

// The factors, multiplied, equal A where A stores an entry.
template <typename T, typename Info>
void Factor(const Sparse& sparse, const std::string& name, Matrix<T>& m, int base, Info info) {
  cusparseMatDescr_t descr = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateMatDescr", &descr) == 0);
  REQUIRE(Cusparse().Call("cusparseSetMatIndexBase", descr, base) == 0);
  int size = 0;
  const int *offsets = m.offsets.data(), *columns = m.indices.data();
  REQUIRE(sparse(name + "_bufferSize", m.rows, m.nnz(), descr, m.values.data(), offsets, columns, info,
                 &size) == 0);
  REQUIRE(sparse(name + "_analysis", m.rows, m.nnz(), descr, m.values.data(), offsets, columns, info, 0,
                 nullptr) == 0);
  REQUIRE(sparse(name, m.rows, m.nnz(), descr, m.values.data(), offsets, columns, info, 0, nullptr) == 0);
  Wait();
  REQUIRE(Cusparse().Call("cusparseDestroyMatDescr", descr) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("cusparse: csrilu02 has the entries of A where A stores them", "", float, double,
                   cuComplex, cuDoubleComplex) {
  using T = TestType;
  const Sparse sparse;
  for (int base = 0; base < 2; ++base) {
    const int n = 30;
    Matrix<T> m = Dominant<T>(n, 0.15, 41, base);
    const Matrix<T> before = m;
    csrilu02Info_t info = nullptr;
    REQUIRE(Cusparse().Call("cusparseCreateCsrilu02Info", &info) == 0);
    Factor(sparse, Named<T>("csrilu02"), m, base, info);
    std::vector<T> lower(static_cast<size_t>(n * n)), upper(static_cast<size_t>(n * n));
    for (int p = 0; p < m.nnz(); ++p) {
      const int i = m.row_indices[p] - base, j = m.indices[p] - base;
      (j < i ? lower : upper)[i * n + j] = m.values[p];
    }
    for (int i = 0; i < n; ++i) lower[i * n + i] = T(1);
    for (int p = 0; p < m.nnz(); ++p) {
      const int i = m.row_indices[p] - base, j = m.indices[p] - base;
      T sum{};
      for (int k = 0; k < n; ++k) sum += lower[i * n + k] * upper[k * n + j];
      CheckClose(sum, before.values[p], 10 * kTolerance<T>);
    }
    int position = 0;
    CHECK(sparse("Xcsrilu02_zeroPivot", info, &position) == 0);
    CHECK(position == -1);
    REQUIRE(Cusparse().Call("cusparseDestroyCsrilu02Info", info) == 0);
  }
}

TEST_CASE("cusparse: csrilu02 reports a zero pivot, or replaces it") {
  const Sparse sparse;
  Matrix<double> m{3, 3, {2, 1, 0, 2, 1, 1, 0, 1, 3}, {}, {}, {}, {}};
  m.Compress(1);  // the second pivot is 1 - 2 / 2 * 1
  csrilu02Info_t info = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateCsrilu02Info", &info) == 0);
  Matrix<double> first = m;
  Factor(sparse, "Dcsrilu02", first, 1, info);
  int position = 0;
  CHECK(sparse("Xcsrilu02_zeroPivot", info, &position) == CUSPARSE_STATUS_ZERO_PIVOT);
  CHECK(position == 2);
  double tolerance = 1e-9, boost = 0.5;
  REQUIRE(sparse("Dcsrilu02_numericBoost", info, 1, &tolerance, &boost) == 0);
  Factor(sparse, "Dcsrilu02", m, 1, info);
  CHECK(sparse("Xcsrilu02_zeroPivot", info, &position) == 0);
  CHECK(m.values[3] == 0.5);
  CHECK(m.values[5] == 2.0);
  CHECK(m.values[6] == 1.0);
  REQUIRE(Cusparse().Call("cusparseDestroyCsrilu02Info", info) == 0);
}

TEMPLATE_TEST_CASE("cusparse: csric02 has the entries of A where its lower triangle stores them", "", float,
                   double, cuDoubleComplex) {
  using T = TestType;
  const Sparse sparse;
  const int n = 25;
  Matrix<T> m = RandomMatrix<T>(n, n, 0.1, 51);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) m.at(j, i) = Element(m.dense, n, n, 2, j, i);
    m.at(i, i) = T(9);
  }
  m.Compress(0);
  const Matrix<T> before = m;
  csric02Info_t info = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateCsric02Info", &info) == 0);
  Factor(sparse, Named<T>("csric02"), m, 0, info);
  std::vector<T> lower(static_cast<size_t>(n * n));
  for (int p = 0; p < m.nnz(); ++p) {
    if (m.indices[p] <= m.row_indices[p]) lower[m.row_indices[p] * n + m.indices[p]] = m.values[p];
  }
  for (int p = 0; p < m.nnz(); ++p) {
    const int i = m.row_indices[p], j = m.indices[p];
    if (j > i) {
      CHECK(m.values[p] == before.values[p]);
      continue;
    }
    T sum{};
    for (int k = 0; k < n; ++k) sum += lower[i * n + k] * Element(lower, n, n, 2, k, j);
    CheckClose(sum, before.values[p], 10 * kTolerance<T>);
  }
  REQUIRE(Cusparse().Call("cusparseDestroyCsric02Info", info) == 0);
}

TEST_CASE("cusparse: dense to sparse and back, transposition, sums, counts") {
  const Sparse sparse;
  const Matrix<double> m = RandomMatrix<double>(13, 9, 0.35, 61);
  std::vector<double> dense = m.dense;
  const cusparseDnMatDescr_t d = DenseOf(dense, 13, 9, 9, CUSPARSE_ORDER_ROW);
  std::vector<int> offsets(14);
  cusparseSpMatDescr_t csr = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateCsr", &csr, int64_t{13}, int64_t{9}, int64_t{0},
                          static_cast<void*>(offsets.data()), nullptr, nullptr, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F) == 0);
  size_t size = 0;
  REQUIRE(sparse("DenseToSparse_bufferSize", d, csr, 0, &size) == 0);
  REQUIRE(sparse("DenseToSparse_analysis", d, csr, 0, nullptr) == 0);
  int64_t rows = 0, columns = 0, nnz = 0;
  REQUIRE(Cusparse().Call("cusparseSpMatGetSize", csr, &rows, &columns, &nnz) == 0);
  REQUIRE(nnz == m.nnz());
  std::vector<int> indices(static_cast<size_t>(nnz));
  std::vector<double> values(static_cast<size_t>(nnz));
  REQUIRE(Cusparse().Call("cusparseCsrSetPointers", csr, static_cast<void*>(offsets.data()),
                          static_cast<void*>(indices.data()), static_cast<void*>(values.data())) == 0);
  REQUIRE(sparse("DenseToSparse_convert", d, csr, 0, nullptr) == 0);
  Wait();
  CHECK(offsets == m.offsets);
  CHECK(indices == m.indices);
  CHECK(values == m.values);
  std::fill(dense.begin(), dense.end(), -1.0);
  REQUIRE(sparse("SparseToDense", csr, d, 0, nullptr) == 0);
  Wait();
  CHECK(dense == m.dense);
  Destroy(csr), Destroy(d);

  const Matrix<double> t = Transposed(m, 0);
  std::vector<int> csc_offsets(10), csc_rows(indices.size());
  std::vector<double> csc_values(values.size());
  REQUIRE(sparse("Csr2cscEx2", 13, 9, m.nnz(), static_cast<const void*>(values.data()), offsets.data(),
                 indices.data(), static_cast<void*>(csc_values.data()), csc_offsets.data(), csc_rows.data(),
                 CUDA_R_64F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG1,
                 nullptr) == 0);
  Wait();
  CHECK(csc_offsets == t.offsets);
  CHECK(csc_rows == t.indices);
  CHECK(csc_values == t.values);

  // C = 2 A - B, from base 0 and base 1 to base 1.
  const Matrix<double> b = RandomMatrix<double>(13, 9, 0.3, 62, 1);
  cusparseMatDescr_t zero = nullptr, one = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateMatDescr", &zero) == 0);
  REQUIRE(Cusparse().Call("cusparseCreateMatDescr", &one) == 0);
  REQUIRE(Cusparse().Call("cusparseSetMatIndexBase", one, CUSPARSE_INDEX_BASE_ONE) == 0);
  Matrix<double> expected{13, 9, std::vector<double>(13 * 9), {}, {}, {}, {}};
  for (size_t i = 0; i < expected.dense.size(); ++i) expected.dense[i] = 2 * m.dense[i] - b.dense[i];
  expected.Compress(1);
  std::vector<int> sum_offsets(14);
  int total = 0;
  REQUIRE(sparse("Xcsrgeam2Nnz", 13, 9, zero, m.nnz(), m.offsets.data(), m.indices.data(), one, b.nnz(),
                 b.offsets.data(), b.indices.data(), one, sum_offsets.data(), &total, nullptr) == 0);
  REQUIRE(total == expected.nnz());
  std::vector<int> sum_indices(static_cast<size_t>(total));
  std::vector<double> sum_values(static_cast<size_t>(total));
  const double two = 2, minus = -1;
  REQUIRE(sparse("Dcsrgeam2", 13, 9, &two, zero, m.nnz(), m.values.data(), m.offsets.data(), m.indices.data(),
                 &minus, one, b.nnz(), b.values.data(), b.offsets.data(), b.indices.data(), one,
                 sum_values.data(), sum_offsets.data(), sum_indices.data(), nullptr) == 0);
  Wait();
  CHECK(sum_offsets == expected.offsets);
  CHECK(sum_indices == expected.indices);
  CHECK(sum_values == expected.values);

  std::vector<int> counts(9);
  int all = 0;
  // The row-major matrix of 13 by 9 is a column-major one of 9 by 13.
  REQUIRE(sparse("Dnnz", CUSPARSE_DIRECTION_ROW, 9, 13, zero, m.dense.data(), 9, counts.data(), &all) == 0);
  CHECK(all == m.nnz());
  for (int j = 0; j < 9; ++j) CHECK(counts[j] == t.offsets[j + 1] - t.offsets[j]);
  std::vector<int> row_of(static_cast<size_t>(m.nnz())), again(14);
  REQUIRE(sparse("Xcsr2coo", m.offsets.data(), m.nnz(), 13, row_of.data(), CUSPARSE_INDEX_BASE_ZERO) == 0);
  Wait();
  CHECK(row_of == m.row_indices);
  REQUIRE(sparse("Xcoo2csr", static_cast<const int*>(row_of.data()), m.nnz(), 13, again.data(),
                 CUSPARSE_INDEX_BASE_ZERO) == 0);
  Wait();
  CHECK(again == m.offsets);
  REQUIRE(Cusparse().Call("cusparseDestroyMatDescr", zero) == 0);
  REQUIRE(Cusparse().Call("cusparseDestroyMatDescr", one) == 0);
}

TEST_CASE("cusparse: sorting keeps the permutation") {
  const Sparse sparse;
  std::vector<int> rows = {2, 0, 2, 1, 0}, columns = {1, 2, 0, 1, 0}, p(5);
  REQUIRE(sparse("CreateIdentityPermutation", 5, p.data()) == 0);
  REQUIRE(sparse("XcoosortByRow", 3, 3, 5, rows.data(), columns.data(), p.data(), nullptr) == 0);
  Wait();
  CHECK(rows == std::vector<int>{0, 0, 1, 2, 2});
  CHECK(columns == std::vector<int>{0, 2, 1, 0, 1});
  CHECK(p == std::vector<int>{4, 1, 3, 2, 0});
  REQUIRE(sparse("XcoosortByColumn", 3, 3, 5, rows.data(), columns.data(), p.data(), nullptr) == 0);
  Wait();
  CHECK(columns == std::vector<int>{0, 0, 1, 1, 2});
  CHECK(rows == std::vector<int>{0, 2, 1, 2, 0});
  CHECK(p == std::vector<int>{4, 2, 3, 0, 1});
  cusparseMatDescr_t descr = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateMatDescr", &descr) == 0);
  std::vector<int> offsets = {0, 3, 5}, unsorted = {4, 0, 2, 3, 1};
  std::iota(p.begin(), p.end(), 0);
  REQUIRE(sparse("Xcsrsort", 2, 5, 5, descr, static_cast<const int*>(offsets.data()), unsorted.data(),
                 p.data(), nullptr) == 0);
  Wait();
  CHECK(unsorted == std::vector<int>{0, 2, 4, 1, 3});
  CHECK(p == std::vector<int>{1, 2, 0, 4, 3});
  REQUIRE(Cusparse().Call("cusparseDestroyMatDescr", descr) == 0);
}

TEST_CASE("cusparse: sparse vectors") {
  const Sparse sparse;
  std::vector<int64_t> indices = {1, 3, 6};  // base 1
  std::vector<cuComplex> x = {{1, 2}, {3, -1}, {0, 4}}, y(6, {1, 1});
  cusparseSpVecDescr_t sx = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateSpVec", &sx, int64_t{6}, int64_t{3},
                          static_cast<void*>(indices.data()), static_cast<void*>(x.data()),
                          CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ONE, CUDA_C_32F) == 0);
  const cusparseDnVecDescr_t dy = VectorOf(y);
  const cuComplex two(2, 0), i(0, 1);
  REQUIRE(sparse("Axpby", &two, sx, &i, dy) == 0);
  Wait();
  CHECK(y == std::vector<cuComplex>{{1, 5}, {-1, 1}, {5, -1}, {-1, 1}, {-1, 1}, {-1, 9}});
  cuComplex plain, conjugated;
  REQUIRE(sparse("SpVV", 0, sx, dy, static_cast<void*>(&plain), CUDA_C_32F, nullptr) == 0);
  REQUIRE(sparse("SpVV", 2, sx, dy, static_cast<void*>(&conjugated), CUDA_C_32F, nullptr) == 0);
  cuComplex sum, sum_conjugated;
  for (int k = 0; k < 3; ++k) {
    sum += x[k] * y[indices[k] - 1], sum_conjugated += std::conj(x[k]) * y[indices[k] - 1];
  }
  CHECK(plain == sum);
  CHECK(conjugated == sum_conjugated);
  REQUIRE(sparse("Gather", dy, sx) == 0);
  Wait();
  CHECK(x == std::vector<cuComplex>{{1, 5}, {5, -1}, {-1, 9}});
  x = {{7, 0}, {8, 0}, {9, 0}};
  REQUIRE(sparse("Scatter", sx, dy) == 0);
  Wait();
  CHECK(y[0] == cuComplex(7, 0));
  CHECK(y[2] == cuComplex(8, 0));
  CHECK(y[5] == cuComplex(9, 0));
  const cuComplex c(0.6f, 0), s(0.8f, 0);
  y[0] = {1, 0};
  REQUIRE(sparse("Rot", &c, &s, sx, dy) == 0);
  Wait();
  CheckClose(x[0], cuComplex(0.6f * 7 + 0.8f, 0), 1e-6);
  CheckClose(y[0], cuComplex(0.6f - 0.8f * 7, 0), 1e-6);
  REQUIRE(Cusparse().Call("cusparseDestroySpVec", sx) == 0);
  Destroy(dy);

  const std::vector<double> a = {1, 2, 3, 4, 5, 6};  // 2 by 3
  const std::vector<double> values = {10, 100};
  const std::vector<int> places = {0, 2};
  std::vector<double> result = {1, 1, 1};
  const double one = 1, half = 0.5;
  REQUIRE(sparse("Dgemvi", 0, 2, 3, &one, a.data(), 2, 2, values.data(), places.data(), &half, result.data(),
                 CUSPARSE_INDEX_BASE_ZERO, nullptr) == 0);
  Wait();
  CHECK(result == std::vector<double>{510.5, 620.5, 1});
}

TEMPLATE_TEST_CASE("cusparse: systems with three diagonals", "", float, double, cuComplex, cuDoubleComplex) {
  using T = TestType;
  const Sparse sparse;
  const int m = 50, n = 3;
  std::mt19937 engine(71);
  std::vector<T> dl(m), d(m), du(m), x(m * n), b(m * n);
  for (int i = 0; i < m; ++i) {
    dl[i] = i == 0 ? T{} : Number<T>(engine), du[i] = i == m - 1 ? T{} : Number<T>(engine);
    // Some pivots need an exchange of rows.
    d[i] = i % 7 == 3 ? T{} : T(2) + Number<T>(engine);
  }
  for (T& value : x) value = Number<T>(engine);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      b[i + j * m] = d[i] * x[i + j * m] + (i == 0 ? T{} : dl[i] * x[i - 1 + j * m]) +
                     (i == m - 1 ? T{} : du[i] * x[i + 1 + j * m]);
    }
  }
  std::vector<T> found = b;
  size_t size = 0;
  const T *l = dl.data(), *c = d.data(), *u = du.data();
  REQUIRE(sparse(Named<T>("gtsv2_bufferSizeExt"), m, n, l, c, u, static_cast<const T*>(b.data()), m, &size) ==
          0);
  REQUIRE(sparse(Named<T>("gtsv2"), m, n, l, c, u, found.data(), m, nullptr) == 0);
  Wait();
  for (size_t i = 0; i < x.size(); ++i) CheckClose(found[i], x[i], 1000 * kTolerance<T>);
  found = b;
  REQUIRE(sparse(Named<T>("gtsv2StridedBatch"), m, l, c, u, found.data(), 1, m, nullptr) == 0);
  Wait();
  for (int i = 0; i < m; ++i) CheckClose(found[i], x[i], 1000 * kTolerance<T>);
}

TEST_CASE("cusparse: calls are captured, with scalars of the device as they are then") {
  const Sparse sparse;
  cudaStream_t stream = nullptr;
  REQUIRE(cudart::cudaStreamCreateWithFlags(&stream, 1) == cudaSuccess);
  REQUIRE(sparse("SetStream", stream) == 0);
  REQUIRE(sparse("SetPointerMode", CUSPARSE_POINTER_MODE_DEVICE) == 0);
  Matrix<float> m{2, 2, {1, 2, 0, 3}, {}, {}, {}, {}};
  m.Compress(0);
  const cusparseSpMatDescr_t a = CsrOf(m);
  std::vector<float> x = {1, 10}, y(2, 0.0f);
  const cusparseDnVecDescr_t dx = VectorOf(x), dy = VectorOf(y);
  float alpha = 1, beta = 0;
  REQUIRE(cudart::cudaStreamBeginCapture(stream, cudaStreamCaptureMode{}) == cudaSuccess);
  REQUIRE(sparse("SpMV", 0, &alpha, a, dx, &beta, dy, CUDA_R_32F, 0, nullptr) == 0);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudart::cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(y[0] == 0.0f);
  Destroy(a), Destroy(dx), Destroy(dy);  // the work keeps what it needs
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudart::cudaGraphInstantiateWithFlags(&exec, graph, 0) == cudaSuccess);
  alpha = 2;
  REQUIRE(cudart::cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudart::cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(y == std::vector<float>{42, 60});
  beta = 1;
  REQUIRE(cudart::cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudart::cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(y == std::vector<float>{84, 120});
  cudart::cudaGraphExecDestroy(exec);
  cudart::cudaGraphDestroy(graph);
  cudart::cudaStreamDestroy(stream);
}

TEST_CASE("cusparse: a captured SpVV writes its result in host memory when the graph runs") {
  const Sparse sparse;
  cudaStream_t stream = nullptr;
  REQUIRE(cudart::cudaStreamCreateWithFlags(&stream, 1) == cudaSuccess);
  REQUIRE(sparse("SetStream", stream) == 0);
  std::vector<int> index = {0, 3, 4};
  std::vector<float> values = {1, 2, 3}, y = {1, 2, 3, 4, 5};
  cusparseSpVecDescr_t dx = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateSpVec", &dx, int64_t{5}, int64_t{3}, index.data(), values.data(),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F) == 0);
  const cusparseDnVecDescr_t dy = VectorOf(y);
  float result = -1;
  REQUIRE(cudart::cudaStreamBeginCapture(stream, cudaStreamCaptureMode{}) == cudaSuccess);
  REQUIRE(sparse("SpVV", 0, dx, dy, &result, CUDA_R_32F, nullptr) == 0);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudart::cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(result == -1.0f);
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudart::cudaGraphInstantiateWithFlags(&exec, graph, 0) == cudaSuccess);
  REQUIRE(cudart::cudaGraphLaunch(exec, stream) == cudaSuccess);
  REQUIRE(cudart::cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(result == 24.0f);
  REQUIRE(sparse("SetStream", nullptr) == 0);
  values[0] = 2;
  REQUIRE(sparse("SpVV", 0, dx, dy, &result, CUDA_R_32F, nullptr) == 0);
  CHECK(result == 25.0f);  // without a wait of the caller's
  Cusparse().Call("cusparseDestroySpVec", dx);
  Destroy(dy);
  cudart::cudaGraphExecDestroy(exec);
  cudart::cudaGraphDestroy(graph);
  cudart::cudaStreamDestroy(stream);
}

TEST_CASE("cusparse: wrong arguments have their status; every soname exports its table") {
  const Sparse sparse;
  Matrix<float> m{2, 2, {1, 2, 0, 3}, {}, {}, {}, {}};
  m.Compress(0);
  const cusparseSpMatDescr_t a = CsrOf(m);
  std::vector<float> x(2), y(3);
  const cusparseDnVecDescr_t dx = VectorOf(x), dy = VectorOf(y);
  const float one = 1;
  const auto multiply = [&](cusparseHandle_t handle, int op, cusparseSpMatDescr_t matrix,
                            cusparseDnVecDescr_t from, cusparseDnVecDescr_t to, cudaDataType compute) {
    return Cusparse().Call("cusparseSpMV", handle, op, &one, matrix, from, &one, to, compute, 0, nullptr);
  };
  // As an H100 gives them.
  CHECK(multiply(nullptr, 0, a, dx, dx, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(multiply(sparse.handle, 5, a, dx, dx, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(multiply(sparse.handle, 0, nullptr, dx, dx, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(multiply(sparse.handle, 0, a, dx, dy, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(multiply(sparse.handle, 0, a, dx, dx, CUDA_R_16F) == CUSPARSE_STATUS_NOT_SUPPORTED);
  CHECK(Cusparse().Call("cusparseCreate", nullptr) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(std::string(Cusparse().Call<const char*>("cusparseGetErrorName", 9)) == "CUSPARSE_STATUS_ZERO_PIVOT");
  const auto with_algorithm = [&](int alg) {
    return sparse("SpMV", 0, &one, a, dx, &one, dx, CUDA_R_32F, alg, nullptr);
  };
  CHECK(with_algorithm(2) == CUSPARSE_STATUS_SUCCESS);
  CHECK(with_algorithm(1) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(with_algorithm(99) == CUSPARSE_STATUS_INVALID_VALUE);
  Wait();
  const auto create = [&](int64_t rows, int64_t nnz, int offset_type, int index_type, int base, int type) {
    cusparseSpMatDescr_t created = nullptr;
    const int status = Cusparse().Call("cusparseCreateCsr", &created, rows, int64_t{2}, nnz, nullptr, nullptr,
                                       nullptr, offset_type, index_type, base, type);
    if (created != nullptr) Destroy(created);
    return status;
  };
  CHECK(create(2, 2, 2, 2, 0, CUDA_R_32F) == CUSPARSE_STATUS_SUCCESS);
  CHECK(create(-1, 2, 2, 2, 0, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(create(2, 5, 2, 2, 0, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(create(2, 2, 9, 2, 0, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(create(2, 2, 3, 2, 0, CUDA_R_32F) == CUSPARSE_STATUS_NOT_SUPPORTED);
  CHECK(create(2, 2, 2, 2, 3, CUDA_R_32F) == CUSPARSE_STATUS_INVALID_VALUE);
  CHECK(create(2, 2, 2, 2, 0, CUDA_R_8U) == CUSPARSE_STATUS_INVALID_VALUE);
  csrilu02Info_t info = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateCsrilu02Info", &info) == 0);
  int position = 0;
  CHECK(sparse("Xcsrilu02_zeroPivot", info, &position) == CUSPARSE_STATUS_INVALID_VALUE);
  REQUIRE(Cusparse().Call("cusparseDestroyCsrilu02Info", info) == 0);
  CHECK(Cusparse().Call("cusparseDestroy", nullptr) == CUSPARSE_STATUS_SUCCESS);
  CHECK(Cusparse().Call("cusparseDestroySpMat", nullptr) == CUSPARSE_STATUS_SUCCESS);
  Destroy(a), Destroy(dx), Destroy(dy);
  const auto table = api_table::Read(PTX2CPU_SOURCE_DIR "/runtime/cuda/libraries/sparse/cusparse.api");
  REQUIRE(table);
  for (const int major : {11, 12}) {
    const std::string soname = "libcusparse.so." + std::to_string(major);
    const DropIn library(soname);
    for (const api_table::Function& function : table->functions) {
      INFO(soname << " " << function.name);
      CHECK(library.Find(function.name, soname.c_str()) != nullptr);
    }
    int value = 0;
    CHECK(library.Call("cusparseGetProperty", MAJOR_VERSION, &value) == 0);
    CHECK(value == major);
  }
}
