// Handles, matrix descriptors, and the library's version and properties.
#include <iterator>

#include "runtime/cuda/libraries/core/handle.h"
#include "runtime/cuda/libraries/core/soname.h"
#include "runtime/cuda/libraries/sparse/call.h"

namespace ptx2cpu::cusparse {

namespace {

struct StatusRow {
  const char *name, *text;
};
constexpr StatusRow kStatus[] = {
    {"CUSPARSE_STATUS_SUCCESS", "success"},
    {"CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error"},
    {"CUSPARSE_STATUS_ALLOC_FAILED", "out of memory"},
    {"CUSPARSE_STATUS_INVALID_VALUE", "invalid value"},
    {"CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch"},
    {"CUSPARSE_STATUS_MAPPING_ERROR", "mapping error"},
    {"CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure"},
    {"CUSPARSE_STATUS_INTERNAL_ERROR", "internal error"},
    {"CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", "matrix type not supported"},
    {"CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot"},
    {"CUSPARSE_STATUS_NOT_SUPPORTED", "operation not supported"},
    {"CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", "insufficient resources"},
};
bool IsStatus(cusparseStatus_t status) {
  return status >= 0 && static_cast<size_t>(status) < std::size(kStatus);
}

// The last release of each soname.
struct Release {
  int soname, major, minor, patch;
};
constexpr Release kReleases[] = {{11, 11, 7, 5}, {12, 12, 6, 3}};
Release ThisRelease() { return *std::ranges::find(kReleases, libraries::kSonameMajor, &Release::soname); }

}  // namespace

cusparseStatus_t cusparseCreate(cusparseHandle_t* handle) {
  return libraries::CreateHandle(handle, CUSPARSE_STATUS_INVALID_VALUE, CUSPARSE_STATUS_NOT_INITIALIZED);
}
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) {
  delete handle;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int* version) {
  if (const cusparseStatus_t wrong = Check(handle, version != nullptr)) return wrong;
  const Release release = ThisRelease();
  *version = release.major * 1000 + release.minor * 100 + release.patch;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return CUSPARSE_STATUS_INVALID_VALUE;
  const Release release = ThisRelease();
  *value = type == MAJOR_VERSION ? release.major : type == MINOR_VERSION ? release.minor : release.patch;
  return CUSPARSE_STATUS_SUCCESS;
}
const char* cusparseGetErrorName(cusparseStatus_t status) {
  return IsStatus(status) ? kStatus[status].name : "unrecognized error code";
}
const char* cusparseGetErrorString(cusparseStatus_t status) {
  return IsStatus(status) ? kStatus[status].text : "unrecognized error code";
}
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
  return libraries::Write(Check(handle), handle, &cusparseContext::stream, stream);
}
cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t* stream) {
  return libraries::Read(Check(handle, stream != nullptr), handle, &cusparseContext::stream, stream);
}
cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t* mode) {
  return libraries::Read(Check(handle, mode != nullptr), handle, &cusparseContext::pointer_mode, mode);
}
cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode) {
  const bool right = mode == CUSPARSE_POINTER_MODE_HOST || mode == CUSPARSE_POINTER_MODE_DEVICE;
  return libraries::Write(Check(handle, right), handle, &cusparseContext::pointer_mode, mode);
}

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t* descr) {
  if (descr == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *descr = new cusparseMatDescr;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t descr) {
  delete descr;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t descr, cusparseMatrixType_t value) {
  if (descr == nullptr) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (value < CUSPARSE_MATRIX_TYPE_GENERAL || value > CUSPARSE_MATRIX_TYPE_TRIANGULAR)
    return CUSPARSE_STATUS_INVALID_VALUE;
  descr->type = value;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseMatrixType_t cusparseGetMatType(const cusparseMatDescr_t descr) { return descr->type; }
cusparseStatus_t cusparseSetMatFillMode(cusparseMatDescr_t descr, cusparseFillMode_t value) {
  if (descr == nullptr || value < CUSPARSE_FILL_MODE_LOWER || value > CUSPARSE_FILL_MODE_UPPER)
    return CUSPARSE_STATUS_INVALID_VALUE;
  descr->fill = value;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseFillMode_t cusparseGetMatFillMode(const cusparseMatDescr_t descr) { return descr->fill; }
cusparseStatus_t cusparseSetMatDiagType(cusparseMatDescr_t descr, cusparseDiagType_t value) {
  if (descr == nullptr || value < CUSPARSE_DIAG_TYPE_NON_UNIT || value > CUSPARSE_DIAG_TYPE_UNIT)
    return CUSPARSE_STATUS_INVALID_VALUE;
  descr->diagonal = value;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseDiagType_t cusparseGetMatDiagType(const cusparseMatDescr_t descr) { return descr->diagonal; }
cusparseStatus_t cusparseSetMatIndexBase(cusparseMatDescr_t descr, cusparseIndexBase_t value) {
  if (descr == nullptr || !IsRight(value)) return CUSPARSE_STATUS_INVALID_VALUE;
  descr->base = value;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseIndexBase_t cusparseGetMatIndexBase(const cusparseMatDescr_t descr) { return descr->base; }

}  // namespace ptx2cpu::cusparse
