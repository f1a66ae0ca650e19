// Errors: their names, and the last one of each thread.
#include <array>
#include <utility>

#include "cudart_api.h"
#include "runtime/cuda/cudart/errors.h"

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

}  // namespace

cudaError_t cudaGetLastError() { return TakeError(); }
cudaError_t cudaPeekAtLastError() { return PeekAtError(); }

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* const entry = Find(error);
  return entry == nullptr ? "unrecognized error code" : entry->name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* const entry = Find(error);
  return entry == nullptr ? "unrecognized error code" : entry->text;
}

}  // namespace ptx2cpu::cudart
