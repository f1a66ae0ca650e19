#include "lowering/passes/constant_offsets.h"

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

}  // namespace ptx2cpu::lowering
