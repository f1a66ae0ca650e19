#include "lowering/passes/collapse_values.h"

#include <algorithm>

#include "ir/result.h"

namespace ptx2cpu::lowering {

using analysis::kNeverRebuilt;

PlaceId CollapseValues::AddPlace(ir::Level level, ir::BlockId prologue, ir::BlockId epilogue) {
  places_.push_back({level, prologue, epilogue, {}, {}});
  return static_cast<PlaceId>(places_.size() - 1);
}

void CollapseValues::SetHome(ir::ValueId old, PlaceId place, ir::ValueId clone) {
  home_[old.index] = place;
  clone_[old.index] = clone;
}

ir::Level CollapseValues::ShapeOf(ir::ValueId old) const {
  if (per_lane_[old.index]) return ir::Level::kLane;
  // Warps that resume may be at different places at the same time.
  const bool for_themselves = f_.resumes == ir::Resumes::kWarps || f_.together_of != ~0u;
  const ir::Level widest = for_themselves || per_warp_[old.index] ? ir::Level::kWarp : ir::Level::kBlock;
  if (uniformity_.UniformAt(old, ir::Level::kBlock)) return widest;
  return !flat_ && uniformity_.UniformAt(old, ir::Level::kWarp) ? ir::Level::kWarp : ir::Level::kLane;
}

namespace {

// Whether threads of a level leave each loop in different trips. The blocks of a loop are adjacent in the
// list of blocks, so prefix sums decide without one walk of the nest for each loop around it.
std::vector<bool> LeftApart(const ir::Function& f, const analysis::UniformityResult& uniformity,
                            const analysis::LoopForest& forest, ir::Level level) {
  const auto parts = [&](uint32_t node) {
    return f.successors({node}).size() != 1 && !uniformity.BranchUniformAt({node}, level);
  };
  struct Sums {
    uint32_t waiting = 0, ending = 0, parting = 0;
  };
  std::vector<Sums> before(1);
  for (const uint32_t node : forest.blocks) {
    Sums sums = before.back();
    sums.waiting += f.at_block({node}).level >= level;
    sums.ending += f.successors({node}).empty();
    sums.parting += parts(node);
    before.push_back(sums);
  }
  std::vector<bool> apart;
  for (const analysis::Loop& loop : forest.loops) {
    const auto first = static_cast<size_t>(loop.blocks.data() - forest.blocks.data());
    const Sums &from = before[first], &to = before[first + loop.blocks.size()];
    const bool leaves = loop.exit_count == 1 ? to.ending != from.ending || parts(loop.only_exit.first)
                                             : to.parting != from.parting;
    // Where all of a level wait for each other, they come and leave together.
    apart.push_back(leaves && to.waiting == from.waiting);
  }
  return apart;
}

}  // namespace

// Keeps the operands of values that leave loops in different trips, with the outermost of those loops.
void CollapseValues::KeepOperandsIn(const analysis::LoopForest& forest, std::vector<Escape> escapes,
                                    std::vector<bool>& kept) {
  // An outer loop comes first: what it keeps is all that loops within it would.
  std::ranges::sort(escapes, {}, &Escape::loop);
  for (const Escape& escape : escapes) {
    std::vector<ir::ValueId> work{escape.value};
    while (!work.empty()) {
      const ir::InstId def = f_.at_value(work.back()).def;
      work.pop_back();
      if (!def.valid() || ir::Info(f_.at_inst(def).op).effect != ir::Effect::kPure) continue;
      for (const ir::ValueId operand : f_.at_inst(def).operands) {
        const ir::BlockId made = f_.at_value(operand).block;
        if (!made.valid() || !forest.Contains(escape.loop, made.index) || kept[operand.index]) continue;
        kept[operand.index] = true;
        work.push_back(operand);
      }
    }
  }
}

void CollapseValues::KeepApartWhatLeavesApart() {
  const analysis::LoopForest forest = analysis::Loops(analysis::BuildCfg(f_));
  const ir::Level lanes_meet = flat_ ? ir::Level::kBlock : ir::Level::kWarp;
  const std::vector<bool> by_lane = LeftApart(f_, uniformity_, forest, lanes_meet);
  const std::vector<bool> by_warp = LeftApart(f_, uniformity_, forest, ir::Level::kBlock);
  std::vector<Escape> lanes, warps;
  for (const ir::Inst& inst : f_.insts) {
    if (!inst.block.valid()) continue;
    const auto use = [&](ir::ValueId value) {
      const ir::BlockId made = f_.at_value(value).block;
      if (!made.valid()) return;
      uint32_t lane = analysis::kNoNode, warp = analysis::kNoNode;
      for (uint32_t l = forest.innermost[made.index];
           l != analysis::kNoNode && !forest.Contains(l, inst.block.index); l = forest.loops[l].parent) {
        if (by_lane[l]) lane = l;
        if (by_warp[l]) warp = l;
      }
      if (lane != analysis::kNoNode) lanes.push_back({lane, value});
      if (warp != analysis::kNoNode) warps.push_back({warp, value});
    };
    std::ranges::for_each(inst.operands, use);
    for (const ir::Edge& edge : inst.edges) std::ranges::for_each(edge.args, use);
  }
  KeepOperandsIn(forest, std::move(lanes), per_lane_);
  KeepOperandsIn(forest, std::move(warps), per_warp_);
}

std::optional<ir::Level> CollapseValues::SlotShape(ir::ValueId old) const {
  if (slot_[old.index] == kNoSlot) return {};
  return f_.slots[slot_[old.index]].shape;
}

uint32_t CollapseValues::SlotOf(ir::ValueId old) {
  uint32_t& slot = slot_[old.index];
  if (slot == kNoSlot) {
    slot = static_cast<uint32_t>(f_.slots.size());
    f_.slots.push_back({f_.type_of(old), ShapeOf(old)});
    unsettled_.push_back(old);
  }
  return slot;
}

bool CollapseValues::Scalar(const Place& place, ir::ValueId old) const {
  return place.level == ir::Level::kLane || uniformity_.UniformAt(old, place.level);
}

// Values that cost one slot load, or nothing, and no slot that does not exist anyway.
bool CollapseValues::IsLeaf(const Place& place, ir::ValueId old) const {
  return place.known.contains(old.index) || carried_[old.index] || slot_[old.index] != kNoSlot ||
         (home_[old.index] != kNoPlace && places_[home_[old.index]].level != ir::Level::kLane);
}

uint32_t CollapseValues::RebuildCost(const Place& place, ir::ValueId old, uint32_t limit,
                                     std::vector<uint32_t>& counted) const {
  if (!Scalar(place, old)) return kNeverRebuilt;
  if (place.known.contains(old.index)) return 0;
  if (std::find(counted.begin(), counted.end(), old.index) != counted.end()) return 0;
  counted.push_back(old.index);
  if (carried_[old.index] || planned_[old.index]) return 1;
  const ir::Value& value = f_.at_value(old);
  if (!value.def.valid()) return kNeverRebuilt;
  const ir::Inst& inst = f_.at_inst(value.def);
  uint32_t cost = analysis::RebuildOperations(inst);
  for (ir::ValueId operand : inst.operands) {
    if (cost > limit) break;
    size_t before = counted.size();
    uint32_t deeper = RebuildCost(place, operand, limit - cost, counted);
    if (deeper > limit - cost && IsLeaf(place, operand) && Scalar(place, operand)) {
      deeper = 1;
      counted.resize(before);
      counted.push_back(operand.index);
    }
    cost += deeper;
  }
  return cost;
}

bool CollapseValues::Affordable(const Place& place, ir::ValueId old, uint32_t limit) const {
  std::vector<uint32_t> counted;
  return RebuildCost(place, old, limit, counted) <= limit;
}

ir::ValueId CollapseValues::Rebuild(PlaceId place, ir::ValueId old) {
  ir::Inst inst = f_.at_inst(f_.at_value(old).def);
  std::vector<ir::ValueId> results = std::move(inst.results);
  inst.results.clear();
  for (ir::ValueId& operand : inst.operands) operand = Get(place, operand);
  for (ir::ValueId result : results) inst.results.push_back(ir::AddValue(f_, f_.type_of(result), {}, {}, 0));
  ir::InstId id =
      ir::Append(f_, places_[place].prologue, std::move(inst), static_cast<uint32_t>(results.size()));
  for (size_t n = 0; n < results.size(); ++n)
    places_[place].known[results[n].index] = f_.at_inst(id).results[n];
  return places_[place].known[old.index];
}

ir::ValueId CollapseValues::Get(PlaceId place, ir::ValueId old) {
  if (old.index >= old_count_) return old;  // made for the Collapsed form already
  if (home_[old.index] == place) return clone_[old.index];
  Place& here = places_[place];
  if (auto it = here.known.find(old.index); it != here.known.end()) return it->second;
  uint32_t limit = here.level != ir::Level::kLane ? analysis::kScalarBudget
                   : linear_[old.index]           ? analysis::kLinearBudget
                                                  : analysis::kLaneBudget;
  if (!carried_[old.index] && !planned_[old.index] && Affordable(here, old, limit))
    return Rebuild(place, old);
  uint32_t slot = SlotOf(old);
  ir::ValueId loaded = ir::Builder{f_, here.prologue}.SlotLoad(slot);
  places_[place].known[old.index] = loaded;
  return loaded;
}

void CollapseValues::CopyInto(PlaceId place, ir::ValueId from, ir::ValueId to) {
  if (from == to) return;  // unchanged round the loop
  uint32_t slot = slot_[to.index];
  CHECK(slot != kNoSlot);
  ir::ValueId value = Get(place, from);
  places_[place].stores.push_back({slot, value});
}

std::vector<ir::ValueId> CollapseValues::SettleStores() {
  std::vector<ir::ValueId> carried;
  std::vector<ir::ValueId> fresh = std::move(unsettled_);
  unsettled_.clear();
  for (ir::ValueId old : fresh) {
    if (carried_[old.index]) {
      carried.push_back(old);
    } else {
      CHECK(home_[old.index] != kNoPlace, "a value without a definition crosses regions");
      places_[home_[old.index]].stores.push_back({slot_[old.index], clone_[old.index]});
    }
  }
  return carried;
}

void CollapseValues::FlushStores() {
  for (Place& place : places_) {
    ir::Builder b{f_, place.epilogue};
    for (auto [slot, value] : place.stores) b.SlotStore(slot, value);
    place.stores.clear();
  }
}

}  // namespace ptx2cpu::lowering
