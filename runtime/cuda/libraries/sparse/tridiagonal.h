// Systems with three diagonals, by elimination with partial pivoting (as LAPACK's gtsv); functions without
// pivoting in their name get it too: their results are then those of a better method.
#pragma once

#include <cmath>
#include <memory>

#include "runtime/cuda/libraries/sparse/call.h"

namespace ptx2cpu::cusparse {

// A system's elements are `stride` apart.
template <typename T>
struct Line {
  T* data;
  int64_t stride;
  T& operator[](int64_t i) const { return data[i * stride]; }
};

// Row i is lower[i] x[i - 1] + diagonal[i] x[i] + upper[i] x[i + 1]. Solves in place for `columns` right
// sides that are `ld` apart.
template <typename T>
void SolveTridiagonal(int n, Line<const T> lower, Line<const T> diagonal, Line<const T> upper, Line<T> b,
                      int columns, int64_t ld) {
  if (n == 0) return;
  // Rows of U have three diagonals after exchanges.
  const auto room = std::make_unique<T[]>(3 * static_cast<size_t>(n));
  T *const u0 = room.get(), *const u1 = u0 + n, *const u2 = u1 + n;
  T d = diagonal[0], u = n > 1 ? upper[0] : T{};
  for (int i = 0; i + 1 < n; ++i) {
    const T below = lower[i + 1], next = diagonal[i + 1], after = i + 2 < n ? upper[i + 1] : T{};
    const bool exchange = std::abs(below) > std::abs(d);
    const T factor = exchange ? d / below : below / d;
    u0[i] = exchange ? below : d, u1[i] = exchange ? next : u, u2[i] = exchange ? after : T{};
    d = exchange ? u - factor * next : next - factor * u;
    u = exchange ? -factor * after : after;
    for (int j = 0; j < columns; ++j) {
      T &first = b[i + j * ld], &second = b[i + 1 + j * ld];
      if (exchange) std::swap(first, second);
      second -= factor * first;
    }
  }
  u0[n - 1] = d, u1[n - 1] = u2[n - 1] = T{};
  for (int j = 0; j < columns; ++j) {
    for (int i = n - 1; i >= 0; --i) {
      T sum = b[i + j * ld];
      if (i + 1 < n) sum -= u1[i] * b[i + 1 + j * ld];
      if (i + 2 < n) sum -= u2[i] * b[i + 2 + j * ld];
      b[i + j * ld] = sum / u0[i];
    }
  }
}

template <typename T>
cusparseStatus_t TridiagonalBufferSize(const char*, cusparseHandle_t h, int m, int n, const T*, const T*,
                                       const T*, const T*, int ldb, size_t* size) {
  if (h == nullptr) return CUSPARSE_STATUS_NOT_INITIALIZED;
  return ReportSize(size);
}
template <typename T>
cusparseStatus_t Tridiagonal(const char* name, cusparseHandle_t h, int m, int n, const T* dl, const T* d,
                             const T* du, T* b, int ldb, void*) {
  if (const cusparseStatus_t wrong = CheckNamed(h, m >= 3, n >= 0, ldb >= std::max(1, m))) return wrong;
  return OnStream(h, name, [=] {
    libraries::ForRanges(n, std::max(1, (1 << 13) / m), [&](int64_t begin, int64_t end) {
      SolveTridiagonal<T>(m, {dl, 1}, {d, 1}, {du, 1}, {b + begin * ldb, 1}, static_cast<int>(end - begin),
                          ldb);
    });
  });
}

template <typename T>
cusparseStatus_t TridiagonalBatchBufferSize(const char*, cusparseHandle_t h, int m, const T*, const T*,
                                            const T*, const T*, int count, int stride, size_t* size) {
  if (h == nullptr) return CUSPARSE_STATUS_NOT_INITIALIZED;
  return ReportSize(size);
}
template <typename T>
cusparseStatus_t TridiagonalBatch(const char* name, cusparseHandle_t h, int m, const T* dl, const T* d,
                                  const T* du, T* x, int count, int stride, void*) {
  if (const cusparseStatus_t wrong = CheckNamed(h, m >= 3, count > 0, stride >= m)) return wrong;
  return OnStream(h, name, [=] {
    libraries::ForRanges(count, std::max(1, (1 << 13) / m), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t at = k * stride;
        SolveTridiagonal<T>(m, {dl + at, 1}, {d + at, 1}, {du + at, 1}, {x + at, 1}, 1, 0);
      }
    });
  });
}

// Element i of system k is at i * count + k.
template <typename T>
cusparseStatus_t TridiagonalInterleavedBufferSize(const char*, cusparseHandle_t h, int algorithm, int m,
                                                  const T*, const T*, const T*, const T*, int count,
                                                  size_t* size) {
  if (const cusparseStatus_t wrong = CheckNamed(h, algorithm >= 0, algorithm <= 2)) return wrong;
  return ReportSize(size);
}
template <typename T>
cusparseStatus_t TridiagonalInterleaved(const char* name, cusparseHandle_t h, int algorithm, int m, T* dl,
                                        T* d, T* du, T* x, int count, void*) {
  if (const cusparseStatus_t wrong = CheckNamed(h, algorithm >= 0, algorithm <= 2, m >= 1, count >= 0))
    return wrong;
  return OnStream(h, name, [=] {
    libraries::ForRanges(count, std::max(1, (1 << 13) / m), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k)
        SolveTridiagonal<T>(m, {dl + k, count}, {d + k, count}, {du + k, count}, {x + k, count}, 1, 0);
    });
  });
}

}  // namespace ptx2cpu::cusparse
