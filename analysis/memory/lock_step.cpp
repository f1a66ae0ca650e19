#include "analysis/memory/lock_step.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/graph/dominators.h"
#include "analysis/graph/loops.h"
#include "analysis/memory/lane_guards.h"
#include "analysis/memory/lane_overlaps.h"
#include "analysis/regions/spin_loops.h"
#include "analysis/values/definitions.h"
#include "analysis/values/lane_forms.h"
#include "analysis/values/polynomial.h"

namespace ptx2cpu::analysis {
namespace {

using ir::BlockId;
using ir::Opcode;

constexpr size_t kMaxPairs = 1000, kMaxSteps = 10'000'000;  // of one kernel; others are not looked for
constexpr uint32_t kEveryone = ~0u;
constexpr int32_t kNarrowRow = 8;       // threads along x of the narrowest blocks that have tiles
constexpr uint32_t kWarpsLookedAt = 2;  // the first one, and the next where an access is not of the first

bool IsAccess(const ir::Inst& inst) {
  if (inst.op != Opcode::kLoad && inst.op != Opcode::kStore && inst.op != Opcode::kAtomic &&
      inst.op != Opcode::kAtomicCas)
    return false;
  const ir::Space space = inst.attrs.space;
  if (inst.op == Opcode::kLoad && (inst.attrs.flags & ir::kNonCoherent) != 0) return false;
  return space == ir::Space::kShared || space == ir::Space::kGlobal || space == ir::Space::kGeneric;
}

// Whether all converged lanes must arrive before one of them continues.
bool Separates(const ir::Function& f, const ir::Inst& inst) {
  if (ir::IsBlockBarrier(inst.op)) return inst.op != Opcode::kBarrierArrive;
  if (!ir::IsCollective(inst.op) || inst.op == Opcode::kActiveMask) return false;
  if (!ir::HasMembermask(inst.op, inst.attrs.flags)) return true;
  return static_cast<uint32_t>(NumberOf(f, inst.operands.back()).value_or(0)) == kEveryone;
}

struct LaneAccess {
  ir::InstId inst;
  BlockId block;
  size_t at = 0;  // in the block
  bool writes = false, reads = false;
  int64_t bytes = 0;
  bool IsAtomic() const { return writes && reads; }
};

class Finder {
 public:
  Finder(const ir::Function& f, std::optional<LaunchShape> launch)
      : f_(f), shape_(launch.value_or(PromisedShape(f))), is_shape_known_(shape_.x != 0) {
    // Rows, where nothing is known.
    if (!is_shape_known_) shape_ = {};
  }

  std::vector<LockStepPair> Find() {
    if (!Collect()) return {};
    cfg_ = BuildCfg(f_);
    dominators_ = Dominators(cfg_);
    post_dominators_ = PostDominators(cfg_);
    FindSeparators();
    LaunchShape seen = shape_;
    if (!is_shape_known_) seen.x = kWarpSize;
    const UniformityResult uniformity = AnalyzeUniformity(f_, seen);
    const LoopForest loops = Loops(cfg_);
    bool others = true;
    for (uint32_t warp = 0; warp < kWarpsLookedAt && others; ++warp) {
      const LaneForms forms(f_, uniformity, shape_, warp, Wanted());
      forms_ = &forms;
      FindActive();
      guards_.emplace(f_, cfg_, dominators_, loops, forms);
      Group();
      others =
          std::ranges::any_of(accesses_, [&](const LaneAccess& a) { return active_[a.block.index] == 0; });
    }
    std::vector<uint32_t> order(cfg_.size());
    for (uint32_t n = 0; n < cfg_.order.size(); ++n) order[cfg_.order[n]] = n;
    std::ranges::sort(found_, {}, [&](const LockStepPair& pair) {
      return std::tuple(order[pair.block.index], pair.where, pair.second.index, pair.first.index);
    });
    return std::move(found_);
  }

 private:
  // False where nothing can meet: no memory is written that is accessed elsewhere.
  bool Collect() {
    bool any_write = false;
    for (const BlockId block : ir::ReversePostOrder(f_)) {
      const auto& insts = f_.at_block(block).insts;
      for (size_t i = 0; i < insts.size(); ++i) {
        const ir::Inst& inst = f_.at_inst(insts[i]);
        if (!IsAccess(inst)) continue;
        const bool loads = inst.op == Opcode::kLoad, stores = inst.op == Opcode::kStore;
        const size_t parts = loads ? inst.results.size() : stores ? inst.operands.size() - 1 : 1;
        accesses_.push_back(
            {insts[i], block, i, !loads, !stores, static_cast<int64_t>(parts) * ir::Bytes(inst.type)});
        any_write |= !loads;
      }
    }
    return any_write && accesses_.size() > 1;
  }

  void FindSeparators() {
    separators_.resize(f_.blocks.size());
    places_.resize(f_.blocks.size());
    for (const uint32_t node : cfg_.order) {
      if (node == cfg_.exit) continue;
      const auto& insts = f_.at_block({node}).insts;
      for (size_t i = 0; i < insts.size(); ++i)
        if (Separates(f_, f_.at_inst(insts[i]))) separators_[node].push_back(i);
    }
  }

  std::vector<ir::ValueId> Wanted() const {
    std::vector<ir::ValueId> wanted;
    for (const LaneAccess& access : accesses_) {
      const ir::Inst& inst = f_.at_inst(access.inst);
      wanted.push_back(inst.operands[0]);
      if (inst.op == Opcode::kStore)
        wanted.insert(wanted.end(), inst.operands.begin() + 1, inst.operands.end());
    }
    for (const uint32_t node : cfg_.order) {
      if (node == cfg_.exit) continue;
      const ir::Inst& end = f_.terminator({node});
      if (end.op == Opcode::kCondBr) wanted.push_back(end.operands[0]);
    }
    return wanted;
  }

  // Which lanes may come to each block, and whether these are all that are known to: no branch before it
  // decides lane by lane on what is not known.
  void FindActive() {
    active_.assign(f_.blocks.size(), 0);
    certain_.assign(f_.blocks.size(), true);
    for (bool changed = true; changed;) {
      changed = false;
      for (const uint32_t node : cfg_.order) {
        if (node == cfg_.exit) continue;
        uint32_t lanes = node == cfg_.entry ? forms_->members() : 0;
        bool certain = true;
        const uint32_t above = dominators_.parent[node];
        if (above != kNoNode && post_dominators_.Dominates(node, above)) {
          lanes = active_[above];
          certain = certain_[above];
        } else {
          for (const uint32_t from : cfg_.predecessors[node]) {
            const auto [passed, known] = Over({from}, node);
            lanes |= active_[from] & passed;
            certain = certain && known && certain_[from];
          }
        }
        changed |= lanes != active_[node] || certain != certain_[node];
        active_[node] = lanes;
        certain_[node] = certain;
      }
    }
  }
  std::pair<uint32_t, bool> Over(BlockId from, uint32_t to) const {
    const ir::Inst& end = f_.terminator(from);
    if (end.edges.size() < 2) return {~0u, true};
    if (end.op != Opcode::kCondBr || end.edges[0].to == end.edges[1].to) return {~0u, false};
    const LanePredicate& taken = forms_->PredicateOf(end.operands[0]);
    return {end.edges[0].to.index == to ? taken.yes : taken.no, taken.same || taken.IsKnown()};
  }

  // Only addresses with a common base can be seen to meet.
  void Group() {
    std::map<std::vector<int64_t>, std::vector<uint32_t>> groups;
    for (uint32_t n = 0; n < accesses_.size(); ++n) {
      const ir::Inst& inst = f_.at_inst(accesses_[n].inst);
      const LaneForm& form = forms_->Of(inst.operands[0]);
      if (!form.known || active_[accesses_[n].block.index] == 0) continue;
      std::vector<int64_t> key;
      AppendTo(key, form.base);
      groups[std::move(key)].push_back(n);
    }
    candidates_.clear();
    for (const auto& [key, members] : groups) {
      if (members.size() > 1) Sweep(members);
    }
    // In program order: a barrier that one needs serves others after it.
    std::ranges::sort(candidates_, {}, [](const Candidate& c) { return std::pair(c.second, c.first); });
    if (candidates_.size() > kMaxPairs) candidates_.resize(kMaxPairs);
    for (const Candidate& c : candidates_) Decide(c.first, c.second, c.is_row);
  }
  struct Candidate {
    uint32_t first, second;  // accesses
    bool is_row;
  };

  // Overlaps of a write's bytes with those of others.
  void Sweep(const std::vector<uint32_t>& members) {
    std::vector<LaneBytes> all;
    for (const uint32_t n : members) {
      const uint32_t lanes = active_[accesses_[n].block.index] & guards_->LanesAt(accesses_[n].block);
      for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
        const int64_t from = FormOf(n).lane[lane];
        if ((lanes >> lane & 1) != 0)
          all.push_back({from, from + accesses_[n].bytes, n, lane, accesses_[n].writes});
      }
    }
    const auto never = [&](const LaneBytes& a, const LaneBytes& b) {
      if (accesses_[a.access].IsAtomic() && accesses_[b.access].IsAtomic()) return true;
      return guards_->ExcludeEachOther(
          accesses_[a.access].block, a.lane, accesses_[b.access].block, b.lane,
          [&](BlockId branch) { return ComesTo(a.access, branch) || ComesTo(b.access, branch); });
    };
    const std::vector<LaneMeeting> meetings = FindMeetings(std::move(all), kMaxPairs, never);
    for (size_t i = 0, end = 0; i < meetings.size(); i = end) {
      const auto& [a, b, distance] = meetings[i];
      while (end < meetings.size() && meetings[end].a == a && meetings[end].b == b) ++end;
      const bool is_row = end == i + 1 && distance % kNarrowRow == 0;
      candidates_.push_back({a, b, is_row});
      candidates_.push_back({b, a, is_row});
    }
  }
  const LaneForm& FormOf(uint32_t access) const {
    return forms_->Of(f_.at_inst(accesses_[access].inst).operands[0]);
  }
  bool IsCertain(const LaneAccess& access) const { return certain_[access.block.index]; }

  // Whether the order of the two, which meet, matters to the result.
  bool Matters(uint32_t first, uint32_t second, bool is_row) const {
    const LaneAccess &a = accesses_[first], &b = accesses_[second];
    const ir::Inst &one = f_.at_inst(a.inst), &two = f_.at_inst(b.inst);
    const bool at_one_place = FormOf(first).IsSame() && FormOf(second).IsSame();
    if (at_one_place && (!IsCertain(a) || !IsCertain(b))) return false;  // one lane alone, most likely
    if (!b.reads && !a.reads) {
      // What the last lane stores last remains.
      if (at_one_place && active_[a.block.index] == active_[b.block.index]) return false;
      if (StoreOneNumber(one, two)) return false;
      // In narrow blocks these are rows of threads, and no store is overwritten unused.
      if (!is_shape_known_ && a.block == b.block && is_row) return false;
    }
    if (one.op == Opcode::kStore && at_one_place && !b.writes) {  // each lane stores the same
      return !std::all_of(one.operands.begin() + 1, one.operands.end(),
                          [&](ir::ValueId value) { return forms_->Of(value).IsSame(); });
    }
    return one.op != Opcode::kAtomic || two.op != Opcode::kAtomic;
  }

  // Both store the same, in all lanes.
  bool StoreOneNumber(const ir::Inst& one, const ir::Inst& two) const {
    if (one.op != Opcode::kStore || two.op != Opcode::kStore || one.type != two.type) return false;
    const LaneForm& number = forms_->Of(one.operands[1]);
    const auto is_it = [&](ir::ValueId value) {
      const LaneForm& form = forms_->Of(value);
      return form.IsNumber() && form.IsSame() && form.lane[0] == number.lane[0];
    };
    return std::all_of(one.operands.begin() + 1, one.operands.end(), is_it) &&
           std::all_of(two.operands.begin() + 1, two.operands.end(), is_it);
  }

  // Adds the pair if the second can follow the first, with the values that both are made of unchanged.
  void Decide(uint32_t first, uint32_t second, bool is_row) {
    const LaneAccess &a = accesses_[first], &b = accesses_[second];
    if (steps_ > kMaxSteps) return;
    if (!Matters(first, second, is_row) || Waits(a.block) || Waits(b.block)) return;
    if (!Reaches(a, b, FormOf(first).base, kNoNode)) return;
    Place place{b.block, b.at};
    // Where all lanes come together the barrier costs least.
    for (uint32_t node = b.block.index; node != a.block.index;) {
      const uint32_t above = dominators_.parent[node];
      if (above == kNoNode || steps_ > kMaxSteps) break;
      if (above != a.block.index && Reaches(a, b, FormOf(first).base, above)) break;
      if (!post_dominators_.Dominates(node, above) && !IsSameBranch({above}))
        place = {BlockId{above}, BeforeEnd({above})};
      node = above;
    }
    found_.push_back({a.inst, b.inst, place.block, place.where});
    auto& places = places_[place.block.index];
    places.insert(std::ranges::lower_bound(places, place.where), place.where);
  }

  struct Place {
    BlockId block;
    size_t where = 0;
  };
  bool IsSameBranch(BlockId block) const {
    const ir::Inst& end = f_.terminator(block);
    return end.op == Opcode::kCondBr && forms_->PredicateOf(end.operands[0]).same;
  }
  // What only computes for the branch is on the other side: it is computed again there.
  size_t BeforeEnd(BlockId block) const {
    const auto& insts = f_.at_block(block).insts;
    size_t at = insts.size() - 1;
    while (at > 0 && ir::Info(f_.at_inst(insts[at - 1]).op).effect == ir::Effect::kPure) --at;
    return at;
  }

  // Whether control comes from one to the other without passing a barrier, one that others need included, new
  // values of the base, or the block `without`.
  bool Reaches(const LaneAccess& a, const LaneAccess& b, const Polynomial& base, uint32_t without) {
    if (a.block == b.block && a.at < b.at && IsOpen(a.block, a.at + 1, b.at)) return true;
    return Walk(a, [&](BlockId to) {
      if (to.index == without || forms_->IsMadeIn(base, to)) return Way::kEnds;
      return to == b.block && IsOpen(b.block, 0, b.at) ? Way::kArrives : Way::kContinues;
    });
  }
  // Whether it comes to the branch without passing a barrier.
  bool ComesTo(uint32_t access, BlockId branch) {
    const auto [known, is_new] = comes_to_.try_emplace({access, branch.index});
    const auto enter = [&](BlockId to) { return to == branch ? Way::kArrives : Way::kContinues; };
    if (is_new && IsOpen(branch, 0, f_.at_block(branch).insts.size()))
      known->second = Walk(accesses_[access], enter);
    return known->second;
  }

  enum class Way : uint8_t { kEnds, kContinues, kArrives };
  template <typename Enter>
  bool Walk(const LaneAccess& a, const Enter& enter) {
    if (!IsOpen(a.block, a.at + 1, f_.at_block(a.block).insts.size())) return false;
    std::vector<uint32_t> work = {a.block.index};
    std::vector<bool> seen(f_.blocks.size());
    while (!work.empty()) {
      const uint32_t from = work.back();
      work.pop_back();
      ++steps_;
      for (const uint32_t to : cfg_.successors[from]) {
        if (to == cfg_.exit || seen[to]) continue;
        seen[to] = true;
        const Way way = enter(BlockId{to});
        if (way == Way::kArrives) return true;
        if (way == Way::kContinues && IsOpen({to}, 0, f_.at_block({to}).insts.size())) work.push_back(to);
      }
    }
    return false;
  }
  bool IsOpen(BlockId block, size_t from, size_t to) const {
    const auto none = [&](const std::vector<size_t>& positions, size_t end) {
      const auto at = std::ranges::lower_bound(positions, from);
      return at == positions.end() || *at >= end;
    };
    return none(separators_[block.index], to) && none(places_[block.index], to + 1);
  }

  // Lanes wait for each other there, or come from there one by one, and must not be held together.
  bool Waits(BlockId block) {
    if (waits_.empty()) FindWaits();
    return waits_[block.index];
  }
  void FindWaits() {
    waits_.assign(f_.blocks.size(), false);
    std::vector<uint32_t> work;
    const auto mark = [&](uint32_t block) {
      if (!waits_[block]) work.push_back(block);
      waits_[block] = true;
    };
    const LoopForest forest = Loops(cfg_);
    for (const SpinLoop& spin : FindSpinLoops(f_)) {
      const uint32_t header = f_.successors(spin.back.from)[spin.back.edge].to.index;
      mark(header);
      for (const Loop& loop : forest.loops) {
        if (loop.header == header) std::ranges::for_each(loop.blocks, mark);
      }
    }
    while (!work.empty()) {
      const uint32_t from = work.back();
      work.pop_back();
      if (!separators_[from].empty()) continue;
      for (const uint32_t to : cfg_.successors[from]) {
        if (to != cfg_.exit) mark(to);
      }
    }
  }

  const ir::Function& f_;
  LaunchShape shape_;
  const bool is_shape_known_;
  std::vector<LaneAccess> accesses_;
  Cfg cfg_;
  DominatorTree dominators_, post_dominators_;
  const LaneForms* forms_ = nullptr;  // of the warp that is looked at
  std::vector<uint32_t> active_;      // by block: lanes
  std::vector<bool> certain_;
  std::optional<LaneGuards> guards_;                        // of this warp
  std::map<std::pair<uint32_t, uint32_t>, bool> comes_to_;  // from an access, to a branch
  std::vector<bool> waits_;                                 // empty: not looked for
  uint64_t steps_ = 0;                                      // blocks that ways between accesses have led to
  std::vector<Candidate> candidates_;
  std::vector<LockStepPair> found_;
  std::vector<std::vector<size_t>> separators_;  // by block: positions of barriers
  std::vector<std::vector<size_t>> places_;      // ... and in front of which one is needed
};

}  // namespace

std::vector<LockStepPair> FindLockStepPairs(const ir::Function& f, std::optional<LaunchShape> launch) {
  return Finder(f, launch).Find();
}

}  // namespace ptx2cpu::analysis
