// LU factors without exchanges of rows, which LAPACK lacks; column-major.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/cuda/libraries/core/openblas.h"

namespace ptx2cpu::libraries {

// The number of the first zero on the diagonal of U, or 0.
template <typename T>
int FactorWithoutPivots(int m, int n, T* a, int lda) {
  int first = 0;
  for (int k = 0; k < std::min(m, n); ++k) {
    const T pivot = a[k + int64_t{k} * lda];
    if (pivot == T{}) {
      if (first == 0) first = k + 1;
      continue;
    }
    for (int i = k + 1; i < m; ++i) a[i + int64_t{k} * lda] /= pivot;
    for (int j = k + 1; j < n; ++j) {
      const T factor = a[k + int64_t{j} * lda];
      for (int i = k + 1; i < m; ++i) a[i + int64_t{j} * lda] -= a[i + int64_t{k} * lda] * factor;
    }
  }
  return first;
}

// B = op(A)^-1 B from such factors; `op` is BLAS's letter.
template <typename T>
void SolveWithoutPivots(char op, int n, int columns, const T* a, int lda, T* b, int ldb) {
  const bool plain = op == 'N';
  Blas<"trsm", T>('L', plain ? 'L' : 'U', op, plain ? 'U' : 'N', n, columns, T(1), a, lda, b, ldb);
  Blas<"trsm", T>('L', plain ? 'U' : 'L', op, plain ? 'N' : 'U', n, columns, T(1), a, lda, b, ldb);
}

}  // namespace ptx2cpu::libraries
