// Products of a sparse matrix with dense vectors and matrices, and sampled products of dense matrices.
#include "runtime/cuda/libraries/sparse/dense.h"
#include "runtime/cuda/libraries/sparse/rows.h"

namespace ptx2cpu::cusparse {

namespace {

// Row i of A times x, in four sums, so that an addition does not wait for the one before.
template <typename R, typename C>
C RowTimes(const R& a, int64_t i, const C* x) {
  C sum[4] = {};
  int64_t p = a.offset[i];
  const int64_t end = a.offset[i + 1];
  if (a.conjugate) {
    for (; p < end; ++p) sum[0] += a.Value(p) * x[a.Column(p)];
    return sum[0];
  }
  for (; p + 4 <= end; p += 4) {
    for (int k = 0; k < 4; ++k) sum[k] += a.value[p + k] * x[a.Column(p + k)];
  }
  for (; p < end; ++p) sum[0] += a.value[p] * x[a.Column(p)];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <typename C>
void MultiplyVector(const cusparseSpMatDescr& a, cusparseOperation_t op, C alpha, C beta,
                    const cusparseDnVecDescr& x, const cusparseDnVecDescr& y) {
  const Operand<C> operand(x.type, x.values, x.size);
  const DenseResult<C> result(cusparseDnMatDescr{y.size, 1, y.size, y.values, y.type, CUSPARSE_ORDER_COL}, 0);
  WithRows<C>(a, op, 0, [&](const auto& rows) {
    ForRows(rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) result.Add(i, 0, alpha * RowTimes(rows, i, operand.get()), beta);
    });
  });
}

// Every algorithm computes the same here, but each belongs to formats.
struct AlgorithmRow {
  int number;
  cusparseFormat_t format, other;
};
constexpr AlgorithmRow kVectorAlgorithms[] = {
    {1, CUSPARSE_FORMAT_COO, CUSPARSE_FORMAT_COO},
    {2, CUSPARSE_FORMAT_CSR, CUSPARSE_FORMAT_CSC},
    {3, CUSPARSE_FORMAT_CSR, CUSPARSE_FORMAT_CSC},
    {4, CUSPARSE_FORMAT_COO, CUSPARSE_FORMAT_COO},
    {5, CUSPARSE_FORMAT_SLICED_ELLPACK, CUSPARSE_FORMAT_SLICED_ELLPACK},
    {6, CUSPARSE_FORMAT_BSR, CUSPARSE_FORMAT_BSR},
};
bool AlgorithmFits(cusparseSpMVAlg_t alg, cusparseFormat_t format) {
  return alg == CUSPARSE_SPMV_ALG_DEFAULT ||
         std::ranges::any_of(kVectorAlgorithms, [&](const AlgorithmRow& row) {
           return row.number == alg && (row.format == format || row.other == format);
         });
}

cusparseStatus_t CheckVectorProduct(cusparseHandle_t h, cusparseOperation_t op, const void* alpha,
                                    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                    const void* beta, cusparseConstDnVecDescr_t y, cudaDataType compute,
                                    cusparseSpMVAlg_t alg) {
  if (const cusparseStatus_t wrong =
          Check(h, IsRight(op), alpha != nullptr, a != nullptr, x != nullptr, beta != nullptr, y != nullptr))
    return wrong;
  if (!IsRight(op, a->type) || !AlgorithmFits(alg, a->format)) return CUSPARSE_STATUS_INVALID_VALUE;
  const Shape shape = ShapeOf(*a, op);
  if (x->size != shape.columns || y->size != shape.rows) return CUSPARSE_STATUS_INVALID_VALUE;
  return CheckTypes({a->type, x->type, y->type, compute});
}

// Some columns of alpha A B + beta C for a range of rows.
template <typename R, typename C>
void MultiplyRows(const R& a, const DenseOperand<C>& b, const DenseResult<C>& c, C alpha, C beta,
                  int64_t begin, int64_t end, int64_t columns) {
  constexpr int64_t kColumns = 16;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first = a.offset[i], last = a.offset[i + 1];
    for (int64_t j = 0; j < columns; j += kColumns) {
      const int64_t width = std::min(kColumns, columns - j);
      C sums[kColumns] = {};
      for (int64_t p = first; p < last; ++p) {
        const C value = a.Value(p);
        const C* const from = b.data + a.Column(p) * b.down + j * b.across;
        if (b.conjugate) {
          for (int64_t k = 0; k < width; ++k) sums[k] += value * Conjugate(from[k * b.across]);
        } else if (b.across == 1 && width == kColumns) {
          for (int64_t k = 0; k < kColumns; ++k) sums[k] += value * from[k];
        } else {
          for (int64_t k = 0; k < width; ++k) sums[k] += value * from[k * b.across];
        }
      }
      for (int64_t k = 0; k < width; ++k) c.Add(i, j + k, alpha * sums[k], beta);
    }
  }
}

// Which matrix of a batch; one matrix serves for all.
int Member(int count, int batch) { return count > 1 ? batch : 0; }

template <typename C>
void MultiplyMatrix(const cusparseSpMatDescr& a, cusparseOperation_t op_a, const cusparseDnMatDescr& b,
                    cusparseOperation_t op_b, const cusparseDnMatDescr& c, C alpha, C beta) {
  const int batches = std::max({a.count, b.count, c.count, 1});
  for (int batch = 0; batch < batches; ++batch) {
    const DenseOperand<C> operand(b, op_b, Member(b.count, batch));
    const DenseResult<C> result(c, Member(c.count, batch));
    WithRows<C>(a, op_a, Member(a.count, batch), [&](const auto& rows) {
      ForRows(rows, c.columns, [&](int64_t begin, int64_t end) {
        MultiplyRows(rows, operand, result, alpha, beta, begin, end, c.columns);
      });
    });
  }
}

cusparseStatus_t CheckMatrixProduct(cusparseHandle_t h, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                    const void* alpha, cusparseConstSpMatDescr_t a,
                                    cusparseConstDnMatDescr_t b, const void* beta,
                                    cusparseConstDnMatDescr_t c, cudaDataType compute,
                                    cusparseSpMMAlg_t alg) {
  if (const cusparseStatus_t wrong = Check(h, IsRight(op_a), IsRight(op_b), alpha != nullptr, a != nullptr,
                                           b != nullptr, beta != nullptr, c != nullptr,
                                           alg >= CUSPARSE_SPMM_ALG_DEFAULT && alg <= CUSPARSE_SPMM_BSR_ALG1))
    return wrong;
  if (!IsRight(op_a, a->type)) return CUSPARSE_STATUS_INVALID_VALUE;
  const Shape left = ShapeOf(*a, op_a), right = ShapeOf(*b, op_b);
  if (left.columns != right.rows || c->rows != left.rows || c->columns != right.columns)
    return CUSPARSE_STATUS_INVALID_VALUE;
  const int batches = std::max({a->count, b->count, c->count});
  for (const int count : {a->count, b->count, c->count}) {
    if (count > 1 && count != batches) return CUSPARSE_STATUS_INVALID_VALUE;
  }
  return CheckTypes({a->type, b->type, c->type, compute});
}

// The entries that C stores: alpha (A B) + beta C.
template <typename C>
void MultiplySampled(const cusparseDnMatDescr& a, cusparseOperation_t op_a, const cusparseDnMatDescr& b,
                     cusparseOperation_t op_b, const cusparseSpMatDescr& c, C alpha, C beta) {
  const int64_t depth = ShapeOf(a, op_a).columns, outer = OuterSize(c);
  const int batches = std::max({a.count, b.count, c.count, 1});
  for (int batch = 0; batch < batches; ++batch) {
    const DenseOperand<C> left(a, op_a, Member(a.count, batch)), right(b, op_b, Member(b.count, batch));
    const DenseResult<C> values(cusparseDnMatDescr{1, c.nnz, 1, c.values, c.type, CUSPARSE_ORDER_COL}, 0);
    const int64_t each = std::max<int64_t>(1, c.nnz * depth / std::max<int64_t>(1, outer));
    libraries::ForRanges(outer, std::max<int64_t>(1, (1 << 14) / each), [&](int64_t begin, int64_t end) {
      ForEntries(c, Member(c.count, batch), begin, end, [&](int64_t row, int64_t column, int64_t p) {
        C sum{};
        for (int64_t k = 0; k < depth; ++k) sum += left(row, k) * right(k, column);
        values.Add(0, p, alpha * sum, beta);
      });
    });
  }
}

cusparseStatus_t CheckSampled(cusparseHandle_t h, cusparseOperation_t op_a, cusparseOperation_t op_b,
                              const void* alpha, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                              const void* beta, cusparseConstSpMatDescr_t c, cudaDataType compute,
                              cusparseSDDMMAlg_t alg) {
  if (const cusparseStatus_t wrong =
          Check(h, IsRight(op_a), IsRight(op_b), alpha != nullptr, a != nullptr, b != nullptr,
                beta != nullptr, c != nullptr, alg == CUSPARSE_SDDMM_ALG_DEFAULT))
    return wrong;
  const Shape left = ShapeOf(*a, op_a), right = ShapeOf(*b, op_b);
  if (left.columns != right.rows || c->rows != left.rows || c->columns != right.columns)
    return CUSPARSE_STATUS_INVALID_VALUE;
  if (c->format != CUSPARSE_FORMAT_CSR && c->format != CUSPARSE_FORMAT_BSR)
    return CUSPARSE_STATUS_NOT_SUPPORTED;
  return CheckTypes({a->type, b->type, c->type, compute});
}

}  // namespace

cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                         const void* beta, cusparseDnVecDescr_t y, cudaDataType compute,
                                         cusparseSpMVAlg_t alg, size_t* size) {
  if (const cusparseStatus_t wrong = CheckVectorProduct(handle, op, alpha, a, x, beta, y, compute, alg))
    return wrong;
  return ReportSize(size);
}
cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                         const void* beta, cusparseDnVecDescr_t y, cudaDataType compute,
                                         cusparseSpMVAlg_t alg, void*) {
  return CheckVectorProduct(handle, op, alpha, a, x, beta, y, compute, alg);
}
cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                              cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                              cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t alg, void*) {
  if (const cusparseStatus_t wrong = CheckVectorProduct(handle, op, alpha, a, x, beta, y, compute, alg))
    return wrong;
  return WithCompute(compute, [&]<typename C>(Type<C>) {
    return OnStream(handle, "cusparseSpMV",
                    [=, a = *a, x = *x, y = *y, al = Scalar<C>(handle, alpha), be = Scalar<C>(handle, beta)] {
                      MultiplyVector<C>(a, op, al(), be(), x, y);
                    });
  });
}

cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA,
                                         cusparseOperation_t opB, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                         const void* beta, cusparseDnMatDescr_t c, cudaDataType compute,
                                         cusparseSpMMAlg_t alg, size_t* size) {
  if (const cusparseStatus_t wrong = CheckMatrixProduct(handle, opA, opB, alpha, a, b, beta, c, compute, alg))
    return wrong;
  return ReportSize(size);
}
cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t opA,
                                         cusparseOperation_t opB, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                         const void* beta, cusparseDnMatDescr_t c, cudaDataType compute,
                                         cusparseSpMMAlg_t alg, void*) {
  return CheckMatrixProduct(handle, opA, opB, alpha, a, b, beta, c, compute, alg);
}
cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB,
                              const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                              const void* beta, cusparseDnMatDescr_t c, cudaDataType compute,
                              cusparseSpMMAlg_t alg, void*) {
  if (const cusparseStatus_t wrong = CheckMatrixProduct(handle, opA, opB, alpha, a, b, beta, c, compute, alg))
    return wrong;
  return WithCompute(compute, [&]<typename C>(Type<C>) {
    return OnStream(handle, "cusparseSpMM",
                    [=, a = *a, b = *b, c = *c, al = Scalar<C>(handle, alpha), be = Scalar<C>(handle, beta)] {
                      MultiplyMatrix<C>(a, opA, b, opB, c, al(), be());
                    });
  });
}

cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t opA,
                                          cusparseOperation_t opB, const void* alpha,
                                          cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                                          const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                          cusparseSDDMMAlg_t alg, size_t* size) {
  if (const cusparseStatus_t wrong = CheckSampled(handle, opA, opB, alpha, a, b, beta, c, compute, alg))
    return wrong;
  return ReportSize(size);
}
cusparseStatus_t cusparseSDDMM_preprocess(cusparseHandle_t handle, cusparseOperation_t opA,
                                          cusparseOperation_t opB, const void* alpha,
                                          cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                                          const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                          cusparseSDDMMAlg_t alg, void*) {
  return CheckSampled(handle, opA, opB, alpha, a, b, beta, c, compute, alg);
}
cusparseStatus_t cusparseSDDMM(cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB,
                               const void* alpha, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                               const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                               cusparseSDDMMAlg_t alg, void*) {
  if (const cusparseStatus_t wrong = CheckSampled(handle, opA, opB, alpha, a, b, beta, c, compute, alg))
    return wrong;
  return WithCompute(compute, [&]<typename C>(Type<C>) {
    return OnStream(handle, "cusparseSDDMM",
                    [=, a = *a, b = *b, c = *c, al = Scalar<C>(handle, alpha), be = Scalar<C>(handle, beta)] {
                      MultiplySampled<C>(a, opA, b, opB, c, al(), be());
                    });
  });
}

}  // namespace ptx2cpu::cusparse
