// Level 3: products of which one triangle is wanted (syrk, syr2k, syrkx and the hermitian ones). C is cut
// into block columns: a block on the diagonal, and beside it a plain product.
#pragma once

#include <memory>

#include "runtime/cuda/libraries/blas/gemm.h"

namespace ptx2cpu::cublas {

// What all of them have: C is n by n, op(A) and op(B) are n by k.
template <typename T>
struct Triangle {
  cublasFillMode_t uplo;
  cublasOperation_t op;  // N, or T or C: A and B are stored k by n
  bool hermitian;
  int64_t n, k;
  const T *a, *b;
  int64_t lda, ldb;
  T* c;
  int64_t ldc;

  const T* RowA(int64_t row) const { return a + (op == CUBLAS_OP_N ? row : row * lda); }
  const T* RowB(int64_t row) const { return b + (op == CUBLAS_OP_N ? row : row * ldb); }
  cublasOperation_t Other() const { return hermitian ? CUBLAS_OP_C : CUBLAS_OP_T; }
};

// Rows [row, row + rows) of x op(A) op(B)^T (or ^H) + beta C, in columns [column, column + columns).
template <typename T>
Product<T> BlockOf(const Triangle<T>& t, int64_t row, int64_t rows, int64_t column, int64_t columns, T alpha,
                   T beta) {
  const bool plain = t.op == CUBLAS_OP_N;
  return {plain ? CUBLAS_OP_N : t.Other(),
          plain ? t.Other() : CUBLAS_OP_N,
          rows,
          columns,
          t.k,
          alpha,
          t.RowA(row),
          t.lda,
          t.RowB(column),
          t.ldb,
          beta,
          t.c + row + column * t.ldc,
          t.ldc};
}
template <typename T>
Triangle<T> Exchanged(Triangle<T> t) {
  std::swap(t.a, t.b);
  std::swap(t.lda, t.ldb);
  return t;
}

// diagonal(first, size) does a block on the diagonal, beside(row, rows, column, columns) one without a part
// of the other triangle.
template <typename T, typename Diagonal, typename Beside>
void ForTriangleBlocks(const Triangle<T>& t, const Diagonal& diagonal, const Beside& beside) {
  constexpr int64_t kBlock = 128;
  const int64_t blocks = WorkOf<T>(t.n, t.n, t.k) < kProductGrain ? 1 : (t.n + kBlock - 1) / kBlock;
  const int64_t size = blocks == 1 ? t.n : kBlock;
  libraries::ForEach(blocks, [&](int64_t block) {
    const int64_t first = block * size, width = std::min(size, t.n - first), end = first + width;
    diagonal(first, width);
    if (t.uplo == CUBLAS_FILL_MODE_LOWER && end < t.n) beside(end, t.n - end, first, width);
    if (t.uplo == CUBLAS_FILL_MODE_UPPER && first > 0) beside(int64_t{0}, first, first, width);
  });
}

template <libraries::Name kRoutine, typename T, typename S>
void RankK(const Triangle<T>& t, S alpha, S beta) {
  ForTriangleBlocks(
      t,
      [&](int64_t first, int64_t size) {
        Blas<kRoutine, T>(Letter(t.uplo), Letter<T>(t.op), Narrow(size), Narrow(t.k), alpha, t.RowA(first),
                          Narrow(t.lda), beta, t.c + first * (t.ldc + 1), Narrow(t.ldc));
      },
      [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
        MultiplyOnce(BlockOf(t, row, rows, column, columns, T(alpha), T(beta)));
      });
}

template <libraries::Name kRoutine, typename T, typename S>
void Rank2K(const Triangle<T>& t, T alpha, S beta) {
  ForTriangleBlocks(
      t,
      [&](int64_t first, int64_t size) {
        Blas<kRoutine, T>(Letter(t.uplo), Letter<T>(t.op), Narrow(size), Narrow(t.k), alpha, t.RowA(first),
                          Narrow(t.lda), t.RowB(first), Narrow(t.ldb), beta, t.c + first * (t.ldc + 1),
                          Narrow(t.ldc));
      },
      [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
        MultiplyOnce(BlockOf(t, row, rows, column, columns, alpha, T(beta)));
        MultiplyOnce(
            BlockOf(Exchanged(t), row, rows, column, columns, t.hermitian ? Conjugate(alpha) : alpha, T(1)));
      });
}

// One triangle of a product of two matrices. The diagonal of a hermitian result stays real.
template <typename T, typename S>
void ProductTriangle(const Triangle<T>& t, T alpha, S beta) {
  ForTriangleBlocks(
      t,
      [&](int64_t first, int64_t size) {
        const std::unique_ptr<T[]> block(new T[size * size]());
        Product<T> product = BlockOf(t, first, size, first, size, alpha, T(0));
        product.c = block.get(), product.ldc = size;
        MultiplyOnce(product);
        for (int64_t j = 0; j < size; ++j) {
          const bool lower = t.uplo == CUBLAS_FILL_MODE_LOWER;
          for (int64_t i = lower ? j : 0; i < (lower ? size : j + 1); ++i) {
            T& to = t.c[first + i + (first + j) * t.ldc];
            to = beta == S(0) ? block[i + j * size] : beta * to + block[i + j * size];
            if constexpr (kIsComplex<T>) {
              if (t.hermitian && i == j) to = to.real();
            }
          }
        }
      },
      [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
        MultiplyOnce(BlockOf(t, row, rows, column, columns, alpha, T(beta)));
      });
}

template <typename T, typename Alpha, typename Beta>
cublasStatus_t CheckTriangle(cublasHandle_t h, const Triangle<T>& t, const Alpha* alpha, const Beta* beta) {
  const int64_t rows = t.op == CUBLAS_OP_N ? t.n : t.k;
  return Check(h, IsRight(t.uplo), IsRight(t.op), t.n >= 0, t.k >= 0, LeadingIs(t.lda, rows),
               LeadingIs(t.ldb, rows), LeadingIs(t.ldc, t.n), alpha != nullptr, beta != nullptr);
}

// run(triangle, alpha, beta) on the stream.
template <typename T, typename Alpha, typename Beta, typename Run>
cublasStatus_t TriangleCall(const char* name, cublasHandle_t h, const Triangle<T>& shape, const Alpha* alpha,
                            const Beta* beta, Run run) {
  if (const cublasStatus_t wrong = CheckTriangle(h, shape, alpha, beta)) return wrong;
  if (shape.n == 0) return CUBLAS_STATUS_SUCCESS;
  // T of a hermitian product is C, and C of a symmetric one T.
  Triangle<T> t = shape;
  if (t.op != CUBLAS_OP_N) t.op = t.Other();
  if (const cublasStatus_t missing = Ready(name, t.n, t.k, t.lda, t.ldb, t.ldc)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha), be = Scalar(h, beta)] { run(t, al(), be()); });
}

template <typename T>
cublasStatus_t Syrk(const char* name, cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                    int64_t n, int64_t k, const T* alpha, const T* a, int64_t lda, const T* beta, T* c,
                    int64_t ldc) {
  return TriangleCall(name, h, Triangle<T>{uplo, op, false, n, k, a, a, lda, lda, c, ldc}, alpha, beta,
                      [](const Triangle<T>& t, T al, T be) { RankK<"syrk">(t, al, be); });
}
template <typename T>
cublasStatus_t Herk(const char* name, cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                    int64_t n, int64_t k, const Real<T>* alpha, const T* a, int64_t lda, const Real<T>* beta,
                    T* c, int64_t ldc) {
  return TriangleCall(name, h, Triangle<T>{uplo, op, true, n, k, a, a, lda, lda, c, ldc}, alpha, beta,
                      [](const Triangle<T>& t, Real<T> al, Real<T> be) { RankK<"herk">(t, al, be); });
}
template <typename T>
cublasStatus_t Syr2k(const char* name, cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                     int64_t n, int64_t k, const T* alpha, const T* a, int64_t lda, const T* b, int64_t ldb,
                     const T* beta, T* c, int64_t ldc) {
  return TriangleCall(name, h, Triangle<T>{uplo, op, false, n, k, a, b, lda, ldb, c, ldc}, alpha, beta,
                      [](const Triangle<T>& t, T al, T be) { Rank2K<"syr2k">(t, al, be); });
}
template <typename T>
cublasStatus_t Her2k(const char* name, cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                     int64_t n, int64_t k, const T* alpha, const T* a, int64_t lda, const T* b, int64_t ldb,
                     const Real<T>* beta, T* c, int64_t ldc) {
  return TriangleCall(name, h, Triangle<T>{uplo, op, true, n, k, a, b, lda, ldb, c, ldc}, alpha, beta,
                      [](const Triangle<T>& t, T al, Real<T> be) { Rank2K<"her2k">(t, al, be); });
}
template <typename T>
cublasStatus_t Syrkx(const char* name, cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                     int64_t n, int64_t k, const T* alpha, const T* a, int64_t lda, const T* b, int64_t ldb,
                     const T* beta, T* c, int64_t ldc) {
  return TriangleCall(name, h, Triangle<T>{uplo, op, false, n, k, a, b, lda, ldb, c, ldc}, alpha, beta,
                      [](const Triangle<T>& t, T al, T be) { ProductTriangle(t, al, be); });
}
template <typename T>
cublasStatus_t Herkx(const char* name, cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                     int64_t n, int64_t k, const T* alpha, const T* a, int64_t lda, const T* b, int64_t ldb,
                     const Real<T>* beta, T* c, int64_t ldc) {
  return TriangleCall(name, h, Triangle<T>{uplo, op, true, n, k, a, b, lda, ldb, c, ldc}, alpha, beta,
                      [](const Triangle<T>& t, T al, Real<T> be) { ProductTriangle(t, al, be); });
}

}  // namespace ptx2cpu::cublas
