// The functions of level 1: vectors. Types and sizes come from the table (cublas.api).
#pragma once

#include <optional>

#include "runtime/cuda/libraries/blas/vectors.h"
#include "runtime/cuda/libraries/core/openblas.h"

namespace ptx2cpu::cublas {

template <bool kLeast, typename T, typename Int>
cublasStatus_t ExtremeCall(const char* name, cublasHandle_t h, int64_t n, const T* x, int64_t incx,
                           Int* result) {
  if (const cublasStatus_t wrong = Check(h, result != nullptr)) return wrong;
  return WithResult(h, name, [=] { *result = static_cast<Int>(Extreme<kLeast>(n, incx, x)); });
}
template <typename T, typename Int>
cublasStatus_t Amax(const char* name, cublasHandle_t h, int64_t n, const T* x, int64_t incx, Int* result) {
  return ExtremeCall<false>(name, h, n, x, incx, result);
}
template <typename T, typename Int>
cublasStatus_t Amin(const char* name, cublasHandle_t h, int64_t n, const T* x, int64_t incx, Int* result) {
  return ExtremeCall<true>(name, h, n, x, incx, result);
}

template <typename T>
cublasStatus_t Asum(const char* name, cublasHandle_t h, int64_t n, const T* x, int64_t incx,
                    Real<T>* result) {
  if (const cublasStatus_t wrong = Check(h, result != nullptr)) return wrong;
  return WithResult(h, name, [=] {
    *result =
        n <= 0 || incx <= 0 ? Real<T>{} : SumOver<Real<T>>(n, [=](int64_t i) { return Size(x[i * incx]); });
  });
}

template <typename T>
cublasStatus_t Nrm2(const char* name, cublasHandle_t h, int64_t n, const T* x, int64_t incx,
                    Real<T>* result) {
  if (const cublasStatus_t wrong = Check(h, result != nullptr)) return wrong;
  return WithResult(
      h, name, [=] { *result = n <= 0 || incx <= 0 ? Real<T>{} : Norm(n, Vector<const T>(x, n, incx)); });
}

template <typename T>
cublasStatus_t Axpy(const char* name, cublasHandle_t h, int64_t n, const T* alpha, const T* x, int64_t incx,
                    T* y, int64_t incy) {
  if (const cublasStatus_t wrong = Check(h, n <= 0 || alpha != nullptr)) return wrong;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  return OnStream(h, name, [=, scalar = Scalar(h, alpha)] {
    const T a = scalar();
    if (a == T{}) return;
    ForElements(n, Vector(x, n, incx), Vector(y, n, incy), [a](const T& from, T& to) { to += a * from; });
  });
}

template <typename T>
cublasStatus_t Copy(const char* name, cublasHandle_t h, int64_t n, const T* x, int64_t incx, T* y,
                    int64_t incy) {
  if (const cublasStatus_t wrong = Check(h)) return wrong;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  return OnStream(h, name, [=] {
    ForElements(n, Vector(x, n, incx), Vector(y, n, incy), [](const T& from, T& to) { to = from; });
  });
}

template <typename T>
cublasStatus_t Swap(const char* name, cublasHandle_t h, int64_t n, T* x, int64_t incx, T* y, int64_t incy) {
  if (const cublasStatus_t wrong = Check(h)) return wrong;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  return OnStream(h, name, [=] {
    ForElements(n, Vector(x, n, incx), Vector(y, n, incy), [](T& a, T& b) { std::swap(a, b); });
  });
}

template <bool kConjugate, typename T>
cublasStatus_t DotCall(const char* name, cublasHandle_t h, int64_t n, const T* x, int64_t incx, const T* y,
                       int64_t incy, T* result) {
  if (const cublasStatus_t wrong = Check(h)) return wrong;
  if (result == nullptr) return CUBLAS_STATUS_MAPPING_ERROR;
  return WithResult(h, name, [=] {
    *result = n <= 0 ? T{} : Dot<kConjugate, T>(n, Vector(x, n, incx), Vector(y, n, incy));
  });
}
template <typename T>
cublasStatus_t Dotu(const char* name, cublasHandle_t h, int64_t n, const T* x, int64_t incx, const T* y,
                    int64_t incy, T* result) {
  return DotCall<false>(name, h, n, x, incx, y, incy, result);
}
template <typename T>
cublasStatus_t Dotc(const char* name, cublasHandle_t h, int64_t n, const T* x, int64_t incx, const T* y,
                    int64_t incy, T* result) {
  return DotCall<true>(name, h, n, x, incx, y, incy, result);
}

// S is T or its real type.
template <typename T, typename S>
cublasStatus_t Scal(const char* name, cublasHandle_t h, int64_t n, const S* alpha, T* x, int64_t incx) {
  if (const cublasStatus_t wrong = Check(h, alpha != nullptr)) return wrong;
  if (n <= 0 || incx <= 0) return CUBLAS_STATUS_SUCCESS;
  return OnStream(h, name, [=, scalar = Scalar(h, alpha)] {
    const S a = scalar();
    libraries::ForRanges(n, kVectorGrain, [=](int64_t begin, int64_t end) {
      if (incx == 1) {
        for (int64_t i = begin; i < end; ++i) x[i] *= a;
      } else {
        for (int64_t i = begin; i < end; ++i) x[i * incx] *= a;
      }
    });
  });
}

// c is real; s is T or real: x' = c x + s y, y' = c y - conj(s) x.
template <typename T, typename C, typename S>
cublasStatus_t Rot(const char* name, cublasHandle_t h, int64_t n, T* x, int64_t incx, T* y, int64_t incy,
                   const C* c, const S* s) {
  if (const cublasStatus_t wrong = Check(h, c != nullptr && s != nullptr)) return wrong;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  return OnStream(h, name, [=, cosine = Scalar(h, c), sine = Scalar(h, s)] {
    const C cs = cosine();
    const S sn = sine();
    ForElements(n, Vector(x, n, incx), Vector(y, n, incy), [=](T& a, T& b) {
      const T before = a;
      a = cs * before + sn * b;
      b = cs * b - Conjugate(sn) * before;
    });
  });
}

template <typename T>
cublasStatus_t Rotg(const char* name, cublasHandle_t h, T* a, T* b, Real<T>* c, T* s) {
  if (const cublasStatus_t wrong = Check(h, a != nullptr, b != nullptr, c != nullptr, s != nullptr))
    return wrong;
  if (!libraries::LoadBlas(name)) return CUBLAS_STATUS_NOT_SUPPORTED;
  return WithResult(h, name, [=] { libraries::Blas<"rotg", T>(a, b, c, s); });
}

template <typename T>
cublasStatus_t Rotmg(const char* name, cublasHandle_t h, T* d1, T* d2, T* x1, const T* y1, T* param) {
  if (const cublasStatus_t wrong = Check(h, d1 && d2 && x1 && y1 && param)) return wrong;
  if (!libraries::LoadBlas(name)) return CUBLAS_STATUS_NOT_SUPPORTED;
  return WithResult(h, name, [=] { libraries::Blas<"rotmg", T>(d1, d2, x1, y1, param); });
}

// param: a flag, then h11, h21, h12, h22; the flag decides which of these are 1, -1 or 0 instead (BLAS).
template <typename T>
struct ModifiedRotation {
  T flag, h11, h21, h12, h22;
};
// The matrix that the flag leaves; none: no rotation.
template <typename T>
std::optional<ModifiedRotation<T>> Effective(ModifiedRotation<T> p) {
  if (p.flag == T(-2)) return std::nullopt;
  if (p.flag == T(0)) p.h11 = p.h22 = T(1);
  if (p.flag == T(1)) p.h12 = T(1), p.h21 = T(-1);
  return p;
}
template <typename T>
void ApplyModified(const ModifiedRotation<T>& param, int64_t n, Vector<T> x, Vector<T> y) {
  const auto rotation = Effective(param);
  if (!rotation) return;
  ForElements(n, x, y, [p = *rotation](T& a, T& b) {
    const T before = a;
    a = p.h11 * before + p.h12 * b;
    b = p.h21 * before + p.h22 * b;
  });
}
template <typename T>
cublasStatus_t Rotm(const char* name, cublasHandle_t h, int64_t n, T* x, int64_t incx, T* y, int64_t incy,
                    const T* param) {
  if (const cublasStatus_t wrong = Check(h, param != nullptr)) return wrong;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  return OnStream(h, name, [=, p = Scalar(h, reinterpret_cast<const ModifiedRotation<T>*>(param))] {
    ApplyModified(p(), n, Vector(x, n, incx), Vector(y, n, incy));
  });
}

}  // namespace ptx2cpu::cublas
