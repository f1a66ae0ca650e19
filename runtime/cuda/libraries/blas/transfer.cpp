// Copies between host and device: the runtime's copies, by rows of one element where strides differ.
#include "cudart_api.h"
#include "runtime/cuda/libraries/blas/typed.h"

namespace ptx2cpu::cublas {

namespace {

enum class Wait : uint8_t { kYes, kNo };

cublasStatus_t CopyColumns(int64_t rows, int64_t columns, int64_t size, const void* from, int64_t ld_from,
                           void* to, int64_t ld_to, cudaMemcpyKind kind, cudaStream_t stream, Wait wait) {
  if (rows < 0 || columns < 0 || size <= 0 || ld_from <= 0 || ld_to <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (rows == 0 || columns == 0) return CUBLAS_STATUS_SUCCESS;
  const auto bytes = [size](int64_t count) { return static_cast<size_t>(count * size); };
  const cudaError_t error =
      wait == Wait::kYes
          ? cudart::cudaMemcpy2D(to, bytes(ld_to), from, bytes(ld_from), bytes(rows), columns, kind)
          : cudart::cudaMemcpy2DAsync(to, bytes(ld_to), from, bytes(ld_from), bytes(rows), columns, kind,
                                      stream);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

cublasStatus_t CopyElements(int64_t n, int64_t size, const void* x, int64_t incx, void* y, int64_t incy,
                            cudaMemcpyKind kind, cudaStream_t stream, Wait wait) {
  if (n < 0) return CUBLAS_STATUS_MAPPING_ERROR;
  // Adjacent elements are one row.
  if (incx == 1 && incy == 1)
    return CopyColumns(n, 1, size, x, std::max<int64_t>(1, n), y, std::max<int64_t>(1, n), kind, stream,
                       wait);
  return CopyColumns(1, n, size, x, incx, y, incy, kind, stream, wait);
}

}  // namespace

cublasStatus_t SetVector(const char*, int64_t n, int64_t size, const void* x, int64_t incx, void* y,
                         int64_t incy) {
  return CopyElements(n, size, x, incx, y, incy, cudaMemcpyHostToDevice, nullptr, Wait::kYes);
}
cublasStatus_t GetVector(const char*, int64_t n, int64_t size, const void* x, int64_t incx, void* y,
                         int64_t incy) {
  return CopyElements(n, size, x, incx, y, incy, cudaMemcpyDeviceToHost, nullptr, Wait::kYes);
}
cublasStatus_t SetVectorAsync(const char*, int64_t n, int64_t size, const void* x, int64_t incx, void* y,
                              int64_t incy, cudaStream_t stream) {
  return CopyElements(n, size, x, incx, y, incy, cudaMemcpyHostToDevice, stream, Wait::kNo);
}
cublasStatus_t GetVectorAsync(const char*, int64_t n, int64_t size, const void* x, int64_t incx, void* y,
                              int64_t incy, cudaStream_t stream) {
  return CopyElements(n, size, x, incx, y, incy, cudaMemcpyDeviceToHost, stream, Wait::kNo);
}
cublasStatus_t SetMatrix(const char*, int64_t rows, int64_t columns, int64_t size, const void* a, int64_t lda,
                         void* b, int64_t ldb) {
  return CopyColumns(rows, columns, size, a, lda, b, ldb, cudaMemcpyHostToDevice, nullptr, Wait::kYes);
}
cublasStatus_t GetMatrix(const char*, int64_t rows, int64_t columns, int64_t size, const void* a, int64_t lda,
                         void* b, int64_t ldb) {
  return CopyColumns(rows, columns, size, a, lda, b, ldb, cudaMemcpyDeviceToHost, nullptr, Wait::kYes);
}
cublasStatus_t SetMatrixAsync(const char*, int64_t rows, int64_t columns, int64_t size, const void* a,
                              int64_t lda, void* b, int64_t ldb, cudaStream_t stream) {
  return CopyColumns(rows, columns, size, a, lda, b, ldb, cudaMemcpyHostToDevice, stream, Wait::kNo);
}
cublasStatus_t GetMatrixAsync(const char*, int64_t rows, int64_t columns, int64_t size, const void* a,
                              int64_t lda, void* b, int64_t ldb, cudaStream_t stream) {
  return CopyColumns(rows, columns, size, a, lda, b, ldb, cudaMemcpyDeviceToHost, stream, Wait::kNo);
}

}  // namespace ptx2cpu::cublas
