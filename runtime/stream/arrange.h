// From operations and their dependencies to the steps of a stream: a chain stays a chain of steps,
// branches run in parallel.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/stream/work.h"

namespace ptx2cpu::rt {

struct GraphItem {
  Steps works;                  // in order
  std::vector<uint32_t> after;  // items that are before this one
};

// Work that only computes shares a bounded number of lanes; what may wait for something outside (host
// functions, polls, events) has a lane of its own, so that nothing waits for it that does not depend on
// it.
Steps Arrange(std::vector<GraphItem> items);

}  // namespace ptx2cpu::rt
