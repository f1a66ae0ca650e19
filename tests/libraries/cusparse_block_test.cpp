// cuSPARSE: rows of blocks (products, triangular systems, incomplete factorisations) and conversions of
// blocks, against the same matrix as a dense one.
#include <algorithm>

#include "tests/libraries/cusparse_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cusparse_case;

#define SPARSE_TYPES float, double, cuComplex, cuDoubleComplex

namespace {

template <typename T>
std::string Named(const std::string& name) {
  const char letter = sizeof(T) == 4                       ? 'S'
                      : std::is_same_v<T, cuDoubleComplex> ? 'Z'
                      : std::is_same_v<T, double>          ? 'D'
                                                           : 'C';
  return letter + name;
}
template <typename T>
T Conj(const T& value) {
  if constexpr (requires { value.imag(); }) {
    return std::conj(value);
  } else {
    return value;
  }
}

struct Descr {
  cusparseMatDescr_t descr = nullptr;
  explicit Descr(int base = 0, int fill = 0, int diagonal = 0) {
    REQUIRE(Cusparse().Call("cusparseCreateMatDescr", &descr) == 0);
    Cusparse().Call("cusparseSetMatIndexBase", descr, base);
    Cusparse().Call("cusparseSetMatFillMode", descr, fill);
    Cusparse().Call("cusparseSetMatDiagType", descr, diagonal);
  }
  ~Descr() { Cusparse().Call("cusparseDestroyMatDescr", descr); }
  Descr(const Descr&) = delete;
  operator cusparseMatDescr_t() const { return descr; }
};

// A matrix in blocks of r by c, and the dense one that it is.
template <typename T>
struct Blocked {
  int mb, nb, r, c, direction;
  Matrix<T> dense;
  std::vector<int> offsets, columns;
  std::vector<T> values;
  int nnzb() const { return static_cast<int>(columns.size()); }
};
// `dominant`: square, with every diagonal block.
template <typename T>
Blocked<T> RandomBlocks(int mb, int nb, int r, int c, int direction, int base, bool dominant, unsigned seed) {
  std::mt19937 engine(seed);
  std::bernoulli_distribution stored(0.4);
  Blocked<T> m{mb, nb, r, c, direction, RandomMatrix<T>(mb * r, nb * c, 0, 1), {base}, {}, {}};
  for (int i = 0; i < mb; ++i) {
    for (int j = 0; j < nb; ++j) {
      if (!stored(engine) && !(dominant && i == j)) continue;
      m.columns.push_back(j + base);
      std::vector<T> block(static_cast<size_t>(r * c));
      for (int k = 0; k < r; ++k) {
        for (int l = 0; l < c; ++l) {
          T value = Number<T>(engine);
          if (dominant && i == j && k == l) value += T(12);
          m.dense.at(i * r + k, j * c + l) = value;
          block[static_cast<size_t>(direction == 0 ? k * c + l : k + l * r)] = value;
        }
      }
      m.values.insert(m.values.end(), block.begin(), block.end());
    }
    m.offsets.push_back(m.nnzb() + base);
  }
  m.dense.Compress(base);
  return m;
}
template <typename T>
std::vector<T> RandomVector(int n, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> x(static_cast<size_t>(n));
  for (T& value : x) value = Number<T>(engine);
  return x;
}
template <typename T>
void CheckAll(const std::vector<T>& found, const std::vector<T>& expected, double slack = 10) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) CheckClose(found[i], expected[i], slack * kTolerance<T>);
}
// A x.
template <typename T>
std::vector<T> Times(const Matrix<T>& a, const std::vector<T>& x) {
  std::vector<T> y(static_cast<size_t>(a.rows));
  for (int i = 0; i < a.rows; ++i) {
    for (int j = 0; j < a.columns; ++j) y[i] += a.at(i, j) * x[j];
  }
  return y;
}

}  // namespace

TEMPLATE_TEST_CASE("cusparse: bsrmv, bsrxmv and bsrmm multiply as the dense matrix does", "", SPARSE_TYPES) {
  using T = TestType;
  const Sparse sparse;
  for (int variant = 0; variant < 4; ++variant) {
    const int direction = variant % 2, base = variant / 2;
    const Blocked<T> a = RandomBlocks<T>(5, 4, 3, 3, direction, base, false, 3);
    const Descr descr(base);
    const std::vector<T> x = RandomVector<T>(12, 4), before = RandomVector<T>(15, 5);
    const T alpha = T(2), beta = T(-1);
    const std::vector<T> product = Times(a.dense, x);
    std::vector<T> y = before, expected(15);
    for (size_t i = 0; i < 15; ++i) expected[i] = alpha * product[i] + beta * before[i];
    REQUIRE(sparse(Named<T>("bsrmv"), direction, 0, 5, 4, a.nnzb(), &alpha, descr.descr, a.values.data(),
                   a.offsets.data(), a.columns.data(), 3, x.data(), &beta, y.data()) == 0);
    Wait();
    CheckAll(y, expected);

    // Two block rows, without their last blocks.
    const std::vector<int> mask = {3 + base, 0 + base};
    std::vector<int> ends(a.offsets.begin() + 1, a.offsets.end());
    Matrix<T> shorter = a.dense;
    for (const int row : {3, 0}) {
      if (ends[row] == a.offsets[row]) continue;
      const int column = a.columns[static_cast<size_t>(--ends[row] - base)] - base;
      for (int k = 0; k < 9; ++k) shorter.at(row * 3 + k / 3, column * 3 + k % 3) = T{};
    }
    const std::vector<T> part = Times(shorter, x);
    y = before;
    REQUIRE(sparse(Named<T>("bsrxmv"), direction, 0, 2, 5, 4, a.nnzb(), &alpha, descr.descr, a.values.data(),
                   mask.data(), a.offsets.data(), ends.data(), a.columns.data(), 3, x.data(), &beta,
                   y.data()) == 0);
    Wait();
    for (size_t i = 0; i < 15; ++i) {
      const bool masked = i / 3 == 3 || i / 3 == 0;
      expected[i] = masked ? alpha * part[i] + beta * before[i] : before[i];
    }
    CheckAll(y, expected);

    for (const int op : {0, 1}) {
      const std::vector<T> b = RandomVector<T>(12 * 2, 6), c_before = RandomVector<T>(15 * 2, 7);
      std::vector<T> c = c_before;
      REQUIRE(sparse(Named<T>("bsrmm"), direction, 0, op, 5, 2, 4, a.nnzb(), &alpha, descr.descr,
                     a.values.data(), a.offsets.data(), a.columns.data(), 3, b.data(), op == 0 ? 12 : 2,
                     &beta, c.data(), 15) == 0);
      Wait();
      for (int j = 0; j < 2; ++j) {
        std::vector<T> column(12);
        for (int k = 0; k < 12; ++k) column[k] = op == 0 ? b[k + j * 12] : b[j + k * 2];
        const std::vector<T> times = Times(a.dense, column);
        for (int i = 0; i < 15; ++i)
          CheckClose(c[i + j * 15], alpha * times[i] + beta * c_before[i + j * 15], 10 * kTolerance<T>);
      }
    }
    CHECK(sparse(Named<T>("bsrmv"), direction, 1, 5, 4, a.nnzb(), &alpha, descr.descr, a.values.data(),
                 a.offsets.data(), a.columns.data(), 3, x.data(), &beta,
                 y.data()) == CUSPARSE_STATUS_INVALID_VALUE);
    CHECK(sparse(Named<T>("bsrmv"), 2, 0, 5, 4, a.nnzb(), &alpha, descr.descr, a.values.data(),
                 a.offsets.data(), a.columns.data(), 3, x.data(), &beta,
                 y.data()) == CUSPARSE_STATUS_INVALID_VALUE);
    CHECK(sparse(Named<T>("bsrmv"), direction, 0, 5, 4, a.nnzb(), &alpha, descr.descr, a.values.data(),
                 a.offsets.data(), a.columns.data(), 0, x.data(), &beta,
                 y.data()) == CUSPARSE_STATUS_INVALID_VALUE);
  }
}

TEMPLATE_TEST_CASE("cusparse: bsrsv2 and bsrsm2 solve with each triangle, operation and diagonal", "",
                   SPARSE_TYPES) {
  using T = TestType;
  const Sparse sparse;
  for (int variant = 0; variant < 24; ++variant) {
    const int op = variant % 3, fill = variant / 3 % 2, diagonal = variant / 6 % 2, direction = variant / 12;
    const int base = direction;
    const Blocked<T> a = RandomBlocks<T>(4, 4, 2, 2, direction, base, true, 11);
    const Descr descr(base, fill, diagonal);
    Matrix<T> t = a.dense;
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 8; ++j) {
        if (fill == 0 ? j > i : j < i) t.at(i, j) = T{};
        if (i == j && diagonal == 1) t.at(i, j) = T(1);
      }
    }
    Matrix<T> of_op = t;
    for (int i = 0; i < 8 && op != 0; ++i) {
      for (int j = 0; j < 8; ++j) of_op.at(i, j) = op == 2 ? Conj(t.at(j, i)) : t.at(j, i);
    }
    const T alpha = T(2);
    const std::vector<T> expected = RandomVector<T>(8, 12);
    std::vector<T> f = Times(of_op, expected), x(8);
    for (T& value : f) value /= alpha;
    bsrsv2Info_t info = nullptr;
    REQUIRE(Cusparse().Call("cusparseCreateBsrsv2Info", &info) == 0);
    int size = 0, position = 5;
    std::vector<T> values = a.values;
    REQUIRE(sparse(Named<T>("bsrsv2_bufferSize"), direction, op, 4, a.nnzb(), descr.descr, values.data(),
                   a.offsets.data(), a.columns.data(), 2, info, &size) == 0);
    CHECK(size > 0);
    const auto solve = [&] {
      return sparse(Named<T>("bsrsv2_solve"), direction, op, 4, a.nnzb(), &alpha, descr.descr, values.data(),
                    a.offsets.data(), a.columns.data(), 2, info, f.data(), x.data(), 1, (void*)nullptr);
    };
    CHECK(solve() == CUSPARSE_STATUS_INVALID_VALUE);  // not analysed
    REQUIRE(sparse(Named<T>("bsrsv2_analysis"), direction, op, 4, a.nnzb(), descr.descr, values.data(),
                   a.offsets.data(), a.columns.data(), 2, info, 1, (void*)nullptr) == 0);
    CHECK(sparse("Xbsrsv2_zeroPivot", info, &position) == 0);
    CHECK(position == -1);
    REQUIRE(solve() == 0);
    Wait();
    CheckAll(x, expected, 100);
    CHECK(sparse("Xbsrsv2_zeroPivot", info, &position) == 0);
    // A zero on the diagonal is found where the diagonal counts.
    int third = a.offsets[2] - base;
    while (a.columns[static_cast<size_t>(third)] - base != 2) ++third;
    values[static_cast<size_t>(third * 4)] = T{};
    REQUIRE(solve() == 0);
    CHECK(sparse("Xbsrsv2_zeroPivot", info, &position) ==
          (diagonal == 1 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ZERO_PIVOT));
    CHECK(position == (diagonal == 1 ? -1 : 2 + base));
    Cusparse().Call("cusparseDestroyBsrsv2Info", info);

    for (const int op_x : {0, 1}) {
      bsrsm2Info_t systems = nullptr;
      REQUIRE(Cusparse().Call("cusparseCreateBsrsm2Info", &systems) == 0);
      const std::vector<T> solution = RandomVector<T>(16, 13);  // two columns of eight
      std::vector<T> b(16), found(16);
      const auto place = [&](int i, int j) { return static_cast<size_t>(op_x == 0 ? i + j * 8 : j + i * 2); };
      for (int j = 0; j < 2; ++j) {
        const std::vector<T> column =
            Times(of_op, std::vector<T>(solution.begin() + j * 8, solution.begin() + j * 8 + 8));
        for (int i = 0; i < 8; ++i) b[place(i, j)] = column[i] / alpha;
      }
      const int ld = op_x == 0 ? 8 : 2;
      REQUIRE(sparse(Named<T>("bsrsm2_analysis"), direction, op, op_x, 4, 2, a.nnzb(), descr.descr,
                     a.values.data(), a.offsets.data(), a.columns.data(), 2, systems, 1,
                     (void*)nullptr) == 0);
      REQUIRE(sparse(Named<T>("bsrsm2_solve"), direction, op, op_x, 4, 2, a.nnzb(), &alpha, descr.descr,
                     a.values.data(), a.offsets.data(), a.columns.data(), 2, systems, b.data(), ld,
                     found.data(), ld, 1, (void*)nullptr) == 0);
      Wait();
      for (int j = 0; j < 2; ++j) {
        for (int i = 0; i < 8; ++i)
          CheckClose(found[place(i, j)], solution[static_cast<size_t>(i + j * 8)], 100 * kTolerance<T>);
      }
      Cusparse().Call("cusparseDestroyBsrsm2Info", systems);
    }
  }
}

TEMPLATE_TEST_CASE("cusparse: bsrilu02 and bsric02 factor as csrilu02 and csric02 do the same elements", "",
                   SPARSE_TYPES) {
  using T = TestType;
  const Sparse sparse;
  for (int variant = 0; variant < 4; ++variant) {
    const int direction = variant % 2, base = variant / 2;
    Blocked<T> a = RandomBlocks<T>(5, 5, 2, 2, direction, base, true, 21);
    const Descr descr(base);
    const auto elements = [&](const std::vector<T>& values) {
      Matrix<T> m = a.dense;
      for (int i = 0; i < 5; ++i) {
        for (int p = a.offsets[i] - base; p < a.offsets[i + 1] - base; ++p) {
          const int j = a.columns[static_cast<size_t>(p)] - base;
          for (int k = 0; k < 4; ++k)
            m.at(i * 2 + k / 2, j * 2 + k % 2) =
                values[static_cast<size_t>(p * 4 + (direction == 0 ? k : k / 2 + k % 2 * 2))];
        }
      }
      return m;
    };
    for (const bool cholesky : {false, true}) {
      const std::string kind = cholesky ? "ic02" : "ilu02";
      csrilu02Info_t info = nullptr;
      bsrilu02Info_t block_info = nullptr;
      REQUIRE(Cusparse().Call("cusparseCreateCsr" + kind + "Info", &info) == 0);
      REQUIRE(Cusparse().Call("cusparseCreateBsr" + kind + "Info", &block_info) == 0);
      Matrix<T> expected = a.dense;
      for (int i = 0; i < 10 && cholesky; ++i) expected.at(i, i) = T(std::real(expected.at(i, i)));
      std::vector<T> values = a.values;
      for (T& value : values) {
        if (cholesky && std::real(value) > 8) value = T(std::real(value));
      }
      expected.Compress(base);
      const int nnz = expected.nnz();
      REQUIRE(sparse(Named<T>("csr" + kind + "_analysis"), 10, nnz, descr.descr, expected.values.data(),
                     expected.offsets.data(), expected.indices.data(), info, 1, (void*)nullptr) == 0);
      REQUIRE(sparse(Named<T>("csr" + kind), 10, nnz, descr.descr, expected.values.data(),
                     expected.offsets.data(), expected.indices.data(), info, 1, (void*)nullptr) == 0);
      int size = 0, position = 7;
      REQUIRE(sparse(Named<T>("bsr" + kind + "_bufferSize"), direction, 5, a.nnzb(), descr.descr,
                     values.data(), a.offsets.data(), a.columns.data(), 2, block_info, &size) == 0);
      REQUIRE(sparse(Named<T>("bsr" + kind + "_analysis"), direction, 5, a.nnzb(), descr.descr, values.data(),
                     a.offsets.data(), a.columns.data(), 2, block_info, 1, (void*)nullptr) == 0);
      REQUIRE(sparse(Named<T>("bsr" + kind), direction, 5, a.nnzb(), descr.descr, values.data(),
                     a.offsets.data(), a.columns.data(), 2, block_info, 1, (void*)nullptr) == 0);
      CHECK(sparse("Xbsr" + kind + "_zeroPivot", block_info, &position) == 0);
      CHECK(position == -1);
      const Matrix<T> found = elements(values);
      for (int i = 0; i < 10; ++i) {
        for (int p = expected.offsets[i] - base; p < expected.offsets[i + 1] - base; ++p)
          CheckClose(found.at(i, expected.indices[static_cast<size_t>(p)] - base),
                     expected.values[static_cast<size_t>(p)], 10 * kTolerance<T>);
      }
      // A block of zeros on the diagonal, in block row 0.
      if (a.columns[0] == base) {
        std::vector<T> singular = a.values;
        std::fill_n(singular.begin(), 4, T{});
        REQUIRE(sparse(Named<T>("bsr" + kind), direction, 5, a.nnzb(), descr.descr, singular.data(),
                       a.offsets.data(), a.columns.data(), 2, block_info, 1, (void*)nullptr) == 0);
        CHECK(sparse("Xbsr" + kind + "_zeroPivot", block_info, &position) == CUSPARSE_STATUS_ZERO_PIVOT);
        CHECK(position == base);
      }
      Cusparse().Call("cusparseDestroyCsr" + kind + "Info", info);
      Cusparse().Call("cusparseDestroyBsr" + kind + "Info", block_info);
    }
  }
  // A small pivot is replaced.
  const Descr descr;
  std::vector<T> values = {T{}, T{}, T{}, T(5)};
  const std::vector<int> offsets = {0, 1}, columns = {0};
  double tolerance = 1e-6;
  T boost = T(3);
  bsrilu02Info_t info = nullptr;
  REQUIRE(Cusparse().Call("cusparseCreateBsrilu02Info", &info) == 0);
  REQUIRE(sparse(Named<T>("bsrilu02_numericBoost"), info, 1, &tolerance, &boost) == 0);
  REQUIRE(sparse(Named<T>("bsrilu02_analysis"), 0, 1, 1, descr.descr, values.data(), offsets.data(),
                 columns.data(), 2, info, 1, (void*)nullptr) == 0);
  REQUIRE(sparse(Named<T>("bsrilu02"), 0, 1, 1, descr.descr, values.data(), offsets.data(), columns.data(), 2,
                 info, 1, (void*)nullptr) == 0);
  Wait();
  CHECK(values == std::vector<T>{T(3), T{}, T{}, T(5)});
  Cusparse().Call("cusparseDestroyBsrilu02Info", info);
}

TEMPLATE_TEST_CASE("cusparse: conversions between rows and blocks of any shape", "", SPARSE_TYPES) {
  using T = TestType;
  const Sparse sparse;
  for (int variant = 0; variant < 4; ++variant) {
    const int direction = variant % 2, base = variant / 2, other = 1 - base;
    const Descr from(base), to(other);
    // 11 by 7 in blocks of 3 by 2: the last block row is not full.
    Matrix<T> m = RandomMatrix<T>(11, 7, 0.2, 31, base);
    std::vector<int> offsets(5);
    int total = -1, size = 0;
    REQUIRE(sparse(Named<T>("csr2gebsr_bufferSize"), direction, 11, 7, from.descr, m.values.data(),
                   m.offsets.data(), m.indices.data(), 3, 2, &size) == 0);
    REQUIRE(sparse("Xcsr2gebsrNnz", direction, 11, 7, from.descr, m.offsets.data(), m.indices.data(),
                   to.descr, offsets.data(), 3, 2, &total, (void*)nullptr) == 0);
    int expected = 0;
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        bool any = false;
        for (int k = 0; k < 6; ++k) {
          const int row = i * 3 + k / 2, column = j * 2 + k % 2;
          any |= row < 11 && column < 7 && m.at(row, column) != T{};
        }
        expected += any;
      }
    }
    CHECK(total == expected);
    CHECK(offsets[4] - other == expected);
    std::vector<T> values(static_cast<size_t>(total * 6), T(99));
    std::vector<int> columns(static_cast<size_t>(total));
    REQUIRE(sparse(Named<T>("csr2gebsr"), direction, 11, 7, from.descr, m.values.data(), m.offsets.data(),
                   m.indices.data(), to.descr, values.data(), offsets.data(), columns.data(), 3, 2,
                   (void*)nullptr) == 0);
    // Back to rows: 12 by 8 with zeros.
    std::vector<T> back(static_cast<size_t>(total * 6));
    std::vector<int> back_offsets(13), back_columns(static_cast<size_t>(total * 6));
    REQUIRE(sparse(Named<T>("gebsr2csr"), direction, 4, 4, to.descr, values.data(), offsets.data(),
                   columns.data(), 3, 2, from.descr, back.data(), back_offsets.data(),
                   back_columns.data()) == 0);
    Wait();
    CHECK(back_offsets[12] - base == total * 6);
    const auto check = [&](const std::vector<int>& o, const std::vector<int>& c, const std::vector<T>& v) {
      size_t stored = 0;
      for (int i = 0; i < 12; ++i) {
        for (int p = o[i] - base; p < o[i + 1] - base; ++p) {
          const int j = c[static_cast<size_t>(p)] - base;
          CHECK((p == o[i] - base || c[static_cast<size_t>(p - 1)] < c[static_cast<size_t>(p)]));
          const T element = i < 11 && j < 7 ? m.at(i, j) : T{};
          CHECK(v[static_cast<size_t>(p)] == element);
          stored += element != T{};
        }
      }
      CHECK(stored == m.values.size());
    };
    check(back_offsets, back_columns, back);

    // Blocks of 3 by 2 to blocks of 2 by 4, and those back to rows.
    std::vector<int> offsets2(7);
    REQUIRE(sparse("Xgebsr2gebsrNnz", direction, 4, 4, total, to.descr, offsets.data(), columns.data(), 3, 2,
                   from.descr, offsets2.data(), 2, 4, &size, (void*)nullptr) == 0);
    std::vector<T> values2(static_cast<size_t>(size * 8));
    std::vector<int> columns2(static_cast<size_t>(size));
    REQUIRE(sparse(Named<T>("gebsr2gebsr"), direction, 4, 4, total, to.descr, values.data(), offsets.data(),
                   columns.data(), 3, 2, from.descr, values2.data(), offsets2.data(), columns2.data(), 2, 4,
                   (void*)nullptr) == 0);
    back.assign(static_cast<size_t>(size * 8), T{}), back_columns.assign(static_cast<size_t>(size * 8), 0);
    REQUIRE(sparse(Named<T>("gebsr2csr"), direction, 6, 2, from.descr, values2.data(), offsets2.data(),
                   columns2.data(), 2, 4, from.descr, back.data(), back_offsets.data(),
                   back_columns.data()) == 0);
    Wait();
    check(back_offsets, back_columns, back);

    // Square blocks, and their columns.
    std::vector<int> square_offsets(7);
    REQUIRE(sparse("Xcsr2bsrNnz", direction, 11, 7, from.descr, m.offsets.data(), m.indices.data(), 2,
                   from.descr, square_offsets.data(), &total) == 0);
    values.assign(static_cast<size_t>(total * 4), T{}), columns.assign(static_cast<size_t>(total), 0);
    REQUIRE(sparse(Named<T>("csr2bsr"), direction, 11, 7, from.descr, m.values.data(), m.offsets.data(),
                   m.indices.data(), 2, from.descr, values.data(), square_offsets.data(),
                   columns.data()) == 0);
    back.assign(static_cast<size_t>(total * 4), T{}), back_columns.assign(static_cast<size_t>(total * 4), 0);
    REQUIRE(sparse(Named<T>("bsr2csr"), direction, 6, 4, from.descr, values.data(), square_offsets.data(),
                   columns.data(), 2, from.descr, back.data(), back_offsets.data(),
                   back_columns.data()) == 0);
    Wait();
    check(back_offsets, back_columns, back);
    std::vector<T> by_columns(values.size());
    std::vector<int> rows(static_cast<size_t>(total)), column_offsets(5);
    REQUIRE(sparse(Named<T>("gebsr2gebsc"), 6, 4, total, values.data(), square_offsets.data(), columns.data(),
                   2, 2, by_columns.data(), rows.data(), column_offsets.data(), 1, base,
                   (void*)nullptr) == 0);
    Wait();
    for (int j = 0; j < 4; ++j) {
      for (int p = column_offsets[j] - base; p < column_offsets[j + 1] - base; ++p) {
        const int i = rows[static_cast<size_t>(p)] - base;
        int q = square_offsets[i] - base;
        while (columns[static_cast<size_t>(q)] - base != j) ++q;
        CHECK(std::equal(by_columns.begin() + p * 4, by_columns.begin() + p * 4 + 4, values.begin() + q * 4));
      }
    }
    CHECK(column_offsets[4] - base == total);
  }
}
