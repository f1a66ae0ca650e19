// A line on standard error once compiling has taken two seconds, so that a long wait explains itself.
#pragma once

#include <string_view>

namespace ptx2cpu::rt {

// One kernel being compiled, from construction to destruction. Shown when standard error is a terminal;
// PTX2CPU_PROGRESS=1 shows it in any case (a line each time), PTX2CPU_PROGRESS=0 never.
class CompileProgress {
 public:
  explicit CompileProgress(std::string_view kernel);
  ~CompileProgress();
  CompileProgress(const CompileProgress&) = delete;
  CompileProgress& operator=(const CompileProgress&) = delete;
  static unsigned MostAtOnce();  // kernels that ever compiled at the same time in this process

 private:
  bool counted_;
};

}  // namespace ptx2cpu::rt
