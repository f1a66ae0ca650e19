#include "runtime/check/clocks.h"

#include <algorithm>

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
  state_.clear();
  state_.resize(threads);
  arrivals_.assign((threads + kLanes - 1) / kLanes * kLanes, 0);
  for (auto& turns : counted_) turns = {};
  blocks_.clear();
}

bool BlockClock::IsOrdered(const Stamp& stamp, uint32_t thread, bool lockstep) const {
  if (stamp.block != block_) {
    const auto known = blocks_.find(stamp.block);
    return known != blocks_.end() && stamp.time < known->second;
  }
  const Thread& me = state_[thread];
  if (stamp.thread == thread || stamp.epoch < me.known_epoch) return true;
  if (stamp.thread / kLanes == thread / kLanes && (lockstep || stamp.time < me.lanes[stamp.thread % kLanes]))
    return true;
  return me.more != nullptr && stamp.time < (*me.more)[stamp.thread];
}

Knowledge BlockClock::KnowledgeOf(uint32_t thread) const {
  const Thread& me = state_[thread];
  Knowledge result;
  result.epoch = me.known_epoch;
  if (me.more != nullptr)
    result.until = *me.more;
  else
    result.until.resize(kThreads);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t other = thread / kLanes * kLanes + lane;
    result.until[other] = std::max(result.until[other], me.lanes[lane]);
  }
  result.until[thread] = launch_->time;
  return result;
}

void BlockClock::Learn(uint32_t thread, const Knowledge& knowledge) {
  Thread& me = state_[thread];
  me.known_epoch = std::max(me.known_epoch, knowledge.epoch);
  if (knowledge.until.empty()) return;
  if (me.more == nullptr) me.more = std::make_unique<std::vector<uint32_t>>(kThreads);
  for (size_t i = 0; i < kThreads; ++i) (*me.more)[i] = std::max((*me.more)[i], knowledge.until[i]);
}

// Uses of a counted barrier alternate between two records: all have left one use before any arrives at the
// next but one.
void BlockClock::ArriveAtBlock(uint32_t thread, uint32_t barrier, bool whole_block) {
  launch_->Tick();
  if (whole_block) return;
  const uint32_t number = barrier % 16, turn = state_[thread].turns[number]++;
  Counted& use = counted_[number][turn % 2];
  if (use.turn != turn) use = {turn, {}};
  use.knowledge.Join(KnowledgeOf(thread));
}

void BlockClock::LeaveBlock(uint32_t thread, uint32_t barrier, bool whole_block) {
  Thread& me = state_[thread];
  if (whole_block) {
    me.known_epoch = std::max(me.known_epoch, ++me.epoch);
    return;
  }
  const uint32_t number = barrier % 16, turn = me.turns[number] - 1u;
  const Counted& use = counted_[number][turn % 2];
  if (use.turn == turn) Learn(thread, use.knowledge);
}

void BlockClock::ArriveAtWarp(uint32_t thread) { arrivals_[thread] = launch_->Tick(); }

void BlockClock::LeaveWarp(uint32_t thread, uint32_t membermask) {
  Thread& me = state_[thread];
  const uint32_t first = thread / kLanes * kLanes;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (membermask >> lane & 1) me.lanes[lane] = std::max(me.lanes[lane], arrivals_[first + lane]);
  }
  if (membermask == ~0u) return;  // arrivals of all lanes are as much as any of them knows
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((membermask >> lane & 1) == 0 || first + lane >= threads_) continue;
    const Thread& other = state_[first + lane];
    for (uint32_t i = 0; i < kLanes; ++i) me.lanes[i] = std::max(me.lanes[i], other.lanes[i]);
  }
}

void BlockClock::Publish(uint32_t thread, uint64_t address) {
  launch_->Tick();
  Publication& publication = launch_->published[address];
  for (const auto& [block, until] : blocks_) {
    uint32_t& known = publication.blocks[block];
    known = std::max(known, until);
  }
  publication.blocks[block_] = launch_->time;
  if (publication.block != block_) publication.threads = {};
  publication.block = block_;
  publication.threads.Join(KnowledgeOf(thread));
}

void BlockClock::Acquire(uint32_t thread, uint64_t address) {
  const auto found = launch_->published.find(address);
  if (found == launch_->published.end()) return;
  const Publication& publication = found->second;
  for (const auto& [block, until] : publication.blocks) {
    if (block == block_) continue;
    uint32_t& known = blocks_[block];
    known = std::max(known, until);
  }
  if (publication.block == block_) Learn(thread, publication.threads);
}

}  // namespace ptx2cpu::rt::check
