#include "lowering/llvm/lanes/lane_width.h"

#include <algorithm>
#include <set>

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Opcode;
using ir::ValueId;

namespace {

constexpr unsigned kMaxWidth = 64;
struct RegionFacts {
  size_t words = 0, longs = 0;  // operations of floats of 32 and 64 bits
  size_t kept = 0;              // values of lanes that a loop keeps, at most
  bool in_words = false;        // lanes are bits of a word of 32
};

class Finder {
 public:
  Finder(const FunctionEmitter& e, const LaneRegion& region) : e_(e), f_(e.f), r_(region) {
    kept_.resize(region.levels.size());
  }

  RegionFacts Run() {
    facts_.in_words = f_.has_early_exit;
    for (BlockId block : r_.blocks) AddBlock(block);
    for (const std::set<uint32_t>& kept : kept_) facts_.kept = std::max(facts_.kept, kept.size());
    return facts_;
  }

 private:
  bool Varies(ValueId value) const { return !ShapeIn(e_, r_, value).uniform(); }

  // A value from outside a loop that is used in it.
  void Keep(ValueId value, uint32_t used_in) {
    const BlockId made = f_.at_value(value).block;
    for (uint32_t at = used_in; at != 0; at = r_.levels[at].parent) {
      if (made.valid() && r_.level_of[made.index] != LaneRegion::kNone && r_.Contains(at, made)) return;
      if (Varies(value)) kept_[at].insert(value.index);
    }
  }

  void AddBlock(BlockId block) {
    const uint32_t level = r_.level_of[block.index];
    if (level != 0 && r_.levels[level].items[0].block == block) {
      for (ValueId param : f_.at_block(block).params) {
        if (Varies(param)) kept_[level].insert(param.index);
      }
    }
    for (ir::InstId id : f_.at_block(block).insts) {
      const ir::Inst& inst = f_.at_inst(id);
      for (ValueId operand : inst.operands) Keep(operand, level);
      for (const ir::Edge& edge : inst.edges) {
        for (ValueId arg : edge.args) Keep(arg, level);
      }
      facts_.in_words |= inst.op == Opcode::kTexture;
      facts_.words += inst.type == ir::Type::kF32;
      facts_.longs += inst.type == ir::Type::kF64;
    }
  }

  const FunctionEmitter& e_;
  const ir::Function& f_;
  const LaneRegion& r_;
  std::vector<std::set<uint32_t>> kept_;  // by level
  RegionFacts facts_;
};

// Registers that a value takes: two, so that long chains of operations overlap; one where a loop's values
// then do not fit. (Four gain in loops of integer hashes, and double the time of compiling.)
unsigned RegistersFor(const TargetTraits& traits, const RegionFacts& facts) {
  const size_t registers = traits.has_avx512 || traits.is_aarch64 ? 32 : 16;
  return facts.kept * 2 <= registers ? 2 : 1;
}

}  // namespace

unsigned WidthOf(const FunctionEmitter& e, const LaneRegion& region, unsigned row) {
  const TargetTraits& traits = e.m.traits;
  const RegionFacts facts = Finder(e, region).Run();
  const bool of_warp = e.step->level == ir::Level::kWarp;
  const unsigned most = facts.in_words || of_warp ? kWarpSize : kMaxWidth;
  if (e.m.lane_width != 0) return std::min(e.m.lane_width, most);
  // Parts of what the warp's own code computes come from memory: more than a loop pays for.
  if (of_warp && region.levels.size() == 1) return kWarpSize;
  const unsigned bytes = facts.longs > facts.words ? 8 : 4;
  unsigned width = std::clamp(traits.vector_bytes / bytes * RegistersFor(traits, facts), 4u, most);
  // Steps that the row does not fill are masked, or run lane by lane.
  const bool fills = row == 0 || row % width == 0;
  if (fills || (traits.has_avx512 && row >= width)) return width;
  while (width > 4 && row % width != 0) width /= 2;
  return width;
}

}  // namespace ptx2cpu::lowering
