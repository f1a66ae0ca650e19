// A line on standard error once compiling has taken two seconds, so that a long wait explains itself: it
// names the kernel that has been compiling for the longest time.
#pragma once

#include <string>
#include <string_view>

namespace ptx2cpu::rt {

// One kernel being compiled, from construction to destruction. Where standard error is a terminal the line is
// kept up to date; else there is one line after ten seconds. PTX2CPU_PROGRESS=1 prints a line each time,
// PTX2CPU_PROGRESS=0 none.
class CompileProgress {
 public:
  explicit CompileProgress(std::string_view kernel);
  ~CompileProgress();
  CompileProgress(const CompileProgress&) = delete;
  CompileProgress& operator=(const CompileProgress&) = delete;
  static unsigned MostAtOnce();  // kernels that ever compiled at the same time in this process

 private:
  const std::string kernel_;
  bool counted_;
};

}  // namespace ptx2cpu::rt
