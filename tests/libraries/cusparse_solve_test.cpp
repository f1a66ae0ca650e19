// cuSPARSE: triangular systems, incomplete factorisations, systems with three diagonals.
#include <algorithm>
#include <random>

#include "tests/libraries/cusparse_case.h"

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
