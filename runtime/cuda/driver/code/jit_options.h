// The options of cuModuleLoadDataEx, cuLibraryLoadData and cuLink*: pairs of a name and a word, some of which
// are results.
#pragma once

#include <chrono>
#include <string_view>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/engine/kernel_module.h"

namespace ptx2cpu::driver {

class JitOptions {
 public:
  // INVALID_VALUE: no such option. The arrays must live until the last answer is written.
  static cuda::CUresult Read(unsigned count, const cuda::CUjit_option* names, void** values,
                             JitOptions& options);

  void ApplyTo(rt::ModuleOptions& module) const;
  // Text for the program's buffers; each call adds. Sizes that the program requested are set.
  void WriteInfo(std::string_view text) { info_.Append(text); }
  void WriteError(std::string_view text) { error_.Append(text); }
  // Writes CU_JIT_WALL_TIME and other results that are known at the end.
  void Finish();
  bool verbose() const { return verbose_; }
  bool has_error_log() const { return error_.buffer != nullptr && error_.size > 0; }

 private:
  struct Log {
    char* buffer = nullptr;
    size_t size = 0, used = 0;
    void** size_word = nullptr;  // receives the bytes written
    void Append(std::string_view text);
  };
  Log info_, error_;
  void** wall_time_ = nullptr;
  void** threads_ = nullptr;
  int optimisation_ = -1;
  bool contract_ = true;
  bool verbose_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace ptx2cpu::driver
