#include "lowering/passes/thread_strides.h"

#include <algorithm>
#include <cstdlib>

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;

namespace {
constexpr int kMaxDepthOfStride = 64;
constexpr int64_t kLeastInRow = 8;  // neighbours
}  // namespace

bool IsConstant(const ir::Function& f, ValueId value, int64_t* number) {
  const ir::InstId def = f.at_value(value).def;
  if (!def.valid() || f.at_inst(def).op != Opcode::kConst) return false;
  const ir::Inst& inst = f.at_inst(def);
  const int unused = std::max(64 - ir::Bits(inst.type), 0);
  *number = static_cast<int64_t>(inst.attrs.bits << unused) >> unused;
  return true;
}

ThreadStrides::ThreadStrides(const ir::Function& f) : f_(f), incoming_(f.blocks.size()) {
  for (const ir::Block& block : f.blocks) {
    if (block.removed) continue;
    for (const ir::Edge& edge : f.at_inst(block.insts.back()).edges)
      incoming_[edge.to.index].push_back(&edge);
  }
}

std::optional<int64_t> ThreadStrides::Of(ValueId value, int depth) {
  if (const auto it = known_.find(value.index); it != known_.end()) return it->second;
  known_[value.index] = std::nullopt;  // on a cycle: the other ways decide
  return known_[value.index] = depth == kMaxDepthOfStride ? std::nullopt : Find(value, depth + 1);
}

std::optional<int64_t> ThreadStrides::Find(ValueId id, int depth) {
  const ir::Value& value = f_.at_value(id);
  if (!value.def.valid()) return OfParameter(value, depth);
  const ir::Inst& inst = f_.at_inst(value.def);
  if (inst.op == Opcode::kSpecialRegister) return OfRegister(inst.attrs.special);
  std::vector<int64_t> operands;
  for (ValueId operand : inst.operands) {
    const std::optional<int64_t> stride = Of(operand, depth);
    if (!stride) return std::nullopt;
    operands.push_back(*stride);
  }
  const bool uniform = std::ranges::all_of(operands, [](int64_t stride) { return stride == 0; });
  const ir::Effect effect = ir::Info(inst.op).effect;
  if (uniform && (effect == ir::Effect::kPure || inst.op == Opcode::kLoad)) return 0;
  return OfOperation(inst, operands);
}

// The first value of a loop's parameter decides; for an ordinary block, all known arguments do.
std::optional<int64_t> ThreadStrides::OfParameter(const ir::Value& value, int depth) {
  if (value.block == f_.entry) return 0;
  for (const ir::Edge* edge : incoming_[value.block.index]) {
    if (const std::optional<int64_t> stride = Of(edge->args[value.number], depth)) return stride;
  }
  return std::nullopt;
}

std::optional<int64_t> ThreadStrides::OfRegister(ir::Special special) {
  if (special == ir::Special::kTidX || special == ir::Special::kLaneId) return 1;
  if (special == ir::Special::kTidY || special == ir::Special::kTidZ) return 0;
  switch (ir::Info(special).varies) {
    case ir::Varies::kUniformInGrid:
    case ir::Varies::kUniformInBlock:
    case ir::Varies::kUniformInWarp:
      return 0;
    case ir::Varies::kAffineInTid:
    case ir::Varies::kAffineInLane:
    case ir::Varies::kVarying:
    case ir::Varies::kTime:
      break;
  }
  return std::nullopt;
}

std::optional<int64_t> ThreadStrides::OfOperation(const ir::Inst& inst,
                                                  const std::vector<int64_t>& operands) const {
  int64_t number = 0;
  auto constant = [&](size_t n) { return IsConstant(f_, inst.operands[n], &number); };
  if (inst.op == Opcode::kAdd) return operands[0] + operands[1];
  if (inst.op == Opcode::kSub) return operands[0] - operands[1];
  if (inst.op == Opcode::kMul && constant(1)) return operands[0] * number;
  if (inst.op == Opcode::kMul && constant(0)) return operands[1] * number;
  if (inst.op == Opcode::kShl && constant(1) && number >= 0 && number < 32) return operands[0] << number;
  if (inst.op == Opcode::kZext || inst.op == Opcode::kSext || inst.op == Opcode::kTrunc ||
      inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric)
    return operands[0];
  // Most neighbours are in one row of the data (`i / width`, `i % width`), unless rows are short.
  const bool divides = inst.op == Opcode::kDivS || inst.op == Opcode::kDivU;
  if ((divides || inst.op == Opcode::kRemS || inst.op == Opcode::kRemU) && operands[1] == 0) {
    const bool is_long = !constant(1) || number / kLeastInRow >= std::abs(operands[0]);
    if (is_long) return divides ? 0 : operands[0];
  }
  // The lane's number; a sum of parts that do not meet.
  if (inst.op == Opcode::kAnd && constant(1) && (number & 31) == 31) return operands[0];
  if (inst.op == Opcode::kOr) return operands[0] + operands[1];
  return std::nullopt;
}

bool ThreadStrides::IsApart(ValueId value, int depth) {
  if (const auto it = apart_.find(value.index); it != apart_.end()) return it->second;
  apart_[value.index] = false;  // on a cycle: the other ways decide
  const bool apart = depth != kMaxDepthOfStride && !Of(value) && FindApart(value, depth + 1);
  return apart_[value.index] = apart;
}

// Whether a value without a known stride is apart in neighbouring threads.
bool ThreadStrides::FindApart(ValueId id, int depth) {
  const ir::Value& value = f_.at_value(id);
  if (!value.def.valid()) {
    return std::ranges::any_of(incoming_[value.block.index], [&](const ir::Edge* edge) {
      return IsApart(edge->args[value.number], depth);
    });
  }
  const ir::Inst& inst = f_.at_inst(value.def);
  if (inst.op == Opcode::kLoad) return inst.attrs.space != ir::Space::kParam;
  auto apart = [&](size_t n) { return IsApart(inst.operands[n], depth); };
  auto known = [&](size_t n) { return Of(inst.operands[n]).has_value(); };
  if (inst.op == Opcode::kAdd || inst.op == Opcode::kSub)
    return (apart(0) && (apart(1) || known(1))) || (apart(1) && known(0));
  if (inst.op == Opcode::kZext || inst.op == Opcode::kSext || inst.op == Opcode::kToGeneric ||
      inst.op == Opcode::kFromGeneric)
    return apart(0);
  if (inst.op != Opcode::kMul && inst.op != Opcode::kShl) return false;
  auto grows_by = [&](size_t grows, size_t factor) {
    return Of(inst.operands[factor]) == 0 && (apart(grows) || known(grows));
  };
  return grows_by(0, 1) || (inst.op == Opcode::kMul && grows_by(1, 0));
}

}  // namespace ptx2cpu::lowering
