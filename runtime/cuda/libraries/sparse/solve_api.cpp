// Triangular systems with one and with several right sides.
#include "runtime/cuda/libraries/sparse/dense.h"
#include "runtime/cuda/libraries/sparse/triangle.h"

struct ptx2cpu::cuda::cusparseSpSVDescr {
  std::shared_ptr<ptx2cpu::cusparse::TriangleState> state = nullptr;
};
struct ptx2cpu::cuda::cusparseSpSMDescr {
  std::shared_ptr<ptx2cpu::cusparse::TriangleState> state = nullptr;
};

namespace ptx2cpu::cusparse {

namespace {

cusparseStatus_t CheckMatrix(const cusparseSpMatDescr& a, cudaDataType x, cudaDataType y,
                             cudaDataType compute) {
  const bool format = a.format == CUSPARSE_FORMAT_CSR || a.format == CUSPARSE_FORMAT_CSC ||
                      a.format == CUSPARSE_FORMAT_COO || a.format == CUSPARSE_FORMAT_SLICED_ELLPACK;
  const bool types =
      a.type == compute && x == compute && y == compute &&
      (compute == CUDA_R_32F || compute == CUDA_R_64F || compute == CUDA_C_32F || compute == CUDA_C_64F);
  return format && types ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_NOT_SUPPORTED;
}

cusparseStatus_t CheckVectors(cusparseHandle_t h, cusparseOperation_t op, const void* alpha,
                              cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                              cusparseConstDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t alg,
                              cusparseSpSVDescr_t descr, bool only_size = false) {
  if (const cusparseStatus_t wrong = Check(h, IsRight(op), alpha != nullptr, a != nullptr, x != nullptr,
                                           y != nullptr, alg == CUSPARSE_SPSV_ALG_DEFAULT, descr != nullptr))
    return wrong;
  if (!IsRight(op, a->type) || a->rows != a->columns) return CUSPARSE_STATUS_INVALID_VALUE;
  if (only_size) return CUSPARSE_STATUS_SUCCESS;
  if (x->size != a->rows || y->size != a->rows) return CUSPARSE_STATUS_INVALID_VALUE;
  return CheckMatrix(*a, x->type, y->type, compute);
}

cusparseStatus_t CheckMatrices(cusparseHandle_t h, cusparseOperation_t op_a, cusparseOperation_t op_b,
                               const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                               cusparseConstDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t alg,
                               cusparseSpSMDescr_t descr, bool only_size = false) {
  if (const cusparseStatus_t wrong =
          Check(h, IsRight(op_a), IsRight(op_b), alpha != nullptr, a != nullptr, b != nullptr, c != nullptr,
                alg == CUSPARSE_SPSM_ALG_DEFAULT, descr != nullptr))
    return wrong;
  if (!IsRight(op_a, a->type) || a->rows != a->columns) return CUSPARSE_STATUS_INVALID_VALUE;
  if (only_size) return CUSPARSE_STATUS_SUCCESS;
  const Shape right = ShapeOf(*b, op_b);
  if (right.rows != a->rows || c->rows != a->rows || c->columns != right.columns)
    return CUSPARSE_STATUS_INVALID_VALUE;
  return CheckMatrix(*a, b->type, c->type, compute);
}

template <typename Descr>
cusparseStatus_t QueueAnalysis(const char* name, cusparseHandle_t handle, Descr descr,
                               const cusparseSpMatDescr& a, cusparseOperation_t op, cudaDataType compute) {
  descr->state = std::make_shared<TriangleState>(TriangleState{a, op, compute, {}});
  return WithCompute(compute, [&]<typename C>(Type<C>) {
    return OnStream(handle, name, [state = descr->state] { AnalyseState<C>(*state); });
  });
}
template <typename Descr>
cusparseStatus_t QueueUpdate(const char* name, cusparseHandle_t handle, Descr descr, void* values,
                             bool only_diagonal) {
  if (const cusparseStatus_t wrong = Check(handle, descr != nullptr, values != nullptr)) return wrong;
  if (descr->state == nullptr) return CUSPARSE_STATUS_SUCCESS;  // the analysis will read them
  return WithCompute(descr->state->compute, [&]<typename C>(Type<C>) {
    return OnStream(handle, name,
                    [=, state = descr->state] { UpdateState<C>(*state, values, only_diagonal); });
  });
}

// C = alpha op(A)^-1 B, one column after the other.
template <typename C>
void SolveColumns(const Triangle<C>& t, C alpha, const DenseOperand<C>& b, const DenseResult<C>& c,
                  int64_t columns) {
  const int64_t n = t.strict.rows;
  libraries::ForEach(columns, [&](int64_t j) {
    std::vector<C> x(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) x[i] = alpha * b(i, j);
    Solve(t, x.data(), columns == 1);
    for (int64_t i = 0; i < n; ++i) c.Add(i, j, x[i], C{});
  });
}

template <typename C>
void SolveState(const TriangleState& state, C alpha, const cusparseDnMatDescr& b, cusparseOperation_t op_b,
                const cusparseDnMatDescr& c) {
  SolveColumns(std::get<Triangle<C>>(state.triangle), alpha, DenseOperand<C>(b, op_b, 0),
               DenseResult<C>(c, 0), c.columns);
}

cusparseDnMatDescr AsMatrix(const cusparseDnVecDescr& v) {
  return {v.size, 1, v.size, v.values, v.type, CUSPARSE_ORDER_COL};
}

}  // namespace

cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t* descr) { return Create(descr); }
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t descr) { return DestroyDescr(descr); }
cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                         cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t alg,
                                         cusparseSpSVDescr_t descr, size_t* size) {
  if (const cusparseStatus_t wrong = CheckVectors(handle, op, alpha, a, x, y, compute, alg, descr, true))
    return wrong;
  return ReportSize(size);
}
cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                       cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                       cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t alg,
                                       cusparseSpSVDescr_t descr, void*) {
  if (const cusparseStatus_t wrong = CheckVectors(handle, op, alpha, a, x, y, compute, alg, descr))
    return wrong;
  return QueueAnalysis("cusparseSpSV_analysis", handle, descr, *a, op, compute);
}
cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                    cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t alg,
                                    cusparseSpSVDescr_t descr) {
  if (const cusparseStatus_t wrong = CheckVectors(handle, op, alpha, a, x, y, compute, alg, descr))
    return wrong;
  if (descr->state == nullptr) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (descr->state->compute != compute) return CUSPARSE_STATUS_INVALID_VALUE;
  return WithCompute(compute, [&]<typename C>(Type<C>) {
    return OnStream(handle, "cusparseSpSV_solve",
                    [state = descr->state, x = *x, y = *y, al = Scalar<C>(handle, alpha)] {
                      SolveState<C>(*state, al(), AsMatrix(x), CUSPARSE_OPERATION_NON_TRANSPOSE, AsMatrix(y));
                    });
  });
}
cusparseStatus_t cusparseSpSV_updateMatrix(cusparseHandle_t handle, cusparseSpSVDescr_t descr, void* values,
                                           cusparseSpSVUpdate_t part) {
  if (part != CUSPARSE_SPSV_UPDATE_GENERAL && part != CUSPARSE_SPSV_UPDATE_DIAGONAL)
    return CUSPARSE_STATUS_INVALID_VALUE;
  return QueueUpdate("cusparseSpSV_updateMatrix", handle, descr, values,
                     part == CUSPARSE_SPSV_UPDATE_DIAGONAL);
}

cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t* descr) { return Create(descr); }
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t descr) { return DestroyDescr(descr); }
cusparseStatus_t cusparseSpSM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA,
                                         cusparseOperation_t opB, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                         cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t alg,
                                         cusparseSpSMDescr_t descr, size_t* size) {
  if (const cusparseStatus_t wrong =
          CheckMatrices(handle, opA, opB, alpha, a, b, c, compute, alg, descr, true))
    return wrong;
  return ReportSize(size);
}
cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t handle, cusparseOperation_t opA,
                                       cusparseOperation_t opB, const void* alpha,
                                       cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                       cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t alg,
                                       cusparseSpSMDescr_t descr, void*) {
  if (const cusparseStatus_t wrong = CheckMatrices(handle, opA, opB, alpha, a, b, c, compute, alg, descr))
    return wrong;
  return QueueAnalysis("cusparseSpSM_analysis", handle, descr, *a, opA, compute);
}
cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB,
                                    const void* alpha, cusparseConstSpMatDescr_t a,
                                    cusparseConstDnMatDescr_t b, cusparseDnMatDescr_t c, cudaDataType compute,
                                    cusparseSpSMAlg_t alg, cusparseSpSMDescr_t descr) {
  if (const cusparseStatus_t wrong = CheckMatrices(handle, opA, opB, alpha, a, b, c, compute, alg, descr))
    return wrong;
  if (descr->state == nullptr) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (descr->state->compute != compute) return CUSPARSE_STATUS_INVALID_VALUE;
  return WithCompute(compute, [&]<typename C>(Type<C>) {
    return OnStream(handle, "cusparseSpSM_solve",
                    [state = descr->state, b = *b, opB, c = *c, al = Scalar<C>(handle, alpha)] {
                      SolveState<C>(*state, al(), b, opB, c);
                    });
  });
}
cusparseStatus_t cusparseSpSM_updateMatrix(cusparseHandle_t handle, cusparseSpSMDescr_t descr, void* values,
                                           cusparseSpSMUpdate_t part) {
  if (part != CUSPARSE_SPSM_UPDATE_GENERAL && part != CUSPARSE_SPSM_UPDATE_DIAGONAL)
    return CUSPARSE_STATUS_INVALID_VALUE;
  return QueueUpdate("cusparseSpSM_updateMatrix", handle, descr, values,
                     part == CUSPARSE_SPSM_UPDATE_DIAGONAL);
}

}  // namespace ptx2cpu::cusparse
