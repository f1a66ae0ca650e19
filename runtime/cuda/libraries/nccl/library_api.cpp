// The library: version, messages, memory, registrations, groups.
#include <algorithm>

#include "driver_api.h"
#include "nccl_api.h"
#include "runtime/cuda/libraries/core/stream_call.h"
#include "runtime/cuda/libraries/nccl/group.h"
#include "runtime/cuda/libraries/nccl/status.h"

namespace ptx2cpu::nccl {

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return ncclInvalidArgument;
  *version = 22809;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  struct Row {
    ncclResult_t result;
    const char* text;
  };
  constexpr Row kRows[] = {
      {ncclSuccess, "no error"},
      {ncclUnhandledCudaError, "a CUDA call failed"},
      {ncclSystemError, "a system call failed"},
      {ncclInternalError, "internal error"},
      {ncclInvalidArgument, "invalid argument"},
      {ncclInvalidUsage, "invalid usage"},
      {ncclRemoteError, "another rank failed or ended"},
      {ncclInProgress, "in progress"},
  };
  const auto row = std::ranges::find(kRows, result, &Row::result);
  return row == std::end(kRows) ? "unknown result code" : row->text;
}
const char* ncclGetLastError(ncclComm_t) { return LastReason(); }

ncclResult_t ncclMemAlloc(void** ptr, size_t size) {
  if (ptr == nullptr) return ncclUnhandledCudaError;
  if (libraries::Begin() != CUDA_SUCCESS) return ncclUnhandledCudaError;
  CUdeviceptr made = 0;
  // As recorded, a request for 0 bytes also returns an allocation.
  if (driver::cuMemAlloc_v2(&made, std::max<size_t>(size, 1)) != CUDA_SUCCESS) return ncclUnhandledCudaError;
  *ptr = reinterpret_cast<void*>(made);
  return ncclSuccess;
}
ncclResult_t ncclMemFree(void* ptr) {
  return driver::cuMemFree_v2(reinterpret_cast<CUdeviceptr>(ptr)) == CUDA_SUCCESS ? ncclSuccess
                                                                                  : ncclUnhandledCudaError;
}

// Nothing is gained by a registration: the handle is the address.
ncclResult_t ncclCommRegister(ncclComm_t comm, void* buff, size_t, void** handle) {
  if (comm == nullptr || handle == nullptr) return ncclInvalidArgument;
  *handle = buff;
  return ncclSuccess;
}
ncclResult_t ncclCommDeregister(ncclComm_t comm, void*) {
  return comm == nullptr ? ncclInvalidArgument : ncclSuccess;
}
// NCCL's answer where memory cannot be accessed by the other devices: success and no window.
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void*, size_t, ncclWindow_t* win, int) {
  if (comm == nullptr || win == nullptr) return ncclInvalidArgument;
  *win = nullptr;
  return ncclSuccess;
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t) {
  return comm == nullptr ? ncclInvalidArgument : ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  StartGroup();
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() { return EndGroup(); }

}  // namespace ptx2cpu::nccl
