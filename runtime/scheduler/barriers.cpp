// Named barriers, counted in complete warps, and the cluster's barrier.
#include <bit>
#include <cstdio>

#include "runtime/scheduler/block_scheduler.h"
#include "runtime/scheduler/lane_masks.h"

namespace ptx2cpu::rt {

namespace {
bool IsValid(uint32_t id, uint32_t count, bool arrives) {
  return id < kNamedBarriers && count % PTX2CPU_WARP_SIZE == 0 && (!arrives || count != 0);
}
}  // namespace

// Whether the warp is counted: its live lanes wait at one barrier with one count. Faults when what a lane
// passes is illegal.
bool BlockScheduler::MayArrive(uint32_t w) {
  const Warp& warp = warps_[w];
  const uint32_t first_thread = w * PTX2CPU_WARP_SIZE, first = first_thread + FirstLane(warp.live);
  const uint32_t id = Word(0, first), count = Word(1, first);
  const uint32_t agree = LanesEqual(&Word(0, first_thread), id) & LanesEqual(&Word(1, first_thread), count);
  if (warp.barrier == warp.live && warp.counted == 0 && (agree & warp.live) == warp.live &&
      IsValid(id, count, warp.arriving != 0)) {
    return true;
  }
  for (uint32_t rest = warp.live; rest != 0; rest &= rest - 1) {
    const uint32_t bit = rest & ~(rest - 1), thread = first_thread + FirstLane(rest);
    if ((warp.barrier & ~warp.counted & bit) == 0 || Word(0, thread) != id) return false;
    if (!IsValid(id, Word(1, thread), (warp.arriving & bit) != 0)) {
      char text[128];
      std::snprintf(
          text, sizeof text,
          "barrier %u with a count of %u threads: barriers are 0..15 and counts are multiples of 32", id,
          Word(1, thread));
      Fail(PTX2CPU_FAULT_BAD_BARRIER, thread, text);
      return false;
    }
    if (Word(1, thread) != count) return false;
  }
  return true;
}

// Counts the warp at its barrier when all its live lanes have come there.
void BlockScheduler::Arrive(uint32_t w) {
  Warp& warp = warps_[w];
  if (!MayArrive(w)) return;
  const uint32_t thread = w * PTX2CPU_WARP_SIZE + FirstLane(warp.live);
  const uint32_t id = Word(0, thread), count = Word(1, thread);
  Barrier& barrier = barriers_[id];
  if (!barrier.in_use) {
    barrier = {.expected = count, .arrived = 0, .warps = 0, .in_use = true};
    barriers_in_use_ |= 1u << id;
  }
  if (barrier.expected != count) {
    char text[128];
    std::snprintf(text, sizeof text, "barrier %u is in use with a count of %u threads, this warp passes %u",
                  id, barrier.expected, count);
    return Fail(PTX2CPU_FAULT_BAD_BARRIER, thread, text);
  }
  barrier.arrived += PTX2CPU_WARP_SIZE;
  barrier.warps |= 1u << w;
  warp.barrier_id = id;
  warp.counted = warp.barrier & ~warp.arriving;
  const uint32_t leaving = warp.arriving;
  warp.barrier &= ~leaving;
  warp.arriving = 0;
  if (leaving != 0) Release(w, leaving);
}

bool BlockScheduler::IsComplete(const Barrier& barrier) const {
  if (barrier.expected != 0) return barrier.arrived >= barrier.expected;
  return (live_warps_ & ~barrier.warps) == 0;
}

void BlockScheduler::SettleBarriers() {
  ForEachLane(barriers_in_use_, [&](uint32_t id) {
    if (fault_.kind == 0 && IsComplete(barriers_[id])) CompleteNamed(id);
  });
}

// Counts the threads that wait at the barrier and those of them whose predicate holds. False: they mix kinds.
bool BlockScheduler::CountPredicates(uint32_t id, uint32_t* kind, uint32_t* threads, uint32_t* holds) {
  uint32_t first_point = ~0u;
  *threads = *holds = 0;
  for (uint32_t w = 0; w < block_->warp_count; ++w) {
    const Warp& warp = warps_[w];
    if (warp.counted == 0 || warp.barrier_id != id) continue;
    const uint32_t first_thread = w * PTX2CPU_WARP_SIZE;
    for (uint32_t rest = warp.counted; rest != 0;) {
      const uint32_t thread = first_thread + FirstLane(rest), number = block_->points[thread];
      if (first_point == ~0u) first_point = number, *kind = PointOf(thread).kind;
      if (PointOf(thread).kind != *kind) {
        Fail(PTX2CPU_FAULT_BAD_BARRIER, thread,
             "a barrier mixes " + Describe(first_point) + " with " + Describe(number));
        return false;
      }
      rest &= ~LanesEqual(block_->points + first_thread, number);
    }
    if (*kind == PTX2CPU_POINT_BARRIER) continue;
    *threads += static_cast<uint32_t>(std::popcount(warp.counted));
    *holds += static_cast<uint32_t>(std::popcount(warp.counted & ~LanesEqual(&Word(2, first_thread), 0)));
  }
  return true;
}

void BlockScheduler::CompleteNamed(uint32_t id) {
  uint32_t kind = PTX2CPU_POINT_BARRIER, threads = 0, holds = 0;
  barriers_[id] = {};
  barriers_in_use_ &= ~(1u << id);
  if (!CountPredicates(id, &kind, &threads, &holds)) return;
  const uint32_t result = kind == PTX2CPU_POINT_RED_POPC  ? holds
                          : kind == PTX2CPU_POINT_RED_AND ? holds == threads
                                                          : holds != 0;
  for (uint32_t w = 0; w < block_->warp_count; ++w) {
    Warp& warp = warps_[w];
    if (warp.counted == 0 || warp.barrier_id != id) continue;
    if (kind != PTX2CPU_POINT_BARRIER) {
      ForEachLane(warp.counted, [&](uint32_t lane) { Word(0, w * PTX2CPU_WARP_SIZE + lane) = result; });
    }
    warp.barrier &= ~warp.counted;
    Release(w, warp.counted);
    warp.counted = 0;
  }
  moved_ = true;
}

bool BlockScheduler::CompleteShortBarriers() {
  const auto live = static_cast<uint32_t>(std::popcount(live_warps_));
  const uint32_t ended = (block_->warp_count - live) * PTX2CPU_WARP_SIZE;
  if (ended == 0) return false;
  for (uint32_t rest = barriers_in_use_; rest != 0; rest &= rest - 1) {
    const uint32_t id = FirstLane(rest);
    if (barriers_[id].arrived + ended < barriers_[id].expected) continue;
    CompleteNamed(id);
    return true;
  }
  return false;
}

// -- the cluster's barrier --

uint32_t BlockScheduler::ArriveAtCluster(uint32_t w, uint32_t lanes) {
  Warp& warp = warps_[w];
  if (const uint32_t again = lanes & (warp.cluster_arrived | warp.cluster_passed); again != 0) {
    Fail(PTX2CPU_FAULT_BAD_BARRIER, w * PTX2CPU_WARP_SIZE + FirstLane(again),
         "arrives at the cluster's barrier twice without a wait in between");
    return 0;
  }
  warp.cluster_arrived |= lanes;
  return lanes;
}

uint32_t BlockScheduler::WaitForCluster(uint32_t w, uint32_t lanes) {
  Warp& warp = warps_[w];
  if (const uint32_t early = lanes & ~(warp.cluster_arrived | warp.cluster_passed); early != 0) {
    Fail(PTX2CPU_FAULT_BAD_BARRIER, w * PTX2CPU_WARP_SIZE + FirstLane(early),
         "waits at the cluster's barrier without having arrived there");
    return 0;
  }
  const uint32_t pass = lanes & warp.cluster_passed;
  warp.cluster_passed &= ~pass;
  warp.cluster |= lanes & ~pass;
  if (warp.cluster != 0) cluster_warps_ |= 1u << w;
  return pass;
}

bool BlockScheduler::AllArrivedAtCluster() const {
  for (uint32_t w = 0; w < block_->warp_count; ++w) {
    if ((warps_[w].live & ~warps_[w].cluster_arrived) != 0) return false;
  }
  return true;
}

void BlockScheduler::PassCluster() {
  for (uint32_t w = 0; w < block_->warp_count; ++w) {
    Warp& warp = warps_[w];
    warp.cluster_passed |= warp.cluster_arrived & ~warp.cluster;
    warp.cluster_arrived = 0;
    if (warp.cluster != 0) Release(w, warp.cluster);
    warp.cluster = 0;
  }
  cluster_warps_ = 0;
}

}  // namespace ptx2cpu::rt
