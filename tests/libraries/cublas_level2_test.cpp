// cuBLAS, level 2, against plain loops: every function, type, operation, triangle and stride.
#include "tests/libraries/blas_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::blas_case;

namespace {

struct Shape {
  int m, n, incx, incy;
};
constexpr Shape kShapes[] = {{1, 1, 1, 1}, {7, 5, 1, 1}, {20, 33, 2, -1}, {40, 12, -2, 3}, {400, 300, 1, 1}};

// What is stored as a band: lower diagonals, upper ones.
template <typename T>
std::vector<Wide> FromBand(int m, int n, int lower, int upper, const std::vector<T>& a, int ld) {
  std::vector<Wide> full(static_cast<size_t>(m) * n);
  for (int j = 0; j < n; ++j) {
    for (int i = std::max(0, j - upper); i <= std::min(m - 1, j + lower); ++i) {
      full[i + static_cast<size_t>(j) * m] = Wide(a[upper + i - j + static_cast<size_t>(j) * ld]);
    }
  }
  return full;
}
std::vector<Wide> Apply(cublasOperation_t op, int m, int n, const std::vector<Wide>& a,
                        const std::vector<Wide>& x) {
  const bool transposes = op != CUBLAS_OP_N;
  const int rows = transposes ? n : m, inner = transposes ? m : n;
  return Times(rows, 1, inner, Stored(op, rows, inner, a, m), x);
}
// A triangle in a row: the place of (i, j).
size_t Packed(cublasFillMode_t uplo, int n, int i, int j) {
  return uplo == CUBLAS_FILL_MODE_UPPER ? i + static_cast<size_t>(j) * (j + 1) / 2
                                        : i + static_cast<size_t>(j) * (2 * n - j - 1) / 2;
}
template <typename T>
std::vector<T> Unpacked(cublasFillMode_t uplo, int n, const std::vector<T>& packed) {
  std::vector<T> full(static_cast<size_t>(n) * n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      if (uplo == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j)
        full[i + static_cast<size_t>(j) * n] = packed[Packed(uplo, n, i, j)];
    }
  }
  return full;
}
template <typename T>
std::vector<Wide> Updated(const std::vector<Wide>& product, Wide alpha, Wide beta, const std::vector<T>& y,
                          int n, int inc) {
  std::vector<Wide> result = Gathered(y, n, inc);
  for (int i = 0; i < n; ++i) result[i] = alpha * product[i] + beta * result[i];
  return Scattered(result, y, inc);
}

}  // namespace

TEMPLATE_TEST_CASE("cublas level 2: general matrices", "", float, double, cuComplex, cuDoubleComplex) {
  using T = TestType;
  const Blas blas;
  const std::string letter = LetterOf<T>();
  Random random(3);
  for (const auto& [m, n, incx, incy] : kShapes) {
    const int lda = m + 3;
    const T alpha = random.Value<T>(), beta = random.Value<T>();
    const std::vector<T> a = random.Values<T>(static_cast<size_t>(lda) * n);
    for (const cublasOperation_t op : kOperations) {
      INFO(letter << " m " << m << " n " << n << " op " << op);
      const int nx = op == CUBLAS_OP_N ? n : m, ny = op == CUBLAS_OP_N ? m : n;
      const std::vector<T> x = random.Values<T>(Room(nx, incx)), y = random.Values<T>(Room(ny, incy));
      const std::vector<Wide> xs = Gathered(x, nx, incx);
      std::vector<T> to = y;
      const std::vector<Wide> full = Stored(CUBLAS_OP_N, m, n, a, lda);
      REQUIRE(blas(letter + "gemv_v2", op, m, n, &alpha, a.data(), lda, x.data(), incx, &beta, to.data(),
                   incy) == 0);
      CheckNear(to, Updated(Apply(op, m, n, full, xs), alpha, beta, y, ny, incy), nx);
      to = y;
      REQUIRE(blas(letter + "gemv_v2_64", op, int64_t{m}, int64_t{n}, &alpha, a.data(), int64_t{lda},
                   x.data(), int64_t{incx}, &beta, to.data(), int64_t{incy}) == 0);
      CheckNear(to, Updated(Apply(op, m, n, full, xs), alpha, beta, y, ny, incy), nx);

      const int lower = std::min(2, m - 1), upper = std::min(3, n - 1), ld = lower + upper + 2;
      const std::vector<T> band = random.Values<T>(static_cast<size_t>(ld) * n);
      to = y;
      REQUIRE(blas(letter + "gbmv_v2", op, m, n, lower, upper, &alpha, band.data(), ld, x.data(), incx, &beta,
                   to.data(), incy) == 0);
      CheckNear(
          to, Updated(Apply(op, m, n, FromBand(m, n, lower, upper, band, ld), xs), alpha, beta, y, ny, incy),
          8);
    }
    const std::vector<T> x = random.Values<T>(Room(m, incx)), y = random.Values<T>(Room(n, incy));
    for (const bool conjugates : {false, true}) {
      if (conjugates && !kComplex<T>) continue;
      std::vector<Wide> ys = Gathered(y, n, incy);
      if (conjugates)
        for (Wide& v : ys) v = std::conj(v);
      std::vector<T> to = a;
      const std::string name = !kComplex<T> ? "ger_v2" : conjugates ? "gerc_v2" : "geru_v2";
      REQUIRE(blas(letter + name, m, n, &alpha, x.data(), incx, y.data(), incy, to.data(), lda) == 0);
      CheckNear(
          to,
          blas_case::Updated(Part::kAll, m, n, alpha, Times(m, n, 1, Gathered(x, m, incx), ys), 1, a, lda),
          2);
    }
  }
}

TEMPLATE_TEST_CASE("cublas level 2: symmetric and hermitian matrices", "", float, double, cuComplex,
                   cuDoubleComplex) {
  using T = TestType;
  using R = Real<T>;
  const Blas blas;
  const std::string letter = LetterOf<T>();
  Random random(4);
  const Kind natural = kComplex<T> ? Kind::kHermitian : Kind::kSymmetric;
  const std::string s = kComplex<T> ? "h" : "s";
  for (const auto& [unused, n, incx, incy] : kShapes) {
    const int lda = n + 2;
    const T alpha = random.Value<T>(), beta = random.Value<T>();
    const R real = random.Value<R>();
    for (const cublasFillMode_t uplo : kFills) {
      INFO(letter << " n " << n << " uplo " << uplo);
      std::vector<T> a = random.Values<T>(static_cast<size_t>(lda) * n);
      const std::vector<T> x = random.Values<T>(Room(n, incx)), y = random.Values<T>(Room(n, incy));
      const std::vector<Wide> xs = Gathered(x, n, incx), ys = Gathered(y, n, incy);
      const auto check_product = [&](const std::vector<T>& to, const std::vector<Wide>& full) {
        CheckNear(to, Updated(Apply(CUBLAS_OP_N, n, n, full, xs), alpha, beta, y, n, incy), n);
      };
      std::vector<T> to = y;
      REQUIRE(blas(letter + "symv_v2", uplo, n, &alpha, a.data(), lda, x.data(), incx, &beta, to.data(),
                   incy) == 0);
      check_product(to, FromTriangle(Kind::kSymmetric, uplo, n, a, lda));
      if constexpr (kComplex<T>) {
        to = y;
        REQUIRE(blas(letter + "hemv_v2", uplo, n, &alpha, a.data(), lda, x.data(), incx, &beta, to.data(),
                     incy) == 0);
        check_product(to, FromTriangle(Kind::kHermitian, uplo, n, a, lda));
      }
      const std::vector<T> packed = random.Values<T>(static_cast<size_t>(n) * (n + 1) / 2);
      to = y;
      REQUIRE(blas(letter + s + "pmv_v2", uplo, n, &alpha, packed.data(), x.data(), incx, &beta, to.data(),
                   incy) == 0);
      check_product(to, FromTriangle(natural, uplo, n, Unpacked(uplo, n, packed), n));

      const int k = std::min(3, n - 1), ld = k + 2;
      const bool lower = uplo == CUBLAS_FILL_MODE_LOWER;
      const std::vector<T> band = random.Values<T>(static_cast<size_t>(ld) * n);
      const std::vector<Wide> part = FromBand(n, n, lower ? k : 0, lower ? 0 : k, band, ld);
      to = y;
      REQUIRE(blas(letter + s + "bmv_v2", uplo, n, k, &alpha, band.data(), ld, x.data(), incx, &beta,
                   to.data(), incy) == 0);
      check_product(to, FromTriangle(natural, uplo, n, part, n));

      // Updates of one triangle: x x^T, x y^T + y x^T and the hermitian ones.
      const auto product = [&](bool conjugates, bool two) {
        std::vector<Wide> sum(static_cast<size_t>(n) * n);
        for (int j = 0; j < n; ++j) {
          for (int i = 0; i < n; ++i) {
            const auto other = [&](Wide v) { return conjugates ? std::conj(v) : v; };
            sum[i + static_cast<size_t>(j) * n] =
                two ? Wide(alpha) * xs[i] * other(ys[j]) + other(Wide(alpha)) * ys[i] * other(xs[j])
                    : xs[i] * other(xs[j]);
          }
        }
        return sum;
      };
      const auto check_update = [&](const std::string& name, bool conjugates, bool two, auto call) {
        INFO(name);
        std::vector<T> matrix = a;
        if (conjugates) {
          for (int i = 0; i < n; ++i)
            matrix[i + static_cast<size_t>(i) * lda] =
                FromWide<T>(Wide(matrix[i + static_cast<size_t>(i) * lda]).real());
        }
        const std::vector<T> before = matrix;
        REQUIRE(call(matrix) == 0);
        CheckNear(matrix,
                  blas_case::Updated(PartOf(uplo), n, n,
                                     two          ? Wide(1)
                                     : conjugates ? Wide(real)
                                                  : Wide(alpha),
                                     product(conjugates, two), 1, before, lda),
                  4);
      };
      check_update("syr", false, false, [&](auto& to_matrix) {
        return blas(letter + "syr_v2", uplo, n, &alpha, x.data(), incx, to_matrix.data(), lda);
      });
      check_update("syr2", false, true, [&](auto& to_matrix) {
        return blas(letter + "syr2_v2", uplo, n, &alpha, x.data(), incx, y.data(), incy, to_matrix.data(),
                    lda);
      });
      if constexpr (kComplex<T>) {
        check_update("her", true, false, [&](auto& to_matrix) {
          return blas(letter + "her_v2", uplo, n, &real, x.data(), incx, to_matrix.data(), lda);
        });
        check_update("her2", true, true, [&](auto& to_matrix) {
          return blas(letter + "her2_v2", uplo, n, &alpha, x.data(), incx, y.data(), incy, to_matrix.data(),
                      lda);
        });
      }
      // Packed updates give the triangle that full ones give; trttp and tpttr convert.
      const auto check_packed = [&](const std::string& name, auto update_full, auto update_packed) {
        INFO(name);
        std::vector<T> full = a, row(packed.size()), back = a;
        for (int i = 0; i < n; ++i)
          full[i + static_cast<size_t>(i) * lda] =
              FromWide<T>(Wide(full[i + static_cast<size_t>(i) * lda]).real());
        REQUIRE(blas(letter + "trttp", uplo, n, static_cast<const T*>(full.data()), lda, row.data()) == 0);
        REQUIRE(update_full(full) == 0);
        REQUIRE(update_packed(row) == 0);
        back = full;
        REQUIRE(blas(letter + "tpttr", uplo, n, static_cast<const T*>(row.data()), back.data(), lda) == 0);
        CheckNear(back, Widened(full), 8);
      };
      const std::string full_one = kComplex<T> ? "her_v2" : "syr_v2",
                        full_two = kComplex<T> ? "her2_v2" : "syr2_v2";
      check_packed(
          "one",
          [&](auto& f) { return blas(letter + full_one, uplo, n, &real, x.data(), incx, f.data(), lda); },
          [&](auto& p) { return blas(letter + s + "pr_v2", uplo, n, &real, x.data(), incx, p.data()); });
      check_packed(
          "two",
          [&](auto& f) {
            return blas(letter + full_two, uplo, n, &alpha, x.data(), incx, y.data(), incy, f.data(), lda);
          },
          [&](auto& p) {
            return blas(letter + s + "pr2_v2", uplo, n, &alpha, x.data(), incx, y.data(), incy, p.data());
          });
    }
  }
}

TEMPLATE_TEST_CASE("cublas level 2: triangular matrices", "", float, double, cuComplex, cuDoubleComplex) {
  using T = TestType;
  const Blas blas;
  const std::string letter = LetterOf<T>();
  Random random(5);
  for (const auto& [unused, n, incx, incy] : {Shape{0, 1, 1, 1}, Shape{0, 9, 1, 1}, Shape{0, 30, -2, 1}}) {
    const int lda = n + 1, k = std::min(3, n - 1), ld = k + 2;
    for (const cublasFillMode_t uplo : kFills) {
      for (const cublasOperation_t op : kOperations) {
        for (const cublasDiagType_t diag : kDiags) {
          INFO(letter << " n " << n << " uplo " << uplo << " op " << op << " diag " << diag);
          const Kind kind = diag == CUBLAS_DIAG_UNIT ? Kind::kUnitTriangular : Kind::kTriangular;
          const bool lower = uplo == CUBLAS_FILL_MODE_LOWER;
          // Small beside the diagonal, so that solutions stay of order 1.
          std::vector<T> a = random.Values<T>(static_cast<size_t>(lda) * n),
                         band = random.Values<T>(static_cast<size_t>(ld) * n),
                         packed = random.Values<T>(static_cast<size_t>(n) * (n + 1) / 2);
          for (auto* values : {&a, &band, &packed})
            for (T& v : *values) v *= Real<T>(0.1);
          for (int i = 0; i < n; ++i) {
            a[i + static_cast<size_t>(i) * lda] += T(2);
            band[(lower ? 0 : k) + static_cast<size_t>(i) * ld] += T(2);
            packed[Packed(uplo, n, i, i)] += T(2);
          }
          const std::vector<T> x = random.Values<T>(Room(n, incx));
          const auto check = [&](const std::string& name, const std::vector<Wide>& full, auto multiply,
                                 auto solve) {
            INFO(name);
            std::vector<T> to = x;
            REQUIRE(multiply(to) == 0);
            CheckNear(to, Scattered(Apply(op, n, n, full, Gathered(x, n, incx)), x, incx), n);
            REQUIRE(solve(to) == 0);
            CheckNear(to, Widened(x), 8 * n);
          };
          check(
              "tr", FromTriangle(kind, uplo, n, a, lda),
              [&](auto& to) {
                return blas(letter + "trmv_v2", uplo, op, diag, n, a.data(), lda, to.data(), incx);
              },
              [&](auto& to) {
                return blas(letter + "trsv_v2", uplo, op, diag, n, a.data(), lda, to.data(), incx);
              });
          check(
              "tb", FromTriangle(kind, uplo, n, FromBand(n, n, lower ? k : 0, lower ? 0 : k, band, ld), n),
              [&](auto& to) {
                return blas(letter + "tbmv_v2", uplo, op, diag, n, k, band.data(), ld, to.data(), incx);
              },
              [&](auto& to) {
                return blas(letter + "tbsv_v2", uplo, op, diag, n, k, band.data(), ld, to.data(), incx);
              });
          check(
              "tp", FromTriangle(kind, uplo, n, Unpacked(uplo, n, packed), n),
              [&](auto& to) {
                return blas(letter + "tpmv_v2", uplo, op, diag, n, packed.data(), to.data(), incx);
              },
              [&](auto& to) {
                return blas(letter + "tpsv_v2", uplo, op, diag, n, packed.data(), to.data(), incx);
              });
        }
      }
    }
  }
}
