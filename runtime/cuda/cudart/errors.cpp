// Errors: their names, and the last one of each thread.
#include "runtime/cuda/cudart/errors.h"

#include <array>
#include <utility>

#include "cudart_api.h"

namespace ptx2cpu::cudart {

namespace {

struct ErrorText {
  cudaError_t error;
  const char *name, *text;
};

constexpr std::array kErrors = std::to_array<ErrorText>({
#define PTX2CPU_CUDA_ERROR(name, number, text) {cuda::name, #name, text},
#include "runtime/cuda/abi/runtime_errors.def"
#undef PTX2CPU_CUDA_ERROR
});

const ErrorText* Find(cudaError_t error) {
  for (const ErrorText& entry : kErrors) {
    if (entry.error == error) return &entry;
  }
  return nullptr;
}

// Kept by value: reading it must work when everything else has failed. A fault is no exception: read once, it
// is gone, but every call that needs the context gives it again (so an H200 with CUDA 13).
thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

// "Not ready" is an answer, not a failure (manual, cudaStreamQuery and cudaEventQuery).
void NoteError(cudaError_t error) {
  if (error != cudaErrorNotReady) last_error = error;
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

cudaError_t cudaPeekAtLastError() { return last_error; }

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* const entry = Find(error);
  return entry == nullptr ? "unrecognized error code" : entry->name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* const entry = Find(error);
  return entry == nullptr ? "unrecognized error code" : entry->text;
}

}  // namespace ptx2cpu::cudart
