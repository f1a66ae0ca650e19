// Chooses kernels of a module to compile before a launch needs them: programs that launch several kernels of
// a module whose code takes long to compile tend to launch more, in the order of the text or in reverse.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

namespace ptx2cpu::rt {

// Kernels are named by their place in the module. All functions may be called from several threads.
class Ahead {
 public:
  // `long_from`: milliseconds of compiling.
  Ahead(size_t kernels, double long_from) : long_from_(long_from), states_(kernels) {}

  // Called when a launch has the kernel's code; `milliseconds`: the time that it waited for the compilation.
  // Returns the kernel to compile next. At most kMaxUnused kernels are compiled without having been launched.
  std::optional<size_t> AfterUse(size_t kernel, double milliseconds);
  // A kernel that AfterUse returned could not be compiled: it no longer counts as compiled, and is not
  // returned again.
  void GiveUp(size_t kernel);

 private:
  enum class State : char { kUnknown, kAhead, kGivenUp, kUsed };
  static constexpr size_t kMaxUnused = 2;
  static constexpr int kFirst = 2;  // so many that took long come first
  std::optional<size_t> Next(size_t kernel) const;

  const double long_from_;
  std::mutex mutex_;
  std::vector<State> states_;
  std::optional<size_t> last_;
  bool is_reverse_ = false;
  int long_ones_ = 0;
  size_t unused_ = 0;
};

}  // namespace ptx2cpu::rt
