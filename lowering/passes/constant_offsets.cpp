#include "lowering/passes/constant_offsets.h"

#include <cstdlib>
#include <utility>
#include <vector>

#include "lowering/passes/thread_strides.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;

Place ConstantOffsets::Of(ValueId address) {
  std::vector<std::pair<ValueId, int64_t>> sums;
  Place place{address};
  for (int64_t number = 0;; place.root = f_.at_inst(f_.at_value(place.root).def).operands[0]) {
    if (const auto known = known_.find(place.root.index); known != known_.end()) {
      place = known->second;
      break;
    }
    const ir::InstId def = f_.at_value(place.root).def;
    if (!def.valid() || f_.at_inst(def).op != Opcode::kAdd || f_.at_inst(def).type != ir::Type::kI64 ||
        (f_.at_inst(def).attrs.flags & ir::kSat) != 0 ||
        !IsConstant(f_, f_.at_inst(def).operands[1], &number))
      break;
    sums.emplace_back(place.root, number);
  }
  for (size_t n = sums.size(); n-- > 0;) {
    place.offset =
        static_cast<int64_t>(static_cast<uint64_t>(place.offset) + static_cast<uint64_t>(sums[n].second));
    known_[sums[n].first.index] = place;
  }
  return place;
}

Place ConstantOffsets::Of(ValueId address, ir::Space space) {
  Place place = Of(address);
  const ir::InstId def = f_.at_value(place.root).def;
  if (space != ir::Space::kShared || !def.valid()) return place;
  const ir::Inst& inst = f_.at_inst(def);
  // What is widened without a sign and then lies in the window has none, so that the sign may be kept. This
  // needs a small offset: a large one could bring a number above 2 GiB into the window.
  constexpr int64_t kMaxOffset = 1 << 24;
  const bool widens =
      inst.op == Opcode::kSext || (inst.op == Opcode::kZext && std::abs(place.offset) <= kMaxOffset);
  if (widens && f_.type_of(inst.operands[0]) == ir::Type::kI32) place.root = inst.operands[0];
  return place;
}

ValueId AddressOf(const Place& place, const ir::Function& f, ir::Insertions& made, ir::InstId where) {
  const auto make = [&](Opcode op, std::vector<ValueId> operands) {
    ir::Inst inst;
    inst.op = op;
    inst.type = ir::Type::kI64;
    inst.operands = std::move(operands);
    inst.attrs.bits = op == Opcode::kConst ? static_cast<uint64_t>(place.offset) : 0;
    if (op == Opcode::kSext) inst.from = ir::Type::kI32;
    inst.at = f.at_inst(where).at;
    return f.at_inst(made.Before(where, std::move(inst))).results[0];
  };
  const bool is_wide = f.type_of(place.root) == ir::Type::kI64;
  const ValueId root = is_wide ? place.root : make(Opcode::kSext, {place.root});
  return place.offset == 0 ? root : make(Opcode::kAdd, {root, make(Opcode::kConst, {})});
}

}  // namespace ptx2cpu::lowering
