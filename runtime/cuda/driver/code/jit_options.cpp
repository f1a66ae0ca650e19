#include "runtime/cuda/driver/code/jit_options.h"

#include <algorithm>
#include <cstring>

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

// A word that is a number. Options have 32 bits, whatever type the program has used.
unsigned NumberIn(const void* word) { return static_cast<unsigned>(reinterpret_cast<uintptr_t>(word)); }

}  // namespace

void JitOptions::Log::Append(std::string_view text) {
  if (buffer == nullptr || size == 0) return;
  const size_t room = size - used - 1;  // the last byte is NUL
  const size_t count = std::min(room, text.size());
  std::memcpy(buffer + used, text.data(), count);
  used += count;
  buffer[used] = '\0';
  if (size_word != nullptr) *size_word = reinterpret_cast<void*>(used);
}

CUresult JitOptions::Read(unsigned count, const CUjit_option* names, void** values, JitOptions& options) {
  if (count > 0 && (names == nullptr || values == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    switch (names[i]) {
      case CU_JIT_INFO_LOG_BUFFER:
        options.info_.buffer = static_cast<char*>(values[i]);
        break;
      case CU_JIT_ERROR_LOG_BUFFER:
        options.error_.buffer = static_cast<char*>(values[i]);
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        options.info_.size = NumberIn(values[i]);
        options.info_.size_word = &values[i];
        break;
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        options.error_.size = NumberIn(values[i]);
        options.error_.size_word = &values[i];
        break;
      case CU_JIT_WALL_TIME:
        options.wall_time_ = &values[i];
        break;
      case CU_JIT_THREADS_PER_BLOCK:
        options.threads_ = &values[i];
        break;
      case CU_JIT_OPTIMIZATION_LEVEL:
        if (NumberIn(values[i]) > 4) return CUDA_ERROR_INVALID_VALUE;
        options.optimisation_ = static_cast<int>(std::min(NumberIn(values[i]), 3u));
        break;
      case CU_JIT_FMA:
        options.contract_ = NumberIn(values[i]) != 0;
        break;
      case CU_JIT_LOG_VERBOSE:
        options.verbose_ = NumberIn(values[i]) != 0;
        break;
      default:
        // The rest choose registers, targets, caches and debug formats of machine code that is not made here.
        if (names[i] < 0 || names[i] >= CU_JIT_NUM_OPTIONS) return CUDA_ERROR_INVALID_VALUE;
    }
  }
  for (Log* log : {&options.info_, &options.error_}) {
    if (log->buffer != nullptr && log->size > 0) log->buffer[0] = '\0';
    if (log->size_word != nullptr) *log->size_word = nullptr;
  }
  return CUDA_SUCCESS;
}

void JitOptions::ApplyTo(rt::ModuleOptions& module) const {
  if (optimisation_ >= 0) module.optimisation = optimisation_;
  if (!contract_) module.contract = false;
}

void JitOptions::Finish() {
  if (wall_time_ != nullptr) {
    const float milliseconds =
        std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - start_).count();
    void* word = nullptr;
    std::memcpy(&word, &milliseconds, sizeof milliseconds);
    *wall_time_ = word;
  }
  if (threads_ != nullptr) *threads_ = reinterpret_cast<void*>(uintptr_t{kMaxThreads});
}

}  // namespace ptx2cpu::driver
