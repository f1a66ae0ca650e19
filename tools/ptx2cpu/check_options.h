// Options of exec and run for checks of running kernels (runtime/check).
#pragma once

#include <string>
#include <vector>

#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

// A variable of the environment that libraries in a process read.
struct Setting {
  std::string name, value;
};

// What --check, --check-report, --check-suppress and --error-exitcode set.
Result<std::vector<Setting>> CheckSettings(const Arguments& arguments);

}  // namespace ptx2cpu::tool
