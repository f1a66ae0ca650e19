// Entries in another order: rows to columns, offsets to indices, sorted.
#include <cstring>
#include <numeric>
#include <tuple>
#include <vector>

#include "runtime/cuda/libraries/sparse/values.h"

namespace ptx2cpu::cusparse {

namespace {

cusparseStatus_t CheckTransposition(cusparseHandle_t h, int m, int n, int nnz, cudaDataType type,
                                    cusparseAction_t action, cusparseIndexBase_t base,
                                    cusparseCsr2CscAlg_t alg) {
  const bool acts = action == CUSPARSE_ACTION_SYMBOLIC || action == CUSPARSE_ACTION_NUMERIC;
  return Check(h, m >= 0, n >= 0, nnz >= 0, BytesOf(type) != 0, acts, IsRight(base),
               alg >= CUSPARSE_CSR2CSC_ALG1 && alg <= CUSPARSE_CSR2CSC_ALG2);
}

// Sorts the entries first ... last - 1 of a permutation and of the indices that it orders.
void SortBy(const int* key, const int* second, int first, int last, int* index, int* other, int* p) {
  std::vector<int> order(static_cast<size_t>(last - first));
  std::iota(order.begin(), order.end(), first);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return second == nullptr ? std::tie(key[a], a) < std::tie(key[b], b)
                             : std::tie(key[a], second[a], a) < std::tie(key[b], second[b], b);
  });
  const auto apply = [&](int* values) {
    if (values == nullptr) return;
    std::vector<int> moved(order.size());
    for (size_t i = 0; i < order.size(); ++i) moved[i] = values[order[i]];
    std::copy(moved.begin(), moved.end(), values + first);
  };
  apply(p), apply(index), apply(other);
}

cusparseStatus_t SortLines(const char* name, cusparseHandle_t handle, int lines, int nnz,
                           const cusparseMatDescr_t descr, const int* offsets, int* indices, int* p) {
  if (const cusparseStatus_t wrong = CheckNamed(handle, lines >= 0, nnz >= 0, descr != nullptr)) return wrong;
  if (nnz > 0 && (offsets == nullptr || indices == nullptr)) return CUSPARSE_STATUS_INVALID_VALUE;
  return OnStream(handle, name, [=, base = static_cast<int>(descr->base)] {
    libraries::ForRanges(lines, 256, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        SortBy(indices, nullptr, offsets[i] - base, offsets[i + 1] - base, indices, nullptr, p);
    });
  });
}

cusparseStatus_t SortEntries(const char* name, cusparseHandle_t handle, int m, int n, int nnz, int* key,
                             int* second, int* p) {
  if (const cusparseStatus_t wrong = CheckNamed(handle, m >= 0, n >= 0, nnz >= 0)) return wrong;
  if (nnz > 0 && (key == nullptr || second == nullptr)) return CUSPARSE_STATUS_INVALID_VALUE;
  return OnStream(handle, name, [=] { SortBy(key, second, 0, nnz, key, second, p); });
}

cusparseStatus_t SortSize(cusparseHandle_t handle, int m, int n, int nnz, size_t* size) {
  if (const cusparseStatus_t wrong = CheckNamed(handle, m >= 0, n >= 0, nnz >= 0)) return wrong;
  return ReportSize(size);
}

}  // namespace

cusparseStatus_t cusparseCsr2cscEx2_bufferSize(cusparseHandle_t handle, int m, int n, int nnz, const void*,
                                               const int*, const int*, void*, int*, int*, cudaDataType type,
                                               cusparseAction_t action, cusparseIndexBase_t base,
                                               cusparseCsr2CscAlg_t alg, size_t* size) {
  if (const cusparseStatus_t wrong = CheckTransposition(handle, m, n, nnz, type, action, base, alg))
    return wrong;
  return ReportSize(size);
}
cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t handle, int m, int n, int nnz, const void* csrVal,
                                    const int* csrRowPtr, const int* csrColInd, void* cscVal, int* cscColPtr,
                                    int* cscRowInd, cudaDataType type, cusparseAction_t action,
                                    cusparseIndexBase_t base, cusparseCsr2CscAlg_t alg, void*) {
  if (const cusparseStatus_t wrong = CheckTransposition(handle, m, n, nnz, type, action, base, alg))
    return wrong;
  return OnStream(handle, "cusparseCsr2cscEx2", [=] {
    const size_t bytes = action == CUSPARSE_ACTION_NUMERIC ? BytesOf(type) : 0;
    std::vector<int> next(static_cast<size_t>(n) + 1, 0);
    for (int p = 0; p < nnz; ++p) ++next[csrColInd[p] - base + 1];
    for (int j = 0; j < n; ++j) next[j + 1] += next[j];
    for (int j = 0; j <= n; ++j) cscColPtr[j] = next[j] + base;
    for (int i = 0; i < m; ++i) {
      for (int p = csrRowPtr[i] - base; p < csrRowPtr[i + 1] - base; ++p) {
        const auto to = static_cast<size_t>(next[csrColInd[p] - base]++);
        cscRowInd[to] = i + base;
        std::memcpy(static_cast<char*>(cscVal) + to * bytes,
                    static_cast<const char*>(csrVal) + static_cast<size_t>(p) * bytes, bytes);
      }
    }
  });
}

cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int* rowIndices, int nnz, int m,
                                  int* rowOffsets, cusparseIndexBase_t base) {
  if (const cusparseStatus_t wrong = CheckNamed(handle, nnz >= 0, m >= 0, IsRight(base))) return wrong;
  return OnStream(handle, "cusparseXcoo2csr", [=] {
    for (int i = 0, p = 0; i <= m; ++i) {
      while (p < nnz && rowIndices[p] - base < i) ++p;
      rowOffsets[i] = p + base;
    }
  });
}
cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t handle, const int* rowOffsets, int nnz, int m,
                                  int* rowIndices, cusparseIndexBase_t base) {
  if (const cusparseStatus_t wrong = CheckNamed(handle, nnz >= 0, m >= 0, IsRight(base))) return wrong;
  return OnStream(handle, "cusparseXcsr2coo", [=] {
    for (int i = 0; i < m; ++i)
      std::fill(rowIndices + (rowOffsets[i] - base), rowIndices + (rowOffsets[i + 1] - base), i + base);
  });
}
cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int* p) {
  if (const cusparseStatus_t wrong = CheckNamed(handle, n >= 0, n == 0 || p != nullptr)) return wrong;
  return OnStream(handle, "cusparseCreateIdentityPermutation", [=] { std::iota(p, p + n, 0); });
}

cusparseStatus_t cusparseXcoosort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz, const int*,
                                                const int*, size_t* size) {
  return SortSize(handle, m, n, nnz, size);
}
cusparseStatus_t cusparseXcoosortByRow(cusparseHandle_t handle, int m, int n, int nnz, int* rows,
                                       int* columns, int* p, void*) {
  return SortEntries("cusparseXcoosortByRow", handle, m, n, nnz, rows, columns, p);
}
cusparseStatus_t cusparseXcoosortByColumn(cusparseHandle_t handle, int m, int n, int nnz, int* rows,
                                          int* columns, int* p, void*) {
  return SortEntries("cusparseXcoosortByColumn", handle, m, n, nnz, columns, rows, p);
}
cusparseStatus_t cusparseXcsrsort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz, const int*,
                                                const int*, size_t* size) {
  return SortSize(handle, m, n, nnz, size);
}
cusparseStatus_t cusparseXcsrsort(cusparseHandle_t handle, int m, int n, int nnz,
                                  const cusparseMatDescr_t descr, const int* rowOffsets, int* columns, int* p,
                                  void*) {
  if (n < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  return SortLines("cusparseXcsrsort", handle, m, nnz, descr, rowOffsets, columns, p);
}
cusparseStatus_t cusparseXcscsort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz, const int*,
                                                const int*, size_t* size) {
  return SortSize(handle, m, n, nnz, size);
}
cusparseStatus_t cusparseXcscsort(cusparseHandle_t handle, int m, int n, int nnz,
                                  const cusparseMatDescr_t descr, const int* columnOffsets, int* rows, int* p,
                                  void*) {
  if (m < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  return SortLines("cusparseXcscsort", handle, n, nnz, descr, columnOffsets, rows, p);
}

}  // namespace ptx2cpu::cusparse
