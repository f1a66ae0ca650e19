#include "lowering/passes/far_strides.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Opcode;
using ir::ValueId;

namespace {

constexpr uint64_t kFarBytes = 512;
constexpr int kDepthOfStride = 24;

// The amount by which a value grows from trip to trip.
struct Growth {
  uint64_t distance = 0;  // absolute, of a known one
  bool unknown = false;   // uniform, but a number of run time
  bool IsFar() const { return unknown || distance >= kFarBytes; }
};

class Growths {
 public:
  Growths(const ir::Function& f, const ThreadLoop& loop) : f_(f), loop_(loop) {}

  // Nothing: by no fixed distance.
  std::optional<Growth> Of(ValueId value, int depth = kDepthOfStride) {
    const auto [known, is_new] = known_.try_emplace(value.index);
    if (!is_new) return known->second;
    const std::optional<Growth> growth = Find(value, depth);
    return known_[value.index] = growth;
  }

 private:
  std::optional<Growth> Find(ValueId value, int depth) {
    const BlockId made = f_.at_value(value).block;
    if (std::ranges::find(loop_.blocks, made) == loop_.blocks.end()) return Growth{};
    const auto& params = f_.at_block(loop_.header).params;
    const auto param = std::ranges::find(params, value);
    if (param != params.end()) return OfSteps(static_cast<size_t>(param - params.begin()));
    const ir::InstId def = f_.at_value(value).def;
    if (!def.valid() || depth == 0) return std::nullopt;
    const ir::Inst& inst = f_.at_inst(def);
    if (inst.op == Opcode::kAdd || inst.op == Opcode::kSub) {
      const auto a = Of(inst.operands[0], depth - 1), b = Of(inst.operands[1], depth - 1);
      if (!a || !b) return std::nullopt;
      return Growth{a->distance + b->distance, a->unknown || b->unknown};
    }
    if (inst.op == Opcode::kMul || inst.op == Opcode::kShl) return OfProduct(inst, depth);
    if (inst.op == Opcode::kSext || inst.op == Opcode::kZext || inst.op == Opcode::kToGeneric ||
        inst.op == Opcode::kFromGeneric)
      return Of(inst.operands[0], depth - 1);
    const bool stays = std::ranges::all_of(inst.operands, [&](ValueId operand) {
      const auto growth = Of(operand, depth - 1);
      return growth && !growth->unknown && growth->distance == 0;
    });
    return stays && ir::Info(inst.op).effect == ir::Effect::kPure ? std::optional(Growth{}) : std::nullopt;
  }

  std::optional<Growth> OfSteps(size_t number) const {
    if (!loop_.steps[number]) return std::nullopt;
    Growth growth;
    for (const InductionStep& step : *loop_.steps[number]) {
      int64_t by = 0;
      if (!IsConstant(f_, step.by, &by)) growth.unknown = true;
      growth.distance += static_cast<uint64_t>(by < 0 ? -by : by);
    }
    return growth;
  }

  std::optional<Growth> OfProduct(const ir::Inst& inst, int depth) {
    for (size_t n = 0; n < (inst.op == Opcode::kMul ? 2u : 1u); ++n) {
      const auto growth = Of(inst.operands[n], depth - 1), other = Of(inst.operands[1 - n], depth - 1);
      if (!growth || !other || other->unknown || other->distance != 0) continue;
      if (growth->distance == 0 && !growth->unknown) return growth;
      int64_t factor = 0;
      if (!IsConstant(f_, inst.operands[1 - n], &factor)) return Growth{0, true};
      if (inst.op == Opcode::kShl) factor = factor >= 0 && factor < 32 ? int64_t{1} << factor : 0;
      return Growth{growth->distance * static_cast<uint64_t>(factor < 0 ? -factor : factor), growth->unknown};
    }
    return std::nullopt;
  }

  const ir::Function& f_;
  const ThreadLoop& loop_;
  std::unordered_map<uint32_t, std::optional<Growth>> known_;
};

}  // namespace

bool WalksFar(const ir::Function& f, const ThreadLoop& loop, ThreadStrides& strides) {
  strides.Forget();  // on a cycle, what was asked first decides
  Growths growths(f, loop);
  bool far = false;
  for (BlockId block : loop.blocks) {
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (ir::Info(inst.op).effect == ir::Effect::kMemory) return false;  // keeps the order of threads
      const bool is_far = inst.attrs.space == ir::Space::kGlobal || inst.attrs.space == ir::Space::kGeneric;
      if ((inst.op != Opcode::kLoad && inst.op != Opcode::kStore) || !is_far) continue;
      const std::optional<int64_t> stride = strides.Of(inst.operands[0]);
      if (stride == 0) continue;
      const std::optional<Growth> growth = growths.Of(inst.operands[0]);
      if (growth && !growth->IsFar()) return false;
      const size_t count = inst.op == Opcode::kLoad ? inst.results.size() : inst.operands.size() - 1;
      far |= growth && stride == static_cast<int64_t>(static_cast<size_t>(ir::Bytes(inst.type)) * count);
    }
  }
  return far;
}

}  // namespace ptx2cpu::lowering
