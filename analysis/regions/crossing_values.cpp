#include "analysis/regions/crossing_values.h"

#include <algorithm>
#include <utility>

#include "analysis/graph/minimum_cut.h"
#include "analysis/values/linear_in_thread.h"

namespace ptx2cpu::analysis {

using ir::Level;
using ir::Opcode;
using ir::ValueId;

uint32_t RebuildOperations(const ir::Inst& inst) {
  const ir::OpcodeInfo& row = ir::Info(inst.op);
  // Parameters and constants stay as they are while the kernel runs.
  if (inst.op == Opcode::kLoad)
    return inst.attrs.space == ir::Space::kParam || inst.attrs.space == ir::Space::kConst ? 1 : kNeverRebuilt;
  if (row.effect != ir::Effect::kPure || row.lanes != ir::Lanes::kAlone) return kNeverRebuilt;
  if ((row.attributes & ir::kSpecial) != 0 && (inst.attrs.flags & ir::kVolatile) != 0) return kNeverRebuilt;
  switch (row.cost) {
    case ir::Cost::kFree:
      return 0;
    case ir::Cost::kCheap:
      return 1;
    case ir::Cost::kCostly:
      return kLaneBudget + 1;
  }
  std::unreachable();
}

namespace {

constexpr uint32_t kUnnumbered = ~0u;
constexpr uint64_t kLanes = 32;
constexpr int kMaxRounds = 6;

class Chooser {
 public:
  Chooser(const ir::Function& f, const RegionMap& lanes, const UniformityResult& uniformity, bool flat)
      : f_(f),
        lanes_(lanes),
        uniformity_(uniformity),
        flat_(flat),
        linear_(LinearInThread(f, uniformity, flat ? Level::kBlock : Level::kWarp)) {
    needed_.resize(f.values.size());
    for_lanes_ = fixed_ = needed_;
    number_.resize(f.values.size(), kUnnumbered);
  }

  CrossingValues Choose() {
    FindNeeds();
    NumberCone();
    FindLaneWork();
    CrossingValues result;
    result.stored.resize(f_.values.size());
    for (int round = 0; round < kMaxRounds; ++round) {
      std::vector<bool> cut = MinimumCut(Graph());
      for (uint32_t n = 0; n < cone_.size(); ++n) result.stored[cone_[n].index] = cut[n];
      if (!FixExpensive(result.stored)) break;
    }
    for (ValueId v : cone_) {
      result.needed += needed_[v.index];
      result.slots += result.stored[v.index];
      if (result.stored[v.index]) result.slot_bytes += Price(v);
    }
    return result;
  }

 private:
  uint32_t PlaceOf(ir::BlockId block) const {
    return f_.at_block(block).level == Level::kLane
               ? lanes_.region_of[block.index]
               : static_cast<uint32_t>(lanes_.regions.size()) + block.index;
  }
  // A parameter of a boundary lives in its slot only, so it is needed wherever it is used.
  bool IsCarried(ValueId v) const {
    return !f_.at_value(v).def.valid() && f_.at_block(f_.at_value(v).block).level != Level::kLane;
  }

  bool IsOne(ValueId v) const { return uniformity_.UniformAt(v, flat_ ? Level::kBlock : Level::kWarp); }

  void Need(ValueId v, uint32_t place) {
    if (!IsCarried(v) && PlaceOf(f_.at_value(v).block) == place) return;
    needed_[v.index] = true;
    if (place < lanes_.regions.size()) for_lanes_[v.index] = true;
  }

  void FindNeeds() {
    for (ir::BlockId block : ir::ReversePostOrder(f_)) {
      Level level = f_.at_block(block).level;
      uint32_t place = PlaceOf(block);
      for (ir::InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        for (ValueId operand : inst.operands) {
          Need(operand, place);
          // A warp reads the values of its lanes from their slots.
          if (level != Level::kLane && !uniformity_.UniformAt(operand, level)) fixed_[operand.index] = true;
        }
        for (const ir::Edge& edge : inst.edges) NeedArguments(level, place, edge);
      }
    }
  }

  // Arguments are read where the edge leads, those for a boundary's own parameters before: by each lane, or
  // for a parameter that is uniform by a copy after the loop over the lanes.
  void NeedArguments(Level level, uint32_t place, const ir::Edge& edge) {
    bool into_boundary = level == Level::kLane && f_.at_block(edge.to).level != Level::kLane;
    for (size_t n = 0; n < edge.args.size(); ++n) {
      uint32_t reader = PlaceOf(edge.to);
      if (into_boundary) reader = IsOne(f_.at_block(edge.to).params[n]) ? kUnnumbered : place;
      Need(edge.args[n], reader);
    }
  }

  uint32_t BudgetOf(ValueId v) const {
    if (linear_[v.index] && for_lanes_[v.index]) return kLinearBudget;
    return for_lanes_[v.index] ? kLaneBudget : kScalarBudget;
  }

  bool CanRebuild(ValueId v) const {
    ir::InstId def = f_.at_value(v).def;
    return def.valid() && !fixed_[v.index] && RebuildOperations(f_.at_inst(def)) <= BudgetOf(v);
  }

  // What a lane's value is rebuilt from is rebuilt by the lane.
  void FindLaneWork() {
    for (size_t n = cone_.size(); n-- > 0;) {
      if (!for_lanes_[cone_[n].index] || !CanRebuild(cone_[n])) continue;
      for (ValueId operand : f_.at_inst(f_.at_value(cone_[n]).def).operands) for_lanes_[operand.index] = true;
    }
  }

  // All that rebuilding may lead to, operands before results.
  void NumberCone() {
    std::vector<std::pair<ValueId, size_t>> stack;
    std::vector<bool> seen(f_.values.size());
    for (uint32_t root = 0; root < needed_.size(); ++root) {
      if (!needed_[root] || seen[root]) continue;
      seen[root] = true;
      stack.push_back({{root}, 0});
      while (!stack.empty()) {
        auto& [v, next] = stack.back();
        std::span<const ValueId> operands;
        if (CanRebuild(v)) operands = f_.at_inst(f_.at_value(v).def).operands;
        if (next < operands.size()) {
          ValueId operand = operands[next++];
          if (!seen[operand.index]) {
            seen[operand.index] = true;
            stack.push_back({operand, 0});
          }
          continue;
        }
        number_[v.index] = static_cast<uint32_t>(cone_.size());
        cone_.push_back(v);
        stack.pop_back();
      }
    }
  }

  uint64_t Price(ValueId v) const {
    uint64_t bytes = static_cast<uint64_t>(ir::Bytes(f_.type_of(v)));
    return bytes * (IsOne(v) ? 1 : kLanes);
  }

  CutGraph Graph() const {
    CutGraph graph;
    for (uint32_t n = 0; n < cone_.size(); ++n) {
      ValueId v = cone_[n];
      graph.prices.push_back(Price(v));
      if (needed_[v.index]) graph.sinks.push_back(n);
      if (!CanRebuild(v)) {
        graph.sources.push_back(n);
        continue;
      }
      for (ValueId operand : f_.at_inst(f_.at_value(v).def).operands)
        graph.edges.push_back({number_[operand.index], n});
    }
    return graph;
  }

  // Values that would take too long to rebuild, but none of whose operands would, have to be stored. True
  // when there are any.
  bool FixExpensive(const std::vector<bool>& stored) {
    // What each is rebuilt with, itself included: what several operands have in common is computed once, and
    // a value that is needed for its own sake is likely to be available.
    std::vector<std::vector<uint32_t>> work(cone_.size());
    std::vector<bool> above(cone_.size());   // rebuilt from something that is too expensive already
    std::vector<bool> rooted(cone_.size());  // rebuilt from something that is loaded
    bool any = false;
    for (uint32_t n = 0; n < cone_.size(); ++n) {
      ValueId v = cone_[n];
      work[n] = {n};
      rooted[n] = stored[v.index] || !CanRebuild(v);
      if (rooted[n]) continue;
      for (ValueId operand : f_.at_inst(f_.at_value(v).def).operands) {
        uint32_t o = number_[operand.index];
        if (needed_[operand.index]) {
          work[n].push_back(o);
        } else {
          work[n].insert(work[n].end(), work[o].begin(), work[o].end());
        }
        above[n] = above[n] || above[o];
        rooted[n] = rooted[n] || rooted[o];
      }
      std::sort(work[n].begin(), work[n].end());
      work[n].erase(std::unique(work[n].begin(), work[n].end()), work[n].end());
      uint32_t cost = 0;
      for (uint32_t m : work[n]) {
        bool loaded = stored[cone_[m].index] || !CanRebuild(cone_[m]) || (m != n && needed_[cone_[m].index]);
        cost += loaded ? 1 : RebuildOperations(f_.at_inst(f_.at_value(cone_[m]).def));
      }
      if (cost <= BudgetOf(v) || above[n]) {
        if (above[n]) work[n] = {n};  // no use to count on
        continue;
      }
      // What comes from constants and ids alone ties no other slot down; the place that needs it decides.
      if (rooted[n]) fixed_[v.index] = any = true;
      above[n] = true;
      work[n] = {n};
    }
    return any;
  }

  const ir::Function& f_;
  const RegionMap& lanes_;
  const UniformityResult& uniformity_;
  bool flat_;
  const std::vector<bool> linear_;
  std::vector<bool> needed_, for_lanes_, fixed_;
  std::vector<uint32_t> number_;
  std::vector<ValueId> cone_;
};

}  // namespace

CrossingValues ChooseStoredValues(const ir::Function& f, const RegionMap& lanes,
                                  const UniformityResult& uniformity, bool flat) {
  return Chooser(f, lanes, uniformity, flat).Choose();
}

}  // namespace ptx2cpu::analysis
