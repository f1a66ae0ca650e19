#include "analysis/values/lanes_where.h"

#include <algorithm>

#include "analysis/values/lane_numbers.h"
#include "runtime/abi/limits.h"

namespace ptx2cpu::analysis {

namespace {

using ir::Opcode;
using ir::Type;

constexpr int kMaxDepth = 8;  // operations in a chain
// Values of a condition that are computed for a thread; a value that is used twice counts twice.
constexpr uint32_t kMaxValues = 64;
constexpr uint32_t kMaxThreads = 1024;

}  // namespace

LanesWhere::LanesWhere(const ir::Function& f, LaunchShape shape) : f_(f), shape_(shape) {
  const uint64_t threads = uint64_t{shape.x} * shape.y * shape.z;
  threads_ = static_cast<uint32_t>(threads == 0 ? kMaxThreads : std::min<uint64_t>(threads, kMaxThreads));
}

uint32_t LanesWhere::LanesOf(uint32_t warp) const {
  const uint32_t first = warp * kWarpSize;
  if (threads_ >= first + kWarpSize) return ~0u;
  return threads_ <= first ? 0 : (1u << (threads_ - first)) - 1;
}

const std::vector<uint32_t>* LanesWhere::Of(ir::ValueId condition) {
  const auto [place, is_new] = found_.try_emplace(condition.index);
  std::optional<std::vector<uint32_t>>& lanes = place->second;
  if (is_new) {
    lanes.emplace((threads_ + kWarpSize - 1) / kWarpSize);
    for (uint32_t thread = 0; lanes && thread < threads_; ++thread) {
      values_ = 0;
      const std::optional<int64_t> value = ValueOf(condition, thread, kMaxDepth);
      if (!value)
        lanes.reset();
      else if ((*value & 1) != 0)
        (*lanes)[thread / kWarpSize] |= 1u << thread % kWarpSize;
    }
  }
  return lanes ? &*lanes : nullptr;
}

std::optional<int64_t> LanesWhere::ValueOf(ir::ValueId value, uint32_t thread, int depth) {
  const ir::InstId def = f_.at_value(value).def;
  if (!def.valid() || depth == 0 || ++values_ > kMaxValues) return std::nullopt;
  const ir::Inst& inst = f_.at_inst(def);
  if (inst.results.size() != 1 || ir::Info(inst.op).effect != ir::Effect::kPure) return std::nullopt;
  if (inst.op == Opcode::kConst) return Signed(static_cast<int64_t>(inst.attrs.bits), inst.type);
  if (inst.op == Opcode::kSpecialRegister) return SpecialOf(inst, thread);
  return ResultOf(inst, thread, depth - 1);
}

// The threads of a block are numbered along x, then y, then z; a warp is 32 of these numbers.
std::optional<int64_t> LanesWhere::SpecialOf(const ir::Inst& inst, uint32_t thread) const {
  const bool is_row = shape_.y == 1 && shape_.z == 1;
  const ir::Special special = inst.attrs.special;
  if (special == ir::Special::kLaneId) return thread % kWarpSize;
  if (special == ir::Special::kTidX && is_row) return thread;
  if (special == ir::Special::kTidY && is_row) return 0;
  if (special == ir::Special::kNtidY && shape_.y != 0) return shape_.y;
  if (shape_.x == 0) return std::nullopt;
  if (special == ir::Special::kTidX) return thread % shape_.x;
  if (special == ir::Special::kTidY && shape_.y != 0) return thread / shape_.x % shape_.y;
  if (special == ir::Special::kNtidX) return shape_.x;
  return std::nullopt;
}

std::optional<int64_t> LanesWhere::ResultOf(const ir::Inst& inst, uint32_t thread, int depth) {
  const std::optional<int64_t> a = ValueOf(inst.operands[0], thread, depth);
  if (!a) return std::nullopt;
  const Type from = f_.type_of(inst.operands[0]);
  if (inst.op == Opcode::kNot) return Signed(~*a, inst.type);
  if (inst.op == Opcode::kZext) return static_cast<int64_t>(Low(*a, from));
  if (inst.op == Opcode::kSext) return Signed(*a, from);
  if (inst.op == Opcode::kTrunc) return Signed(*a, inst.type);
  if (inst.operands.size() != 2 || (inst.attrs.flags & ir::kSat) != 0) return std::nullopt;
  const std::optional<int64_t> b = ValueOf(inst.operands[1], thread, depth);
  if (!b) return std::nullopt;
  if (inst.op == Opcode::kIcmp) return Holds(inst.attrs.compare, from, *a, *b) ? 1 : 0;
  const std::optional<int64_t> result = OfNumbers(inst.op, inst.type, *a, *b);
  return result ? std::optional(Signed(*result, inst.type)) : std::nullopt;
}

}  // namespace ptx2cpu::analysis
