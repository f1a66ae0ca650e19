// Products and transformations.
#include <cstring>

#include "runtime/cuda/libraries/blas/call.h"
#include "runtime/cuda/libraries/core/openblas.h"
#include "runtime/cuda/libraries/lt/matmul.h"
#include "runtime/cuda/libraries/lt/matrix.h"

namespace ptx2cpu::cublaslt {

namespace {

// C = alpha op(A) + beta op(B), converted between types and orders.
struct Transformation {
  cublasLtMatrixTransformDescOpaque_t descr;
  cublasLtMatrixLayoutOpaque_t a, b, c;
  bool has_b;
};
template <typename C>
void Transform(const Transformation& call, C alpha, const void* a, C beta, const void* b, void* c) {
  const auto element = [](const Stored& m, cublasOperation_t op, int64_t i, int64_t j) {
    C value{};
    const int64_t at = op == CUBLAS_OP_N ? m.At(i, j) : m.At(j, i);
    WithStored(m.layout.type, m.data, [&](const auto* from) { value = ConvertFrom<C>(from[at]); });
    if constexpr (kIsComplex<C>) {
      if (op == CUBLAS_OP_C) value = std::conj(value);
    }
    return value;
  };
  for (int batch = 0; batch < call.c.batch_count; ++batch) {
    const Stored first(call.a, a, batch), to(call.c, c, batch);
    const Stored second(call.has_b ? call.b : call.a, call.has_b ? b : a, batch);
    libraries::ForRanges(
        to.columns(), std::max<int64_t>(1, (1 << 13) / std::max<int64_t>(1, to.rows())),
        [&](int64_t begin, int64_t end) {
          for (int64_t j = begin; j < end; ++j) {
            for (int64_t i = 0; i < to.rows(); ++i) {
              C value = alpha == C{} ? C{} : alpha * element(first, call.descr.trans_a, i, j);
              if (call.has_b && beta != C{}) value += beta * element(second, call.descr.trans_b, i, j);
              WithStored(to.layout.type, to.data, [&](auto* at) { ConvertTo(value, at[to.At(i, j)]); });
            }
          }
        });
  }
}

bool Fits(const cublasLtMatrixLayoutOpaque_t& from, cublasOperation_t op,
          const cublasLtMatrixLayoutOpaque_t& to) {
  const bool plain = op == CUBLAS_OP_N;
  return IsStorable(from) && (plain ? from.rows : from.cols) == to.rows &&
         (plain ? from.cols : from.rows) == to.cols && from.batch_count == to.batch_count;
}

template <typename C>
cublasStatus_t QueueTransform(const Transformation& call, const void* alpha, const void* a, const void* beta,
                              const void* b, void* c, cudaStream_t stream) {
  const bool host = call.descr.pointer_mode == CUBLASLT_POINTER_MODE_HOST;
  const C now_alpha = host ? *static_cast<const C*>(alpha) : C{};
  const C now_beta = host && beta != nullptr ? *static_cast<const C*>(beta) : C{};
  return cublas::FromDriver(libraries::Submit(stream, "cublasLtMatrixTransform", [=] {
    const C al = host ? now_alpha : *static_cast<const C*>(alpha);
    const C be = host || beta == nullptr ? now_beta : *static_cast<const C*>(beta);
    Transform<C>(call, al, a, be, b, c);
  }));
}

}  // namespace

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t descr, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t layoutA, const void* b,
                              cublasLtMatrixLayout_t layoutB, const void* beta, const void* c,
                              cublasLtMatrixLayout_t layoutC, void* d, cublasLtMatrixLayout_t layoutD,
                              const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t stream) {
  if (const cublasStatus_t wrong = CheckMatmulCall(handle, descr, layoutA, layoutB, layoutC, layoutD))
    return wrong;
  if (alpha == nullptr || a == nullptr || b == nullptr || d == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const bool beta_wanted = descr->pointer_mode != CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO;
  if (beta_wanted && beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (layoutD->rows == 0 || layoutD->cols == 0) return CUBLAS_STATUS_SUCCESS;
  if (!libraries::LoadBlas("cublasLtMatmul")) return CUBLAS_STATUS_NOT_SUPPORTED;
  const Matmul call{*descr, *layoutA, *layoutB, *layoutC, *layoutD};
  return cublas::FromDriver(libraries::Submit(
      stream, "cublasLtMatmul",
      [=, scalars = ReadScalars(*descr, alpha, beta)] { RunMatmul(call, scalars, a, b, c, d); }));
}

cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t descr,
                                       const void* alpha, const void* a, cublasLtMatrixLayout_t layoutA,
                                       const void* beta, const void* b, cublasLtMatrixLayout_t layoutB,
                                       void* c, cublasLtMatrixLayout_t layoutC, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (descr == nullptr || alpha == nullptr || a == nullptr || layoutA == nullptr || c == nullptr ||
      layoutC == nullptr || !IsStorable(*layoutC) || !Fits(*layoutA, descr->trans_a, *layoutC))
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool has_b = b != nullptr && layoutB != nullptr;
  if (has_b && (beta == nullptr || !Fits(*layoutB, descr->trans_b, *layoutC)))
    return CUBLAS_STATUS_INVALID_VALUE;
  for (const cublasLtMatrixLayout_t layout : {layoutA, has_b ? layoutB : layoutA, layoutC}) {
    if (layout->order > CUBLASLT_ORDER_COL32 || BytesOf(layout->type) == 0)
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const Transformation call{*descr, *layoutA, has_b ? *layoutB : *layoutA, *layoutC, has_b};
  const auto queue = [&]<typename C>(C) { return QueueTransform<C>(call, alpha, a, beta, b, c, stream); };
  if (descr->scale_type == CUDA_R_32F) return queue(float{});
  if (descr->scale_type == CUDA_R_64F) return queue(double{});
  if (descr->scale_type == CUDA_R_32I) return queue(int32_t{});
  if (descr->scale_type == CUDA_C_32F) return queue(cuComplex{});
  if (descr->scale_type == CUDA_C_64F) return queue(cuDoubleComplex{});
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace ptx2cpu::cublaslt
