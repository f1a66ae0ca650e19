// Batches: many small products as one parallel job, a few large ones one after the other.
#pragma once

#include <memory>
#include <vector>

#include "runtime/cuda/libraries/blas/level3.h"

namespace ptx2cpu::cublas {

// body(i) for each matrix of a batch, `work` multiplications each.
template <typename Body>
void ForBatch(int64_t count, double work, const Body& body) {
  if (work > 8 * kProductGrain) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  const auto grain = static_cast<int64_t>(std::max(1.0, kProductGrain / 4 / std::max(1.0, work)));
  libraries::ForRanges(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

// Where the matrices of a batch are: an array of addresses on the device, or one address and a distance.
template <typename T>
struct Addresses {
  T* const* list;
  T* operator[](int64_t i) const { return list[i]; }
};
template <typename T>
struct Strided {
  T* first;
  int64_t stride;
  T* operator[](int64_t i) const { return first + i * stride; }
};

template <typename T, typename A, typename B, typename C>
cublasStatus_t GemmBatch(const char* name, cublasHandle_t h, cublasOperation_t op_a, cublasOperation_t op_b,
                         int64_t m, int64_t n, int64_t k, const T* alpha, A a, int64_t lda, B b, int64_t ldb,
                         const T* beta, C c, int64_t ldc, int64_t count) {
  if (const cublasStatus_t wrong = CheckProduct(h, op_a, op_b, m, n, k, lda, ldb, ldc, alpha, beta))
    return wrong;
  if (count < 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, m, n, k, lda, ldb, ldc)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha), be = Scalar(h, beta)] {
    ForBatch(count, WorkOf<T>(m, n, k), [&](int64_t i) {
      if constexpr (std::is_same_v<T, __half>) {
        MultiplyMixed({op_a, op_b, m, n, k, a[i], lda, b[i], ldb, c[i], ldc, kHalfProduct}, ToFloat(al()),
                      ToFloat(be()));
      } else {
        Multiply<T>({op_a, op_b, m, n, k, al(), a[i], lda, b[i], ldb, be(), c[i], ldc});
      }
    });
  });
}

template <typename T>
cublasStatus_t GemmBatched(const char* name, cublasHandle_t h, cublasOperation_t op_a, cublasOperation_t op_b,
                           int64_t m, int64_t n, int64_t k, const T* alpha, const T* const a[], int64_t lda,
                           const T* const b[], int64_t ldb, const T* beta, T* const c[], int64_t ldc,
                           int64_t count) {
  return GemmBatch<T>(name, h, op_a, op_b, m, n, k, alpha, Addresses<const T>{a}, lda, Addresses<const T>{b},
                      ldb, beta, Addresses<T>{c}, ldc, count);
}
template <typename T>
cublasStatus_t GemmStridedBatched(const char* name, cublasHandle_t h, cublasOperation_t op_a,
                                  cublasOperation_t op_b, int64_t m, int64_t n, int64_t k, const T* alpha,
                                  const T* a, int64_t lda, int64_t stride_a, const T* b, int64_t ldb,
                                  int64_t stride_b, const T* beta, T* c, int64_t ldc, int64_t stride_c,
                                  int64_t count) {
  return GemmBatch<T>(name, h, op_a, op_b, m, n, k, alpha, Strided<const T>{a, stride_a}, lda,
                      Strided<const T>{b, stride_b}, ldb, beta, Strided<T>{c, stride_c}, ldc, count);
}

// Groups of products; shapes and factors of all groups are in host memory, addresses on the device.
template <typename T, typename Int>
cublasStatus_t GemmGroupedBatched(const char* name, cublasHandle_t h, const cublasOperation_t* op_a,
                                  const cublasOperation_t* op_b, const Int* m, const Int* n, const Int* k,
                                  const T* alpha, const T* const* a, const Int* lda, const T* const* b,
                                  const Int* ldb, const T* beta, T* const* c, const Int* ldc, int64_t groups,
                                  const Int* sizes) {
  if (const cublasStatus_t wrong = Check(h, groups >= 0)) return wrong;
  struct Member {
    Product<T> product;
    int64_t index;
  };
  std::vector<Member> members;
  int64_t index = 0;
  for (int64_t g = 0; g < groups; ++g) {
    if (const cublasStatus_t wrong =
            CheckProduct(h, op_a[g], op_b[g], m[g], n[g], k[g], lda[g], ldb[g], ldc[g], alpha, beta))
      return wrong;
    if (const cublasStatus_t missing = Ready(name, m[g], n[g], k[g], lda[g], ldb[g], ldc[g])) return missing;
    for (int64_t i = 0; i < sizes[g]; ++i, ++index) {
      if (m[g] == 0 || n[g] == 0) continue;
      members.push_back({{op_a[g], op_b[g], m[g], n[g], k[g], alpha[g], nullptr, lda[g], nullptr, ldb[g],
                          beta[g], nullptr, ldc[g]},
                         index});
    }
  }
  return OnStream(h, name, [members = std::move(members), a, b, c] {
    libraries::ForEach(static_cast<int64_t>(members.size()), [&](int64_t i) {
      Product<T> product = members[i].product;
      product.a = a[members[i].index], product.b = b[members[i].index], product.c = c[members[i].index];
      Multiply(product);
    });
  });
}

template <typename T, typename A, typename X, typename Y>
cublasStatus_t GemvBatch(const char* name, cublasHandle_t h, cublasOperation_t op, int64_t m, int64_t n,
                         const T* alpha, A a, int64_t lda, X x, int64_t incx, const T* beta, Y y,
                         int64_t incy, int64_t count) {
  if (const cublasStatus_t wrong = Check(h, IsRight(op), m >= 0, n >= 0, LeadingIs(lda, m), incx != 0,
                                         incy != 0, count >= 0, alpha != nullptr, beta != nullptr))
    return wrong;
  if (m == 0 || n == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, m, n, lda, incx, incy)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha), be = Scalar(h, beta)] {
    ForBatch(count, WorkOf<T>(m, n, 1),
             [&](int64_t i) { MultiplyVector<T>(op, m, n, al(), a[i], lda, x[i], incx, be(), y[i], incy); });
  });
}
template <typename T>
cublasStatus_t GemvBatched(const char* name, cublasHandle_t h, cublasOperation_t op, int64_t m, int64_t n,
                           const T* alpha, const T* const a[], int64_t lda, const T* const x[], int64_t incx,
                           const T* beta, T* const y[], int64_t incy, int64_t count) {
  return GemvBatch<T>(name, h, op, m, n, alpha, Addresses<const T>{a}, lda, Addresses<const T>{x}, incx, beta,
                      Addresses<T>{y}, incy, count);
}
template <typename T>
cublasStatus_t GemvStridedBatched(const char* name, cublasHandle_t h, cublasOperation_t op, int64_t m,
                                  int64_t n, const T* alpha, const T* a, int64_t lda, int64_t stride_a,
                                  const T* x, int64_t incx, int64_t stride_x, const T* beta, T* y,
                                  int64_t incy, int64_t stride_y, int64_t count) {
  return GemvBatch<T>(name, h, op, m, n, alpha, Strided<const T>{a, stride_a}, lda,
                      Strided<const T>{x, stride_x}, incx, beta, Strided<T>{y, stride_y}, incy, count);
}

// Matrix and x of 16 bits, y of 16 or 32, float factors: y is rounded once.
template <typename In, typename Out>
void NarrowMultiplyVector(cublasOperation_t op, int64_t m, int64_t n, float alpha, const In* a, int64_t lda,
                          const In* x, int64_t incx, float beta, Out* y, int64_t incy) {
  const int64_t inner = Transposes(op) ? m : n, outer = Transposes(op) ? n : m;
  const Vector<const In> from(x, inner, incx);
  const Vector<Out> to(y, outer, incy);
  for (int64_t i = 0; i < outer; ++i) {
    const float sum = SumOver<float>(inner, [&](int64_t j) {
      return ToFloat(Transposes(op) ? a[j + i * lda] : a[i + j * lda]) * ToFloat(from[j]);
    });
    float result = alpha * sum;
    if constexpr (std::is_same_v<Out, float>) {
      to[i] = beta == 0 ? result : result + beta * to[i];
    } else {
      if (beta != 0) result += beta * ToFloat(to[i]);
      FromFloat(result, to[i]);
    }
  }
}
template <typename A, typename X, typename Y>
cublasStatus_t NarrowGemvBatch(const char* name, cublasHandle_t h, cublasOperation_t op, int64_t m, int64_t n,
                               const float* alpha, A a, int64_t lda, X x, int64_t incx, const float* beta,
                               Y y, int64_t incy, int64_t count) {
  if (const cublasStatus_t wrong = Check(h, IsRight(op), m >= 0, n >= 0, LeadingIs(lda, m), incx != 0,
                                         incy != 0, count >= 0, alpha != nullptr, beta != nullptr))
    return wrong;
  if (m == 0 || n == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
  return OnStream(h, name, [=, al = Scalar(h, alpha), be = Scalar(h, beta)] {
    ForBatch(count, WorkOf<float>(m, n, 1), [&](int64_t i) {
      NarrowMultiplyVector(op, m, n, al(), a[i], lda, x[i], incx, be(), y[i], incy);
    });
  });
}
template <typename In, typename Out>
cublasStatus_t NarrowGemvBatched(const char* name, cublasHandle_t h, cublasOperation_t op, int64_t m,
                                 int64_t n, const float* alpha, const In* const a[], int64_t lda,
                                 const In* const x[], int64_t incx, const float* beta, Out* const y[],
                                 int64_t incy, int64_t count) {
  return NarrowGemvBatch(name, h, op, m, n, alpha, Addresses<const In>{a}, lda, Addresses<const In>{x}, incx,
                         beta, Addresses<Out>{y}, incy, count);
}
template <typename In, typename Out>
cublasStatus_t NarrowGemvStridedBatched(const char* name, cublasHandle_t h, cublasOperation_t op, int64_t m,
                                        int64_t n, const float* alpha, const In* a, int64_t lda,
                                        int64_t stride_a, const In* x, int64_t incx, int64_t stride_x,
                                        const float* beta, Out* y, int64_t incy, int64_t stride_y,
                                        int64_t count) {
  return NarrowGemvBatch(name, h, op, m, n, alpha, Strided<const In>{a, stride_a}, lda,
                         Strided<const In>{x, stride_x}, incx, beta, Strided<Out>{y, stride_y}, incy, count);
}

template <typename T>
cublasStatus_t TrsmBatched(const char* name, cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,
                           cublasOperation_t op, cublasDiagType_t diag, int64_t m, int64_t n, const T* alpha,
                           const T* const a[], int64_t lda, T* const b[], int64_t ldb, int64_t count) {
  if (const cublasStatus_t wrong = CheckTriangular(h, side, uplo, op, diag, m, n, lda, ldb, alpha))
    return wrong;
  if (count < 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0 || count == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, m, n, lda, ldb)) return missing;
  return OnStream(h, name, [=, al = Scalar(h, alpha)] {
    ForBatch(count, WorkOf<T>(m, n, side == CUBLAS_SIDE_LEFT ? m : n), [&](int64_t i) {
      TriangularOnPool<"trsm", T>(side, uplo, op, diag, m, n, al(), a[i], lda, b[i], ldb);
    });
  });
}

}  // namespace ptx2cpu::cublas
