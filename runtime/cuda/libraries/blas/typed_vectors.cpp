// Level 1 with types as arguments. Elements of 16 bits are computed with in single precision.
#include <cstring>

#include "runtime/cuda/libraries/blas/level1.h"
#include "runtime/cuda/libraries/blas/typed.h"

namespace ptx2cpu::cublas {

namespace {

template <typename E>
struct ComputeOf {
  using Type = E;
};
template <>
struct ComputeOf<__half> {
  using Type = float;
};
template <>
struct ComputeOf<__nv_bfloat16> {
  using Type = float;
};
template <typename E>
using Compute = typename ComputeOf<E>::Type;

template <typename E>
Compute<E> Load(const E& element) {
  if constexpr (std::is_same_v<E, Compute<E>>) {
    return element;
  } else {
    return ToFloat(element);
  }
}
template <typename E>
void Store(Compute<E> value, E& element) {
  if constexpr (std::is_same_v<E, Compute<E>>) {
    element = value;
  } else {
    FromFloat(value, element);
  }
}
template <typename A>
A As(cuDoubleComplex value) {
  if constexpr (kIsComplex<A>) {
    return A(value);
  } else {
    return static_cast<A>(value.real());
  }
}

template <typename E>
struct Tag {
  using Type = E;
};
// Calls body(Tag<the type>); NOT_SUPPORTED for a type that no vector has.
template <typename Body>
cublasStatus_t WithType(cudaDataType type, const Body& body) {
  if (type == CUDA_R_16F) return body(Tag<__half>());
  if (type == CUDA_R_16BF) return body(Tag<__nv_bfloat16>());
  if (type == CUDA_R_32F) return body(Tag<float>());
  if (type == CUDA_R_64F) return body(Tag<double>());
  if (type == CUDA_C_32F) return body(Tag<cuComplex>());
  if (type == CUDA_C_64F) return body(Tag<cuDoubleComplex>());
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

bool HasVectors(cudaDataType type) {
  return WithType(type, [](auto) { return CUBLAS_STATUS_SUCCESS; }) == CUBLAS_STATUS_SUCCESS;
}
cudaDataType RealOf(cudaDataType type) {
  return type == CUDA_C_32F ? CUDA_R_32F : type == CUDA_C_64F ? CUDA_R_64F : type;
}

// The precision that a type is computed in; the argument must name it.
bool Executes(cudaDataType type, cudaDataType execution) {
  return execution == (type == CUDA_R_16F || type == CUDA_R_16BF ? CUDA_R_32F : type);
}

// Writes a result as the type that its argument names.
void StoreAs(cudaDataType type, cuDoubleComplex value, void* to) {
  WithType(type, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    Store(As<Compute<E>>(value), *static_cast<E*>(to));
    return CUBLAS_STATUS_SUCCESS;
  });
}

template <typename E, typename T>
Vector<E> TypedVector(T* x, int64_t n, int64_t inc) {
  return Vector<E>(static_cast<E*>(x), n, inc);
}

template <bool kConjugate>
cublasStatus_t DotTyped(const char* name, cublasHandle_t h, int64_t n, const void* x, cudaDataType x_type,
                        int64_t incx, const void* y, cudaDataType y_type, int64_t incy, void* result,
                        cudaDataType result_type, cudaDataType execution) {
  if (const cublasStatus_t wrong = Check(h, HasVectors(x_type) || x_type == CUDA_R_32I)) return wrong;
  if (result == nullptr) return CUBLAS_STATUS_MAPPING_ERROR;
  if (x_type != y_type || result_type != x_type || !Executes(x_type, execution))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return WithType(x_type, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    return WithResult(h, name, [=] {
      Compute<E> sum{};
      if (n > 0) {
        const auto xs = TypedVector<const E>(x, n, incx), ys = TypedVector<const E>(y, n, incy);
        sum = SumOver<Compute<E>>(n, [&](int64_t i) {
          const Compute<E> a = Load(xs[i]);
          return (kConjugate ? Conjugate(a) : a) * Load(ys[i]);
        });
      }
      Store(sum, *static_cast<E*>(result));
    });
  });
}

// Elements and parameters of 16 bits.
template <typename E>
cublasStatus_t RotmNarrow(const char* name, cublasHandle_t h, int64_t n, void* x, int64_t incx, void* y,
                          int64_t incy, const void* param) {
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  return OnStream(h, name, [=, narrow = Scalar(h, static_cast<const ModifiedRotation<E>*>(param))] {
    const ModifiedRotation<E> p = narrow();
    const ModifiedRotation<float> wide{Load(p.flag), Load(p.h11), Load(p.h21), Load(p.h12), Load(p.h22)};
    const auto turn = Effective(wide);
    if (!turn) return;
    ForElements(n, TypedVector<E>(x, n, incx), TypedVector<E>(y, n, incy), [&](E& a, E& b) {
      const float first = Load(a), second = Load(b);
      Store<E>(turn->h11 * first + turn->h12 * second, a);
      Store<E>(turn->h21 * first + turn->h22 * second, b);
    });
  });
}

}  // namespace

TypedScalar::TypedScalar(cublasHandle_t handle, const void* pointer, cudaDataType type)
    : type_(type), device_(handle->pointer_mode == CUBLAS_POINTER_MODE_HOST ? nullptr : pointer) {
  if (device_ != nullptr) return;
  if (type == CUDA_R_32I) std::memcpy(value_, pointer, sizeof(int32_t));
  WithType(type, [&](auto tag) {
    std::memcpy(value_, pointer, sizeof(typename decltype(tag)::Type));
    return CUBLAS_STATUS_SUCCESS;
  });
}

cuDoubleComplex TypedScalar::Get() const {
  const void* const from = device_ != nullptr ? device_ : value_;
  if (type_ == CUDA_R_32I) return static_cast<double>(*static_cast<const int32_t*>(from));
  cuDoubleComplex value{};
  WithType(type_, [&](auto tag) {
    value = cuDoubleComplex(Load(*static_cast<const typename decltype(tag)::Type*>(from)));
    return CUBLAS_STATUS_SUCCESS;
  });
  return value;
}

cublasStatus_t AxpyEx(const char* name, cublasHandle_t h, int64_t n, const void* alpha,
                      cudaDataType alpha_type, const void* x, cudaDataType x_type, int64_t incx, void* y,
                      cudaDataType y_type, int64_t incy, cudaDataType execution) {
  if (const cublasStatus_t wrong = Check(h, alpha != nullptr)) return wrong;
  if (x_type != y_type || !Executes(x_type, execution)) return CUBLAS_STATUS_NOT_SUPPORTED;
  return WithType(x_type, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    if (n <= 0) return CUBLAS_STATUS_SUCCESS;
    return OnStream(h, name, [=, scalar = TypedScalar(h, alpha, alpha_type)] {
      const auto a = As<Compute<E>>(scalar.Get());
      ForElements(n, TypedVector<const E>(x, n, incx), TypedVector<E>(y, n, incy),
                  [a](const E& from, E& to) { Store<E>(Load(to) + a * Load(from), to); });
    });
  });
}

cublasStatus_t DotEx(const char* name, cublasHandle_t h, int64_t n, const void* x, cudaDataType x_type,
                     int64_t incx, const void* y, cudaDataType y_type, int64_t incy, void* result,
                     cudaDataType result_type, cudaDataType execution) {
  return DotTyped<false>(name, h, n, x, x_type, incx, y, y_type, incy, result, result_type, execution);
}
cublasStatus_t DotcEx(const char* name, cublasHandle_t h, int64_t n, const void* x, cudaDataType x_type,
                      int64_t incx, const void* y, cudaDataType y_type, int64_t incy, void* result,
                      cudaDataType result_type, cudaDataType execution) {
  return DotTyped<true>(name, h, n, x, x_type, incx, y, y_type, incy, result, result_type, execution);
}

cublasStatus_t Nrm2Ex(const char* name, cublasHandle_t h, int64_t n, const void* x, cudaDataType x_type,
                      int64_t incx, void* result, cudaDataType result_type, cudaDataType execution) {
  if (const cublasStatus_t wrong = Check(h, result != nullptr)) return wrong;
  if (result_type != RealOf(x_type) || !Executes(RealOf(x_type), execution))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return WithType(x_type, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    return WithResult(h, name, [=] {
      double norm = 0;
      if (n > 0 && incx > 0) {
        const auto xs = TypedVector<const E>(x, n, incx);
        if constexpr (std::is_same_v<E, Compute<E>>) {
          norm = static_cast<double>(Norm(n, xs));
        } else {
          norm = std::sqrt(SumOver<double>(n, [&](int64_t i) { return Square(Load(xs[i])); }));
        }
      }
      StoreAs(result_type, norm, result);
    });
  });
}

cublasStatus_t AsumEx(const char* name, cublasHandle_t h, int64_t n, const void* x, cudaDataType x_type,
                      int64_t incx, void* result, cudaDataType result_type, cudaDataType execution) {
  if (const cublasStatus_t wrong = Check(h, result != nullptr)) return wrong;
  // Sums of 16-bit elements are single ones; complex elements are summed in their own type only.
  if (RealOf(x_type) != x_type && execution != x_type) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!Executes(RealOf(x_type), result_type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  return WithType(x_type, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    return WithResult(h, name, [=] {
      Real<Compute<E>> sum{};
      if (n > 0 && incx > 0) {
        const auto xs = TypedVector<const E>(x, n, incx);
        sum = SumOver<Real<Compute<E>>>(n, [&](int64_t i) { return Size(Load(xs[i])); });
      }
      StoreAs(result_type, static_cast<double>(sum), result);
    });
  });
}

cublasStatus_t ScalEx(const char* name, cublasHandle_t h, int64_t n, const void* alpha,
                      cudaDataType alpha_type, void* x, cudaDataType x_type, int64_t incx,
                      cudaDataType execution) {
  if (const cublasStatus_t wrong = Check(h, alpha != nullptr)) return wrong;
  if (!Executes(x_type, execution)) return CUBLAS_STATUS_NOT_SUPPORTED;
  return WithType(x_type, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    if (n <= 0 || incx <= 0) return CUBLAS_STATUS_SUCCESS;
    return OnStream(h, name, [=, scalar = TypedScalar(h, alpha, alpha_type)] {
      const auto a = As<Compute<E>>(scalar.Get());
      const auto xs = TypedVector<E>(x, n, incx);
      ForElements(n, xs, xs, [a](E& element, E&) { Store<E>(a * Load(element), element); });
    });
  });
}

cublasStatus_t CopyEx(const char* name, cublasHandle_t h, int64_t n, const void* x, cudaDataType x_type,
                      int64_t incx, void* y, cudaDataType y_type, int64_t incy) {
  if (const cublasStatus_t wrong = Check(h)) return wrong;
  if (x_type != y_type) return CUBLAS_STATUS_NOT_SUPPORTED;
  return WithType(x_type, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    return Copy<E>(name, h, n, static_cast<const E*>(x), incx, static_cast<E*>(y), incy);
  });
}

cublasStatus_t SwapEx(const char* name, cublasHandle_t h, int64_t n, void* x, cudaDataType x_type,
                      int64_t incx, void* y, cudaDataType y_type, int64_t incy) {
  if (const cublasStatus_t wrong = Check(h)) return wrong;
  if (x_type != y_type) return CUBLAS_STATUS_NOT_SUPPORTED;
  return WithType(x_type, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    return Swap<E>(name, h, n, static_cast<E*>(x), incx, static_cast<E*>(y), incy);
  });
}

cublasStatus_t ExtremeEx(const char* name, cublasHandle_t h, bool least, int64_t n, const void* x,
                         cudaDataType x_type, int64_t incx, void* result, size_t result_bytes) {
  if (const cublasStatus_t wrong = Check(h, result != nullptr)) return wrong;
  return WithType(x_type, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    return WithResult(h, name, [=] {
      int64_t index = 0;
      if (n > 0 && incx > 0) {
        std::vector<Compute<E>> values(n);
        for (int64_t i = 0; i < n; ++i) values[i] = Load(static_cast<const E*>(x)[i * incx]);
        index = least ? Extreme<true>(n, 1, values.data()) : Extreme<false>(n, 1, values.data());
      }
      std::memcpy(result, &index, result_bytes);  // little endian: the low bytes
    });
  });
}

cublasStatus_t RotEx(const char* name, cublasHandle_t h, int64_t n, void* x, cudaDataType x_type,
                     int64_t incx, void* y, cudaDataType y_type, int64_t incy, const void* c, const void* s,
                     cudaDataType cs_type, cudaDataType execution) {
  if (const cublasStatus_t wrong = Check(h, c != nullptr, s != nullptr)) return wrong;
  if (x_type != y_type || !Executes(x_type, execution) || (cs_type != x_type && cs_type != RealOf(x_type)))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return WithType(x_type, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    if (n <= 0) return CUBLAS_STATUS_SUCCESS;
    return OnStream(h, name, [=, cosine = TypedScalar(h, c, cs_type), sine = TypedScalar(h, s, cs_type)] {
      const auto cs = static_cast<Real<Compute<E>>>(cosine.Get().real());
      const auto sn = As<Compute<E>>(sine.Get());
      ForElements(n, TypedVector<E>(x, n, incx), TypedVector<E>(y, n, incy), [=](E& a, E& b) {
        const Compute<E> first = Load(a), second = Load(b);
        Store<E>(cs * first + sn * second, a);
        Store<E>(cs * second - Conjugate(sn) * first, b);
      });
    });
  });
}

cublasStatus_t RotmEx(const char* name, cublasHandle_t h, int64_t n, void* x, cudaDataType x_type,
                      int64_t incx, void* y, cudaDataType y_type, int64_t incy, const void* param,
                      cudaDataType param_type, cudaDataType execution) {
  if (const cublasStatus_t wrong = Check(h, param != nullptr)) return wrong;
  if (x_type != y_type || !Executes(x_type, execution)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (x_type == CUDA_R_32F && param_type == CUDA_R_32F) {
    return Rotm<float>(name, h, n, static_cast<float*>(x), incx, static_cast<float*>(y), incy,
                       static_cast<const float*>(param));
  }
  if (x_type == CUDA_R_64F && param_type == CUDA_R_64F) {
    return Rotm<double>(name, h, n, static_cast<double*>(x), incx, static_cast<double*>(y), incy,
                        static_cast<const double*>(param));
  }
  if (x_type == CUDA_R_16F && param_type == CUDA_R_16F)
    return RotmNarrow<__half>(name, h, n, x, incx, y, incy, param);
  if (x_type == CUDA_R_16BF && param_type == CUDA_R_16BF)
    return RotmNarrow<__nv_bfloat16>(name, h, n, x, incx, y, incy, param);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t RotgEx(const char* name, cublasHandle_t h, void* a, void* b, cudaDataType ab_type, void* c,
                      void* s, cudaDataType cs_type, cudaDataType execution) {
  if (const cublasStatus_t wrong = Check(h)) return wrong;
  if (!Executes(ab_type, execution)) return CUBLAS_STATUS_NOT_SUPPORTED;
  return WithType(ab_type, [&](auto tag) {
    using E = typename decltype(tag)::Type;
    if constexpr (std::is_same_v<E, Compute<E>>) {
      if (cs_type != ab_type) return CUBLAS_STATUS_NOT_SUPPORTED;
      return Rotg<E>(name, h, static_cast<E*>(a), static_cast<E*>(b), static_cast<Real<E>*>(c),
                     static_cast<E*>(s));
    } else {
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
  });
}

cublasStatus_t RotmgEx(const char* name, cublasHandle_t h, void* d1, cudaDataType d1_type, void* d2,
                       cudaDataType d2_type, void* x1, cudaDataType x1_type, const void* y1,
                       cudaDataType y1_type, void* param, cudaDataType param_type, cudaDataType execution) {
  if (const cublasStatus_t wrong = Check(h)) return wrong;
  if (d1_type != d2_type || d1_type != x1_type || d1_type != y1_type || d1_type != param_type ||
      d1_type != execution)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (d1_type == CUDA_R_32F) {
    return Rotmg<float>(name, h, static_cast<float*>(d1), static_cast<float*>(d2), static_cast<float*>(x1),
                        static_cast<const float*>(y1), static_cast<float*>(param));
  }
  if (d1_type == CUDA_R_64F) {
    return Rotmg<double>(name, h, static_cast<double*>(d1), static_cast<double*>(d2),
                         static_cast<double*>(x1), static_cast<const double*>(y1),
                         static_cast<double*>(param));
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace ptx2cpu::cublas
