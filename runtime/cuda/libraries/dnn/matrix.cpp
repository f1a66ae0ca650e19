#include "runtime/cuda/libraries/dnn/matrix.h"

#include <algorithm>

#include "runtime/cuda/libraries/core/openblas.h"
#include "runtime/cuda/libraries/core/parallel.h"

namespace ptx2cpu::cudnn {

namespace {

// Pieces of a product. Their sizes do not depend on the number of threads, so the sums do not either.
constexpr int64_t kPieceRows = 64, kPieceColumns = 256;

}  // namespace

template <typename R>
void MultiplyHere(char op_a, char op_b, int64_t m, int64_t n, int64_t k, const R* a, int64_t lda, const R* b,
                  int64_t ldb, R beta, R* c, int64_t ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    for (int64_t i = 0; beta == 0 && i < m; ++i) std::fill_n(c + i * ldc, n, R{0});
    return;
  }
  // BLAS has columns: the product's transpose.
  libraries::Blas<"gemm", R>(op_b, op_a, static_cast<int>(n), static_cast<int>(m), static_cast<int>(k), R{1},
                             b, static_cast<int>(ldb), a, static_cast<int>(lda), beta, c,
                             static_cast<int>(ldc));
}

template <typename R>
void Multiply(char op_a, char op_b, int64_t m, int64_t n, int64_t k, const R* a, int64_t lda, const R* b,
              int64_t ldb, R beta, R* c, int64_t ldc) {
  const int64_t rows = (m + kPieceRows - 1) / kPieceRows, columns = (n + kPieceColumns - 1) / kPieceColumns;
  libraries::ForEach(rows * columns, [&](int64_t piece) {
    const int64_t i = piece / columns * kPieceRows, j = piece % columns * kPieceColumns;
    MultiplyHere(op_a, op_b, std::min(kPieceRows, m - i), std::min(kPieceColumns, n - j), k,
                 a + (op_a == 'N' ? i * lda : i), lda, b + (op_b == 'N' ? j : j * ldb), ldb, beta,
                 c + i * ldc + j, ldc);
  });
}

template void Multiply(char, char, int64_t, int64_t, int64_t, const float*, int64_t, const float*, int64_t,
                       float, float*, int64_t);
template void Multiply(char, char, int64_t, int64_t, int64_t, const double*, int64_t, const double*, int64_t,
                       double, double*, int64_t);
template void MultiplyHere(char, char, int64_t, int64_t, int64_t, const float*, int64_t, const float*,
                           int64_t, float, float*, int64_t);
template void MultiplyHere(char, char, int64_t, int64_t, int64_t, const double*, int64_t, const double*,
                           int64_t, double, double*, int64_t);

}  // namespace ptx2cpu::cudnn
