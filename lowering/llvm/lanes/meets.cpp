#include "lowering/llvm/lanes/meets.h"

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::ValueId;
using Value = llvm::Value*;

ShapedValue LaneMeets::Merge(const std::vector<EdgeRef>& edges, size_t number, const LaneShape& shape) {
  auto arg = [&](EdgeRef edge) { return f.successors(edge.from)[edge.number].args[number]; };
  bool same = std::ranges::all_of(edges, [&](EdgeRef edge) { return arg(edge) == arg(edges.front()); });
  // A value that is the same in all lanes also counts as a sequence where the others are assumed to be
  // sequences.
  auto shaped = [&](EdgeRef edge) {
    ShapedValue value = e.values.Shaped(arg(edge));
    if (!shape.affine()) return ShapedValue{value.value};
    if (!value.value->getType()->isVectorTy()) value = {Vector(value.value), value.value, nullptr};
    return value;
  };
  ShapedValue merged = shaped(edges.back());
  if (shape.varying()) merged.value = Vector(merged.value);
  if (same) return merged;
  merged.runs = {};
  for (size_t i = edges.size() - 1; i-- > 0;) {
    const ShapedValue other = shaped(edges[i]);
    const Mask& mask = v.masks.Of(edges[i]);
    if (shape.varying()) {
      // A bit, which costs no vector of bits, where it is known that all lanes come this way, or none.
      const bool all_or_none = mask.any != nullptr && mask.within != nullptr && IsAll({mask.within});
      merged.value = b.CreateSelect(all_or_none ? mask.any : mask.lanes, Vector(other.value), merged.value);
      continue;
    }
    Value here = AnyOf(mask);  // all lanes come this way, or none
    merged.value = b.CreateSelect(here, other.value, merged.value);
    if (!shape.affine()) continue;
    merged.first = b.CreateSelect(here, other.first, merged.first);
    merged.holds = b.CreateSelect(here, AsBit(other.holds), AsBit(merged.holds));
  }
  return merged;
}

void LaneMeets::MergeParams(BlockId block, const std::vector<EdgeRef>& edges, const Mask& mask) {
  const std::vector<ValueId>& params = f.at_block(block).params;
  std::vector<ShapedValue> merged;
  for (size_t i = 0; i < params.size(); ++i) {
    const bool meet = region_.meets[params[i].index] && ShapeOf(params[i]).affine();
    merged.push_back(Merge(edges, i, meet ? analysis::kVaryingShape : ShapeOf(params[i])));
    if (meet) meet_in_[OnlyReader(params[i])].push_back(params[i]);
  }
  for (size_t i = 0; i < params.size(); ++i) e.values.SetShaped(params[i], merged[i]);
  MeetIn(block, mask);
}

// What no lane may come to read is not tested.
BlockId LaneMeets::OnlyReader(ValueId value) const {
  const BlockId made = f.at_value(value).block;
  BlockId only;
  for (BlockId block : region_.blocks) {
    const bool reads = std::ranges::any_of(f.at_block(block).insts, [&](ir::InstId id) {
      const ir::Inst& inst = f.at_inst(id);
      return std::ranges::count(inst.operands, value) != 0 ||
             std::ranges::any_of(
                 inst.edges, [&](const ir::Edge& edge) { return std::ranges::count(edge.args, value) != 0; });
    });
    if (!reads) continue;
    if (only.valid() || region_.level_of[block.index] != region_.level_of[made.index]) return made;
    only = block;
  }
  return only.valid() ? only : made;
}

void LaneMeets::MeetIn(BlockId block, const Mask& mask) {
  for (ValueId value : meet_in_[block])
    e.values.SetShaped(value, v.by_sight.Met(e.values.Get(value), ShapeOf(value).stride, mask));
  meet_in_[block].clear();
}

}  // namespace ptx2cpu::lowering
