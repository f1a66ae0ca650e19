// A value that every lane of a warp has computed alike is taken from lane 0.
//
//   before                                         after
//     %a, .. = shuffle bfly %v, 16, 31, full         %a, .. = shuffle bfly %v, 16, 31, full
//     %w = fadd %v, %a                               %w = fadd %v, %a
//     ... 8, 4, 2 ...                                ... 8, 4, 2 ...
//     %b, .. = shuffle bfly %y, 1, 31, full          %b, .. = shuffle bfly %y, 1, 31, full
//     %z = fadd %y, %b                               %z = fadd %y, %b
//     use %z                                         %all, .. = shuffle idx %z, 0, 31, full
//                                                    use %all
//
// After a step of a butterfly, the lanes whose numbers differ in the step's bit have the same bits: the
// operation does not depend on the order of its operands (a NaN may have any payload). After steps of all
// five bits all lanes do. Where one lane's result suffices, the emitter computes halves of vectors at each
// step, not two whole ones, and what uses the result needs no vector of its own.
//
// All lanes must take part: the block's promised shape fills its warps, and all lanes of the warp take each
// branch that leads to the last step alike.
#include <algorithm>
#include <array>
#include <map>

#include "analysis/graph/control_dependence.h"
#include "ir/build.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::InstId;
using ir::Level;
using ir::Opcode;
using ir::ValueId;

constexpr uint32_t kAllBits = 31, kEveryone = ~0u;

constexpr std::array kOrderless = {Opcode::kAdd,  Opcode::kMul,  Opcode::kMinS, Opcode::kMinU, Opcode::kMaxS,
                                   Opcode::kMaxU, Opcode::kAnd,  Opcode::kOr,   Opcode::kXor,  Opcode::kFAdd,
                                   Opcode::kFMul, Opcode::kFMin, Opcode::kFMax};

class Broadcaster {
 public:
  Broadcaster(ir::Function& f, const PassOptions& options)
      : f_(f),
        uniformity_(analysis::AnalyzeUniformity(f, options.launch)),
        g_(analysis::BuildCfg(f)),
        dependence_(analysis::ControlDependences(g_, analysis::PostDominators(g_))) {}

  void Run() {
    std::vector<InstId> last_steps;
    for (uint32_t n = 0; n < f_.insts.size(); ++n) {
      const ir::Inst& inst = f_.insts[n];
      if (inst.block.valid() && !inst.results.empty() && EqualBits(inst.results[0]) == kAllBits &&
          AllCome(inst.block))
        last_steps.push_back({n});
    }
    for (InstId step : last_steps) Broadcast(step);
  }

 private:
  const ir::Inst* Def(ValueId value) const {
    const InstId def = f_.at_value(value).def;
    return def.valid() ? &f_.at_inst(def) : nullptr;
  }
  ValueId Stripped(ValueId value) const {
    const ir::Inst* def = Def(value);
    return def != nullptr && def->op == Opcode::kBitcast ? Stripped(def->operands[0]) : value;
  }
  bool IsConstant(ValueId value, uint32_t bits) const {
    const ir::Inst* def = Def(value);
    return def != nullptr && def->op == Opcode::kConst && static_cast<uint32_t>(def->attrs.bits) == bits;
  }

  // The bits of a lane's number on which the value does not depend.
  uint32_t EqualBits(ValueId value) {
    if (const auto it = known_.find(value.index); it != known_.end()) return it->second;
    known_[value.index] = 0;
    const ir::Inst* step = Def(value);
    if (step == nullptr || std::ranges::find(kOrderless, step->op) == kOrderless.end()) return 0;
    for (size_t n = 0; n < 2; ++n) {
      const ValueId own = Stripped(step->operands[n]);
      const uint32_t bit = BitBetween(own, Stripped(step->operands[1 - n]));
      if (bit == 0) continue;
      return known_[value.index] = EqualBits(own) | bit;
    }
    return 0;
  }

  // In which the number of the lane whose `own` this is differs from the reader's; 0: it is no such value.
  uint32_t BitBetween(ValueId own, ValueId other) const {
    const ir::Inst* shuffle = Def(other);
    const bool is_step =
        shuffle != nullptr && shuffle->op == Opcode::kShuffle && shuffle->results[0] == other &&
        shuffle->attrs.shuffle == ir::ShuffleMode::kBfly && shuffle->type == ir::Type::kI32 &&
        (shuffle->attrs.flags & ir::kLegacy) == 0 && Stripped(shuffle->operands[0]) == own &&
        IsConstant(shuffle->operands[2], kAllBits) && IsConstant(shuffle->operands[3], kEveryone);
    if (!is_step) return 0;
    for (uint32_t bit = 1; bit <= 16; bit *= 2) {
      if (IsConstant(shuffle->operands[1], bit)) return bit;
    }
    return 0;
  }

  bool AllCome(BlockId block) const {
    std::vector<uint32_t> found{block.index};
    std::vector<bool> seen(g_.size());
    for (size_t i = 0; i < found.size(); ++i) {
      for (uint32_t branch : dependence_.sources[found[i]]) {
        if (!uniformity_.BranchUniformAt({branch}, Level::kWarp)) return false;
        if (!seen[branch]) found.push_back(branch);
        seen[branch] = true;
      }
    }
    return true;
  }

  // Right after the step.
  void Broadcast(InstId step) {
    const ir::Inst last = f_.at_inst(step);
    const ValueId result = last.results[0];
    size_t where = static_cast<size_t>(std::ranges::find(f_.at_block(last.block).insts, step) -
                                       f_.at_block(last.block).insts.begin());
    auto make = [&](Opcode op, ir::Type type, std::vector<ValueId> operands, ir::Attrs attrs = {},
                    ir::Type from = ir::Type::kVoid) {
      ir::Inst inst;
      inst.op = op, inst.type = type, inst.from = from, inst.attrs = attrs;
      inst.operands = std::move(operands);
      inst.at = last.at;
      return f_.at_inst(ir::Insert(f_, last.block, ++where, std::move(inst))).results[0];
    };
    const bool is_word = last.type == ir::Type::kI32;
    const ValueId as_word =
        is_word ? result : make(Opcode::kBitcast, ir::Type::kI32, {result}, {}, last.type);
    const ValueId lane = make(Opcode::kConst, ir::Type::kI32, {}),
                  clamp = make(Opcode::kConst, ir::Type::kI32, {}, {.bits = kAllBits}),
                  members = make(Opcode::kConst, ir::Type::kI32, {}, {.bits = kEveryone});
    ir::Attrs from_lane;
    from_lane.shuffle = ir::ShuffleMode::kIdx;
    const ValueId taken = make(Opcode::kShuffle, ir::Type::kI32, {as_word, lane, clamp, members}, from_lane);
    const ValueId all = is_word ? taken : make(Opcode::kBitcast, last.type, {taken}, {}, ir::Type::kI32);
    ir::ReplaceUses(f_, result, all);  // also the one that was made here
    const InstId reader = f_.at_value(is_word ? taken : as_word).def;
    f_.inst(reader).operands[0] = result;
  }

  ir::Function& f_;
  const analysis::UniformityResult uniformity_;
  const analysis::Cfg g_;
  const analysis::ControlDependence dependence_;
  std::map<uint32_t, uint32_t> known_;  // by value: EqualBits
};

}  // namespace

Status BroadcastButterflies(ir::Module&, ir::Function& f, const PassOptions& options) {
  const bool any = std::ranges::any_of(f.insts, [](const ir::Inst& inst) {
    return inst.block.valid() && inst.op == Opcode::kShuffle && inst.attrs.shuffle == ir::ShuffleMode::kBfly;
  });
  const analysis::LaunchShape shape = options.launch.value_or(analysis::PromisedShape(f));
  if (f.is_kernel && any && analysis::FillsWarps(shape)) Broadcaster(f, options).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
