#include "analysis/lanes/row_quotients.h"

#include <algorithm>

namespace ptx2cpu::analysis {

using ir::Opcode;
using ir::ValueId;

bool IsQuotient(Opcode op) { return op == Opcode::kDivS || op == Opcode::kDivU; }
bool IsRest(Opcode op) { return op == Opcode::kRemS || op == Opcode::kRemU; }

namespace {

// The value that a block's parameter always has: the argument of the block's only edge.
ValueId SourceOf(const ir::Function& f, const LaneRegion& region, ValueId value) {
  for (;;) {
    const ir::Value& at = f.at_value(value);
    if (at.def.valid() || !at.block.valid() || region.level_of[at.block.index] == LaneRegion::kNone)
      return value;
    const ir::Edge* only = nullptr;
    for (ir::BlockId block : region.blocks) {
      for (const ir::Edge& edge : f.terminator(block).edges) {
        if (edge.to != at.block) continue;
        if (only != nullptr) return value;
        only = &edge;
      }
    }
    if (only == nullptr) return value;
    value = only->args[at.number];
  }
}

}  // namespace

std::optional<RowQuotients> FindRowQuotients(const ir::Function& f, const LaneRegion& region,
                                             const std::function<bool(ValueId)>& varies_outside) {
  auto shape_of = [&](ValueId value) {
    const ir::BlockId made = f.at_value(value).block;
    if (made.valid() && region.level_of[made.index] != LaneRegion::kNone) return region.shapes[value.index];
    return varies_outside(value) ? kVaryingShape : Uniform(Uniformity::kWarp);
  };
  RowQuotients found;
  for (ir::BlockId block : region.blocks) {
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (!IsQuotient(inst.op) && !IsRest(inst.op)) continue;
      const ValueId place = SourceOf(f, region, inst.operands[0]),
                    divisor = SourceOf(f, region, inst.operands[1]);
      const ThreadShape shape = shape_of(place), result = shape_of(inst.results[0]);
      const bool is_place =
          shape.affine() && shape.stride == 1 && !shape.guess && shape_of(divisor).uniform();
      if (result.uniform() || !is_place || (inst.type != ir::Type::kI32 && inst.type != ir::Type::kI64))
        continue;
      if (found.place.valid() && found.place != place) return std::nullopt;
      found.place = place;
      const ir::InstId def = f.at_value(divisor).def;
      if (def.valid() && f.at_inst(def).op == Opcode::kConst && f.at_inst(def).attrs.bits < kLeastRow)
        return std::nullopt;
      found.results.push_back(inst.results[0]);
      found.is_signed |= inst.op == Opcode::kDivS || inst.op == Opcode::kRemS;
      const auto known = std::ranges::find(found.divisors, divisor);
      found.divisor_of.push_back(static_cast<size_t>(known - found.divisors.begin()));
      if (known == found.divisors.end()) found.divisors.push_back(divisor);
    }
  }
  return found.place.valid() ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace ptx2cpu::analysis
