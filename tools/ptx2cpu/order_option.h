// --order of exec, run and replay: a launch again in other orders that CUDA allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

struct Orders {
  uint64_t first_seed = 0, count = 0;  // seeds first_seed, first_seed + 1, ...
};

// Nothing: without --order. kUsage: no random:SEED, --orders without it, or options that contradict it.
Result<std::optional<Orders>> ReadOrders(const Arguments& arguments);

// Memory that a launch may write, and what to call a byte of it.
struct OrderedMemory {
  std::span<std::byte> bytes;
  std::function<std::string(uint64_t offset)> describe;
};

// Runs a launch in index order and then in each other order, each time from the memory that it finds now,
// which has the results of index order when this returns. `run` returns why the launch did not end well, if
// so. Returns the text of the first order that gives other memory, or an error where the other gives none;
// "": none does.
using RunInOrder = std::function<Result<std::optional<std::string>>(std::optional<uint64_t> seed)>;
Result<std::string> CompareOrders(const Orders& orders, const std::vector<OrderedMemory>& memory,
                                  const RunInOrder& run);

}  // namespace ptx2cpu::tool
