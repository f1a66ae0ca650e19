// Sparse vectors beside dense ones.
#include "runtime/cuda/libraries/sparse/values.h"

namespace ptx2cpu::cusparse {

namespace {

Indices IndicesOf(const cusparseSpVecDescr& x) {
  return cusparse::IndicesOf(x.indices, x.index_type, x.base);
}

// The type that functions without a type of computation compute with.
cudaDataType ComputeTypeOf(cudaDataType stored) {
  if (stored == CUDA_R_16F || stored == CUDA_R_16BF) return CUDA_R_32F;
  return stored == CUDA_C_16F || stored == CUDA_C_16BF ? CUDA_C_32F : stored;
}

cusparseStatus_t CheckPair(cusparseHandle_t h, cusparseConstSpVecDescr_t x, cusparseConstDnVecDescr_t y) {
  if (const cusparseStatus_t wrong = Check(h, x != nullptr, y != nullptr)) return wrong;
  return x->size == y->size ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}

// visit(pointer to the values of x, pointer to those of y): both of the same type.
template <typename Visit>
void WithValues(const cusparseSpVecDescr& x, const cusparseDnVecDescr& y, const Visit& visit) {
  WithStored(x.type, x.values, [&]<typename S>(S* values) { visit(values, static_cast<S*>(y.values)); });
}

}  // namespace

cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void* alpha, cusparseConstSpVecDescr_t x,
                               const void* beta, cusparseDnVecDescr_t y) {
  if (const cusparseStatus_t wrong = CheckPair(handle, x, y)) return wrong;
  if (alpha == nullptr || beta == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  if (x->type != y->type) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return WithCompute(ComputeTypeOf(x->type), [&]<typename C>(Type<C>) {
    return OnStream(handle, "cusparseAxpby",
                    [x = *x, y = *y, al = Scalar<C>(handle, alpha), be = Scalar<C>(handle, beta)] {
                      WithValues(x, y, [&](const auto* from, auto* to) {
                        const C a = al(), b = be();
                        for (int64_t i = 0; i < y.size && b != C(1); ++i)
                          ConvertTo(b == C{} ? C{} : b * ConvertFrom<C>(to[i]), to[i]);
                        const Indices index = IndicesOf(x);
                        for (int64_t p = 0; p < x.nnz; ++p)
                          ConvertTo(a * ConvertFrom<C>(from[p]) + ConvertFrom<C>(to[index[p]]), to[index[p]]);
                      });
                    });
  });
}
cusparseStatus_t cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t y,
                                cusparseSpVecDescr_t x) {
  if (const cusparseStatus_t wrong = CheckPair(handle, x, y)) return wrong;
  if (x->type != y->type) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return OnStream(handle, "cusparseGather", [x = *x, y = *y] {
    WithValues(x, y, [&](auto* to, const auto* from) {
      const Indices index = IndicesOf(x);
      for (int64_t p = 0; p < x.nnz; ++p) to[p] = from[index[p]];
    });
  });
}
cusparseStatus_t cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t x,
                                 cusparseDnVecDescr_t y) {
  if (const cusparseStatus_t wrong = CheckPair(handle, x, y)) return wrong;
  if (x->type != y->type) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return OnStream(handle, "cusparseScatter", [x = *x, y = *y] {
    WithValues(x, y, [&](const auto* from, auto* to) {
      const Indices index = IndicesOf(x);
      for (int64_t p = 0; p < x.nnz; ++p) to[index[p]] = from[p];
    });
  });
}
cusparseStatus_t cusparseRot(cusparseHandle_t handle, const void* c, const void* s, cusparseSpVecDescr_t x,
                             cusparseDnVecDescr_t y) {
  if (const cusparseStatus_t wrong = CheckPair(handle, x, y)) return wrong;
  if (c == nullptr || s == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  if (x->type != y->type) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return WithCompute(ComputeTypeOf(x->type), [&]<typename C>(Type<C>) {
    return OnStream(handle, "cusparseRot",
                    [x = *x, y = *y, cosine = Scalar<C>(handle, c), sine = Scalar<C>(handle, s)] {
                      WithValues(x, y, [&](auto* sparse, auto* dense) {
                        const Indices index = IndicesOf(x);
                        for (int64_t p = 0; p < x.nnz; ++p) {
                          const C a = ConvertFrom<C>(sparse[p]), b = ConvertFrom<C>(dense[index[p]]);
                          ConvertTo(cosine() * a + sine() * b, sparse[p]);
                          ConvertTo(cosine() * b - sine() * a, dense[index[p]]);
                        }
                      });
                    });
  });
}

cusparseStatus_t cusparseSpVV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op,
                                         cusparseConstSpVecDescr_t x, cusparseConstDnVecDescr_t y,
                                         const void* result, cudaDataType compute, size_t* size) {
  if (const cusparseStatus_t wrong = CheckPair(handle, x, y)) return wrong;
  if (!IsRight(op, x->type) || result == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  if (const cusparseStatus_t wrong = CheckTypes({x->type, y->type, compute, compute})) return wrong;
  return ReportSize(size);
}
cusparseStatus_t cusparseSpVV(cusparseHandle_t handle, cusparseOperation_t op, cusparseConstSpVecDescr_t x,
                              cusparseConstDnVecDescr_t y, void* result, cudaDataType compute, void*) {
  size_t size;
  if (const cusparseStatus_t wrong = cusparseSpVV_bufferSize(handle, op, x, y, result, compute, &size))
    return wrong;
  return WithCompute(compute, [&]<typename C>(Type<C>) {
    return WithCapturedResult(handle, "cusparseSpVV", [=, x = *x, y = *y] {
      C sum{};
      const Indices index = IndicesOf(x);
      WithValues(x, y, [&](const auto* sparse, const auto* dense) {
        for (int64_t p = 0; p < x.nnz; ++p) {
          const C value = ConvertFrom<C>(sparse[p]);
          sum += (op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? Conjugate(value) : value) *
                 ConvertFrom<C>(dense[index[p]]);
        }
      });
      *static_cast<C*>(result) = sum;
    });
  });
}

}  // namespace ptx2cpu::cusparse
