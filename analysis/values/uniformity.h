// Uniformity: how much a value may differ between the threads that execute its definition together.
//
// "Together" means in the same trip of every enclosing loop; a value that is used outside a loop which
// threads leave at different trips counts as different (temporal divergence). Sound by default: nothing is
// assumed about the launch shape, so %tid.x is varying unless the block is known to be one-dimensional.
// Branches count as they are, so an Agree makes a value uniform at the level of its block.
#pragma once

#include <optional>

#include "ir/function.h"

namespace ptx2cpu::analysis {

enum class Uniformity : uint8_t {
  kBlock,   // the same in all threads of the block
  kWarp,    // the same in all lanes of a warp
  kAffine,  // base + stride * lane, base the same in all lanes
  kVarying,
};
std::string_view Name(Uniformity uniformity);

struct ValueShape {
  Uniformity kind = Uniformity::kBlock;
  int64_t stride = 0;       // kAffine
  uint32_t base_align = 1;  // kAffine: a power of two that divides the base (0 counts as 2^31)
  friend bool operator==(const ValueShape&, const ValueShape&) = default;
};

struct LaunchShape {
  uint32_t x = 0, y = 0, z = 0;  // 0: not known
};
// What .reqntid promises. (.maxntid bounds the product of the extents only: 256,1,1 allows blocks of 16x16.)
LaunchShape PromisedShape(const ir::Function& f);

struct UniformityResult {
  std::vector<ValueShape> values;
  std::vector<Uniformity> branches;  // per block: how its terminator's decision may differ
  bool UniformAt(ir::ValueId value, ir::Level level) const {
    Uniformity kind = values[value.index].kind;
    return level == ir::Level::kBlock ? kind == Uniformity::kBlock : kind <= Uniformity::kWarp;
  }
  bool BranchUniformAt(ir::BlockId block, ir::Level level) const {
    return level == ir::Level::kBlock ? branches[block.index] == Uniformity::kBlock
                                      : branches[block.index] <= Uniformity::kWarp;
  }
};

UniformityResult AnalyzeUniformity(const ir::Function& f, std::optional<LaunchShape> launch = {});

}  // namespace ptx2cpu::analysis
