#include "analysis/memory/barrier_intervals.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ptx2cpu::analysis {
namespace {

using ir::Opcode;

// Kernels beyond these limits are left alone: the average number of steps for each stretch, so that the time
// stays proportional where any later barrier may follow each barrier; and the number of pairs of effects.
constexpr uint64_t kMaxSteps = 250, kMaxPairs = 1'000'000;

size_t NumberOperand(Opcode op) {
  return op == Opcode::kBarrierBlock || op == Opcode::kBarrierArrive ? 0 : 1;
}

// A barrier of all threads of the block, with a number that is the same for all.
bool IsOfWholeBlock(const ir::Function& f, const ir::Inst& inst) {
  if (inst.op == Opcode::kBarrierArrive) return false;
  size_t at = NumberOperand(inst.op);
  if (inst.operands.size() != at + 1) return false;  // with a count
  ir::InstId number = f.at_value(inst.operands[at]).def;
  return number.valid() && f.at_inst(number).op == Opcode::kConst;
}

bool HasBarriers(const ir::Function& f) {
  for (const ir::Block& block : f.blocks) {
    if (block.removed) continue;
    for (ir::InstId id : block.insts) {
      if (ir::IsBarrier(f.at_inst(id).op)) return true;
    }
  }
  return false;
}

void Unite(std::vector<uint32_t>& set, const std::vector<uint32_t>& more) {
  set.insert(set.end(), more.begin(), more.end());
}

void SortUnique(std::vector<uint32_t>& set) {
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
}

}  // namespace

BarrierIntervals::BarrierIntervals(const ir::Module& module, const ir::Function& f,
                                   const MemoryEffects& effects)
    : f_(f), effects_(effects) {
  Cut();
  bool calls = false;
  for (const Stretch& stretch : stretches_) {
    for (uint32_t at = stretch.from; at < stretch.to; ++at)
      calls |= ir::IsCall(f.at_inst(f.at_block(stretch.block).insts[at]).op);
  }
  if (calls) {
    for (const ir::Function& callee : module.functions) known_ &= callee.is_kernel || !HasBarriers(callee);
  }
  if (!known_) return;
  Connect();
  Solve();
}

void BarrierIntervals::Cut() {
  head_.resize(f_.blocks.size(), kNoNode);
  for (ir::BlockId block : ir::ReversePostOrder(f_)) {
    head_[block.index] = static_cast<uint32_t>(stretches_.size());
    const std::vector<ir::InstId>& insts = f_.at_block(block).insts;
    Stretch stretch{block, 0, 0, {}, {}, kNoNode};
    for (uint32_t at = 0; at < insts.size(); ++at) {
      const ir::Inst& inst = f_.at_inst(insts[at]);
      if (uint32_t effect = effects_.IndexOf(insts[at]); effect != MemoryEffects::kNone)
        stretch.effects.push_back(effect);
      if (!ir::IsBlockBarrier(inst.op)) continue;
      known_ &= IsOfWholeBlock(f_, inst);
      uint32_t here = static_cast<uint32_t>(stretches_.size());
      stretch.to = at;
      stretch.barrier = static_cast<uint32_t>(barriers_.size());
      barriers_.push_back({insts[at], here, here + 1, inst.op == Opcode::kBarrierBlock});
      stretches_.push_back(std::move(stretch));
      stretch = {block, at + 1, 0, {}, {}, kNoNode};
    }
    stretch.to = static_cast<uint32_t>(insts.size());
    stretches_.push_back(std::move(stretch));
  }
}

void BarrierIntervals::Connect() {
  for (Stretch& stretch : stretches_) {
    if (stretch.barrier != kNoNode) continue;
    for (const ir::Edge& edge : f_.successors(stretch.block)) stretch.next.push_back(head_[edge.to.index]);
    SortUnique(stretch.next);
  }
}

BarrierIntervals::Interval BarrierIntervals::From(uint32_t start) {
  Interval interval;
  interval.stretches = {start};
  seen_[start] = true;
  for (size_t n = 0; n < interval.stretches.size(); ++n) {
    const Stretch& stretch = stretches_[interval.stretches[n]];
    if (stretch.barrier != kNoNode) interval.ends.push_back(stretch.barrier);
    for (uint32_t next : stretch.next) {
      if (!seen_[next]) interval.stretches.push_back(next);
      seen_[next] = true;
    }
  }
  for (uint32_t s : interval.stretches) seen_[s] = false;
  SortUnique(interval.stretches);
  SortUnique(interval.ends);
  FindEnds(interval);
  return interval;
}

// Which ends each stretch leads to, up to two of them; leaving the kernel is one, and so is never to arrive.
void BarrierIntervals::FindEnds(Interval& interval) {
  constexpr uint32_t kNone = kNoNode, kLeave = ~0u - 1, kSeveral = ~0u - 2;
  std::vector<uint32_t>& leads = leads_;
  auto settle = [&](bool endless) {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t n = interval.stretches.size(); n-- > 0;) {
        const Stretch& stretch = stretches_[interval.stretches[n]];
        uint32_t& end = leads[interval.stretches[n]];
        uint32_t found = stretch.barrier != kNoNode ? stretch.barrier : stretch.next.empty() ? kLeave : end;
        for (uint32_t next : stretch.next) {
          if (leads[next] == kNone || leads[next] == found) continue;
          found = found == kNone ? leads[next] : kSeveral;
        }
        if (found == kNone && endless) found = kLeave;
        changed |= found != end;
        end = found;
      }
    }
  };
  settle(false);
  settle(true);
  for (uint32_t s : interval.stretches) {
    const Stretch& stretch = stretches_[s];
    interval.apart |= leads[s] == kSeveral && stretch.next.size() > 1 &&
                      !effects_.uniformity().BranchUniformAt(stretch.block, ir::Level::kBlock);
  }
  for (uint32_t s : interval.stretches) leads[s] = kNone;
}

// All of an interval whose threads may part, else what leads to the barrier.
void BarrierIntervals::AddBefore(const Interval& interval, uint32_t end) {
  if (interval.apart) return Unite(before_[end], interval.effects);
  std::vector<bool>& leads = seen_;
  for (uint32_t s : interval.stretches) leads[s] = stretches_[s].barrier == end;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t n = interval.stretches.size(); n-- > 0;) {
      uint32_t s = interval.stretches[n];
      const std::vector<uint32_t>& next = stretches_[s].next;
      if (leads[s] || std::none_of(next.begin(), next.end(), [&](uint32_t t) { return leads[t]; })) continue;
      leads[s] = changed = true;
    }
  }
  for (uint32_t s : interval.stretches) {
    if (leads[s]) Unite(before_[end], stretches_[s].effects);
    leads[s] = false;
  }
}

void BarrierIntervals::FindBefore(uint32_t barrier) {
  before_[barrier].clear();
  for (uint32_t i : ended_by_[barrier]) AddBefore(intervals_[i], barrier);
  SortUnique(before_[barrier]);
}

void BarrierIntervals::FindAround() {
  std::vector<std::vector<uint32_t>> part_of(stretches_.size());
  for (uint32_t i = 0; i < intervals_.size(); ++i) {
    for (uint32_t s : intervals_[i].stretches) part_of[s].push_back(i);
  }
  around_.clear();
  std::map<std::vector<uint32_t>, uint32_t> numbers;
  for (uint32_t s = 0; s < stretches_.size(); ++s) {
    const auto [known, is_new] = numbers.emplace(part_of[s], static_cast<uint32_t>(around_.size()));
    around_of_[s] = known->second;
    if (!is_new) continue;
    std::vector<uint32_t>& effects = around_.emplace_back();
    for (uint32_t i : part_of[s]) Unite(effects, intervals_[i].effects);
    if (part_of[s].size() > 1) SortUnique(effects);
  }
}

// Threads that part may be in different intervals from then on.
void BarrierIntervals::FindTogether() {
  for (BlockBarrier& barrier : barriers_) barrier.together = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Interval& interval : intervals_) {
      bool parted = (interval.apart && interval.ends.size() > 1) ||
                    (interval.barrier != kNoNode && !barriers_[interval.barrier].together);
      if (!parted) continue;
      for (uint32_t end : interval.ends) {
        changed |= barriers_[end].together;
        barriers_[end].together = false;
      }
    }
  }
}

// From where it begins, as the stretches are now.
void BarrierIntervals::Form(Interval& interval) {
  const uint32_t barrier = interval.barrier;
  interval = From(barrier == kNoNode ? head_[f_.entry.index] : barriers_[barrier].after);
  interval.barrier = barrier;
  steps_ += interval.stretches.size() * (1 + (interval.apart ? 0 : interval.ends.size()));
  known_ = steps_ <= kMaxSteps * stretches_.size();
  for (uint32_t s : interval.stretches) Unite(interval.effects, stretches_[s].effects);
  SortUnique(interval.effects);
  if (barrier != kNoNode) after_[barrier] = interval.effects;
  const auto number = static_cast<uint32_t>(&interval - intervals_.data());
  for (uint32_t end : interval.ends) ended_by_[end].push_back(number);
}

void BarrierIntervals::Add(uint32_t barrier) {
  if (!known_) return;
  if (barrier != kNoNode) begun_by_[barrier] = static_cast<uint32_t>(intervals_.size());
  intervals_.emplace_back().barrier = barrier;
  Form(intervals_.back());
}

void BarrierIntervals::End(uint32_t interval) {
  for (uint32_t end : intervals_[interval].ends) std::erase(ended_by_[end], interval);
}

void BarrierIntervals::Solve() {
  before_.assign(barriers_.size(), {});
  after_.assign(barriers_.size(), {});
  begun_by_.assign(barriers_.size(), 0);
  ended_by_.assign(barriers_.size(), {});
  around_.assign(1, {});
  around_of_.assign(stretches_.size(), 0);
  seen_.assign(stretches_.size(), false);
  leads_.assign(stretches_.size(), kNoNode);
  Add(kNoNode);
  for (uint32_t b = 0; b < barriers_.size(); ++b) Add(b);
  if (!known_) return;
  for (uint32_t b = 0; b < barriers_.size(); ++b) FindBefore(b);
  FindAround();
  FindTogether();
}

bool BarrierIntervals::AllTogether() const {
  return known_ && std::all_of(barriers_.begin(), barriers_.end(),
                               [](const BlockBarrier& b) { return b.removed || b.together; });
}

bool BarrierIntervals::Redundant(uint32_t barrier) const {
  const BlockBarrier& b = barriers_[barrier];
  if (!known_ || !b.plain || !b.together || b.removed) return false;
  if (before_[barrier].size() * after_[barrier].size() > kMaxPairs) return false;
  auto unknown = [&](uint32_t e) { return effects_.all()[e].access == Access::kUnknown; };
  const std::vector<uint32_t>&first = before_[barrier], &second = after_[barrier];
  if (std::any_of(first.begin(), first.end(), unknown) || std::any_of(second.begin(), second.end(), unknown))
    return false;
  for (uint32_t a : first) {
    for (uint32_t c : second) {
      if (effects_.Conflict(a, c)) return false;
    }
  }
  return true;
}

void BarrierIntervals::Remove(uint32_t barrier) {
  BlockBarrier& gone = barriers_[barrier];
  gone.removed = true;
  Stretch& before = stretches_[gone.before];
  Stretch after = std::exchange(stretches_[gone.after], {});
  Unite(before.effects, after.effects);
  before.to = after.to;
  before.next = std::move(after.next);
  before.barrier = after.barrier;
  if (before.barrier != kNoNode) barriers_[before.barrier].before = gone.before;

  std::vector<uint32_t> changed = intervals_[begun_by_[barrier]].ends;
  End(begun_by_[barrier]);
  intervals_[begun_by_[barrier]] = {};
  for (uint32_t i : std::vector<uint32_t>(ended_by_[barrier])) {
    End(i);
    Form(intervals_[i]);
    Unite(changed, intervals_[i].ends);
  }
  SortUnique(changed);
  for (uint32_t end : changed) {
    for (uint32_t i : ended_by_[end]) steps_ += intervals_[i].stretches.size();
    FindBefore(end);
  }
  known_ = steps_ <= kMaxSteps * stretches_.size();
  FindTogether();
}

}  // namespace ptx2cpu::analysis
