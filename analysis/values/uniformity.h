// Uniformity: how much a value may differ between the threads that execute its definition together.
//
// "Together" means in the same trip of every enclosing loop; a value that is used outside a loop which
// threads leave at different trips counts as different (temporal divergence). Sound by default: nothing is
// assumed about the launch shape, so %tid.x is varying unless the block is known to be one-dimensional.
// Branches count as they are, so an Agree makes a value uniform at the level of its block.
#pragma once

#include <optional>

#include "analysis/values/thread_shape.h"

namespace ptx2cpu::analysis {

struct UniformityResult {
  std::vector<ThreadShape> values;
  std::vector<Uniformity> branches;  // per block: how its terminator's decision may differ
  bool UniformAt(ir::ValueId value, ir::Level level) const {
    return values[value.index].kind <= Widest(level);
  }
  bool BranchUniformAt(ir::BlockId block, ir::Level level) const {
    return branches[block.index] <= Widest(level);
  }

 private:
  static Uniformity Widest(ir::Level level) {
    return level == ir::Level::kBlock ? Uniformity::kBlock : Uniformity::kWarp;
  }
};

UniformityResult AnalyzeUniformity(const ir::Function& f, std::optional<LaunchShape> launch = {});

}  // namespace ptx2cpu::analysis
