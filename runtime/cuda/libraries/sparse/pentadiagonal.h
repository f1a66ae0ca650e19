// Systems with five diagonals, by elimination with partial pivoting; element i of system k is at i * count +
// k.
#pragma once

#include "runtime/cuda/libraries/sparse/tridiagonal.h"

namespace ptx2cpu::cusparse {

// Rows of a band: two diagonals below the main one, and four above it, as many as exchanges fill.
template <typename T>
struct Band {
  static constexpr int kBelow = 2, kAbove = 4, kWidth = kBelow + 1 + kAbove;
  explicit Band(int rows) : size(rows), element(static_cast<size_t>(rows) * kWidth) {}
  T& operator()(int64_t i, int64_t j) { return element[static_cast<size_t>(i * kWidth + j - i + kBelow)]; }
  int size;
  std::vector<T> element;
};

// b = A^-1 b.
template <typename T>
void SolveBand(Band<T>& a, const Line<T>& b) {
  for (int k = 0; k < a.size; ++k) {
    const int last_row = std::min(k + Band<T>::kBelow, a.size - 1);
    const int last_column = std::min(k + Band<T>::kAbove, a.size - 1);
    int pivot = k;
    for (int i = k + 1; i <= last_row; ++i) {
      if (std::abs(a(i, k)) > std::abs(a(pivot, k))) pivot = i;
    }
    if (pivot != k) {
      for (int j = k; j <= last_column; ++j) std::swap(a(k, j), a(pivot, j));
      std::swap(b[k], b[pivot]);
    }
    for (int i = k + 1; i <= last_row; ++i) {
      const T factor = a(i, k) / a(k, k);
      for (int j = k + 1; j <= last_column; ++j) a(i, j) -= factor * a(k, j);
      b[i] -= factor * b[k];
    }
  }
  for (int i = a.size - 1; i >= 0; --i) {
    T sum = b[i];
    for (int j = i + 1; j <= std::min(i + Band<T>::kAbove, a.size - 1); ++j) sum -= a(i, j) * b[j];
    b[i] = sum / a(i, i);
  }
}

template <typename T>
cusparseStatus_t PentadiagonalBufferSize(const char*, cusparseHandle_t h, int, int m, const T*, const T*,
                                         const T*, const T*, const T*, const T*, int count, size_t* size) {
  if (const cusparseStatus_t wrong = CheckNamed(h, m >= 1, count > 0)) return wrong;
  return ReportSize(size);
}
// Row i is ds[i] x[i - 2] + dl[i] x[i - 1] + d[i] x[i] + du[i] x[i + 1] + dw[i] x[i + 2].
template <typename T>
cusparseStatus_t Pentadiagonal(const char* name, cusparseHandle_t h, int, int m, T* ds, T* dl, T* d, T* du,
                               T* dw, T* x, int count, void*) {
  if (const cusparseStatus_t wrong = CheckNamed(h, m >= 1, count > 0)) return wrong;
  return OnStream(h, name, [=] {
    libraries::ForRanges(count, std::max(1, (1 << 13) / m), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        Band<T> band(m);
        const T* const diagonals[] = {ds, dl, d, du, dw};
        for (int i = 0; i < m; ++i) {
          for (int j = std::max(0, i - 2); j <= std::min(m - 1, i + 2); ++j)
            band(i, j) = diagonals[j - i + 2][int64_t{i} * count + k];
        }
        SolveBand(band, Line<T>{x + k, count});
      }
    });
  });
}

}  // namespace ptx2cpu::cusparse
