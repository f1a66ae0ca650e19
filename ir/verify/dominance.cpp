// The rule "dominance": every path from the entry to a use passes the value's definition.
//
// There is no dominator tree here: that is an analysis, and passes that rely on it are what this rule checks.
// The blocks' graph is walked forward instead, with one bit for each of 64 values: a value is defined at the
// start of a block when it is defined at the end of all blocks that lead there. Values that stay in their
// block need no walk.
#include <fmt/format.h>

#include "ir/verify/rules.h"

namespace ptx2cpu::ir::verify {

namespace {

constexpr uint32_t kValuesAtOnce = 64, kNone = ~0u;

struct Use {
  BlockId block;
  const Inst* inst = nullptr;
  uint32_t operand = kNone;  // kNone: an argument of an edge
  uint32_t order = kNone;    // in the text
};

class DefinitionsBeforeUses {
 public:
  explicit DefinitionsBeforeUses(const Subject& s)
      : s_(s), f_(s.f), place_(f_.values.size(), kNone), number_(f_.values.size(), kNone) {}

  Status Check() {
    FindDefinitions();
    FindUses();
    const std::vector<std::vector<BlockId>> predecessors = Predecessors(f_);
    for (uint32_t first = 0; first < crossing_.size(); first += kValuesAtOnce)
      CheckCrossing(first, predecessors);
    if (bad_.order == kNone) return {};
    if (bad_.operand == kNone)
      return s_.Broken(bad_.block, *bad_.inst,
                       "the definition of an edge argument does not dominate this use");
    return s_.Broken(bad_.block, *bad_.inst,
                     fmt::format("the definition of operand {} does not dominate this use", bad_.operand));
  }

 private:
  struct Crossing {
    ValueId value;
    std::vector<Use> uses;
  };

  // Values of unreachable blocks and of removed instructions are defined nowhere.
  void FindDefinitions() {
    for (BlockId block : s_.Blocks()) {
      for (ValueId param : f_.at_block(block).params) place_[param.index] = 0;
      uint32_t place = 0;
      for (InstId id : f_.at_block(block).insts) {
        ++place;
        for (ValueId result : f_.at_inst(id).results) place_[result.index] = place;
      }
    }
  }

  void FindUses() {
    uint32_t order = 0;
    for (BlockId block : s_.Blocks()) {
      uint32_t place = 0;
      for (InstId id : f_.at_block(block).insts) {
        const Inst& inst = f_.at_inst(id);
        ++place;
        for (uint32_t n = 0; n < inst.operands.size(); ++n)
          Add(inst.operands[n], place, {block, &inst, n, order++});
        for (const Edge& edge : inst.edges) {
          for (ValueId arg : edge.args) Add(arg, place, {block, &inst, kNone, order++});
        }
      }
    }
  }

  void Add(ValueId value, uint32_t place, const Use& use) {
    if (place_[value.index] == kNone) return Report(use);
    if (f_.at_value(value).block == use.block) {
      if (place_[value.index] >= place) Report(use);
      return;
    }
    uint32_t& number = number_[value.index];
    if (number == kNone) {
      number = static_cast<uint32_t>(crossing_.size());
      crossing_.push_back({value, {}});
    }
    std::vector<Use>& uses = crossing_[number].uses;
    if (uses.empty() || uses.back().block != use.block)
      uses.push_back(use);  // the first of a block is enough
  }

  void CheckCrossing(uint32_t first, const std::vector<std::vector<BlockId>>& predecessors) {
    const auto end = std::min(first + kValuesAtOnce, static_cast<uint32_t>(crossing_.size()));
    std::vector<uint64_t> made(f_.blocks.size()), at_start(f_.blocks.size(), ~uint64_t{0});
    for (uint32_t k = first; k < end; ++k) {
      made[f_.at_value(crossing_[k].value).block.index] |= uint64_t{1} << (k - first);
    }
    at_start[f_.entry.index] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (BlockId block : s_.Blocks()) {
        uint64_t defined = at_start[block.index];
        for (BlockId from : predecessors[block.index]) defined &= at_start[from.index] | made[from.index];
        changed |= defined != at_start[block.index];
        at_start[block.index] = defined;
      }
    }
    for (uint32_t k = first; k < end; ++k) {
      for (const Use& use : crossing_[k].uses) {
        if ((at_start[use.block.index] >> (k - first) & 1) == 0) Report(use);
      }
    }
  }

  void Report(const Use& use) {
    if (use.order < bad_.order) bad_ = use;
  }

  const Subject& s_;
  const Function& f_;
  std::vector<uint32_t> place_;     // by value: of its definition in its block, from 1; 0: a parameter
  std::vector<uint32_t> number_;    // by value: in crossing_
  std::vector<Crossing> crossing_;  // values used in other blocks
  Use bad_;                         // the first in the text
};

}  // namespace

Status CheckDominance(Subject& s) { return DefinitionsBeforeUses(s).Check(); }

}  // namespace ptx2cpu::ir::verify
