// Which kernels of a module to compile before a launch needs them: programs that launch several kernels of a
// module whose code takes long tend to launch more, in the order of the text or in the reverse one.
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

  // To be called when a launch has the kernel's code; `milliseconds`: for which it waited while that was
  // compiled. The kernel to compile next. At most kMaxUnused are compiled that no launch has used.
  std::optional<size_t> AfterUse(size_t kernel, double milliseconds);
  // What AfterUse named could not be compiled: it counts as compiled no longer, and is not named again.
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
