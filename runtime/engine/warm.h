// Compiles kernels into the cache before a program needs them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/images.h"

namespace ptx2cpu::rt {

struct WarmReport {
  struct Refusal {
    std::string kernel;
    Error error;
  };
  size_t kernels = 0;
  size_t hits = 0;                    // were there already
  size_t compiled = 0;                // and written
  std::vector<Refusal> refused = {};  // in the order of the modules
};

// Every kernel of the modules, several at a time: `threads`, 0 for as many as the machine has processors.
// `progress` is called from one thread at a time. Modules without a cache are compiled for nothing.
WarmReport Warm(std::vector<ModuleSource> sources, unsigned threads,
                const std::function<void(size_t done, size_t total, std::string_view kernel)>& progress = {});

}  // namespace ptx2cpu::rt
