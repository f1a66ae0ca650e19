#include "analysis/lanes/lone_atomics.h"

#include <algorithm>
#include <map>
#include <vector>

#include "analysis/graph/cfg.h"
#include "analysis/graph/loops.h"

namespace ptx2cpu::analysis {

using ir::Opcode;

namespace {

// Whether the stores of other launches may decide how long a loop runs: such a loop may wait for one of them.
class Exits {
 public:
  Exits(const ir::Function& f, const Cfg& cfg, const LoopForest& forest, uint32_t loop)
      : f_(f), cfg_(cfg), forest_(forest), loop_(loop), seen_(f.values.size()) {
    for (const uint32_t block : forest.loops[loop].blocks)
      is_around_lanes_ |= f.at_block({block}).level != ir::Level::kLane;
  }

  bool DependOnMemory() {
    if (is_around_lanes_ && LanesExit()) return true;
    for (const uint32_t block : forest_.loops[loop_].blocks) {
      const bool leaves = std::ranges::any_of(cfg_.successors[block], [&](uint32_t to) {
        return to == cfg_.exit || !forest_.Contains(loop_, to);
      });
      if (leaves) NeedEnd(block);
    }
    while (!work_.empty()) {
      const ir::ValueId value = work_.back();
      work_.pop_back();
      if (IsFromMemory(value)) return true;
    }
    return false;
  }

 private:
  void Need(ir::ValueId value) {
    const ir::Value& of = f_.at_value(value);
    if (seen_[value.index] || !of.block.valid()) return;
    if (!is_around_lanes_ && !forest_.Contains(loop_, of.block.index)) return;
    seen_[value.index] = true;
    work_.push_back(value);
  }
  void NeedEnd(uint32_t block) {
    if (block == cfg_.exit) return;
    for (const ir::ValueId operand : f_.terminator({block}).operands) Need(operand);
  }
  bool IsFromMemory(ir::ValueId value) {
    const ir::Value& of = f_.at_value(value);
    if (!of.def.valid()) {
      NeedParameter(of.block.index, of.number);
      return false;
    }
    const ir::Inst& inst = f_.at_inst(of.def);
    const bool reads =
        inst.op == Opcode::kLoad || inst.op == Opcode::kAtomic || inst.op == Opcode::kAtomicCas;
    const bool is_seen = inst.attrs.space == ir::Space::kGlobal || inst.attrs.space == ir::Space::kGeneric ||
                         inst.attrs.space == ir::Space::kShared;
    if (reads && is_seen) return true;
    if (inst.op == Opcode::kSlotLoad) NeedSlot(inst);
    for (const ir::ValueId operand : inst.operands) Need(operand);
    return false;
  }
  void NeedSlot(const ir::Inst& load) {
    if (stores_.empty()) {
      for (const ir::Inst& inst : f_.insts) {
        if (inst.block.valid() && inst.op == Opcode::kSlotStore)
          stores_.emplace(inst.attrs.index, inst.operands[0]);
      }
    }
    const auto [first, last] = stores_.equal_range(load.attrs.index);
    std::for_each(first, last, [this](const auto& store) { Need(store.second); });
  }
  bool LanesExit() const {
    return std::ranges::any_of(
        f_.insts, [](const ir::Inst& inst) { return inst.block.valid() && inst.op == Opcode::kExitLane; });
  }
  // What is passed, and where it is decided from where control comes.
  void NeedParameter(uint32_t block, uint32_t number) {
    size_t inside = 0;
    for (const uint32_t from : cfg_.predecessors[block]) {
      if (!is_around_lanes_ && !forest_.Contains(loop_, from)) continue;
      for (const ir::Edge& edge : f_.successors({from})) {
        if (edge.to.index != block) continue;
        ++inside;
        Need(edge.args[number]);
      }
    }
    if (inside < 2) return;
    if (is_around_lanes_)
      std::ranges::for_each(cfg_.order, [this](uint32_t each) { NeedEnd(each); });
    else
      std::ranges::for_each(forest_.loops[loop_].blocks, [this](uint32_t each) { NeedEnd(each); });
  }

  const ir::Function& f_;
  const Cfg& cfg_;
  const LoopForest& forest_;
  const uint32_t loop_;
  bool is_around_lanes_ = false;  // lanes end it by what they store in slots and by exits of their own
  std::vector<bool> seen_;
  std::vector<ir::ValueId> work_;
  std::multimap<uint32_t, ir::ValueId> stores_;  // by slot; empty: not looked for
};

bool MayWait(const ir::Function& f) {
  const Cfg cfg = BuildCfg(f);
  if (!cfg.endless.empty()) return true;
  const LoopForest forest = Loops(cfg);
  for (uint32_t loop = 0; loop < forest.loops.size(); ++loop) {
    if (forest.loops[loop].irreducible || Exits(f, cfg, forest, loop).DependOnMemory()) return true;
  }
  return false;
}

}  // namespace

bool MayBeAlone(const ir::Inst& inst) {
  if (inst.op != Opcode::kAtomic && inst.op != Opcode::kAtomicCas) return false;
  const bool is_shared = inst.attrs.space == ir::Space::kGlobal || inst.attrs.space == ir::Space::kGeneric;
  return is_shared && inst.attrs.scope != ir::Scope::kSys && inst.attrs.scope != ir::Scope::kCta;
}

bool MayRunAlone(const ir::Function& f) {
  if (!f.is_kernel || f.resumes != ir::Resumes::kNever || !f.entries.empty()) return false;
  bool has_some = false;
  for (const ir::Inst& inst : f.insts) {
    if (!inst.block.valid()) continue;
    if (inst.op == Opcode::kCall || inst.op == Opcode::kCallIndirect) return false;
    has_some |= MayBeAlone(inst);
  }
  return has_some && !MayWait(f);
}

}  // namespace ptx2cpu::analysis
