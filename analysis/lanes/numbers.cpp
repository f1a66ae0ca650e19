#include "analysis/lanes/numbers.h"

#include <algorithm>

namespace ptx2cpu::analysis {

namespace {

using ir::Opcode;
using ir::ValueId;

bool IsMinMax(const ir::Inst& inst) { return inst.op == Opcode::kFMin || inst.op == Opcode::kFMax; }

bool IsNumber(uint64_t bits, int width) {
  const uint64_t magnitude = bits << (64 - width) << 1;  // from the highest bit on
  const uint64_t infinity = width == 32 ? uint64_t{0xff} << 56 : uint64_t{0x7ff} << 53;
  return magnitude <= infinity;
}

// All are assumed to be numbers until an operand shows otherwise; what is left is the greatest solution.
class Solver {
 public:
  explicit Solver(const ir::Function& f)
      : f_(f), numbers_(f.values.size(), true), slots_(f.slots.size(), true) {
    // What no edge defines: parameters of functions and of blocks that are entered from elsewhere.
    std::vector<bool> entered(f.blocks.size());
    for (const ir::Inst& inst : f.insts) {
      if (!inst.block.valid()) continue;
      for (const ir::Edge& edge : inst.edges) {
        const size_t params = f.at_block(edge.to).params.size();
        entered[edge.to.index] = entered[edge.to.index] || edge.args.size() == params;
      }
    }
    for (uint32_t n = 0; n < f.blocks.size(); ++n) {
      if (f.blocks[n].removed || (entered[n] && ir::BlockId{n} != f.entry)) continue;
      for (ValueId param : f.blocks[n].params) numbers_[param.index] = false;
    }
  }

  std::vector<bool> Solve() {
    do {
      changed_ = false;
      for (const ir::Inst& inst : f_.insts) {
        if (inst.block.valid()) Visit(inst);
      }
    } while (changed_);
    return std::move(numbers_);
  }

 private:
  bool Is(ValueId value) const { return numbers_[value.index]; }

  void Lower(std::vector<bool>& of, uint32_t index) {
    changed_ |= of[index];
    of[index] = false;
  }

  void Visit(const ir::Inst& inst) {
    for (size_t n = 0; n < inst.results.size(); ++n) {
      if (!Result(inst, n)) Lower(numbers_, inst.results[n].index);
    }
    if (inst.op == Opcode::kSlotStore && !Is(inst.operands.back())) Lower(slots_, inst.attrs.index);
    for (const ir::Edge& edge : inst.edges) {
      const std::vector<ValueId>& params = f_.at_block(edge.to).params;
      for (size_t n = 0; n < std::min(params.size(), edge.args.size()); ++n) {
        if (!Is(edge.args[n])) Lower(numbers_, params[n].index);
      }
    }
  }

  bool Result(const ir::Inst& inst, size_t number) const {
    const int width = ir::Bits(f_.type_of(inst.results[number]));
    if (width != 32 && width != 64) return false;
    const auto operand = [&](size_t n) { return Is(inst.operands[n]); };
    if (IsMinMax(inst))
      return (inst.attrs.flags & ir::kPropagateNan) != 0 ? operand(0) && operand(1)
                                                         : operand(0) || operand(1);
    if (inst.op == Opcode::kConst) return IsNumber(inst.attrs.bits, width);
    if (inst.op == Opcode::kSelect) return operand(1) && operand(2);
    if (inst.op == Opcode::kBitcast) return ir::Bits(f_.type_of(inst.operands[0])) == width && operand(0);
    // A shuffle gives another lane's value, the lane's own or 0.
    if (inst.op == Opcode::kShuffle) return number == 0 && operand(0);
    if (inst.op == Opcode::kFAbs || inst.op == Opcode::kFNeg) return operand(0);
    if (inst.op == Opcode::kSlotLoad) return slots_[inst.attrs.index];
    return inst.op == Opcode::kUndef;
  }

  const ir::Function& f_;
  std::vector<bool> numbers_, slots_;
  bool changed_ = false;
};

}  // namespace

std::vector<bool> FindNumbers(const ir::Function& f) {
  const bool any =
      std::ranges::any_of(f.insts, [](const ir::Inst& inst) { return inst.block.valid() && IsMinMax(inst); });
  return any ? Solver(f).Solve() : std::vector<bool>();
}

}  // namespace ptx2cpu::analysis
