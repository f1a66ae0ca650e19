#include "runtime/check/clocks.h"

#include <algorithm>
#include <bit>

#include "runtime/abi/mbarrier.h"

namespace ptx2cpu::rt::check {

void Knowledge::Raise(uint32_t thread, uint32_t time) {
  if (until.size() <= thread) until.resize(kThreads);
  until[thread] = std::max(until[thread], time);
}

void Knowledge::Join(const Knowledge& other) {
  epoch = std::max(epoch, other.epoch);
  if (other.until.empty()) return;
  if (until.empty()) until.resize(kThreads);
  for (size_t i = 0; i < kThreads; ++i) until[i] = std::max(until[i], other.until[i]);
}

void BlockClock::Begin(LaunchClock& launch, uint32_t block, uint32_t threads) {
  launch_ = &launch;
  block_ = block;
  threads_ = threads;
  fenced_ = false;
  epochs_.assign(threads, 0);
  one_epoch_ = true;
  knows_more_ = false;
  latest_ = 0;
  const size_t lanes = (threads + kLanes - 1) / kLanes * kLanes;
  if (met_in_warps_ || arrivals_.size() < lanes) {
    arrivals_.assign(lanes, 0);
    common_.assign(lanes, 0);
    yet_to_leave_.assign(lanes / kLanes, 0);
  }
  met_in_warps_ = false;
  most_known_ = 0;
  has_state_ = false;
  blocks_.clear();
  asked_ = {};
  if (!copies_.empty()) copies_.Begin();
  keeps_all_ = false;
  tested_.clear();
  objects_.clear();
  object_hull_ = {};
  fences_.clear();
}

void BlockClock::NeedState() {
  if (has_state_) return;
  has_state_ = true;
  state_.clear();
  state_.resize(threads_);
  has_learnt_.assign((threads_ + kLanes - 1) / kLanes, false);
  for (auto& turns : counted_) turns = {};
}

void BlockClock::LeaveBlock(uint32_t first, uint64_t lanes) {
  one_epoch_ = false;
  const uint32_t before = latest_;
  const auto leave = [this](uint32_t thread) {
    const uint32_t passed = ++epochs_[thread];
    latest_ = std::max(latest_, passed);
    if (knows_more_) known_epochs_[thread] = std::max(known_epochs_[thread], passed);
  };
  auto count = static_cast<uint32_t>(std::countr_one(lanes));
  if (knows_more_) count = 0;
  uint32_t* const epochs = epochs_.data() + first;
  for (uint32_t i = 0; i < count; ++i) ++epochs[i];
  if (count != 0) latest_ = std::max(latest_, epochs[0]);
  lanes = count == 64 ? 0 : lanes >> count << count;
  for (; lanes != 0; lanes &= lanes - 1) leave(first + static_cast<uint32_t>(std::countr_zero(lanes)));
  if (latest_ != before && copies_.IsPending()) copies_.Forget(latest_);
}

void BlockClock::LeaveBlockTogether() {
  for (uint32_t& epoch : epochs_) ++epoch;
  if (knows_more_) {
    for (uint32_t thread = 0; thread < threads_; ++thread)
      known_epochs_[thread] = std::max(known_epochs_[thread], epochs_[thread]);
  }
  latest_ = std::max(latest_, epochs_[0]);
  if (copies_.IsPending()) copies_.Forget(latest_);
}

ThreadGroup BlockClock::Compared(uint32_t first, uint32_t last) const {
  uint32_t low = epochs_[first], high = low, least = KnownEpoch(first), most = least;
  // Mostly all of these numbers are the same.
  const uint32_t* const epochs = epochs_.data();
  uint32_t differ = knows_more_ ? 1 : 0;
  for (uint32_t thread = first; thread <= last; ++thread) differ |= epochs[thread] ^ low;
  if (differ == 0) return {first, last, true, low, low};
  for (uint32_t thread = first + 1; thread <= last; ++thread) {
    low = std::min(low, epochs[thread]), high = std::max(high, epochs[thread]);
    least = std::min(least, KnownEpoch(thread)), most = std::max(most, KnownEpoch(thread));
  }
  return {first, last, low == high && most <= low, low, least};
}

bool BlockClock::IsCopyOrdered(const Stamp& stamp, uint32_t thread) const {
  return stamp.block != block_ ? IsBlockKnown(stamp.block, 0) : IsDone(copies_.At(stamp.time), thread);
}

Knowledge BlockClock::KnowledgeOf(uint32_t thread) const {
  const Thread& me = state_[thread];
  Knowledge result;
  result.epoch = KnownEpoch(thread);
  if (me.more != nullptr)
    result.until = *me.more;
  else
    result.until.resize(kThreads);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t other = thread / kLanes * kLanes + lane;
    result.until[other] = std::max({result.until[other], me.lanes[lane], common_[other]});
  }
  result.until[thread] = launch_->time;
  return result;
}

void BlockClock::Learn(uint32_t thread, const Knowledge& knowledge) {
  NeedState();
  has_learnt_[thread / kLanes] = true;
  if (knowledge.epoch > KnownEpoch(thread)) {
    if (!knows_more_) known_epochs_ = epochs_;
    knows_more_ = true;
    known_epochs_[thread] = knowledge.epoch;
  }
  if (knowledge.until.empty()) return;
  most_known_ = std::max(most_known_, launch_->time);
  TakeOver(thread, knowledge);
}

// Uses of a counted barrier alternate between two records: all have left one use before any arrives at the
// next but one.
void BlockClock::ArriveAtCounted(uint32_t thread, uint32_t barrier) {
  launch_->Tick();
  NeedState();
  const uint32_t number = barrier % 16, turn = state_[thread].turns[number]++;
  Counted& use = counted_[number][turn % 2];
  if (use.turn != turn) use = {turn, {}};
  use.knowledge.Join(KnowledgeOf(thread));
}

void BlockClock::LeaveCounted(uint32_t thread, uint32_t barrier) {
  NeedState();
  const uint32_t number = barrier % 16, turn = state_[thread].turns[number] - 1u;
  const Counted& use = counted_[number][turn % 2];
  if (use.turn == turn) Learn(thread, use.knowledge);
}

void BlockClock::ArriveAtWarp(uint32_t first, uint64_t lanes) {
  const uint32_t time = launch_->Tick();
  met_in_warps_ = true;
  for (uint64_t rest = lanes; rest != 0;) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const uint32_t thread = first + lane;
    yet_to_leave_[thread / kLanes] &= ~(static_cast<uint32_t>(rest >> lane) << thread % kLanes);
    const uint32_t next = lane + kLanes - thread % kLanes;
    rest = next < 64 ? rest >> next << next : 0;
  }
  const auto count = static_cast<uint32_t>(std::countr_one(lanes));
  std::fill_n(arrivals_.begin() + first, count, time);
  if (count == 64) return;
  for (lanes &= lanes + 1; lanes != 0; lanes &= lanes - 1)
    arrivals_[first + static_cast<uint32_t>(std::countr_zero(lanes))] = time;
}

// Whether the lanes leave a meeting that others have left before.
bool BlockClock::LeavesLater(uint32_t warp, uint32_t lanes) {
  if ((yet_to_leave_[warp] & lanes) != lanes) return false;
  yet_to_leave_[warp] &= ~lanes;
  return true;
}

void BlockClock::LeaveWholeWarp(uint32_t thread, uint32_t lanes) {
  const uint32_t first = thread / kLanes * kLanes;
  if (LeavesLater(thread / kLanes, lanes)) return;
  yet_to_leave_[thread / kLanes] = ~lanes;
  most_known_ = std::max(most_known_, launch_->time);
  std::copy_n(arrivals_.begin() + first, kLanes, common_.begin() + first);  // which only grow
  if (!has_state_ || !has_learnt_[thread / kLanes]) return;
  has_learnt_[thread / kLanes] = false;
  const uint32_t last = std::min(first + kLanes, threads_);
  const Knowledge all = LearntBy(first, ~0u);
  for (uint32_t lane = first; lane < last; ++lane) TakeOver(lane, all);
}

// What members have learnt of threads of other warps, from barriers and memory.
Knowledge BlockClock::LearntBy(uint32_t first, uint32_t members) const {
  Knowledge all;
  for (uint32_t lane = first; lane < std::min(first + kLanes, threads_); ++lane) {
    if ((members >> lane % kLanes & 1) == 0) continue;
    all.epoch = std::max(all.epoch, KnownEpoch(lane));
    const auto& more = state_[lane].more;
    if (more == nullptr) continue;
    all.until.resize(kThreads);
    for (size_t i = 0; i < kThreads; ++i) all.until[i] = std::max(all.until[i], (*more)[i]);
  }
  return all;
}

void BlockClock::TakeOver(uint32_t thread, const Knowledge& knowledge) {
  if (knows_more_) known_epochs_[thread] = std::max(known_epochs_[thread], knowledge.epoch);
  if (knowledge.until.empty()) return;
  auto& more = state_[thread].more;
  if (more == nullptr) more = std::make_unique<std::vector<uint32_t>>(kThreads);
  for (size_t i = 0; i < kThreads; ++i) (*more)[i] = std::max((*more)[i], knowledge.until[i]);
}

void BlockClock::MeetInWarp(uint32_t thread, uint32_t lanes) {
  if (LeavesLater(thread / kLanes, lanes)) return;
  ArriveAtWarp(thread / kLanes * kLanes, ~0u);
  LeaveWholeWarp(thread, lanes);
}

void BlockClock::LeaveMembers(uint32_t thread, uint32_t members) {
  const uint32_t warp = thread / kLanes, first = warp * kLanes, me = 1u << thread % kLanes;
  if (LeavesLater(warp, me)) return;
  yet_to_leave_[warp] = (yet_to_leave_[warp] & ~members) | (members & ~me);
  NeedState();
  most_known_ = std::max(most_known_, launch_->time);
  const uint32_t live = std::min(threads_ - first, kLanes);
  std::array<uint32_t, kLanes> known{};
  const auto each = [&](const auto& act) {
    for (uint32_t lane = 0; lane < live; ++lane) {
      if (((members | me) >> lane & 1) != 0) act(lane);
    }
  };
  each([&](uint32_t lane) {
    const auto& lanes = state_[first + lane].lanes;
    for (uint32_t i = 0; i < kLanes; ++i) known[i] = std::max(known[i], lanes[i]);
  });
  each([&](uint32_t lane) { known[lane] = std::max(known[lane], arrivals_[first + lane]); });
  each([&](uint32_t lane) {
    auto& lanes = state_[first + lane].lanes;
    for (uint32_t i = 0; i < kLanes; ++i) lanes[i] = std::max(lanes[i], known[i]);
  });
  if (!has_learnt_[warp]) return;
  const Knowledge all = LearntBy(first, members | me);
  each([&](uint32_t lane) { TakeOver(first + lane, all); });
}

void BlockClock::LeaveConverged(uint32_t thread, uint32_t lanes) {
  NeedState();
  most_known_ = std::max(most_known_, launch_->time);
  const uint32_t warp = thread / kLanes, first = warp * kLanes, live = std::min(threads_ - first, kLanes);
  std::array<uint32_t, kLanes> known{};
  for (uint32_t lane = 0; lane < live; ++lane) {
    const auto& of = state_[first + lane].lanes;
    for (uint32_t i = 0; i < kLanes; ++i) known[i] = std::max(known[i], of[i]);
  }
  for (uint32_t lane = 0; lane < live; ++lane) known[lane] = std::max(known[lane], arrivals_[first + lane]);
  const Knowledge all = has_learnt_[warp] ? LearntBy(first, ~0u) : Knowledge();
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const uint32_t me = first + static_cast<uint32_t>(std::countr_zero(rest));
    auto& mine = state_[me].lanes;
    for (uint32_t i = 0; i < kLanes; ++i) mine[i] = std::max(mine[i], known[i]);
    if (has_learnt_[warp]) TakeOver(me, all);
  }
}

void BlockClock::Publish(uint32_t thread, uint64_t address) {
  NeedState();
  launch_->Tick();
  Publication& publication = launch_->published[address];
  launch_->publishing.Add(address);
  for (const auto& [block, until] : blocks_) {
    uint32_t& known = publication.blocks[block];
    known = std::max(known, until);
  }
  publication.blocks[block_] = launch_->time;
  if (publication.block != block_) publication.threads = {};
  publication.block = block_;
  publication.read_by = 0;
  publication.threads.Join(KnowledgeOf(thread));
}

void BlockClock::Learn(uint32_t thread, uint64_t address) {
  const auto found = launch_->published.find(address);
  if (found == launch_->published.end()) return;
  Publication& publication = found->second;
  if (publication.read_by != block_) {
    publication.read_by = block_;
    asked_ = {};
    for (const auto& [block, until] : publication.blocks) {
      if (block == block_) continue;
      uint32_t& known = blocks_[block];
      known = std::max(known, until);
    }
  }
  if (publication.block == block_) Learn(thread, publication.threads);
}

Stamp BlockClock::NowByCopy(uint32_t thread, uint32_t ptx_line, uint32_t kind, bool writes) {
  if (!copies_.IsPending()) latest_before_copies_ = latest_;
  return {block_, thread, 1, ptx_line, ~0u, copies_.Issue(thread, kind, writes)};
}

// Some thread that knows it is done comes before this one.
bool BlockClock::IsDone(const Copies::Copy& copy, uint32_t thread) const {
  if (copy.first_epoch < KnownEpoch(thread) || copy.IsSeenBy(thread)) return true;
  return std::ranges::any_of(copy.seen, [&](const Copies::Seen& seen) {
    return IsOrdered({block_, seen.thread, 0, 0, ~0u, seen.time}, thread, false);
  });
}

void BlockClock::WaitForCopies(uint32_t thread, uint32_t kind, uint32_t groups) {
  for (const uint32_t copy : copies_.Wait(thread, kind, groups))
    copies_.See(copy, thread, epochs_[thread], launch_->time);
}

void BlockClock::FenceProxy(uint32_t thread) { fences_[thread / kLanes] = launch_->Tick(); }

bool BlockClock::IsFenced(const Stamp& stamp, uint32_t thread) const {
  const auto fenced_after = [&](uint32_t who) {
    const auto fence = fences_.find(who / kLanes);
    return fence != fences_.end() && fence->second > stamp.time;
  };
  return stamp.block != block_ || stamp.is_copy != 0 || fenced_after(stamp.thread) || fenced_after(thread);
}

void BlockClock::Object::Complete() {
  before.Join(pending);
  pending = {};
  copies.insert(copies.end(), pending_copies.begin(), pending_copies.end());
  pending_copies.clear();
}

// What changes have made of it shows where a change was not known. Lanes that change it at once look before
// any has.
void BlockClock::Object::Look(uint64_t found) {
  if (found == memory) return;
  if ((found ^ now) >> mbarrier::kPhaseShift != 0) Complete();
  memory = now = found;
}

void BlockClock::ArriveAtObject(uint32_t thread, uint64_t address, uint64_t memory, uint64_t change) {
  NeedState();
  launch_->Tick();
  const auto [place, is_new] = objects_.try_emplace(address);
  object_hull_.Add(address);
  Object& object = place->second;
  if (is_new) object.memory = object.now = memory;
  object.Look(memory);
  const Copies::Carried carried = copies_.TakeCarried(thread);
  object.pending_copies.insert(object.pending_copies.end(), carried.copies.begin(), carried.copies.end());
  if (!carried.is_bulk) object.pending.Join(KnowledgeOf(thread));
  if (change == ~uint64_t{0}) return;
  const uint64_t next = mbarrier::Update(object.now, change);
  if ((next ^ object.now) >> mbarrier::kPhaseShift != 0) object.Complete();
  object.now = next;
}

void BlockClock::AcquireObject(uint32_t thread, uint64_t address, uint64_t memory) {
  Object& object = objects_.at(address);
  object.Look(memory);
  const auto tested = tested_.find(thread);
  if (tested != tested_.end() && tested->second == memory >> mbarrier::kPhaseShift) return;
  Learn(thread, object.before);
  // A thread that knows of a copy knows of those before.
  for (auto copy = object.copies.rbegin(); copy != object.copies.rend(); ++copy) {
    if (copies_.At(*copy).IsSeenBy(thread)) break;
    copies_.See(*copy, thread, epochs_[thread], launch_->time);
  }
}

}  // namespace ptx2cpu::rt::check
