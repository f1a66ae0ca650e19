#include "runtime/launch/atomic_order.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "runtime/abi/block_order.h"

namespace ptx2cpu::rt {

namespace {

bool AsksForOrder() {
  const char* text = std::getenv("PTX2CPU_ATOMICS");
  const std::string_view order = text == nullptr ? "any" : text;
  if (order != "ordered" && order != "any" && !order.empty())
    std::fprintf(stderr, "ptx2cpu: PTX2CPU_ATOMICS='%s' is neither any nor ordered: any order is taken\n",
                 text);
  return order == "ordered";
}

enum class Answer : uint8_t { kNotAsked, kAny, kOrdered };
// This is not a function's static variable: a process that forks while another thread makes the first call
// would keep the variable's guard locked.
std::atomic<Answer> answer{Answer::kNotAsked};

}  // namespace

bool OrderedAtomicsWanted() {
  if (answer.load(std::memory_order_relaxed) == Answer::kNotAsked)
    answer.store(AsksForOrder() ? Answer::kOrdered : Answer::kAny, std::memory_order_relaxed);
  return answer.load(std::memory_order_relaxed) == Answer::kOrdered;
}

bool NeedsBlockOrder(const ptx2cpu_kernel& kernel) {
  return (kernel.flags & PTX2CPU_KERNEL_ORDER_MATTERS) != 0 && OrderedAtomicsWanted();
}

}  // namespace ptx2cpu::rt
