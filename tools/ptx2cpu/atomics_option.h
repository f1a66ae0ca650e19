// --atomics of exec, run and replay.
#pragma once

#include "tools/ptx2cpu/check_options.h"

namespace ptx2cpu::tool {

// What the option sets in the environment; empty without it. kUsage: neither any nor ordered.
Result<std::vector<Setting>> AtomicsSettings(const Arguments& arguments);

}  // namespace ptx2cpu::tool
