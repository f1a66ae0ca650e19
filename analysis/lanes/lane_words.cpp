#include "analysis/lanes/lane_words.h"

#include <algorithm>

namespace ptx2cpu::analysis {

using ir::Opcode;
using ir::Special;

namespace {

std::optional<uint32_t> SpecialOf(Special special, uint32_t lane) {
  const uint32_t own = 1u << lane;
  if (special == Special::kLaneId) return lane;
  if (special == Special::kLaneMaskEq) return own;
  if (special == Special::kLaneMaskLt) return own - 1;
  if (special == Special::kLaneMaskLe) return own | (own - 1);
  if (special == Special::kLaneMaskGe) return ~(own - 1);
  if (special == Special::kLaneMaskGt) return ~(own | (own - 1));
  return {};
}

std::optional<uint32_t> ResultOf(Opcode op, uint32_t a, uint32_t b) {
  if (op == Opcode::kAdd) return a + b;
  if (op == Opcode::kSub) return a - b;
  if (op == Opcode::kMul) return a * b;
  if (op == Opcode::kAnd) return a & b;
  if (op == Opcode::kOr) return a | b;
  if (op == Opcode::kXor) return a ^ b;
  if (op == Opcode::kNot) return ~a;
  if (op == Opcode::kShl) return b < 32 ? a << b : 0;
  if (op == Opcode::kShrU) return b < 32 ? a >> b : 0;
  return {};
}

}  // namespace

LaneWords::LaneWords(const ir::Function& f) : f_(f), stored_(f.slots.size()) {
  if (f.slots.empty()) return;
  for (const ir::Inst& inst : f.insts) {
    if (inst.block.valid() && inst.op == Opcode::kSlotStore)
      stored_[inst.attrs.index].push_back(inst.operands[0]);
  }
}

std::optional<WordPerLane> LaneWords::Of(ir::ValueId value) {
  const ir::InstId def = f_.at_value(value).def;
  if (!def.valid() || f_.type_of(value) != ir::Type::kI32) return {};
  const auto [known, is_new] = known_.try_emplace(value);
  if (!is_new) return known->second;
  return known_[value] = Compute(f_.at_inst(def));
}

std::optional<WordPerLane> LaneWords::Compute(const ir::Inst& inst) {
  if (inst.op == Opcode::kSlotLoad) return OfSlot(inst.attrs.index);
  WordPerLane words{};
  if (inst.op == Opcode::kConst) {
    words.fill(static_cast<uint32_t>(inst.attrs.bits));
    return words;
  }
  std::vector<WordPerLane> operands;
  for (ir::ValueId operand : inst.operands) {
    const std::optional<WordPerLane> of_operand = Of(operand);
    if (!of_operand) return {};
    operands.push_back(*of_operand);
  }
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const std::optional<uint32_t> word =
        inst.op == Opcode::kSpecialRegister ? SpecialOf(inst.attrs.special, lane)
        : operands.empty() || inst.attrs.flags != 0
            ? std::nullopt
            : ResultOf(inst.op, operands.front()[lane], operands.back()[lane]);
    if (!word) return {};
    words[lane] = *word;
  }
  return words;
}

// All values stored there must be equal, so that it does not matter which was stored last.
std::optional<WordPerLane> LaneWords::OfSlot(uint32_t slot) {
  std::optional<WordPerLane> words;
  for (ir::ValueId value : stored_[slot]) {
    const std::optional<WordPerLane> stored = Of(value);
    if (!stored || (words && *words != *stored)) return {};
    words = stored;
  }
  return words;
}

bool AreTiles(const WordPerLane& masks) {
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    if ((masks[lane] >> lane & 1) == 0) return false;
    for (uint32_t other = 0; other < kWarpSize; ++other) {
      if ((masks[lane] >> other & 1) != 0 && masks[other] != masks[lane]) return false;
    }
  }
  return true;
}

}  // namespace ptx2cpu::analysis
