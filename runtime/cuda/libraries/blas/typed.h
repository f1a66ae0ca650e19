// Functions whose types are arguments (the Ex functions): level 1, products, copies between host and device.
#pragma once

#include "runtime/cuda/libraries/blas/gemm.h"
#include "runtime/cuda/libraries/blas/mixed_gemm.h"

namespace ptx2cpu::cublas {

// A scalar of a type that is an argument: read when the function is called, or on the device when the work
// runs.
class TypedScalar {
 public:
  TypedScalar(cublasHandle_t handle, const void* pointer, cudaDataType type);
  // Converted; zero for a type that no scalar has.
  cuDoubleComplex Get() const;

 private:
  cudaDataType type_;
  const void* device_;
  alignas(16) unsigned char value_[16] = {};
};

// Level 1. Types that a function does not take: CUBLAS_STATUS_NOT_SUPPORTED.
cublasStatus_t AxpyEx(const char* name, cublasHandle_t h, int64_t n, const void* alpha,
                      cudaDataType alpha_type, const void* x, cudaDataType x_type, int64_t incx, void* y,
                      cudaDataType y_type, int64_t incy, cudaDataType execution);
cublasStatus_t DotEx(const char* name, cublasHandle_t h, int64_t n, const void* x, cudaDataType x_type,
                     int64_t incx, const void* y, cudaDataType y_type, int64_t incy, void* result,
                     cudaDataType result_type, cudaDataType execution);
cublasStatus_t DotcEx(const char* name, cublasHandle_t h, int64_t n, const void* x, cudaDataType x_type,
                      int64_t incx, const void* y, cudaDataType y_type, int64_t incy, void* result,
                      cudaDataType result_type, cudaDataType execution);
cublasStatus_t Nrm2Ex(const char* name, cublasHandle_t h, int64_t n, const void* x, cudaDataType x_type,
                      int64_t incx, void* result, cudaDataType result_type, cudaDataType execution);
cublasStatus_t AsumEx(const char* name, cublasHandle_t h, int64_t n, const void* x, cudaDataType x_type,
                      int64_t incx, void* result, cudaDataType result_type, cudaDataType execution);
cublasStatus_t ScalEx(const char* name, cublasHandle_t h, int64_t n, const void* alpha,
                      cudaDataType alpha_type, void* x, cudaDataType x_type, int64_t incx,
                      cudaDataType execution);
cublasStatus_t CopyEx(const char* name, cublasHandle_t h, int64_t n, const void* x, cudaDataType x_type,
                      int64_t incx, void* y, cudaDataType y_type, int64_t incy);
cublasStatus_t SwapEx(const char* name, cublasHandle_t h, int64_t n, void* x, cudaDataType x_type,
                      int64_t incx, void* y, cudaDataType y_type, int64_t incy);
cublasStatus_t RotEx(const char* name, cublasHandle_t h, int64_t n, void* x, cudaDataType x_type,
                     int64_t incx, void* y, cudaDataType y_type, int64_t incy, const void* c, const void* s,
                     cudaDataType cs_type, cudaDataType execution);
cublasStatus_t RotmEx(const char* name, cublasHandle_t h, int64_t n, void* x, cudaDataType x_type,
                      int64_t incx, void* y, cudaDataType y_type, int64_t incy, const void* param,
                      cudaDataType param_type, cudaDataType execution);
cublasStatus_t RotgEx(const char* name, cublasHandle_t h, void* a, void* b, cudaDataType ab_type, void* c,
                      void* s, cudaDataType cs_type, cudaDataType execution);
cublasStatus_t RotmgEx(const char* name, cublasHandle_t h, void* d1, cudaDataType d1_type, void* d2,
                       cudaDataType d2_type, void* x1, cudaDataType x1_type, const void* y1,
                       cudaDataType y1_type, void* param, cudaDataType param_type, cudaDataType execution);
cublasStatus_t ExtremeEx(const char* name, cublasHandle_t h, bool least, int64_t n, const void* x,
                         cudaDataType x_type, int64_t incx, void* result, size_t result_bytes);
template <typename Int>
cublasStatus_t IamaxEx(const char* name, cublasHandle_t h, int64_t n, const void* x, cudaDataType x_type,
                       int64_t incx, Int* result) {
  return ExtremeEx(name, h, false, n, x, x_type, incx, result, sizeof(Int));
}
template <typename Int>
cublasStatus_t IaminEx(const char* name, cublasHandle_t h, int64_t n, const void* x, cudaDataType x_type,
                       int64_t incx, Int* result) {
  return ExtremeEx(name, h, true, n, x, x_type, incx, result, sizeof(Int));
}

// Products. Which types go together is the table of typed_gemm.cpp.
cublasStatus_t GemmEx(const char* name, cublasHandle_t h, cublasOperation_t op_a, cublasOperation_t op_b,
                      int64_t m, int64_t n, int64_t k, const void* alpha, const void* a, cudaDataType a_type,
                      int64_t lda, const void* b, cudaDataType b_type, int64_t ldb, const void* beta, void* c,
                      cudaDataType c_type, int64_t ldc, cublasComputeType_t compute, cublasGemmAlgo_t algo);
cublasStatus_t GemmBatchedEx(const char* name, cublasHandle_t h, cublasOperation_t op_a,
                             cublasOperation_t op_b, int64_t m, int64_t n, int64_t k, const void* alpha,
                             const void* const a[], cudaDataType a_type, int64_t lda, const void* const b[],
                             cudaDataType b_type, int64_t ldb, const void* beta, void* const c[],
                             cudaDataType c_type, int64_t ldc, int64_t count, cublasComputeType_t compute,
                             cublasGemmAlgo_t algo);
cublasStatus_t GemmStridedBatchedEx(const char* name, cublasHandle_t h, cublasOperation_t op_a,
                                    cublasOperation_t op_b, int64_t m, int64_t n, int64_t k,
                                    const void* alpha, const void* a, cudaDataType a_type, int64_t lda,
                                    int64_t stride_a, const void* b, cudaDataType b_type, int64_t ldb,
                                    int64_t stride_b, const void* beta, void* c, cudaDataType c_type,
                                    int64_t ldc, int64_t stride_c, int64_t count, cublasComputeType_t compute,
                                    cublasGemmAlgo_t algo);
cublasStatus_t SgemmEx(const char* name, cublasHandle_t h, cublasOperation_t op_a, cublasOperation_t op_b,
                       int64_t m, int64_t n, int64_t k, const float* alpha, const void* a,
                       cudaDataType a_type, int64_t lda, const void* b, cudaDataType b_type, int64_t ldb,
                       const float* beta, void* c, cudaDataType c_type, int64_t ldc);
cublasStatus_t CgemmEx(const char* name, cublasHandle_t h, cublasOperation_t op_a, cublasOperation_t op_b,
                       int64_t m, int64_t n, int64_t k, const cuComplex* alpha, const void* a,
                       cudaDataType a_type, int64_t lda, const void* b, cudaDataType b_type, int64_t ldb,
                       const cuComplex* beta, void* c, cudaDataType c_type, int64_t ldc);
cublasStatus_t Cgemm3mEx(const char* name, cublasHandle_t h, cublasOperation_t op_a, cublasOperation_t op_b,
                         int64_t m, int64_t n, int64_t k, const cuComplex* alpha, const void* a,
                         cudaDataType a_type, int64_t lda, const void* b, cudaDataType b_type, int64_t ldb,
                         const cuComplex* beta, void* c, cudaDataType c_type, int64_t ldc);
cublasStatus_t CsyrkEx(const char* name, cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                       int64_t n, int64_t k, const cuComplex* alpha, const void* a, cudaDataType a_type,
                       int64_t lda, const cuComplex* beta, void* c, cudaDataType c_type, int64_t ldc);
cublasStatus_t Csyrk3mEx(const char* name, cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                         int64_t n, int64_t k, const cuComplex* alpha, const void* a, cudaDataType a_type,
                         int64_t lda, const cuComplex* beta, void* c, cudaDataType c_type, int64_t ldc);
cublasStatus_t CherkEx(const char* name, cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                       int64_t n, int64_t k, const float* alpha, const void* a, cudaDataType a_type,
                       int64_t lda, const float* beta, void* c, cudaDataType c_type, int64_t ldc);
cublasStatus_t Cherk3mEx(const char* name, cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t op,
                         int64_t n, int64_t k, const float* alpha, const void* a, cudaDataType a_type,
                         int64_t lda, const float* beta, void* c, cudaDataType c_type, int64_t ldc);
// Shapes and factors of all groups are in host memory, addresses on the device.
struct GroupedProducts {
  const cublasOperation_t *op_a, *op_b;
  const void *alpha, *beta;
  const void* const* a;
  const void* const* b;
  void* const* c;
  cudaDataType a_type, b_type, c_type;
  cublasComputeType_t compute;
};
struct GroupShape {
  int64_t m, n, k, lda, ldb, ldc, size;
};
cublasStatus_t MultiplyGroups(const char* name, cublasHandle_t h, const GroupedProducts& products,
                              int64_t groups, const GroupShape* shapes);
template <typename Int>
cublasStatus_t GemmGroupedBatchedEx(const char* name, cublasHandle_t h, const cublasOperation_t* op_a,
                                    const cublasOperation_t* op_b, const Int* m, const Int* n, const Int* k,
                                    const void* alpha, const void* const* a, cudaDataType a_type,
                                    const Int* lda, const void* const* b, cudaDataType b_type, const Int* ldb,
                                    const void* beta, void* const* c, cudaDataType c_type, const Int* ldc,
                                    int64_t groups, const Int* sizes, cublasComputeType_t compute) {
  if (const cublasStatus_t wrong = Check(h, groups >= 0)) return wrong;
  std::vector<GroupShape> shapes(groups);
  for (int64_t g = 0; g < groups; ++g) shapes[g] = {m[g], n[g], k[g], lda[g], ldb[g], ldc[g], sizes[g]};
  return MultiplyGroups(name, h, {op_a, op_b, alpha, beta, a, b, c, a_type, b_type, c_type, compute}, groups,
                        shapes.data());
}

// Copies between host and device, and between strides.
cublasStatus_t SetVector(const char* name, int64_t n, int64_t size, const void* x, int64_t incx, void* y,
                         int64_t incy);
cublasStatus_t GetVector(const char* name, int64_t n, int64_t size, const void* x, int64_t incx, void* y,
                         int64_t incy);
cublasStatus_t SetMatrix(const char* name, int64_t rows, int64_t columns, int64_t size, const void* a,
                         int64_t lda, void* b, int64_t ldb);
cublasStatus_t GetMatrix(const char* name, int64_t rows, int64_t columns, int64_t size, const void* a,
                         int64_t lda, void* b, int64_t ldb);
cublasStatus_t SetVectorAsync(const char* name, int64_t n, int64_t size, const void* x, int64_t incx, void* y,
                              int64_t incy, cudaStream_t stream);
cublasStatus_t GetVectorAsync(const char* name, int64_t n, int64_t size, const void* x, int64_t incx, void* y,
                              int64_t incy, cudaStream_t stream);
cublasStatus_t SetMatrixAsync(const char* name, int64_t rows, int64_t columns, int64_t size, const void* a,
                              int64_t lda, void* b, int64_t ldb, cudaStream_t stream);
cublasStatus_t GetMatrixAsync(const char* name, int64_t rows, int64_t columns, int64_t size, const void* a,
                              int64_t lda, void* b, int64_t ldb, cudaStream_t stream);

}  // namespace ptx2cpu::cublas
