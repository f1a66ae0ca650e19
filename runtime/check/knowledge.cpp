#include "runtime/check/knowledge.h"

#include <bit>

namespace ptx2cpu::rt::check {

void Knowledge::Join(const Knowledge& other) {
  epoch = std::max(epoch, other.epoch);
  if (other.until.empty()) return;
  if (until.empty()) until.resize(kThreads);
  for (size_t i = 0; i < kThreads; ++i) until[i] = std::max(until[i], other.until[i]);
}

void BlockEpochs::Begin(uint32_t threads) {
  passed_.assign(threads, 0);
  are_equal_ = true;
  knows_more_ = false;
  latest_ = 0;
}

void BlockEpochs::Leave(uint32_t first, uint64_t lanes) {
  are_equal_ = false;
  const auto leave = [this](uint32_t thread) {
    const uint32_t passed = ++passed_[thread];
    latest_ = std::max(latest_, passed);
    if (knows_more_) known_[thread] = std::max(known_[thread], passed);
  };
  auto count = static_cast<uint32_t>(std::countr_one(lanes));
  if (knows_more_) count = 0;
  uint32_t* const passed = passed_.data() + first;
  for (uint32_t i = 0; i < count; ++i) ++passed[i];
  if (count != 0) latest_ = std::max(latest_, passed[0]);
  lanes = count == 64 ? 0 : lanes >> count << count;
  for (; lanes != 0; lanes &= lanes - 1) leave(first + static_cast<uint32_t>(std::countr_zero(lanes)));
}

void BlockEpochs::LeaveTogether() {
  for (uint32_t& passed : passed_) ++passed;
  if (knows_more_) {
    for (size_t thread = 0; thread < passed_.size(); ++thread)
      known_[thread] = std::max(known_[thread], passed_[thread]);
  }
  latest_ = std::max(latest_, passed_[0]);
}

ThreadGroup BlockEpochs::Compared(uint32_t first, uint32_t last) const {
  uint32_t low = passed_[first], high = low, least = KnownTo(first), most = least;
  // Mostly all of these numbers are the same.
  const uint32_t* const passed = passed_.data();
  uint32_t differ = knows_more_ ? 1 : 0;
  for (uint32_t thread = first; thread <= last; ++thread) differ |= passed[thread] ^ low;
  if (differ == 0) return {first, last, true, low, low};
  for (uint32_t thread = first + 1; thread <= last; ++thread) {
    low = std::min(low, passed[thread]), high = std::max(high, passed[thread]);
    least = std::min(least, KnownTo(thread)), most = std::max(most, KnownTo(thread));
  }
  return {first, last, low == high && most <= low, low, least};
}

void BlockEpochs::Learn(uint32_t thread, uint32_t epoch) {
  if (epoch <= KnownTo(thread)) return;
  if (!knows_more_) known_ = passed_;
  knows_more_ = true;
  known_[thread] = epoch;
}

void BlockEpochs::LearnFromLanes(uint32_t thread, uint32_t epoch) {
  if (knows_more_) known_[thread] = std::max(known_[thread], epoch);
}

void WarpMeetings::Begin(uint32_t threads) {
  const size_t lanes = (threads + kLanes - 1) / kLanes * kLanes;
  if (met_ || arrivals_.size() < lanes) {
    arrivals_.assign(lanes, 0);
    common_.assign(lanes, 0);
    yet_to_leave_.assign(lanes / kLanes, 0);
  }
  met_ = false;
}

void WarpMeetings::Arrive(uint32_t first, uint64_t lanes, uint32_t time) {
  met_ = true;
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

bool WarpMeetings::LeavesLater(uint32_t warp, uint32_t lanes) {
  if ((yet_to_leave_[warp] & lanes) != lanes) return false;
  yet_to_leave_[warp] &= ~lanes;
  return true;
}

void KnownThreads::Begin(uint32_t threads) {
  epochs_.Begin(threads);
  warps_.Begin(threads);
  threads_ = threads;
  latest_ = 0;
  has_rows_ = false;
}

bool KnownThreads::IsOrderedByMeetings(const Stamp& stamp, uint32_t thread, bool lockstep) const {
  const bool same_warp = stamp.thread / kLanes == thread / kLanes;
  if (same_warp && (lockstep || stamp.time < warps_.CommonOf(stamp.thread))) return true;
  if (!has_rows_) return false;
  const Row& me = rows_[thread];
  if (same_warp && stamp.time < me.lanes[stamp.thread % kLanes]) return true;
  return me.threads != nullptr && stamp.time < (*me.threads)[stamp.thread];
}

void KnownThreads::NeedRows() {
  if (has_rows_) return;
  has_rows_ = true;
  rows_.clear();
  rows_.resize(threads_);
  has_learnt_.assign((threads_ + kLanes - 1) / kLanes, false);
}

Knowledge KnownThreads::Of(uint32_t thread, uint32_t now) {
  NeedRows();
  const Row& me = rows_[thread];
  Knowledge result;
  result.epoch = epochs_.KnownTo(thread);
  if (me.threads != nullptr)
    result.until = *me.threads;
  else
    result.until.resize(kThreads);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t other = thread / kLanes * kLanes + lane;
    result.until[other] = std::max({result.until[other], me.lanes[lane], warps_.CommonOf(other)});
  }
  result.until[thread] = now;
  return result;
}

void KnownThreads::Learn(uint32_t thread, const Knowledge& knowledge, uint32_t now) {
  NeedRows();
  has_learnt_[thread / kLanes] = true;
  epochs_.Learn(thread, knowledge.epoch);
  if (knowledge.until.empty()) return;
  latest_ = std::max(latest_, now);
  TakeOver(thread, knowledge);
}

void KnownThreads::TakeOver(uint32_t thread, const Knowledge& knowledge) {
  epochs_.LearnFromLanes(thread, knowledge.epoch);
  if (knowledge.until.empty()) return;
  auto& threads = rows_[thread].threads;
  if (threads == nullptr) threads = std::make_unique<std::vector<uint32_t>>(kThreads);
  for (size_t i = 0; i < kThreads; ++i) (*threads)[i] = std::max((*threads)[i], knowledge.until[i]);
}

Knowledge KnownThreads::LearntBy(uint32_t first, uint32_t members) const {
  Knowledge all;
  for (uint32_t lane = first; lane < std::min(first + kLanes, threads_); ++lane) {
    if ((members >> lane % kLanes & 1) == 0) continue;
    all.epoch = std::max(all.epoch, epochs_.KnownTo(lane));
    const auto& threads = rows_[lane].threads;
    if (threads == nullptr) continue;
    all.until.resize(kThreads);
    for (size_t i = 0; i < kThreads; ++i) all.until[i] = std::max(all.until[i], (*threads)[i]);
  }
  return all;
}

KnownThreads::Lanes KnownThreads::KnownBy(uint32_t first, uint32_t lanes) const {
  Lanes known{};
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1)
    Raise(known, rows_[first + static_cast<uint32_t>(std::countr_zero(rest))].lanes);
  const uint32_t* const arrivals = warps_.ArrivalsOf(first);
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    known[lane] = std::max(known[lane], arrivals[lane]);
  }
  return known;
}

void KnownThreads::LeaveMembers(uint32_t thread, uint32_t members, uint32_t now) {
  const uint32_t warp = thread / kLanes, first = warp * kLanes, me = 1u << thread % kLanes;
  if (warps_.LeavesLater(warp, me)) return;
  warps_.LeaveFirst(warp, me, members);
  NeedRows();
  latest_ = std::max(latest_, now);
  const uint32_t live = threads_ - first < kLanes ? (1u << (threads_ - first)) - 1 : ~0u;
  const uint32_t all = (members | me) & live;
  const Lanes known = KnownBy(first, all);
  const Knowledge learnt = has_learnt_[warp] ? LearntBy(first, all) : Knowledge();
  for (uint32_t rest = all; rest != 0; rest &= rest - 1) {
    const uint32_t lane = first + static_cast<uint32_t>(std::countr_zero(rest));
    Raise(rows_[lane].lanes, known);
    if (has_learnt_[warp]) TakeOver(lane, learnt);
  }
}

void KnownThreads::LeaveWholeWarp(uint32_t thread, uint32_t lanes, uint32_t now) {
  const uint32_t warp = thread / kLanes, first = warp * kLanes;
  if (warps_.LeavesLater(warp, lanes)) return;
  warps_.LeaveFirst(warp, lanes, ~0u);
  latest_ = std::max(latest_, now);
  warps_.MakeCommon(first);
  if (!has_rows_ || !has_learnt_[warp]) return;
  has_learnt_[warp] = false;
  const uint32_t last = std::min(first + kLanes, threads_);
  const Knowledge all = LearntBy(first, ~0u);
  for (uint32_t lane = first; lane < last; ++lane) TakeOver(lane, all);
}

void KnownThreads::LeaveConverged(uint32_t thread, uint32_t lanes, uint32_t now) {
  NeedRows();
  latest_ = std::max(latest_, now);
  const uint32_t warp = thread / kLanes, first = warp * kLanes;
  const uint32_t live = threads_ - first < kLanes ? (1u << (threads_ - first)) - 1 : ~0u;
  const Lanes known = KnownBy(first, live);
  const Knowledge learnt = has_learnt_[warp] ? LearntBy(first, ~0u) : Knowledge();
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const uint32_t me = first + static_cast<uint32_t>(std::countr_zero(rest));
    Raise(rows_[me].lanes, known);
    if (has_learnt_[warp]) TakeOver(me, learnt);
  }
}

}  // namespace ptx2cpu::rt::check
