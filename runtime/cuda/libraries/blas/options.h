// cuBLAS's enumerations as BLAS's characters.
#pragma once

#include "runtime/cuda/libraries/blas/call.h"
#include "runtime/cuda/libraries/core/openblas.h"

namespace ptx2cpu::cublas {

// OpenBLAS has R, conjugated and not transposed, for gemm and gemv. Conjugation changes no real matrix.
template <typename T>
char Letter(cublasOperation_t op) {
  constexpr char kLetters[] = {'N', 'T', 'C', 'R'};
  const char letter = kLetters[op];
  return kIsComplex<T> ? letter : letter == 'C' ? 'T' : letter == 'R' ? 'N' : letter;
}
inline char Letter(cublasFillMode_t uplo) { return uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U'; }
inline char Letter(cublasSideMode_t side) { return side == CUBLAS_SIDE_LEFT ? 'L' : 'R'; }
inline char Letter(cublasDiagType_t diag) { return diag == CUBLAS_DIAG_NON_UNIT ? 'N' : 'U'; }
inline bool Transposes(cublasOperation_t op) { return op == CUBLAS_OP_T || op == CUBLAS_OP_C; }

// What every function that needs BLAS checks at last: the engine, and sizes that it can take.
template <typename... Sizes>
cublasStatus_t Ready(const char* name, Sizes... sizes) {
  return libraries::LoadBlas(name) && libraries::FitBlas(sizes...) ? CUBLAS_STATUS_SUCCESS
                                                                   : CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace ptx2cpu::cublas
