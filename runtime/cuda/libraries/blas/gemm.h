// C = alpha op(A) op(B) + beta C on the pool: parts of C, each one call of BLAS.
#pragma once

#include "runtime/cuda/libraries/blas/level2.h"

namespace ptx2cpu::cublas {

// op(A) is m by k, op(B) k by n; column-major, leading dimensions in elements.
template <typename T>
struct Product {
  cublasOperation_t op_a, op_b;
  int64_t m, n, k;
  T alpha;
  const T* a;
  int64_t lda;
  const T* b;
  int64_t ldb;
  T beta;
  T* c;
  int64_t ldc;
};

template <typename T>
void MultiplyOnce(const Product<T>& p) {
  Blas<"gemm", T>(Letter<T>(p.op_a), Letter<T>(p.op_b), Narrow(p.m), Narrow(p.n), Narrow(p.k), p.alpha, p.a,
                  Narrow(p.lda), p.b, Narrow(p.ldb), p.beta, p.c, Narrow(p.ldc));
}

// Multiplications and additions that one thread does in some ten microseconds.
constexpr double kProductGrain = 1 << 20;
template <typename T>
double WorkOf(int64_t m, int64_t n, int64_t k) {
  return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) * (kIsComplex<T> ? 4 : 1) *
         (static_cast<double>(sizeof(Real<T>)) / 4);
}

// Into how many parts rows and columns are cut, so that each part reads as little as possible.
struct Cut {
  int64_t rows, columns;
};
Cut CutOf(int64_t m, int64_t n, double work);

template <typename T>
Product<T> PartOf(const Product<T>& p, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  Product<T> part = p;
  part.m = rows, part.n = columns;
  part.a += Transposes(p.op_a) ? row * p.lda : row;
  part.b += Transposes(p.op_b) ? column : column * p.ldb;
  part.c += row + column * p.ldc;
  return part;
}

template <typename T>
void Multiply(const Product<T>& p) {
  const Cut cut = CutOf(p.m, p.n, WorkOf<T>(p.m, p.n, p.k));
  if (cut.rows * cut.columns == 1) return MultiplyOnce(p);
  // Parts of whole register tiles.
  const int64_t rows = (p.m + cut.rows * 16 - 1) / (cut.rows * 16) * 16,
                columns = (p.n + cut.columns * 8 - 1) / (cut.columns * 8) * 8;
  const int64_t across = (p.m + rows - 1) / rows, along = (p.n + columns - 1) / columns;
  libraries::ForEach(across * along, [&](int64_t i) {
    const int64_t row = i % across * rows, column = i / across * columns;
    MultiplyOnce(PartOf(p, row, std::min(rows, p.m - row), column, std::min(columns, p.n - column)));
  });
}

}  // namespace ptx2cpu::cublas
