// How much each value changes where a thread is given another name: ctaid.x - 1, tid.x + ntid.x for ctaid.x,
// tid.x. Sums and products with constants change by a constant; everything else must not change at all.
#include "analysis/lanes/joined_blocks.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/lanes/lane_region.h"

namespace ptx2cpu::analysis {

namespace {

using ir::Opcode;
using ir::Space;
using ir::ValueId;
using Change = std::optional<uint64_t>;  // nothing: not known yet

class JoinedBlockFinder {
 public:
  explicit JoinedBlockFinder(const ir::Function& f)
      : f_(f), width_(f.required_threads[0]), changes_(f.values.size()), slots_(f.slots.size()) {}

  bool Run() {
    while (joins_ && any_new_) {
      any_new_ = false;
      for (const ir::Inst& inst : f_.insts) {
        if (inst.block.valid() && !f_.at_block(inst.block).removed) Visit(inst);
      }
    }
    return joins_;
  }

 private:
  // What a result changes by; nothing where it is not known yet, or the operands' changes are refused.
  using Rule = Change (JoinedBlockFinder::*)(const ir::Inst& inst);
  struct LinearRule {
    Opcode op;
    Rule rule;
  };

  Change Of(ValueId value) const { return changes_[value.index]; }

  void Meet(Change& known, Change change) {
    if (!change || known == change) return;
    if (known) joins_ = false;
    known = change;
    any_new_ = true;
  }

  // Changes count modulo the type's width.
  void MeetValue(ValueId value, Change change) {
    const int bits = ir::Bits(f_.type_of(value));
    if (change && bits < 64) *change &= (uint64_t{1} << bits) - 1;
    Meet(changes_[value.index], change);
  }

  void Visit(const ir::Inst& inst) {
    joins_ &= MayRun(inst);
    for (const ir::Edge& edge : inst.edges) {
      const std::vector<ValueId>& params = f_.at_block(edge.to).params;
      for (size_t n = 0; n < params.size(); ++n) MeetValue(params[n], Of(edge.args[n]));
    }
    if (inst.op == Opcode::kSlotStore) return Meet(slots_[inst.attrs.index], Of(inst.operands[0]));
    if (inst.op == Opcode::kUndef) return;  // whatever the others are
    static constexpr LinearRule kRules[] = {
        {Opcode::kSpecialRegister, &JoinedBlockFinder::Register},
        {Opcode::kAdd, &JoinedBlockFinder::Sum},
        {Opcode::kSub, &JoinedBlockFinder::Difference},
        {Opcode::kMul, &JoinedBlockFinder::Product},
        {Opcode::kShl, &JoinedBlockFinder::Shifted},
        {Opcode::kTrunc, &JoinedBlockFinder::Same},
        {Opcode::kSelect, &JoinedBlockFinder::Chosen},
        {Opcode::kSlotLoad, &JoinedBlockFinder::Kept},
    };
    const auto* rule = std::ranges::find(kRules, inst.op, &LinearRule::op);
    const bool is_word = !inst.results.empty() && ir::Bits(f_.type_of(inst.results[0])) <= 64;
    if (rule != std::end(kRules) && is_word) return MeetValue(inst.results[0], (this->*rule->rule)(inst));
    for (ValueId operand : inst.operands) RefuseChange(operand);
    for (ValueId result : inst.results) MeetValue(result, 0);
  }

  void RefuseChange(ValueId value) { joins_ &= Of(value).value_or(0) == 0; }

  // Threads that wait for others, or see in what order others run, need their blocks; so does memory that is
  // a block's or a thread's.
  static bool MayRun(const ir::Inst& inst) {
    const bool access = inst.op == Opcode::kLoad || inst.op == Opcode::kStore;
    if (access || inst.op == Opcode::kSymbol) {
      if (inst.attrs.space == Space::kShared || inst.attrs.space == Space::kLocal) return false;
      return !access ||
             (inst.attrs.order == ir::MemoryOrder::kWeak && (inst.attrs.flags & ir::kVolatile) == 0);
    }
    // Without an agreement of its block, which is refused below, all blocks come there alike.
    if (inst.op == Opcode::kBarrierBlock) return true;
    switch (ir::Info(inst.op).effect) {
      case ir::Effect::kPure:
        return ir::Info(inst.op).lanes == ir::Lanes::kAlone && inst.op != Opcode::kTensorMemory;
      case ir::Effect::kReads:
      case ir::Effect::kWrites:
        return inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSlotStore || inst.op == Opcode::kTexture;
      case ir::Effect::kTerminator:
        return true;
      case ir::Effect::kMemory:
      case ir::Effect::kCollective:
      case ir::Effect::kBarrier:
      case ir::Effect::kOpaque:
        return false;
    }
    return false;
  }

  Change Register(const ir::Inst& inst) {
    const ir::Special special = inst.attrs.special;
    if (special == ir::Special::kTidX) return width_;
    if (special == ir::Special::kCtaidX) return ~uint64_t{0};
    static constexpr ir::Special kSame[] = {
        ir::Special::kTidY,    ir::Special::kTidZ,    ir::Special::kNtidX,  ir::Special::kNtidY,
        ir::Special::kNtidZ,   ir::Special::kCtaidY,  ir::Special::kCtaidZ, ir::Special::kNctaidX,
        ir::Special::kNctaidY, ir::Special::kNctaidZ,
    };
    joins_ &= std::ranges::find(kSame, special) != std::end(kSame);
    return 0;
  }

  Change Sum(const ir::Inst& inst) { return AddUp(inst, 1); }
  Change Difference(const ir::Inst& inst) { return AddUp(inst, ~uint64_t{0}); }
  Change AddUp(const ir::Inst& inst, uint64_t factor) {
    const Change a = Of(inst.operands[0]), b = Of(inst.operands[1]);
    if ((inst.attrs.flags & ir::kSat) != 0) return Nothing(inst);
    return a && b ? Change(*a + *b * factor) : std::nullopt;
  }

  Change Product(const ir::Inst& inst) {
    for (size_t n = 0; n < 2; ++n) {
      const std::optional<uint64_t> factor = Number(inst.operands[1 - n]);
      const Change change = Of(inst.operands[n]);
      if (factor && change) return *change * *factor;
    }
    return Nothing(inst);
  }

  Change Shifted(const ir::Inst& inst) {
    const std::optional<uint64_t> by = Number(inst.operands[1]);
    if (!by || *by >= 64) return Nothing(inst);
    const Change change = Of(inst.operands[0]);
    return change ? Change(*change << *by) : std::nullopt;
  }

  Change Same(const ir::Inst& inst) { return Of(inst.operands[0]); }
  Change Kept(const ir::Inst& inst) { return slots_[inst.attrs.index]; }

  Change Chosen(const ir::Inst& inst) {
    RefuseChange(inst.operands[0]);
    const Change a = Of(inst.operands[1]), b = Of(inst.operands[2]);
    joins_ &= !a || !b || a == b;
    return a ? a : b;
  }

  Change Nothing(const ir::Inst& inst) {
    for (ValueId operand : inst.operands) RefuseChange(operand);
    return 0;
  }

  std::optional<uint64_t> Number(ValueId value) const {
    const ir::InstId def = f_.at_value(value).def;
    if (!def.valid()) return std::nullopt;
    const ir::Inst& inst = f_.at_inst(def);
    if (inst.op == Opcode::kConst && ir::Bits(inst.type) <= 64) return inst.attrs.bits;
    const bool is_width = inst.op == Opcode::kSpecialRegister && inst.attrs.special == ir::Special::kNtidX;
    return is_width ? std::optional(width_) : std::nullopt;
  }

  const ir::Function& f_;
  const uint64_t width_;
  std::vector<Change> changes_, slots_;
  bool joins_ = true, any_new_ = true;
};

}  // namespace

bool JoinsBlocks(const ir::Function& f) {
  // A row of one thread counts as uniform in all analyses.
  return f.is_kernel && f.is_flat && f.resumes == ir::Resumes::kNever && f.required_threads[0] > 1 &&
         f.local_bytes == 0 && JoinedBlockFinder(f).Run();
}

namespace {

constexpr int64_t kMaxBytesApart = 16;

// By its threads as a row, in which the same code may run in a loop of each thread.
bool AccessesAreBeside(const ir::Function& f, const LaneRegion& region) {
  for (ir::BlockId block : region.blocks) {
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (inst.op != Opcode::kLoad && inst.op != Opcode::kStore) continue;
      const ThreadShape& address = region.shapes[inst.operands[0].index];
      const bool beside =
          address.affine() && address.stride >= -kMaxBytesApart && address.stride <= kMaxBytesApart;
      if (!address.uniform() && !beside) return false;
    }
  }
  return true;
}

}  // namespace

bool WalksAlongRows(const ir::Function& f) {
  if (f.has_early_exit || !f.slots.empty()) return false;
  const LaneRegionOptions options{.threads = LaneRegionOptions::Threads::kRow,
                                  .varies_outside = [](ValueId) { return false; }};
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    if (f.blocks[b].removed || f.terminator({b}).op != Opcode::kForLanes) continue;
    const std::optional<LaneRegion> region = FindLaneRegion(f, f.terminator({b}).edges[0].to, options);
    if (!region || !AccessesAreBeside(f, *region)) return false;
  }
  return true;
}

}  // namespace ptx2cpu::analysis
