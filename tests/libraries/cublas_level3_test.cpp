// cuBLAS, level 3 and batches, against plain loops: every function, type, operation, side and triangle.
#include "tests/libraries/blas_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::blas_case;

namespace {

struct Shape {
  int m, n, k;
};
constexpr Shape kShapes[] = {{1, 1, 1}, {5, 7, 3}, {33, 20, 0}, {17, 64, 40}, {150, 130, 90}};

template <typename T>
struct Matrix {
  Matrix(Random& random, int rows, int columns)
      : ld(rows + 3), values(random.Values<T>(static_cast<size_t>(ld) * columns + 1)) {}
  const int ld;
  std::vector<T> values;
  T* data() { return values.data(); }
};
bool Transposes(cublasOperation_t op) { return op != CUBLAS_OP_N; }

}  // namespace

TEMPLATE_TEST_CASE("cublas level 3: products", "", float, double, cuComplex, cuDoubleComplex) {
  using T = TestType;
  const Blas blas;
  const std::string letter = LetterOf<T>();
  Random random(6);
  for (const auto& [m, n, k] : kShapes) {
    for (const cublasOperation_t op_a : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
      for (const cublasOperation_t op_b : kOperations) {
        INFO(letter << " " << m << " x " << n << " x " << k << " op " << op_a << " " << op_b);
        const bool turned_a = op_a == CUBLAS_OP_T || op_a == CUBLAS_OP_C;
        Matrix<T> a(random, turned_a ? k : m, turned_a ? m : k);
        Matrix<T> b(random, Transposes(op_b) ? n : k, Transposes(op_b) ? k : n), c(random, m, n);
        const T alpha = random.Value<T>(), beta = random.Value<T>(), zero{};
        const std::vector<T> before = c.values;
        const std::vector<Wide> product =
            Times(m, n, k, Stored(op_a, m, k, a.values, a.ld), Stored(op_b, k, n, b.values, b.ld));
        const auto expected = [&](Wide by) {
          return Updated(Part::kAll, m, n, alpha, product, by, before, c.ld);
        };
        REQUIRE(blas(letter + "gemm_v2", op_a, op_b, m, n, k, &alpha, a.data(), a.ld, b.data(), b.ld, &beta,
                     c.data(), c.ld) == 0);
        CheckNear(c.values, expected(beta), k);
        c.values = before;
        REQUIRE(blas(letter + "gemm_v2_64", op_a, op_b, int64_t{m}, int64_t{n}, int64_t{k}, &alpha, a.data(),
                     int64_t{a.ld}, b.data(), int64_t{b.ld}, &zero, c.data(), int64_t{c.ld}) == 0);
        CheckNear(c.values, expected(0), k);
        if constexpr (kComplex<T>) {
          c.values = before;
          REQUIRE(blas(letter + "gemm3m", op_a, op_b, m, n, k, &alpha, a.data(), a.ld, b.data(), b.ld, &beta,
                       c.data(), c.ld) == 0);
          CheckNear(c.values, expected(beta), k);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("cublas level 3: symmetric and hermitian factors", "", float, double, cuComplex,
                   cuDoubleComplex) {
  using T = TestType;
  const Blas blas;
  const std::string letter = LetterOf<T>();
  Random random(7);
  for (const auto& [m, n, unused] : kShapes) {
    for (const cublasSideMode_t side : kSides) {
      for (const cublasFillMode_t uplo : kFills) {
        INFO(letter << " " << m << " x " << n << " side " << side << " uplo " << uplo);
        const bool left = side == CUBLAS_SIDE_LEFT;
        const int order = left ? m : n;
        Matrix<T> a(random, order, order), b(random, m, n), c(random, m, n);
        const T alpha = random.Value<T>(), beta = random.Value<T>();
        const std::vector<T> before = c.values;
        for (const Kind kind : {Kind::kSymmetric, Kind::kHermitian}) {
          if (kind == Kind::kHermitian && !kComplex<T>) continue;
          const std::vector<Wide> full = FromTriangle(kind, uplo, order, a.values, a.ld),
                                  other = Stored(CUBLAS_OP_N, m, n, b.values, b.ld);
          const std::vector<Wide> product = left ? Times(m, n, m, full, other) : Times(m, n, n, other, full);
          c.values = before;
          REQUIRE(blas(letter + (kind == Kind::kHermitian ? "hemm_v2" : "symm_v2"), side, uplo, m, n, &alpha,
                       a.data(), a.ld, b.data(), b.ld, &beta, c.data(), c.ld) == 0);
          CheckNear(c.values, Updated(Part::kAll, m, n, alpha, product, beta, before, c.ld), order);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("cublas level 3: products of which one triangle is computed", "", float, double, cuComplex,
                   cuDoubleComplex) {
  using T = TestType;
  using R = Real<T>;
  const Blas blas;
  const std::string letter = LetterOf<T>();
  Random random(8);
  for (const auto& [unused, n, k] : {Shape{0, 1, 1}, Shape{0, 9, 4}, Shape{0, 300, 70}}) {
    for (const cublasFillMode_t uplo : kFills) {
      for (const cublasOperation_t op : kOperations) {
        for (const bool hermitian : {false, true}) {
          if (hermitian && !kComplex<T>) continue;
          if (kComplex<T> && op == (hermitian ? CUBLAS_OP_T : CUBLAS_OP_C)) continue;
          INFO(letter << " n " << n << " k " << k << " uplo " << uplo << " op " << op << " hermitian "
                      << hermitian);
          Matrix<T> a(random, Transposes(op) ? k : n, Transposes(op) ? n : k),
              b(random, Transposes(op) ? k : n, Transposes(op) ? n : k), c(random, n, n);
          if (hermitian)
            for (int i = 0; i < n; ++i)
              c.values[i + static_cast<size_t>(i) * c.ld] =
                  FromWide<T>(Wide(c.values[i + static_cast<size_t>(i) * c.ld]).real());
          const std::vector<T> before = c.values;
          const T alpha = random.Value<T>(), beta = random.Value<T>();
          const R real_alpha = random.Value<R>(), real_beta = random.Value<R>();
          const std::vector<Wide> x = Stored(op, n, k, a.values, a.ld), y = Stored(op, n, k, b.values, b.ld);
          const cublasOperation_t turn = hermitian ? CUBLAS_OP_C : CUBLAS_OP_T;
          const std::vector<Wide> xx = Times(n, n, k, x, Stored(turn, k, n, x, n)),
                                  xy = Times(n, n, k, x, Stored(turn, k, n, y, n)),
                                  yx = Times(n, n, k, y, Stored(turn, k, n, x, n));
          const auto check = [&](Wide al, Wide be, const std::vector<Wide>& product) {
            std::vector<Wide> expected = Updated(PartOf(uplo), n, n, al, product, be, before, c.ld);
            if (hermitian)
              for (int i = 0; i < n; ++i)
                expected[i + static_cast<size_t>(i) * c.ld] =
                    expected[i + static_cast<size_t>(i) * c.ld].real();
            CheckNear(c.values, expected, 2 * k);
            c.values = before;
          };
          std::vector<Wide> both(xy.size());
          for (size_t i = 0; i < both.size(); ++i)
            both[i] = Wide(alpha) * xy[i] + (hermitian ? std::conj(Wide(alpha)) : Wide(alpha)) * yx[i];
          if (hermitian) {
            REQUIRE(blas(letter + "herk_v2", uplo, op, n, k, &real_alpha, a.data(), a.ld, &real_beta,
                         c.data(), c.ld) == 0);
            check(real_alpha, real_beta, xx);
            REQUIRE(blas(letter + "her2k_v2", uplo, op, n, k, &alpha, a.data(), a.ld, b.data(), b.ld,
                         &real_beta, c.data(), c.ld) == 0);
            check(1, real_beta, both);
            REQUIRE(blas(letter + "herkx", uplo, op, n, k, &alpha, a.data(), a.ld, b.data(), b.ld, &real_beta,
                         c.data(), c.ld) == 0);
            check(alpha, real_beta, xy);
          } else {
            REQUIRE(blas(letter + "syrk_v2", uplo, op, n, k, &alpha, a.data(), a.ld, &beta, c.data(), c.ld) ==
                    0);
            check(alpha, beta, xx);
            REQUIRE(blas(letter + "syr2k_v2", uplo, op, n, k, &alpha, a.data(), a.ld, b.data(), b.ld, &beta,
                         c.data(), c.ld) == 0);
            check(1, beta, both);
            REQUIRE(blas(letter + "syrkx", uplo, op, n, k, &alpha, a.data(), a.ld, b.data(), b.ld, &beta,
                         c.data(), c.ld) == 0);
            check(alpha, beta, xy);
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("cublas level 3: triangular factors, sums, diagonals", "", float, double, cuComplex,
                   cuDoubleComplex) {
  using T = TestType;
  const Blas blas;
  const std::string letter = LetterOf<T>();
  Random random(9);
  for (const auto& [m, n, unused] : {Shape{1, 1, 0}, Shape{8, 5, 0}, Shape{60, 90, 0}}) {
    for (const cublasSideMode_t side : kSides) {
      for (const cublasFillMode_t uplo : kFills) {
        for (const cublasOperation_t op : kOperations) {
          for (const cublasDiagType_t diag : kDiags) {
            INFO(letter << " " << m << " x " << n << " side " << side << " uplo " << uplo << " op " << op
                        << " diag " << diag);
            const bool left = side == CUBLAS_SIDE_LEFT;
            const int order = left ? m : n;
            Matrix<T> a(random, order, order), b(random, m, n), c(random, m, n);
            for (T& v : a.values) v *= Real<T>(0.1);
            for (int i = 0; i < order; ++i) a.values[i + static_cast<size_t>(i) * a.ld] += T(2);
            const T alpha = random.Value<T>(), inverse = T(1) / alpha;
            const Kind kind = diag == CUBLAS_DIAG_UNIT ? Kind::kUnitTriangular : Kind::kTriangular;
            const std::vector<Wide> full = Stored(op, order, order,
                                                  FromTriangle(kind, uplo, order, a.values, a.ld), order),
                                    other = Stored(CUBLAS_OP_N, m, n, b.values, b.ld);
            const std::vector<Wide> product =
                left ? Times(m, n, m, full, other) : Times(m, n, n, other, full);
            const std::vector<T> before = c.values;
            REQUIRE(blas(letter + "trmm_v2", side, uplo, op, diag, m, n, &alpha, a.data(), a.ld, b.data(),
                         b.ld, c.data(), c.ld) == 0);
            CheckNear(c.values, Updated(Part::kAll, m, n, alpha, product, 0, before, c.ld), order);
            // trsm undoes it, also in the batch.
            std::vector<T> solved = c.values;
            REQUIRE(blas(letter + "trsm_v2", side, uplo, op, diag, m, n, &inverse, a.data(), a.ld,
                         solved.data(), c.ld) == 0);
            const std::vector<Wide> expected = Updated(Part::kAll, m, n, 1, other, 0, before, c.ld);
            CheckNear(solved, expected, 20 * order);
            solved = c.values;
            const T* as[] = {a.data()};
            T* bs[] = {solved.data()};
            REQUIRE(blas(letter + "trsmBatched", side, uplo, op, diag, m, n, &inverse, as, a.ld, bs, c.ld,
                         1) == 0);
            CheckNear(solved, expected, 20 * order);
          }
        }
      }
      Matrix<T> a(random, m, n), c(random, m, n);
      const std::vector<T> x = random.Values<T>(Room(std::max(m, n), 2));
      const std::vector<T> before = c.values;
      const int order = side == CUBLAS_SIDE_LEFT ? m : n;
      const std::vector<Wide> xs = Gathered(x, order, 2), full = Stored(CUBLAS_OP_N, m, n, a.values, a.ld);
      std::vector<Wide> product = full;
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i) product[i + j * m] *= xs[side == CUBLAS_SIDE_LEFT ? i : j];
      REQUIRE(blas(letter + "dgmm", side, m, n, a.data(), a.ld, x.data(), 2, c.data(), c.ld) == 0);
      CheckNear(c.values, Updated(Part::kAll, m, n, 1, product, 0, before, c.ld), 1);
    }
    for (const cublasOperation_t op_a : kOperations) {
      for (const cublasOperation_t op_b : kOperations) {
        Matrix<T> a(random, Transposes(op_a) ? n : m, Transposes(op_a) ? m : n),
            b(random, Transposes(op_b) ? n : m, Transposes(op_b) ? m : n), c(random, m, n);
        const T alpha = random.Value<T>(), beta = random.Value<T>();
        const std::vector<T> before = c.values;
        std::vector<Wide> sum = Stored(op_a, m, n, a.values, a.ld);
        const std::vector<Wide> other = Stored(op_b, m, n, b.values, b.ld);
        for (size_t i = 0; i < sum.size(); ++i) sum[i] = Wide(alpha) * sum[i] + Wide(beta) * other[i];
        REQUIRE(blas(letter + "geam", op_a, op_b, m, n, &alpha, a.data(), a.ld, &beta, b.data(), b.ld,
                     c.data(), c.ld) == 0);
        CheckNear(c.values, Updated(Part::kAll, m, n, 1, sum, 0, before, c.ld), 2);
      }
    }
  }
}

TEMPLATE_TEST_CASE("cublas batches: products by addresses, by strides, in groups", "", float, double,
                   cuComplex, cuDoubleComplex) {
  using T = TestType;
  const Blas blas;
  const std::string letter = LetterOf<T>();
  Random random(10);
  for (const auto& [m, n, k] : {Shape{4, 5, 6}, Shape{32, 16, 24}, Shape{300, 200, 100}}) {
    const int count = m > 100 ? 2 : 70;
    INFO(letter << " " << m << " x " << n << " x " << k);
    const int64_t step_a = m * k + 5, step_b = k * n + 2, step_c = m * n + 7;
    std::vector<T> a = random.Values<T>(step_a * count), b = random.Values<T>(step_b * count),
                   c = random.Values<T>(step_c * count);
    const std::vector<T> before = c;
    const T alpha = random.Value<T>(), beta = random.Value<T>();
    std::vector<Wide> expected = Widened(c);
    std::vector<const T*> as, bs;
    std::vector<T*> cs;
    for (int i = 0; i < count; ++i) {
      as.push_back(&a[i * step_a]), bs.push_back(&b[i * step_b]), cs.push_back(&c[i * step_c]);
      const std::vector<Wide> product =
          Times(m, n, k, Stored(CUBLAS_OP_T, m, k, std::vector<T>(as[i], as[i] + m * k), k),
                Stored(CUBLAS_OP_N, k, n, std::vector<T>(bs[i], bs[i] + k * n), k));
      for (int e = 0; e < m * n; ++e)
        expected[i * step_c + e] = Wide(alpha) * product[e] + Wide(beta) * Wide(before[i * step_c + e]);
    }
    REQUIRE(blas(letter + "gemmBatched", CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &alpha, as.data(), k, bs.data(),
                 k, &beta, cs.data(), m, count) == 0);
    CheckNear(c, expected, k);
    c = before;
    REQUIRE(blas(letter + "gemmStridedBatched", CUBLAS_OP_T, CUBLAS_OP_N, m, n, k, &alpha, a.data(), k,
                 static_cast<long long>(step_a), b.data(), k, static_cast<long long>(step_b), &beta, c.data(),
                 m, static_cast<long long>(step_c), count) == 0);
    CheckNear(c, expected, k);
    if constexpr (!kComplex<T>) {
      c = before;
      const cublasOperation_t ops_a[] = {CUBLAS_OP_T, CUBLAS_OP_T}, ops_b[] = {CUBLAS_OP_N, CUBLAS_OP_N};
      const int ms[] = {m, m}, ns[] = {n, n}, ks[] = {k, k}, sizes[] = {1, count - 1};
      const T alphas[] = {alpha, alpha}, betas[] = {beta, beta};
      REQUIRE(blas(letter + "gemmGroupedBatched", ops_a, ops_b, ms, ns, ks, alphas, as.data(), ks, bs.data(),
                   ks, betas, cs.data(), ms, 2, sizes) == 0);
      CheckNear(c, expected, k);
    }
    // The first column of each B as a vector.
    std::vector<T> y = random.Values<T>(static_cast<size_t>(m) * count);
    const std::vector<T> y_before = y;
    std::vector<Wide> y_expected = Widened(y);
    std::vector<T*> ys;
    for (int i = 0; i < count; ++i) {
      ys.push_back(&y[static_cast<size_t>(i) * m]);
      const std::vector<Wide> product =
          Times(m, 1, k, Stored(CUBLAS_OP_T, m, k, std::vector<T>(as[i], as[i] + m * k), k),
                Stored(CUBLAS_OP_N, k, 1, std::vector<T>(bs[i], bs[i] + k), k));
      for (int e = 0; e < m; ++e)
        y_expected[i * m + e] = Wide(alpha) * product[e] + Wide(beta) * y_expected[i * m + e];
    }
    REQUIRE(blas(letter + "gemvBatched", CUBLAS_OP_T, k, m, &alpha, as.data(), k, bs.data(), 1, &beta,
                 ys.data(), 1, count) == 0);
    CheckNear(y, y_expected, k);
    y = y_before;
    REQUIRE(blas(letter + "gemvStridedBatched", CUBLAS_OP_T, k, m, &alpha, a.data(), k,
                 static_cast<long long>(step_a), b.data(), 1, static_cast<long long>(step_b), &beta, y.data(),
                 1, static_cast<long long>(m), count) == 0);
    CheckNear(y, y_expected, k);
  }
}

TEMPLATE_TEST_CASE("cublas batches: factorisations", "", float, double, cuComplex, cuDoubleComplex) {
  using T = TestType;
  const Blas blas;
  const std::string letter = LetterOf<T>();
  Random random(11);
  const int n = 12, ld = 14, count = 9, columns = 3;
  std::vector<T> a = random.Values<T>(static_cast<size_t>(ld) * n * count), inverse(a.size()),
                 b = random.Values<T>(static_cast<size_t>(ld) * columns * count);
  for (int i = 0; i < count; ++i)
    for (int d = 0; d < n; ++d) a[(i * n + d) * ld + d] += T(n);
  const std::vector<T> matrix = a, right = b;
  std::vector<T*> as, inverses, bs;
  for (int i = 0; i < count; ++i)
    as.push_back(&a[i * n * ld]), inverses.push_back(&inverse[i * n * ld]),
        bs.push_back(&b[i * columns * ld]);
  const auto part = [&](const std::vector<T>& values, int i, int width) {
    return Stored(CUBLAS_OP_N, n, width,
                  std::vector<T>(values.begin() + i * width * ld, values.begin() + (i + 1) * width * ld), ld);
  };
  std::vector<T> unit;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) unit.push_back(i == j ? T(1) : T(0));
  const auto narrowed = [](const std::vector<Wide>& values) {
    std::vector<T> out;
    for (const Wide v : values) out.push_back(FromWide<T>(v));
    return out;
  };
  std::vector<int> pivots(n * count), info(count, -7);
  for (const bool pivoted : {true, false}) {
    int* const p = pivoted ? pivots.data() : nullptr;
    a = matrix, b = right;
    int state = -1;
    REQUIRE(blas(letter + "getrfBatched", n, as.data(), ld, p, info.data(), count) == 0);
    CHECK(info == std::vector<int>(count, 0));
    REQUIRE(blas(letter + "getriBatched", n, as.data(), ld, static_cast<const int*>(p), inverses.data(), ld,
                 info.data(), count) == 0);
    REQUIRE(blas(letter + "getrsBatched", CUBLAS_OP_N, n, columns, as.data(), ld, static_cast<const int*>(p),
                 bs.data(), ld, &state, count) == 0);
    CHECK(state == 0);
    for (int i = 0; i < count; ++i) {
      CheckNear(narrowed(Times(n, n, n, part(matrix, i, n), part(inverse, i, n))), Widened(unit), 20 * n);
      CheckNear(narrowed(Times(n, columns, n, part(matrix, i, n), part(b, i, columns))),
                part(right, i, columns), 20 * n);
    }
  }
  a = matrix;
  std::fill(inverse.begin(), inverse.end(), T{});
  REQUIRE(blas(letter + "matinvBatched", n, as.data(), ld, inverses.data(), ld, info.data(), count) == 0);
  for (int i = 0; i < count; ++i)
    CheckNear(narrowed(Times(n, n, n, part(matrix, i, n), part(inverse, i, n))), Widened(unit), 20 * n);
  CHECK(blas(letter + "matinvBatched", 33, as.data(), 33, inverses.data(), 33, info.data(), 1) ==
        CUBLAS_STATUS_INVALID_VALUE);
  // A singular matrix reports where.
  std::fill(a.begin(), a.end(), T{});
  REQUIRE(blas(letter + "getrfBatched", n, as.data(), ld, pivots.data(), info.data(), count) == 0);
  CHECK(info == std::vector<int>(count, 1));
  // Least squares of a square system solves it; R of QR has the norms of the columns of A.
  a = matrix, b = right;
  int state = -1;
  REQUIRE(blas(letter + "gelsBatched", CUBLAS_OP_N, n, n, columns, as.data(), ld, bs.data(), ld, &state,
               info.data(), count) == 0);
  for (int i = 0; i < count; ++i)
    CheckNear(narrowed(Times(n, columns, n, part(matrix, i, n), part(b, i, columns))),
              part(right, i, columns), 30 * n);
  a = matrix;
  std::vector<T> tau(n * count);
  std::vector<T*> taus;
  for (int i = 0; i < count; ++i) taus.push_back(&tau[i * n]);
  REQUIRE(blas(letter + "geqrfBatched", n, n, as.data(), ld, taus.data(), &state, count) == 0);
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < n; ++j) {
      double before = 0, after = 0;
      for (int r = 0; r < n; ++r)
        before += std::norm(Wide(matrix[(i * n + j) * ld + r])),
            after += r <= j ? std::norm(Wide(a[(i * n + j) * ld + r])) : 0;
      CHECK(after == Approx(before).epsilon(1e-4));
    }
  }
}
