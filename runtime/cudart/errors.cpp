// Errors: their names, and the last one of each thread.
#include "runtime/cudart/errors.h"

#include <array>

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

// What the last failing call of this thread returned. Kept by value: reading it must work when everything else has failed.
thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

// "Not ready" is an answer, not a failure (manual, cudaStreamQuery and cudaEventQuery).
void NoteError(cudaError_t error) {
  if (error != cudaErrorNotReady) last_error = error;
}

cudaError_t Failed(cudaError_t error) {
  NoteError(error);
  return error;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error;
  if (error != cudaSuccess) last_error = cudaSuccess;
  return error;
}

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
