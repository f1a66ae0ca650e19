// Products of sparse matrices: the structure and the values are found row by row (Gustavson, "Two fast
// algorithms for sparse matrices", 1978) and kept in the descriptor until they are copied to C.
#include <numeric>
#include <variant>

#include "runtime/cuda/libraries/sparse/dense.h"
#include "runtime/cuda/libraries/sparse/rows.h"

namespace ptx2cpu::cusparse {
template <typename C>
using Product = std::shared_ptr<const OwnRows<C>>;
// In the type that computed it: one of WithCompute's.
using AnyProduct = std::variant<std::monostate, Product<float>, Product<double>, Product<cuComplex>,
                                Product<cuDoubleComplex>, Product<int32_t>>;
}  // namespace ptx2cpu::cusparse

// The product that was last computed. Queued work shares it.
struct ptx2cpu::cuda::cusparseSpGEMMDescr {
  cusparse::AnyProduct product;
  int64_t products = 0;  // multiplications
};

namespace ptx2cpu::cusparse {

namespace {

// alpha A B with sorted rows.
template <typename C>
class SparseProduct {
 public:
  template <typename A, typename B>
  static OwnRows<C> Of(const A& a, const B& b, C alpha) {
    OwnRows<C> c;
    c.rows = a.rows, c.columns = b.columns;
    c.offset.assign(static_cast<size_t>(a.rows) + 1, 0);
    ForRows(a, 16, [&](int64_t begin, int64_t end) {
      std::vector<int64_t> last(static_cast<size_t>(b.columns), -1);
      for (int64_t i = begin; i < end; ++i) {
        int64_t count = 0;
        ForProducts(a, b, i, [&](int64_t, int64_t, int64_t column) {
          if (last[column] != i) last[column] = i, ++count;
        });
        c.offset[i + 1] = count;
      }
    });
    std::partial_sum(c.offset.begin(), c.offset.end(), c.offset.begin());
    c.index.resize(static_cast<size_t>(c.offset[a.rows]));
    c.value.resize(c.index.size());
    ForRows(a, 16, [&](int64_t begin, int64_t end) {
      std::vector<int64_t> last(static_cast<size_t>(b.columns), -1);
      std::vector<C> sum(static_cast<size_t>(b.columns));
      for (int64_t i = begin; i < end; ++i) {
        int64_t next = c.offset[i];
        ForProducts(a, b, i, [&](int64_t p, int64_t q, int64_t column) {
          const C product = a.Value(p) * b.Value(q);
          if (last[column] == i) {
            sum[column] += product;
          } else {
            last[column] = i, sum[column] = product, c.index[next++] = column;
          }
        });
        std::sort(c.index.begin() + c.offset[i], c.index.begin() + next);
        for (int64_t p = c.offset[i]; p < next; ++p) c.value[p] = alpha * sum[c.index[p]];
      }
    });
    return c;
  }

 private:
  template <typename A, typename B, typename Visit>
  static void ForProducts(const A& a, const B& b, int64_t i, const Visit& visit) {
    for (int64_t p = a.offset[i], end = a.offset[i + 1]; p < end; ++p) {
      const int64_t k = a.Column(p);
      for (int64_t q = b.offset[k], last = b.offset[k + 1]; q < last; ++q) visit(p, q, b.Column(q));
    }
  }
};

template <typename C>
OwnRows<C> Multiply(const cusparseSpMatDescr& a, const cusparseSpMatDescr& b, C alpha) {
  OwnRows<C> result;
  WithRows<C>(a, CUSPARSE_OPERATION_NON_TRANSPOSE, 0, [&](const auto& left) {
    WithRows<C>(b, CUSPARSE_OPERATION_NON_TRANSPOSE, 0,
                [&](const auto& right) { result = SparseProduct<C>::Of(left, right, alpha); });
  });
  return result;
}

// Offsets and columns; values unless `structure` only.
template <typename C>
void Store(const OwnRows<C>& product, const cusparseSpMatDescr& c, C beta, bool structure) {
  for (int64_t i = 0; i <= product.rows; ++i)
    StoreIndex(c.offsets, c.offset_type, i, product.offset[i] + c.base);
  const DenseResult<C> values(cusparseDnMatDescr{1, c.nnz, 1, c.values, c.type, CUSPARSE_ORDER_COL}, 0);
  for (int64_t p = 0; p < product.offset[product.rows]; ++p) {
    StoreIndex(c.indices, c.index_type, p, product.index[p] + c.base);
    if (!structure) values.Add(0, p, product.value[p], beta);
  }
}

cusparseStatus_t CheckSparse(cusparseHandle_t h, cusparseOperation_t op_a, cusparseOperation_t op_b,
                             cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                             cusparseConstSpMatDescr_t c, cusparseSpGEMMAlg_t alg,
                             cusparseSpGEMMDescr_t descr) {
  if (const cusparseStatus_t wrong =
          Check(h, IsRight(op_a), IsRight(op_b), a != nullptr, b != nullptr, c != nullptr,
                alg >= CUSPARSE_SPGEMM_DEFAULT && alg <= CUSPARSE_SPGEMM_ALG3, descr != nullptr))
    return wrong;
  if (Transposes(op_a) || Transposes(op_b)) return CUSPARSE_STATUS_NOT_SUPPORTED;
  for (const cusparseConstSpMatDescr_t m : {a, b, c}) {
    if (m->format != CUSPARSE_FORMAT_CSR) return CUSPARSE_STATUS_NOT_SUPPORTED;
  }
  if (a->columns != b->rows || c->rows != a->rows || c->columns != b->columns)
    return CUSPARSE_STATUS_INVALID_VALUE;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t CheckValued(cusparseHandle_t h, cusparseOperation_t op_a, cusparseOperation_t op_b,
                             const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                             const void* beta, cusparseConstSpMatDescr_t c, cudaDataType compute,
                             cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t descr) {
  if (const cusparseStatus_t wrong = Check(h, alpha != nullptr, beta != nullptr)) return wrong;
  if (const cusparseStatus_t wrong = CheckSparse(h, op_a, op_b, a, b, c, alg, descr)) return wrong;
  return CheckTypes({a->type, b->type, c->type, compute});
}

int64_t CountProducts(const cusparseSpMatDescr& a, const cusparseSpMatDescr& b) {
  const Indices offset = IndicesOf(b.offsets, b.offset_type, b.base);
  int64_t count = 0;
  ForEntries(a, 0, 0, a.rows,
             [&](int64_t, int64_t column, int64_t) { count += offset[column + 1] - offset[column]; });
  return count;
}

}  // namespace

cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t* descr) { return Create(descr); }
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t descr) {
  return descr == nullptr ? CUSPARSE_STATUS_SUCCESS : DestroyDescr(descr);
}
cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t handle, cusparseOperation_t opA,
                                               cusparseOperation_t opB, const void* alpha,
                                               cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                               const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                               cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t descr,
                                               size_t* size, void* buffer) {
  if (const cusparseStatus_t wrong = CheckValued(handle, opA, opB, alpha, a, b, beta, c, compute, alg, descr))
    return wrong;
  if (buffer == nullptr) return ReportSize(size);
  return OnStreamAndWait(handle, "cusparseSpGEMM_workEstimation",
                         [a = *a, b = *b, descr] { descr->products = CountProducts(a, b); });
}
cusparseStatus_t cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t descr, int64_t* count) {
  if (descr == nullptr || count == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *count = descr->products;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpGEMM_estimateMemory(cusparseHandle_t handle, cusparseOperation_t opA,
                                               cusparseOperation_t opB, const void* alpha,
                                               cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                               const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                               cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t descr,
                                               float fraction, size_t* size3, void* buffer3, size_t* size2) {
  if (const cusparseStatus_t wrong = CheckValued(handle, opA, opB, alpha, a, b, beta, c, compute, alg, descr))
    return wrong;
  // As documented, of the two algorithms that can do with less memory.
  if (alg != CUSPARSE_SPGEMM_ALG2 && alg != CUSPARSE_SPGEMM_ALG3) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!(fraction > 0 && fraction <= 1)) return CUSPARSE_STATUS_INVALID_VALUE;
  return buffer3 == nullptr ? ReportSize(size3) : ReportSize(size2);
}
cusparseStatus_t cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t opA,
                                        cusparseOperation_t opB, const void* alpha,
                                        cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                        const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                        cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t descr, size_t* size,
                                        void* buffer) {
  if (const cusparseStatus_t wrong = CheckValued(handle, opA, opB, alpha, a, b, beta, c, compute, alg, descr))
    return wrong;
  if (buffer == nullptr) return ReportSize(size);
  return WithCompute(compute, [&]<typename C>(Type<C>) {
    const auto product = std::make_shared<OwnRows<C>>();
    const cusparseStatus_t status = OnStreamAndWait(
        handle, "cusparseSpGEMM_compute",
        [=, a = *a, b = *b, al = Scalar<C>(handle, alpha)] { *product = Multiply<C>(a, b, al()); });
    if (status != CUSPARSE_STATUS_SUCCESS) return status;
    c->nnz = product->offset[product->rows];
    descr->product = Product<C>(product);
    return CUSPARSE_STATUS_SUCCESS;
  });
}
cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t opA,
                                     cusparseOperation_t opB, const void* alpha, cusparseConstSpMatDescr_t a,
                                     cusparseConstSpMatDescr_t b, const void* beta, cusparseSpMatDescr_t c,
                                     cudaDataType compute, cusparseSpGEMMAlg_t alg,
                                     cusparseSpGEMMDescr_t descr) {
  if (const cusparseStatus_t wrong = CheckValued(handle, opA, opB, alpha, a, b, beta, c, compute, alg, descr))
    return wrong;
  if (std::holds_alternative<std::monostate>(descr->product))
    return c->nnz == 0 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
  return WithCompute(compute, [&]<typename C>(Type<C>) {
    const auto* product = std::get_if<Product<C>>(&descr->product);
    if (product == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;  // computed in another type
    return OnStream(
        handle, "cusparseSpGEMM_copy",
        [c = *c, product = *product, be = Scalar<C>(handle, beta)] { Store(*product, c, be(), false); });
  });
}

cusparseStatus_t cusparseSpGEMMreuse_workEstimation(cusparseHandle_t handle, cusparseOperation_t opA,
                                                    cusparseOperation_t opB, cusparseConstSpMatDescr_t a,
                                                    cusparseConstSpMatDescr_t b, cusparseSpMatDescr_t c,
                                                    cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t descr,
                                                    size_t* size, void* buffer) {
  if (const cusparseStatus_t wrong = CheckSparse(handle, opA, opB, a, b, c, alg, descr)) return wrong;
  return buffer == nullptr ? ReportSize(size) : CUSPARSE_STATUS_SUCCESS;
}
// The structure alone: of the product of values that are all 1.
cusparseStatus_t cusparseSpGEMMreuse_nnz(cusparseHandle_t handle, cusparseOperation_t opA,
                                         cusparseOperation_t opB, cusparseConstSpMatDescr_t a,
                                         cusparseConstSpMatDescr_t b, cusparseSpMatDescr_t c,
                                         cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t descr, size_t* size2,
                                         void* buffer2, size_t* size3, void* buffer3, size_t* size4,
                                         void* buffer4) {
  if (const cusparseStatus_t wrong = CheckSparse(handle, opA, opB, a, b, c, alg, descr)) return wrong;
  if (buffer2 == nullptr || buffer3 == nullptr || buffer4 == nullptr) {
    if (size2 == nullptr || size3 == nullptr || size4 == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
    ReportSize(size2), ReportSize(size3);
    return ReportSize(size4);
  }
  const auto product = std::make_shared<OwnRows<float>>();
  const cusparseStatus_t status =
      OnStreamAndWait(handle, "cusparseSpGEMMreuse_nnz", [product, a = *a, b = *b]() mutable {
        const std::vector<float> ones(static_cast<size_t>(std::max(a.nnz, b.nnz)), 1.0f);
        a.values = b.values = const_cast<float*>(ones.data());
        a.type = b.type = CUDA_R_32F;
        *product = Multiply<float>(a, b, 1.0f);
      });
  if (status != CUSPARSE_STATUS_SUCCESS) return status;
  c->nnz = product->offset[product->rows];
  descr->product = Product<float>(product);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpGEMMreuse_copy(cusparseHandle_t handle, cusparseOperation_t opA,
                                          cusparseOperation_t opB, cusparseConstSpMatDescr_t a,
                                          cusparseConstSpMatDescr_t b, cusparseSpMatDescr_t c,
                                          cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t descr, size_t* size,
                                          void* buffer) {
  if (const cusparseStatus_t wrong = CheckSparse(handle, opA, opB, a, b, c, alg, descr)) return wrong;
  if (buffer == nullptr) return ReportSize(size);
  const auto* product = std::get_if<Product<float>>(&descr->product);
  if (product == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;  // none, or not of cusparseSpGEMMreuse_nnz
  return OnStream(handle, "cusparseSpGEMMreuse_copy",
                  [c = *c, product = *product] { Store(*product, c, 0.0f, true); });
}
// Values of new operands in the structure that was copied.
cusparseStatus_t cusparseSpGEMMreuse_compute(cusparseHandle_t handle, cusparseOperation_t opA,
                                             cusparseOperation_t opB, const void* alpha,
                                             cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                             const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                             cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t descr) {
  if (const cusparseStatus_t wrong = CheckValued(handle, opA, opB, alpha, a, b, beta, c, compute, alg, descr))
    return wrong;
  return WithCompute(compute, [&]<typename C>(Type<C>) {
    return OnStream(handle, "cusparseSpGEMMreuse_compute",
                    [a = *a, b = *b, c = *c, al = Scalar<C>(handle, alpha), be = Scalar<C>(handle, beta)] {
                      Store(Multiply<C>(a, b, al()), c, be(), false);
                    });
  });
}

}  // namespace ptx2cpu::cusparse
