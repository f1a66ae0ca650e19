// Products whose types are arguments.
#include <cstring>

#include "runtime/cuda/libraries/blas/batch.h"
#include "runtime/cuda/libraries/blas/triangle_update.h"
#include "runtime/cuda/libraries/blas/typed.h"

namespace ptx2cpu::cublas {

namespace {

using MultiplyTyped = void (*)(const MixedProduct& p, cuDoubleComplex alpha, cuDoubleComplex beta);

template <typename T>
T ScalarAs(cuDoubleComplex value) {
  if constexpr (kIsComplex<T>) {
    return T(value);
  } else {
    return static_cast<T>(value.real());
  }
}
template <typename T>
void MultiplyAs(const MixedProduct& p, cuDoubleComplex alpha, cuDoubleComplex beta) {
  Multiply<T>({p.op_a, p.op_b, p.m, p.n, p.k, ScalarAs<T>(alpha), static_cast<const T*>(p.a), p.lda,
               static_cast<const T*>(p.b), p.ldb, ScalarAs<T>(beta), static_cast<T*>(p.c), p.ldc});
}
void MultiplyNarrow(const MixedProduct& p, cuDoubleComplex alpha, cuDoubleComplex beta) {
  MultiplyMixed(p, ScalarAs<float>(alpha), ScalarAs<float>(beta));
}
void MultiplyWhole(const MixedProduct& p, cuDoubleComplex alpha, cuDoubleComplex beta) {
  MultiplyIntegers(p, ScalarAs<int32_t>(alpha), ScalarAs<int32_t>(beta));
}
void MultiplyComplexWhole(const MixedProduct& p, cuDoubleComplex alpha, cuDoubleComplex beta) {
  MultiplyComplexIntegers(p, cuComplex(alpha), cuComplex(beta));
}

// Precisions of the computation, of which several compute types have one.
enum class Precision : uint8_t { kHalf, kInteger, kSingle, kFastSingle, kFastHalf, kDouble, kNone };

struct ComputeRow {
  cublasComputeType_t compute;
  Precision precision;
};
constexpr ComputeRow kComputes[] = {
    {CUBLAS_COMPUTE_16F, Precision::kHalf},
    {CUBLAS_COMPUTE_16F_PEDANTIC, Precision::kHalf},
    {CUBLAS_COMPUTE_32I, Precision::kInteger},
    {CUBLAS_COMPUTE_32I_PEDANTIC, Precision::kInteger},
    {CUBLAS_COMPUTE_32F, Precision::kSingle},
    {CUBLAS_COMPUTE_32F_PEDANTIC, Precision::kSingle},
    {CUBLAS_COMPUTE_32F_FAST_16F, Precision::kFastHalf},
    {CUBLAS_COMPUTE_32F_FAST_16BF, Precision::kFastSingle},
    {CUBLAS_COMPUTE_32F_FAST_TF32, Precision::kFastSingle},
    {CUBLAS_COMPUTE_32F_EMULATED_16BFX9, Precision::kFastSingle},
    {CUBLAS_COMPUTE_64F, Precision::kDouble},
    {CUBLAS_COMPUTE_64F_PEDANTIC, Precision::kDouble},
    {CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT, Precision::kDouble},
};

// Which types go together; both operands have one type. A fast single precision takes singles, that of f16
// also f16.
struct ProductRow {
  Precision precision;
  cudaDataType_t operands, result, scalars;
  MultiplyTyped multiply;
};
constexpr ProductRow kProducts[] = {
    {Precision::kHalf, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, MultiplyNarrow},
    {Precision::kInteger, CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, MultiplyWhole},
    {Precision::kSingle, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, MultiplyNarrow},
    {Precision::kSingle, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, MultiplyNarrow},
    {Precision::kSingle, CUDA_R_8I, CUDA_R_32F, CUDA_R_32F, MultiplyNarrow},
    {Precision::kSingle, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, MultiplyNarrow},
    {Precision::kSingle, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F, MultiplyNarrow},
    {Precision::kSingle, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, MultiplyAs<float>},
    {Precision::kSingle, CUDA_C_8I, CUDA_C_32F, CUDA_C_32F, MultiplyComplexWhole},
    {Precision::kSingle, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, MultiplyAs<cuComplex>},
    {Precision::kFastSingle, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, MultiplyAs<float>},
    {Precision::kFastSingle, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, MultiplyAs<cuComplex>},
    {Precision::kFastHalf, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, MultiplyAs<float>},
    {Precision::kFastHalf, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, MultiplyAs<cuComplex>},
    {Precision::kFastHalf, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, MultiplyNarrow},
    {Precision::kDouble, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, MultiplyAs<double>},
    {Precision::kDouble, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, MultiplyAs<cuDoubleComplex>},
};

const ProductRow* RowOf(cublasComputeType_t compute, cudaDataType a, cudaDataType b, cudaDataType c) {
  const auto known = std::ranges::find(kComputes, compute, &ComputeRow::compute);
  if (known == std::end(kComputes) || a != b) return nullptr;
  const auto row = std::ranges::find_if(kProducts, [&](const ProductRow& product) {
    return product.precision == known->precision && product.operands == a && product.result == c;
  });
  return row == std::end(kProducts) ? nullptr : row;
}

// Only cublasLtMatmul takes these types.
bool IsEightBitFloat(cudaDataType type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

// -1 to 23, 99 to 115 and 999: one algorithm serves all of them.
bool IsRight(cublasGemmAlgo_t algo) {
  const int number = algo;
  return (number >= -1 && number <= 23) || (number >= 99 && number <= 115) || number == 999;
}

// One element's bytes, to go from matrix to matrix of a batch.
size_t BytesOf(cudaDataType type) {
  struct Size {
    cudaDataType type;
    size_t bytes;
  };
  constexpr Size kSizes[] = {{CUDA_R_8I, 1},   {CUDA_C_8I, 2},  {CUDA_R_16F, 2},
                             {CUDA_R_16BF, 2}, {CUDA_R_32F, 4}, {CUDA_R_32I, 4},
                             {CUDA_C_32F, 8},  {CUDA_R_64F, 8}, {CUDA_C_64F, 16}};
  const auto found = std::ranges::find(kSizes, type, &Size::type);
  return found == std::end(kSizes) ? 0 : found->bytes;
}

// The matrices of a batch as bytes: an array of addresses, or one address and a distance in bytes.
template <typename T>
struct TypedAddress {
  T* const* list;
  T* first;
  int64_t stride;
  T* operator[](int64_t i) const {
    using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
    return list != nullptr ? list[i] : static_cast<Byte*>(first) + i * stride;
  }
};

struct TypedBatch {
  TypedAddress<const void> a, b;
  TypedAddress<void> c;
  int64_t count;
};

cublasStatus_t MultiplyBatch(const char* name, cublasHandle_t h, const MixedProduct& shape, const void* alpha,
                             const void* beta, cudaDataType b_type, cublasComputeType_t compute,
                             const TypedBatch& batch) {
  if (const cublasStatus_t wrong = CheckProduct(h, shape.op_a, shape.op_b, shape.m, shape.n, shape.k,
                                                shape.lda, shape.ldb, shape.ldc, alpha, beta))
    return wrong;
  if (batch.count < 0) return CUBLAS_STATUS_INVALID_VALUE;
  const ProductRow* row = RowOf(compute, shape.types.operands, b_type, shape.types.result);
  if (IsEightBitFloat(shape.types.operands)) return CUBLAS_STATUS_INVALID_VALUE;
  if (row == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (shape.m == 0 || shape.n == 0 || batch.count == 0) return CUBLAS_STATUS_SUCCESS;
  if (const cublasStatus_t missing = Ready(name, shape.m, shape.n, shape.k, shape.lda, shape.ldb, shape.ldc))
    return missing;
  return OnStream(h, name,
                  [=, al = TypedScalar(h, alpha, row->scalars), be = TypedScalar(h, beta, row->scalars)] {
                    const cuDoubleComplex factor = al.Get(), kept = be.Get();
                    ForBatch(batch.count, WorkOf<float>(shape.m, shape.n, shape.k), [&](int64_t i) {
                      MixedProduct product = shape;
                      product.a = batch.a[i], product.b = batch.b[i], product.c = batch.c[i];
                      row->multiply(product, factor, kept);
                    });
                  });
}

// C = alpha op(A) op(A)^T + beta C with complex operands, of 8 bits or of single precision.
template <typename S, typename Update>
cublasStatus_t RankKTyped(const char* name, cublasHandle_t h, Triangle<cuComplex> t, const S* alpha,
                          const void* a, cudaDataType a_type, const S* beta, cudaDataType c_type,
                          Update update) {
  if (c_type != CUDA_C_32F || (a_type != CUDA_C_32F && a_type != CUDA_C_8I))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (a_type == CUDA_C_32F) {
    t.a = t.b = static_cast<const cuComplex*>(a);
    return TriangleCall(name, h, t, alpha, beta, update);
  }
  return TriangleCall(name, h, t, alpha, beta, [=](Triangle<cuComplex> triangle, S al, S be) {
    const int64_t rows = triangle.op == CUBLAS_OP_N ? triangle.n : triangle.k,
                  columns = triangle.op == CUBLAS_OP_N ? triangle.k : triangle.n;
    const std::unique_ptr<cuComplex[]> wide(new cuComplex[rows * columns]);
    for (int64_t j = 0; j < columns; ++j) {
      Widen(CUDA_R_8I, a, 2 * j * triangle.lda, 2 * rows, reinterpret_cast<float*>(wide.get() + j * rows));
    }
    triangle.a = triangle.b = wide.get();
    triangle.lda = triangle.ldb = rows;
    update(triangle, al, be);
  });
}

}  // namespace

cublasStatus_t GemmEx(const char* name, cublasHandle_t h, cublasOperation_t op_a, cublasOperation_t op_b,
                      int64_t m, int64_t n, int64_t k, const void* alpha, const void* a, cudaDataType a_type,
                      int64_t lda, const void* b, cudaDataType b_type, int64_t ldb, const void* beta, void* c,
                      cudaDataType c_type, int64_t ldc, cublasComputeType_t compute, cublasGemmAlgo_t algo) {
  if (const cublasStatus_t wrong = Check(h, IsRight(algo))) return wrong;
  return MultiplyBatch(name, h, {op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc, {a_type, c_type}}, alpha, beta,
                       b_type, compute, {{nullptr, a, 0}, {nullptr, b, 0}, {nullptr, c, 0}, 1});
}

cublasStatus_t GemmBatchedEx(const char* name, cublasHandle_t h, cublasOperation_t op_a,
                             cublasOperation_t op_b, int64_t m, int64_t n, int64_t k, const void* alpha,
                             const void* const a[], cudaDataType a_type, int64_t lda, const void* const b[],
                             cudaDataType b_type, int64_t ldb, const void* beta, void* const c[],
                             cudaDataType c_type, int64_t ldc, int64_t count, cublasComputeType_t compute,
                             cublasGemmAlgo_t algo) {
  if (const cublasStatus_t wrong = Check(h, IsRight(algo))) return wrong;
  return MultiplyBatch(
      name, h, {op_a, op_b, m, n, k, nullptr, lda, nullptr, ldb, nullptr, ldc, {a_type, c_type}}, alpha, beta,
      b_type, compute, {{a, nullptr, 0}, {b, nullptr, 0}, {c, nullptr, 0}, count});
}

cublasStatus_t GemmStridedBatchedEx(const char* name, cublasHandle_t h, cublasOperation_t op_a,
                                    cublasOperation_t op_b, int64_t m, int64_t n, int64_t k,
                                    const void* alpha, const void* a, cudaDataType a_type, int64_t lda,
                                    int64_t stride_a, const void* b, cudaDataType b_type, int64_t ldb,
                                    int64_t stride_b, const void* beta, void* c, cudaDataType c_type,
                                    int64_t ldc, int64_t stride_c, int64_t count, cublasComputeType_t compute,
                                    cublasGemmAlgo_t algo) {
  if (const cublasStatus_t wrong = Check(h, IsRight(algo))) return wrong;
  const auto bytes = [](int64_t stride, cudaDataType type) {
    return stride * static_cast<int64_t>(BytesOf(type));
  };
  return MultiplyBatch(name, h, {op_a, op_b, m, n, k, a, lda, b, ldb, c, ldc, {a_type, c_type}}, alpha, beta,
                       b_type, compute,
                       {{nullptr, a, bytes(stride_a, a_type)},
                        {nullptr, b, bytes(stride_b, b_type)},
                        {nullptr, c, bytes(stride_c, c_type)},
                        count});
}

cublasStatus_t SgemmEx(const char* name, cublasHandle_t h, cublasOperation_t op_a, cublasOperation_t op_b,
                       int64_t m, int64_t n, int64_t k, const float* alpha, const void* a,
                       cudaDataType a_type, int64_t lda, const void* b, cudaDataType b_type, int64_t ldb,
                       const float* beta, void* c, cudaDataType c_type, int64_t ldc) {
  return GemmEx(name, h, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc,
                CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}
cublasStatus_t CgemmEx(const char* name, cublasHandle_t h, cublasOperation_t op_a, cublasOperation_t op_b,
                       int64_t m, int64_t n, int64_t k, const cuComplex* alpha, const void* a,
                       cudaDataType a_type, int64_t lda, const void* b, cudaDataType b_type, int64_t ldb,
                       const cuComplex* beta, void* c, cudaDataType c_type, int64_t ldc) {
  return GemmEx(name, h, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc,
                CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}
cublasStatus_t Cgemm3mEx(const char* name, cublasHandle_t h, cublasOperation_t op_a, cublasOperation_t op_b,
                         int64_t m, int64_t n, int64_t k, const cuComplex* alpha, const void* a,
                         cudaDataType a_type, int64_t lda, const void* b, cudaDataType b_type, int64_t ldb,
                         const cuComplex* beta, void* c, cudaDataType c_type, int64_t ldc) {
  return CgemmEx(name, h, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc);
}

cublasStatus_t CsyrkEx(const char* name, cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                       int64_t n, int64_t k, const cuComplex* alpha, const void* a, cudaDataType a_type,
                       int64_t lda, const cuComplex* beta, void* c, cudaDataType c_type, int64_t ldc) {
  return RankKTyped(
      name, h, {uplo, op, false, n, k, nullptr, nullptr, lda, lda, static_cast<cuComplex*>(c), ldc}, alpha, a,
      a_type, beta, c_type,
      [](const Triangle<cuComplex>& t, cuComplex al, cuComplex be) { RankK<"syrk">(t, al, be); });
}
cublasStatus_t Csyrk3mEx(const char* name, cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                         int64_t n, int64_t k, const cuComplex* alpha, const void* a, cudaDataType a_type,
                         int64_t lda, const cuComplex* beta, void* c, cudaDataType c_type, int64_t ldc) {
  return CsyrkEx(name, h, uplo, op, n, k, alpha, a, a_type, lda, beta, c, c_type, ldc);
}
cublasStatus_t CherkEx(const char* name, cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                       int64_t n, int64_t k, const float* alpha, const void* a, cudaDataType a_type,
                       int64_t lda, const float* beta, void* c, cudaDataType c_type, int64_t ldc) {
  return RankKTyped(name, h,
                    {uplo, op, true, n, k, nullptr, nullptr, lda, lda, static_cast<cuComplex*>(c), ldc},
                    alpha, a, a_type, beta, c_type,
                    [](const Triangle<cuComplex>& t, float al, float be) { RankK<"herk">(t, al, be); });
}
cublasStatus_t Cherk3mEx(const char* name, cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                         int64_t n, int64_t k, const float* alpha, const void* a, cudaDataType a_type,
                         int64_t lda, const float* beta, void* c, cudaDataType c_type, int64_t ldc) {
  return CherkEx(name, h, uplo, op, n, k, alpha, a, a_type, lda, beta, c, c_type, ldc);
}

cublasStatus_t MultiplyGroups(const char* name, cublasHandle_t h, const GroupedProducts& p, int64_t groups,
                              const GroupShape* shapes) {
  const ProductRow* row = RowOf(p.compute, p.a_type, p.b_type, p.c_type);
  if (row == nullptr || p.c_type != p.a_type) return CUBLAS_STATUS_NOT_SUPPORTED;  // groups have one type
  struct Member {
    MixedProduct product;
    TypedScalar alpha, beta;
    int64_t index;
  };
  std::vector<Member> members;
  int64_t index = 0;
  const size_t scalar = BytesOf(row->scalars);
  for (int64_t g = 0; g < groups; ++g) {
    const GroupShape& s = shapes[g];
    if (const cublasStatus_t wrong =
            CheckProduct(h, p.op_a[g], p.op_b[g], s.m, s.n, s.k, s.lda, s.ldb, s.ldc, p.alpha, p.beta))
      return wrong;
    if (const cublasStatus_t missing = Ready(name, s.m, s.n, s.k, s.lda, s.ldb, s.ldc)) return missing;
    const TypedScalar alpha(h, static_cast<const char*>(p.alpha) + g * scalar, row->scalars),
        beta(h, static_cast<const char*>(p.beta) + g * scalar, row->scalars);
    for (int64_t i = 0; i < s.size; ++i, ++index) {
      if (s.m == 0 || s.n == 0) continue;
      members.push_back({{p.op_a[g],
                          p.op_b[g],
                          s.m,
                          s.n,
                          s.k,
                          nullptr,
                          s.lda,
                          nullptr,
                          s.ldb,
                          nullptr,
                          s.ldc,
                          {p.a_type, p.c_type}},
                         alpha,
                         beta,
                         index});
    }
  }
  return OnStream(h, name, [members = std::move(members), row, a = p.a, b = p.b, c = p.c] {
    libraries::ForEach(static_cast<int64_t>(members.size()), [&](int64_t i) {
      MixedProduct product = members[i].product;
      const int64_t at = members[i].index;
      product.a = a[at], product.b = b[at], product.c = c[at];
      row->multiply(product, members[i].alpha.Get(), members[i].beta.Get());
    });
  });
}

}  // namespace ptx2cpu::cublas
