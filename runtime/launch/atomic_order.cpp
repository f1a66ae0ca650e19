#include "runtime/launch/atomic_order.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "runtime/abi/block_order.h"

namespace ptx2cpu::rt {

bool OrderedAtomicsWanted() {
  static const bool wanted = [] {
    const char* text = std::getenv("PTX2CPU_ATOMICS");
    const std::string_view order = text == nullptr ? "any" : text;
    if (order != "ordered" && order != "any" && !order.empty())
      std::fprintf(stderr, "ptx2cpu: PTX2CPU_ATOMICS='%s' is neither any nor ordered: any order is taken\n",
                   text);
    return order == "ordered";
  }();
  return wanted;
}

bool NeedsBlockOrder(const ptx2cpu_kernel& kernel) {
  return (kernel.flags & PTX2CPU_KERNEL_ORDER_MATTERS) != 0 && OrderedAtomicsWanted();
}

}  // namespace ptx2cpu::rt
