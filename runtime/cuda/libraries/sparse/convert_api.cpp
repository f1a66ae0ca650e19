// Conversions between dense and sparse matrices.
#include <numeric>

#include "runtime/cuda/libraries/sparse/dense.h"

namespace ptx2cpu::cusparse {

namespace {

cusparseStatus_t CheckConversion(cusparseHandle_t h, cusparseConstSpMatDescr_t sparse,
                                 cusparseConstDnMatDescr_t dense, int alg) {
  if (const cusparseStatus_t wrong = Check(h, sparse != nullptr, dense != nullptr, alg == 0)) return wrong;
  if (sparse->rows != dense->rows || sparse->columns != dense->columns) return CUSPARSE_STATUS_INVALID_VALUE;
  return sparse->type == dense->type ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_NOT_SUPPORTED;
}
bool CanBecome(cusparseFormat_t format) {
  return format == CUSPARSE_FORMAT_CSR || format == CUSPARSE_FORMAT_CSC || format == CUSPARSE_FORMAT_COO ||
         format == CUSPARSE_FORMAT_BLOCKED_ELL;
}

int64_t PlaceOf(const cusparseDnMatDescr& m, int64_t row, int64_t column) {
  return m.order == CUSPARSE_ORDER_COL ? row + column * m.ld : row * m.ld + column;
}

// A line is a column for CSC, a row otherwise. Whether it has a value at `k`.
struct Lines {
  const cusparseDnMatDescr& dense;
  bool by_columns;
  int64_t count() const { return by_columns ? dense.columns : dense.rows; }
  int64_t length() const { return by_columns ? dense.rows : dense.columns; }
  int64_t At(int64_t line, int64_t k) const {
    return by_columns ? PlaceOf(dense, k, line) : PlaceOf(dense, line, k);
  }
};

template <typename S>
bool IsZero(const S& value) {
  if constexpr (requires { value.re; }) {
    return IsZero(value.re) && IsZero(value.im);
  } else if constexpr (IsNarrow<S>) {
    return (value.bits & 0x7fff) == 0;
  } else {
    return value == S{};
  }
}

// Where the entries of each line begin; the last one is their number.
std::vector<int64_t> CountLines(const Lines& lines) {
  std::vector<int64_t> offset(static_cast<size_t>(lines.count()) + 1, 0);
  WithStored(lines.dense.type, lines.dense.values, [&](const auto* values) {
    libraries::ForRanges(lines.count(),
                         std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, lines.length())),
                         [&](int64_t begin, int64_t end) {
                           for (int64_t i = begin; i < end; ++i) {
                             for (int64_t k = 0; k < lines.length(); ++k)
                               offset[i + 1] += !IsZero(values[lines.At(i, k)]);
                           }
                         });
  });
  std::partial_sum(offset.begin(), offset.end(), offset.begin());
  return offset;
}

void Compress(const cusparseDnMatDescr& dense, const cusparseSpMatDescr& m) {
  const Lines lines{dense, m.format == CUSPARSE_FORMAT_CSC};
  const std::vector<int64_t> offset = CountLines(lines);
  WithStored(m.type, m.values, [&]<typename S>(S* to) {
    const S* const from = static_cast<const S*>(dense.values);
    libraries::ForRanges(lines.count(),
                         std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, lines.length())),
                         [&](int64_t begin, int64_t end) {
                           for (int64_t i = begin; i < end; ++i) {
                             int64_t p = offset[i];
                             for (int64_t k = 0; k < lines.length(); ++k) {
                               const S& value = from[lines.At(i, k)];
                               if (IsZero(value)) continue;
                               if (m.format == CUSPARSE_FORMAT_COO)
                                 StoreIndex(m.offsets, m.offset_type, p, i + m.base);
                               StoreIndex(m.indices, m.index_type, p, k + m.base);
                               to[p++] = value;
                             }
                           }
                         });
  });
  if (m.format == CUSPARSE_FORMAT_COO) return;
  for (size_t i = 0; i < offset.size(); ++i)
    StoreIndex(m.offsets, m.offset_type, static_cast<int64_t>(i), offset[i] + m.base);
}

// The blocks are those that the matrix names.
void FillBlocks(const cusparseDnMatDescr& dense, const cusparseSpMatDescr& m) {
  WithStored(m.type, m.values, [&]<typename S>(S* to) {
    const S* const from = static_cast<const S*>(dense.values);
    std::fill_n(to, m.rows * m.block_columns, S{});  // missing blocks, as recorded
    ForEntries(m, 0, 0, OuterSize(m),
               [&](int64_t row, int64_t column, int64_t p) { to[p] = from[PlaceOf(dense, row, column)]; });
  });
}

// As recorded, of blocked ELL there is only the other direction.
cusparseStatus_t CheckExpansion(cusparseHandle_t h, cusparseConstSpMatDescr_t sparse,
                                cusparseConstDnMatDescr_t dense, int alg) {
  if (const cusparseStatus_t wrong = CheckConversion(h, sparse, dense, alg)) return wrong;
  return sparse->format == CUSPARSE_FORMAT_BLOCKED_ELL ? CUSPARSE_STATUS_NOT_SUPPORTED
                                                       : CUSPARSE_STATUS_SUCCESS;
}
void Expand(const cusparseSpMatDescr& m, const cusparseDnMatDescr& dense) {
  WithStored(m.type, m.values, [&]<typename S>(const S* from) {
    S* const to = static_cast<S*>(dense.values);
    const Lines lines{dense, dense.order == CUSPARSE_ORDER_COL};
    for (int64_t i = 0; i < lines.count(); ++i) std::fill_n(to + i * dense.ld, lines.length(), S{});
    ForEntries(m, 0, 0, OuterSize(m), [&](int64_t row, int64_t column, int64_t p) {
      if (row < dense.rows && column < dense.columns) to[PlaceOf(dense, row, column)] = from[p];
    });
  });
}

}  // namespace

cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t handle, cusparseConstSpMatDescr_t a,
                                                  cusparseDnMatDescr_t b, cusparseSparseToDenseAlg_t alg,
                                                  size_t* size) {
  if (const cusparseStatus_t wrong = CheckExpansion(handle, a, b, alg)) return wrong;
  return ReportSize(size);
}
cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t a,
                                       cusparseDnMatDescr_t b, cusparseSparseToDenseAlg_t alg, void*) {
  if (const cusparseStatus_t wrong = CheckExpansion(handle, a, b, alg)) return wrong;
  return OnStream(handle, "cusparseSparseToDense", [a = *a, b = *b] { Expand(a, b); });
}
cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                  cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t alg,
                                                  size_t* size) {
  if (const cusparseStatus_t wrong = CheckConversion(handle, b, a, alg)) return wrong;
  if (!CanBecome(b->format)) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return ReportSize(size);
}
// Counts the entries, which the program reads with cusparseSpMatGetSize, and writes the offsets.
cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t alg,
                                                void*) {
  size_t size;
  if (const cusparseStatus_t wrong = cusparseDenseToSparse_bufferSize(handle, a, b, alg, &size)) return wrong;
  if (b->format == CUSPARSE_FORMAT_BLOCKED_ELL) return CUSPARSE_STATUS_SUCCESS;
  const auto offset = std::make_shared<std::vector<int64_t>>();
  const cusparseStatus_t status =
      OnStreamAndWait(handle, "cusparseDenseToSparse_analysis", [a = *a, b = *b, offset] {
        *offset = CountLines({a, b.format == CUSPARSE_FORMAT_CSC});
        if (b.format == CUSPARSE_FORMAT_COO) return;
        for (size_t i = 0; i < offset->size(); ++i)
          StoreIndex(b.offsets, b.offset_type, static_cast<int64_t>(i), (*offset)[i] + b.base);
      });
  if (status == CUSPARSE_STATUS_SUCCESS) b->nnz = offset->back();
  return status;
}
cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                               cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t alg,
                                               void*) {
  size_t size;
  if (const cusparseStatus_t wrong = cusparseDenseToSparse_bufferSize(handle, a, b, alg, &size)) return wrong;
  return OnStream(handle, "cusparseDenseToSparse_convert", [a = *a, b = *b] {
    b.format == CUSPARSE_FORMAT_BLOCKED_ELL ? FillBlocks(a, b) : Compress(a, b);
  });
}

}  // namespace ptx2cpu::cusparse
