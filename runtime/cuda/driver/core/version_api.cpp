// Versions, names of errors, and how programs find functions: cuGetProcAddress.
#include <cstring>
#include <string_view>

#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/core/entries.h"
#include "runtime/cuda/driver/core/errors.h"

namespace ptx2cpu::driver {

namespace {

constexpr cuuint64_t kProcAddressFlags =
    CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

// The form of the function that programs written for `version` mean: the youngest that is not younger.
const Entry* FindEntry(std::string_view name, int version, bool& known) {
  const Entry* best = nullptr;
  known = false;
  for (const Entry& entry : Entries()) {
    if (entry.base_name != name) continue;
    known = true;
    if (entry.version <= version && (best == nullptr || entry.version > best->version)) best = &entry;
  }
  return best;
}

}  // namespace

CUresult cuDriverGetVersion(int* driverVersion) {
  if (driverVersion == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *driverVersion = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** pStr) {
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pStr = NameOf(error);
  return *pStr == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** pStr) {
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pStr = TextOf(error);
  return *pStr == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* symbolStatus) {
  if (symbol == nullptr || pfn == nullptr || (flags & ~kProcAddressFlags) != 0 || cudaVersion > CUDA_VERSION)
    return CUDA_ERROR_INVALID_VALUE;
  bool known = false;
  const Entry* const entry = FindEntry(symbol, cudaVersion, known);
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  if (entry == nullptr) {
    status = known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    *pfn = nullptr;
  } else {
    const bool per_thread =
        (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0 && entry->per_thread != nullptr;
    *pfn = per_thread ? entry->per_thread : entry->function;
  }
  if (symbolStatus != nullptr) *symbolStatus = status;
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, nullptr);
}

// Tables of functions that no manual describes. There are none here. Libraries often request them and work
// without them, so the call returns an error without a message.
CUresult cuGetExportTable(const void** ppExportTable, const CUuuid* pExportTableId) {
  if (ppExportTable == nullptr || pExportTableId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *ppExportTable = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuProfilerStart() {
  Context* context;
  return CurrentContext(context);
}

CUresult cuProfilerStop() {
  Context* context;
  return CurrentContext(context);
}

}  // namespace ptx2cpu::driver
