#include "runtime/cuda/libraries/blas/status.h"

#include <algorithm>
#include <iterator>

#include "runtime/cuda/libraries/core/soname.h"

namespace ptx2cpu::cublas {

using namespace cuda;

namespace {

constexpr Release kReleases[] = {{11, 11, 3}, {12, 9, 1}, {13, 0, 2}};
struct StatusRow {
  cublasStatus_t status;
  const char *name, *text;
};
constexpr StatusRow kStatus[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE", "an invalid value was passed"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH", "the device lacks a feature"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "an access to memory failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the function failed on the device"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "the functionality is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "a license is required"},
};
const StatusRow* RowOf(cublasStatus_t status) {
  const auto row = std::ranges::find(kStatus, status, &StatusRow::status);
  return row == std::end(kStatus) ? nullptr : row;
}

}  // namespace

Release ThisRelease() { return *std::ranges::find(kReleases, libraries::kSonameMajor, &Release::major); }

const char* StatusName(cublasStatus_t status) {
  const StatusRow* row = RowOf(status);
  return row == nullptr ? "unrecognized status" : row->name;
}
const char* StatusText(cublasStatus_t status) {
  const StatusRow* row = RowOf(status);
  return row == nullptr ? "unrecognized status" : row->text;
}

}  // namespace ptx2cpu::cublas
