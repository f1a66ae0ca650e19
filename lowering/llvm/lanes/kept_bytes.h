// The registers that a loop over threads needs, which bound the width of its vectors (lane_width.cpp).
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "lowering/llvm/lanes/lane_cost.h"

namespace ptx2cpu::lowering {

// Bytes of each lane that a loop of one block keeps in registers: values that it carries from trip to trip or
// reads from outside, and results. A load that is read once is an operand of its reader.
class KeptBytes {
 public:
  KeptBytes(const FunctionEmitter& e, const LaneRegion& region) : e_(e), f_(e.f), r_(region) {}

  bool is_costly() const { return is_costly_; }  // after Of: something keeps values of its own for a while

  // Nothing for a loop with more than simple operations and accesses side by side.
  std::optional<size_t> Of(ir::BlockId loop) {
    const std::vector<ir::InstId>& insts = f_.at_block(loop).insts;
    for (ir::ValueId param : f_.at_block(loop).params) Begin(param);
    for (size_t n = 0; n < insts.size(); ++n) {
      for (ir::ValueId read : ReadBy(f_.at_inst(insts[n]))) {
        if (f_.at_value(read).block != loop) Begin(read), last_[read.index] = insts.size();
        last_[read.index] = std::max(last_[read.index], n);
        ++reads_[read.index];
      }
    }
    size_t most = Sum();
    bool accesses = false;
    for (size_t n = 0; n < insts.size(); ++n) {
      const ir::Inst& inst = f_.at_inst(insts[n]);
      if (!ir::IsTerminator(inst.op)) {
        const LaneForm form = FormOf(e_, r_, inst);
        if (form != LaneForm::kVector && form != LaneForm::kUniform) return std::nullopt;
        if (inst.op == ir::Opcode::kStore && form == LaneForm::kUniform) return std::nullopt;
        if (inst.op == ir::Opcode::kSlotStore || inst.op == ir::Opcode::kAtomic) return std::nullopt;
        is_costly_ |= ir::Info(inst.op).cost == ir::Cost::kCostly || RoundsToOdd(inst);
        accesses |= IsAccess(inst) && form == LaneForm::kVector;
      }
      std::erase_if(live_, [&](ir::ValueId value) { return last_[value.index] <= n; });
      for (ir::ValueId result : inst.results) {
        const bool is_operand = inst.op == ir::Opcode::kLoad && inst.results.size() == 1;
        if (!is_operand || reads_[result.index] > 1) Begin(result);
      }
      most = std::max(most, Sum());
    }
    return accesses ? std::optional(most) : std::nullopt;
  }

 private:
  static bool IsAccess(const ir::Inst& inst) {
    return inst.op == ir::Opcode::kLoad || inst.op == ir::Opcode::kStore;
  }
  // With each result of 16 bits, both neighbours of 32 that it lies between.
  bool RoundsToOdd(const ir::Inst& inst) const {
    const bool half = inst.type == ir::Type::kF16 || inst.type == ir::Type::kBF16;
    return inst.op == ir::Opcode::kFFma && half &&
           !(inst.type == ir::Type::kF16 && e_.m.traits.has_native_half_fma);
  }
  static std::vector<ir::ValueId> ReadBy(const ir::Inst& inst) {
    std::vector<ir::ValueId> read = inst.operands;
    for (const ir::Edge& edge : inst.edges) read.insert(read.end(), edge.args.begin(), edge.args.end());
    return read;
  }
  // Sequences are their first lane's value where all lanes take part.
  void Begin(ir::ValueId value) {
    const LaneShape shape = ShapeIn(e_, r_, value);
    if (!shape.varying() || f_.type_of(value) == ir::Type::kI1) return;
    if (std::ranges::find(live_, value) == live_.end()) live_.push_back(value);
  }
  size_t Sum() const {
    size_t bytes = 0;
    for (ir::ValueId value : live_) bytes += static_cast<size_t>(ir::Bytes(f_.type_of(value)));
    return bytes;
  }

  const FunctionEmitter& e_;
  const ir::Function& f_;
  const LaneRegion& r_;
  std::map<uint32_t, size_t> last_, reads_;  // by value: the position of its last reader, the number of them
  std::vector<ir::ValueId> live_;
  bool is_costly_ = false;
};

}  // namespace ptx2cpu::lowering
