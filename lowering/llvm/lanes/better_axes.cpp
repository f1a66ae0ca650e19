#include "lowering/llvm/lanes/better_axes.h"

#include <utility>

#include "analysis/lanes/swapped_axes.h"

namespace ptx2cpu::lowering {

std::optional<ir::Module> WithBetterAxes(const ir::Module& module, const ir::Function& kernel) {
  if (!analysis::WalksAlongColumns(kernel)) return std::nullopt;
  ir::Module swapped = module;
  ir::Function& f = swapped.functions[static_cast<size_t>(&kernel - module.functions.data())];
  f = analysis::WithAxesSwapped(std::move(f));
  return swapped;
}

}  // namespace ptx2cpu::lowering
