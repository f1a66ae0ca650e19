// Triangular systems and incomplete factorisations of rows of blocks. Triangles and factors are those of the
// elements: within a diagonal block too, only one triangle counts.
#pragma once

#include "runtime/cuda/libraries/sparse/blocks.h"

// The zero pivot is a block row.
struct ptx2cpu::cuda::bsrsv2Info : ptx2cpu::cusparse::AnalysisInfo {};
struct ptx2cpu::cuda::bsrsm2Info : ptx2cpu::cusparse::AnalysisInfo {};
struct ptx2cpu::cuda::bsrilu02Info : ptx2cpu::cusparse::LuInfo {};
struct ptx2cpu::cuda::bsric02Info : ptx2cpu::cusparse::AnalysisInfo {};

namespace ptx2cpu::cusparse {

// One triangle of A, as its descriptor names it.
template <typename T>
struct BlockTriangle {
  Blocks<const T> a;
  bool lower, unit;
  cusparseOperation_t op;

  T Take(const T& element) const {
    return op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? Conjugate(element) : element;
  }
  // x = op(A)^-1 x, by rows of A, or by columns of op(A).
  void Solve(T* x, Pivot& pivot) const {
    const int64_t n = a.rows();
    const bool transposed = Transposes(op);
    for (int64_t k = 0; k < n; ++k) {
      const int64_t row = lower != transposed ? k : n - 1 - k;
      T diagonal{}, sum = x[row];
      a.ForRow(row, [&](int64_t column, const T& element) {
        if (column == row) {
          diagonal = Take(element);
        } else if (!transposed && (column < row) == lower) {
          sum -= element * x[column];
        }
      });
      if (!unit && diagonal == T{}) NoteZero(pivot, static_cast<int>(row / a.shape.rows) + a.pattern.base);
      x[row] = unit ? sum : sum / diagonal;
      if (!transposed) continue;
      a.ForRow(row, [&](int64_t column, const T& element) {
        if (column != row && (column < row) == lower) x[column] -= Take(element) * x[row];
      });
    }
  }
};
template <typename T>
BlockTriangle<T> TriangleOf(cusparseDirection_t direction, cusparseOperation_t op, int mb,
                            const cusparseMatDescr_t descr, const T* values, const int* offsets,
                            const int* columns, int dim) {
  return {{{mb, offsets, columns, descr->base}, Shape(direction, dim, dim), values},
          descr->fill == CUSPARSE_FILL_MODE_LOWER,
          descr->diagonal == CUSPARSE_DIAG_TYPE_UNIT,
          op};
}

// Notes a diagonal block that is not stored, where one is needed.
template <typename Info>
cusparseStatus_t AnalyseBlocks(const char* name, cusparseHandle_t h, const Pattern& a, bool unit,
                               Info* info) {
  info->pivot = std::make_shared<Pivot>();
  return OnStream(h, name, [a, unit, pivot = info->pivot] {
    for (int i = 0; i < a.rows && !unit; ++i) {
      if (a.Diagonal(i) < 0) return NoteZero(*pivot, i + a.base);
    }
  });
}

template <typename T>
cusparseStatus_t BsrsvBufferSize(const char*, cusparseHandle_t h, cusparseDirection_t direction,
                                 cusparseOperation_t op, int mb, int nnzb, const cusparseMatDescr_t descr, T*,
                                 const int*, const int*, int dim, bsrsv2Info* info, int* size) {
  if (const cusparseStatus_t wrong =
          CheckBlocks(h, direction, mb, nnzb, descr, dim, IsRight(op), info != nullptr))
    return wrong;
  return ReportSize(size);
}
template <typename T>
cusparseStatus_t BsrsvAnalysis(const char* name, cusparseHandle_t h, cusparseDirection_t direction,
                               cusparseOperation_t op, int mb, int nnzb, const cusparseMatDescr_t descr,
                               const T*, const int* offsets, const int* columns, int dim, bsrsv2Info* info,
                               cusparseSolvePolicy_t, void*) {
  if (const cusparseStatus_t wrong =
          CheckBlocks(h, direction, mb, nnzb, descr, dim, IsRight(op), info != nullptr))
    return wrong;
  return AnalyseBlocks(name, h, {mb, offsets, columns, descr->base},
                       descr->diagonal == CUSPARSE_DIAG_TYPE_UNIT, info);
}
// y = alpha op(A)^-1 x.
template <typename T>
cusparseStatus_t BsrsvSolve(const char* name, cusparseHandle_t h, cusparseDirection_t direction,
                            cusparseOperation_t op, int mb, int nnzb, const T* alpha,
                            const cusparseMatDescr_t descr, const T* values, const int* offsets,
                            const int* columns, int dim, bsrsv2Info* info, const T* x, T* y,
                            cusparseSolvePolicy_t, void*) {
  if (const cusparseStatus_t wrong =
          CheckBlocks(h, direction, mb, nnzb, descr, dim, IsRight(op), info != nullptr, alpha != nullptr))
    return wrong;
  if (info->pivot == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;  // never analysed
  return OnStream(h, name,
                  [=, a = TriangleOf(direction, op, mb, descr, values, offsets, columns, dim),
                   al = Scalar<T>(h, alpha), pivot = info->pivot] {
                    const int64_t n = a.a.rows();
                    for (int64_t i = 0; i < n; ++i) y[i] = al() * x[i];
                    a.Solve(y, *pivot);
                  });
}

inline bool TakesSides(cusparseOperation_t op) {
  return op == CUSPARSE_OPERATION_NON_TRANSPOSE || op == CUSPARSE_OPERATION_TRANSPOSE;
}
template <typename T>
cusparseStatus_t BsrsmBufferSize(const char*, cusparseHandle_t h, cusparseDirection_t direction,
                                 cusparseOperation_t op, cusparseOperation_t op_x, int mb, int n, int nnzb,
                                 const cusparseMatDescr_t descr, T*, const int*, const int*, int dim,
                                 bsrsm2Info* info, int* size) {
  if (const cusparseStatus_t wrong = CheckBlocks(h, direction, mb, nnzb, descr, dim, IsRight(op),
                                                 TakesSides(op_x), n >= 0, info != nullptr))
    return wrong;
  return ReportSize(size);
}
template <typename T>
cusparseStatus_t BsrsmAnalysis(const char* name, cusparseHandle_t h, cusparseDirection_t direction,
                               cusparseOperation_t op, cusparseOperation_t op_x, int mb, int n, int nnzb,
                               const cusparseMatDescr_t descr, const T*, const int* offsets,
                               const int* columns, int dim, bsrsm2Info* info, cusparseSolvePolicy_t, void*) {
  if (const cusparseStatus_t wrong = CheckBlocks(h, direction, mb, nnzb, descr, dim, IsRight(op),
                                                 TakesSides(op_x), n >= 0, info != nullptr))
    return wrong;
  return AnalyseBlocks(name, h, {mb, offsets, columns, descr->base},
                       descr->diagonal == CUSPARSE_DIAG_TYPE_UNIT, info);
}
// op(A) op(X) = alpha op(B), with one op for both dense matrices.
template <typename T>
cusparseStatus_t BsrsmSolve(const char* name, cusparseHandle_t h, cusparseDirection_t direction,
                            cusparseOperation_t op, cusparseOperation_t op_x, int mb, int n, int nnzb,
                            const T* alpha, const cusparseMatDescr_t descr, const T* values,
                            const int* offsets, const int* columns, int dim, bsrsm2Info* info, const T* b,
                            int ldb, T* x, int ldx, cusparseSolvePolicy_t, void*) {
  const bool transposed = Transposes(op_x);
  const int64_t least = std::max<int64_t>(1, transposed ? n : int64_t{mb} * dim);
  if (const cusparseStatus_t wrong =
          CheckBlocks(h, direction, mb, nnzb, descr, dim, IsRight(op), TakesSides(op_x), n >= 0,
                      info != nullptr, alpha != nullptr, ldb >= least, ldx >= least))
    return wrong;
  if (info->pivot == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;  // never analysed
  return OnStream(h, name,
                  [=, a = TriangleOf(direction, op, mb, descr, values, offsets, columns, dim),
                   al = Scalar<T>(h, alpha), pivot = info->pivot] {
                    libraries::ForEach(n, [&](int64_t j) {
                      const auto place = [&](int64_t i, int ld) {
                        return transposed ? j + i * ld : i + j * ld;
                      };
                      std::vector<T> column(static_cast<size_t>(a.a.rows()));
                      for (int64_t i = 0; i < a.a.rows(); ++i) column[i] = al() * b[place(i, ldb)];
                      a.Solve(column.data(), *pivot);
                      for (int64_t i = 0; i < a.a.rows(); ++i) x[place(i, ldx)] = column[i];
                    });
                  });
}

// The elements as rows without blocks, and where each of them is stored.
template <typename T>
struct Elements {
  std::vector<int> offsets, columns;
  std::vector<int64_t> place;
  std::vector<T> value;

  explicit Elements(const Blocks<T>& a) {
    offsets.push_back(0);
    for (int64_t i = 0; i < a.rows(); ++i) {
      a.ForRow(i, [&](int64_t column, const T& element) {
        columns.push_back(static_cast<int>(column));
        place.push_back(&element - a.value);
        value.push_back(element);
      });
      offsets.push_back(static_cast<int>(columns.size()));
    }
  }
  Pattern View() const { return {static_cast<int>(offsets.size()) - 1, offsets.data(), columns.data(), 0}; }
  void StoreTo(T* values) const {
    for (size_t p = 0; p < place.size(); ++p) values[place[p]] = value[p];
  }
};
// factor(pattern of the elements, their values, pivot) in place; a zero pivot is that of its block row.
template <typename T, typename Factor>
void FactorBlocks(const Blocks<T>& a, Pivot& pivot, const Factor& factor) {
  Elements<T> elements(a);
  Pivot of_elements;
  factor(elements.View(), elements.value.data(), of_elements);
  elements.StoreTo(a.value);
  if (const int zero = of_elements.zero.load(); zero >= 0)
    NoteZero(pivot, zero / a.shape.rows + a.pattern.base);
}

template <typename T, typename Info>
cusparseStatus_t FactorBlocksBufferSize(const char*, cusparseHandle_t h, cusparseDirection_t direction,
                                        int mb, int nnzb, const cusparseMatDescr_t descr, T*, const int*,
                                        const int*, int dim, Info* info, int* size) {
  if (const cusparseStatus_t wrong = CheckBlocks(h, direction, mb, nnzb, descr, dim, info != nullptr))
    return wrong;
  return ReportSize(size);
}
template <typename T, typename Info>
cusparseStatus_t AnalyseFactorBlocks(const char* name, cusparseHandle_t h, cusparseDirection_t direction,
                                     int mb, int nnzb, const cusparseMatDescr_t descr, const T*,
                                     const int* offsets, const int* columns, int dim, Info* info,
                                     cusparseSolvePolicy_t, void*) {
  if (const cusparseStatus_t wrong = CheckBlocks(h, direction, mb, nnzb, descr, dim, info != nullptr))
    return wrong;
  return AnalyseBlocks(name, h, {mb, offsets, columns, descr->base}, false, info);
}
template <typename T>
cusparseStatus_t FactorBlocksIlu(const char* name, cusparseHandle_t h, cusparseDirection_t direction, int mb,
                                 int nnzb, const cusparseMatDescr_t descr, T* values, const int* offsets,
                                 const int* columns, int dim, bsrilu02Info* info, cusparseSolvePolicy_t,
                                 void*) {
  if (const cusparseStatus_t wrong = CheckBlocks(h, direction, mb, nnzb, descr, dim, info != nullptr))
    return wrong;
  if (info->pivot == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;  // never analysed
  const Blocks<T> a{{mb, offsets, columns, descr->base}, Shape(direction, dim, dim), values};
  return OnStream(h, name,
                  [a, boosts = info->boosts, pivot = info->pivot,
                   tolerance = info->boosts ? Scalar<double>(h, info->tolerance) : Scalar<double>(0.0),
                   boost = info->boosts ? Scalar<T>(h, info->boost) : Scalar<T>(T{})] {
                    const double limit = tolerance();
                    const T replacement = boost();
                    FactorBlocks(a, *pivot, [&](const Pattern& pattern, T* value, Pivot& zero) {
                      FactorLu<T>(pattern, value, zero, &limit, boosts ? &replacement : nullptr);
                    });
                  });
}
template <typename T>
cusparseStatus_t FactorBlocksIc(const char* name, cusparseHandle_t h, cusparseDirection_t direction, int mb,
                                int nnzb, const cusparseMatDescr_t descr, T* values, const int* offsets,
                                const int* columns, int dim, bsric02Info* info, cusparseSolvePolicy_t,
                                void*) {
  if (const cusparseStatus_t wrong = CheckBlocks(h, direction, mb, nnzb, descr, dim, info != nullptr))
    return wrong;
  if (info->pivot == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;  // never analysed
  const Blocks<T> a{{mb, offsets, columns, descr->base}, Shape(direction, dim, dim), values};
  return OnStream(h, name, [a, pivot = info->pivot] {
    FactorBlocks(a, *pivot, [](const Pattern& pattern, T* value, Pivot& zero) {
      FactorCholesky<T>(pattern, value, zero);
    });
  });
}

}  // namespace ptx2cpu::cusparse
