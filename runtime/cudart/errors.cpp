// Errors: their names, and the last one of each thread.
#include "runtime/cudart/errors.h"

#include <array>
#include <atomic>

#include "cudart_api.h"

namespace ptx2cpu::cudart {

namespace {

struct ErrorText {
  cudaError_t error;
  const char *name, *text;
};

constexpr std::array kErrors = std::to_array<ErrorText>({
#define PTX2CPU_CUDA_ERROR(name, number, text) {cuda::name, #name, text},
#include "runtime/abi/cuda/runtime_errors.def"
#undef PTX2CPU_CUDA_ERROR
});

const ErrorText* Find(cudaError_t error) {
  for (const ErrorText& entry : kErrors) {
    if (entry.error == error) return &entry;
  }
  return nullptr;
}

struct LastError {
  cudaError_t error = cudaSuccess;
  uint32_t resets = 0;  // how many resets there had been then
};
thread_local LastError last_error;
std::atomic<uint32_t> resets{0};

// What a kernel did wrong stays until the device is reset: it leaves the context unusable.
bool IsFault(cudaError_t error) {
  return (error >= cudaErrorIllegalAddress && error <= cudaErrorTensorMemoryLeak && error != cudaErrorLaunchOutOfResources &&
          error != cudaErrorLaunchIncompatibleTexturing && !(error >= cudaErrorPeerAccessAlreadyEnabled && error <= cudaErrorContextIsDestroyed) &&
          !(error >= cudaErrorTooManyPeers && error <= cudaErrorHostMemoryNotRegistered) && error != cudaErrorCooperativeLaunchTooLarge);
}

cudaError_t Current() {
  LastError& last = last_error;
  if (IsFault(last.error) && last.resets != resets.load(std::memory_order_relaxed)) last.error = cudaSuccess;
  return last.error;
}

}  // namespace

// "Not ready" is an answer, not a failure (manual, cudaStreamQuery and cudaEventQuery).
void NoteError(cudaError_t error) {
  if (error != cudaErrorNotReady) last_error = {error, resets.load(std::memory_order_relaxed)};
}

void ForgetFaults() { resets.fetch_add(1, std::memory_order_relaxed); }

cudaError_t Failed(cudaError_t error) {
  NoteError(error);
  return error;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = Current();
  if (!IsFault(error)) last_error.error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() { return Current(); }

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* const entry = Find(error);
  return entry == nullptr ? "unrecognized error code" : entry->name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* const entry = Find(error);
  return entry == nullptr ? "unrecognized error code" : entry->text;
}

}  // namespace ptx2cpu::cudart
