// The last error of each thread.
#include "runtime/cuda/cudart/errors.h"

#include <array>
#include <utility>

#include "cudart_api.h"

namespace ptx2cpu::cudart {

namespace {

// Kept by value: reading it must work when everything else has failed. A fault is not an exception: read
// once, it is cleared, but every call that needs the context returns it again (like an H200 with CUDA 13).
thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

// "Not ready" is an answer, not a failure (manual, cudaStreamQuery and cudaEventQuery).
void NoteError(cudaError_t error) {
  if (error != cudaErrorNotReady) last_error = error;
}

cudaError_t TakeError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t PeekAtError() { return last_error; }

}  // namespace ptx2cpu::cudart
