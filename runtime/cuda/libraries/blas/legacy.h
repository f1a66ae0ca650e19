// The functions without a handle, as cublas.h declares them: each calls the one with a handle, that of the
// process, which cublasInit makes. Scalars are values, results are returned, letters name the options of
// BLAS.
#pragma once

#include <type_traits>

#include "runtime/cuda/libraries/blas/level1.h"
#include "runtime/cuda/libraries/blas/level3.h"
#include "runtime/cuda/libraries/blas/rank_update.h"
#include "runtime/cuda/libraries/blas/triangle_update.h"
#include "runtime/cuda/libraries/blas/triangular.h"

namespace ptx2cpu::cublas {

// Null before cublasInit and after cublasShutdown.
cublasHandle_t LegacyHandle();
void MakeLegacyHandle();
void DropLegacyHandle();
// What cublasGetError reports: the last status other than success.
void NoteLegacyStatus(cublasStatus_t status);
cublasStatus_t TakeLegacyStatus();

// As BLAS reads letters: either case. Another letter is a value that no function with a handle takes.
cublasOperation_t Modern(cublasLegacyOperation letter);
cublasFillMode_t Modern(cublasLegacyFill letter);
cublasSideMode_t Modern(cublasLegacySide letter);
cublasDiagType_t Modern(cublasLegacyDiagonal letter);
// Scalars are read from host memory, all else is passed on.
template <typename Value>
auto Modern(const Value& value) {
  if constexpr (std::is_floating_point_v<Value> || kIsComplex<Value>) {
    return &value;
  } else {
    return value;
  }
}

// The arguments live until `call` returns: functions with a handle read scalars on the host when they are
// called.
template <typename Call, typename... Args>
void CallLegacy(const Call& call, const Args&... args) {
  const cublasHandle_t handle = LegacyHandle();
  NoteLegacyStatus(handle == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : call(handle, Modern(args)...));
}

#define LEGACY(Template)                                                                  \
  template <typename T, typename... Args>                                                 \
  void Legacy##Template(const char* name, Args... args) {                                 \
    CallLegacy([name](auto... modern) { return Template<T>(name, modern...); }, args...); \
  }
#define LEGACY_RESULT(Template, Type)                                                                 \
  template <typename T, typename... Args>                                                             \
  Type Legacy##Template(const char* name, Args... args) {                                             \
    Type result{};                                                                                    \
    CallLegacy([&, name](auto... modern) { return Template<T>(name, modern..., &result); }, args...); \
    return result;                                                                                    \
  }
#include "runtime/cuda/libraries/blas/legacy.def"
#undef LEGACY
#undef LEGACY_RESULT

template <typename T>
void LegacyRotg(const char* name, T* a, T* b, T* c, T* s) {
  CallLegacy([name](auto... modern) { return Rotg<T>(name, modern...); }, a, b, c, s);
}
// cublas.h has the second number by value where numbers are complex.
template <typename T>
void LegacyRotg(const char* name, T* a, T b, Real<T>* c, T* s) {
  CallLegacy([&, name](auto... modern) { return Rotg<T>(name, modern...); }, a, &b, c, s);
}

// In place, as in BLAS.
template <typename T>
void LegacyTrmm(const char* name, cublasLegacySide side, cublasLegacyFill uplo, cublasLegacyOperation op,
                cublasLegacyDiagonal diag, int m, int n, T alpha, const T* a, int lda, T* b, int ldb) {
  CallLegacy([name](auto... modern) { return Trmm<T>(name, modern...); }, side, uplo, op, diag, m, n, alpha,
             a, lda, b, ldb, b, ldb);
}

}  // namespace ptx2cpu::cublas
