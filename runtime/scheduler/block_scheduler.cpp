#include "runtime/scheduler/block_scheduler.h"

#include <cstdio>
#include <cstring>

#include "runtime/scheduler/lane_masks.h"

namespace ptx2cpu::rt {

namespace {

// After this many rounds in which all threads only yielded, the block suspends. The number is small, since
// resuming later is cheap.
constexpr uint32_t kQuietRounds = 4, kQuietRoundsInRandomOrder = 16;
// A block whose threads meet at barriers or collectives while some of them wait for another block never is
// quiet.
constexpr uint32_t kRoundsPerTurn = 4096;
// Steps of a warp in one turn: released lanes continue at once while their data is near, but siblings must
// not starve.
constexpr uint32_t kStepsPerTurn = 64;
// Turns in which siblings only yielded, after which lanes that wait to converge stop hoping for more company.
constexpr uint32_t kPatience = 200;
// The same where lanes also yield that do not wait, and few of them run in a turn.
constexpr uint32_t kPatienceInRandomOrder = 1u << 20;

}  // namespace

void BlockScheduler::Start(const ptx2cpu_kernel& kernel, ptx2cpu_block& block,
                           std::optional<uint64_t> order) {
  order_.reset();
  if (order) order_.emplace(*order);
  kernel_ = &kernel;
  block_ = &block;
  std::memset(warps_, 0, sizeof(Warp) * block.warp_count);
  std::memset(barriers_, 0, sizeof barriers_);
  std::memset(block.points, 0, sizeof(uint32_t) * block.thread_padded);
  for (uint32_t w = 0; w < block.warp_count; ++w) warps_[w].live = warps_[w].ready = block.live[w];
  live_warps_ = ready_warps_ = block.warp_count == kMaxWarps ? ~0u : (1u << block.warp_count) - 1;
  cluster_warps_ = barriers_in_use_ = 0;
  fault_ = {};
  step_ = {};
}

Verdict BlockScheduler::Run() {
  if ((kernel_->flags & PTX2CPU_KERNEL_RESUMES_BLOCKS) != 0) return RunBlock();
  progressed_ = false;
  uint32_t quiet = 0;
  for (uint32_t round = 0; round < kRoundsPerTurn; ++round) {
    if (ready_warps_ == 0) {
      if (const Verdict verdict = NothingRuns(); verdict != Verdict::kTurnOver) return verdict;
      continue;
    }
    moved_ = false;
    for (uint32_t rest = ~0u; (rest & ready_warps_) != 0;) {
      TakeTurn(NextWarp(rest, ready_warps_));
      if (fault_.kind != 0) return Verdict::kFaulted;
    }
    progressed_ |= moved_;
    quiet = moved_ ? 0 : quiet + 1;
    if (quiet == (order_ ? kQuietRoundsInRandomOrder : kQuietRounds)) return Verdict::kStalled;
  }
  return Verdict::kTurnOver;
}

// Returns the next warp that has not had its turn in this round. In the order of numbers, warps with a higher
// number that are released meanwhile still get their turn.
uint32_t BlockScheduler::NextWarp(uint32_t& rest, uint32_t ready) {
  const auto w = static_cast<uint32_t>(std::countr_zero(order_ ? order_->OneOf(rest & ready) : rest & ready));
  rest &= order_ ? ~(1u << w) : static_cast<uint32_t>(~uint64_t{0} << (w + 1));
  return w;
}

// A kernel whose blocks suspend schedules its warps on its own. A block that waits again where it has waited
// may have come there over another way; to count it as one that only spins costs a look at the others.
Verdict BlockScheduler::RunBlock() {
  const uint32_t before = block_->points[0];
  kernel_->run_step(block_, 0, PTX2CPU_ENTRY_RESUME);
  progressed_ = block_->points[0] != before;
  return block_->points[0] == PTX2CPU_BLOCK_ENDED ? Verdict::kDone : Verdict::kStalled;
}

// kTurnOver: some thread can run now.
Verdict BlockScheduler::NothingRuns() {
  if (live_warps_ == 0) {
    progressed_ = true;
    return Verdict::kDone;
  }
  // While others of the cluster run, it is unknown whether a barrier's missing warps have ended or will come.
  if (cluster_warps_ != 0) return Verdict::kWaitsForCluster;
  if (CompleteShortBarriers()) return fault_.kind != 0 ? Verdict::kFaulted : Verdict::kTurnOver;
  return Deadlock();
}

// Returns the lanes that have not exited.
uint32_t BlockScheduler::Step(uint32_t w, uint32_t entry, uint32_t lanes) {
  block_->live[w] = lanes;
  step_ = {w, lanes};
  kernel_->run_step(block_, w, entry);
  return block_->live[w] & lanes;
}

void BlockScheduler::Release(uint32_t w, uint32_t lanes) {
  warps_[w].ready |= lanes;
  ready_warps_ |= 1u << w;
}

void BlockScheduler::Exit(uint32_t w, uint32_t lanes) {
  Warp& warp = warps_[w];
  warp.live &= ~lanes;
  warp.cluster_arrived &= ~lanes;
  if (warp.live == 0) live_warps_ &= ~(1u << w);
}

// The ready lanes run, then those that this releases, until only lanes that have yielded are ready. In random
// order some of the ready ones run to where they suspend next.
void BlockScheduler::TakeTurn(uint32_t w) {
  Warp& warp = warps_[w];
  const uint32_t live_before = warp.live, waiting_before = warp.live & ~warp.ready;
  uint32_t run = order_ ? order_->SomeOf(warp.ready) : warp.ready;
  const uint32_t steps = order_ ? 1 : kStepsPerTurn;
  for (uint32_t n = 0; run != 0 && n < steps; ++n) {
    warp.ready &= ~run;
    const uint32_t left = Step(w, PTX2CPU_ENTRY_RESUME, run);
    if (left != run) Exit(w, run & ~left);
    const uint32_t yielded = warp.ready;
    uint32_t next = File(w, left);
    const bool stopped = (left & ~next) != (warp.ready & ~yielded) || left != run;
    if (fault_.kind != 0) return;
    Release(w, next);
    if (next == 0) next = Settle(w, stopped);
    if (fault_.kind != 0) return;
    run = next;
  }
  if (warp.ready == 0) ready_warps_ &= ~(1u << w);
  moved_ |= run != 0 || warp.live != live_before || (warp.live & ~warp.ready) != waiting_before;
}

// Notes what the lanes of a step wait for. Returns those that continue at once; lanes that yielded become
// ready.
uint32_t BlockScheduler::File(uint32_t w, uint32_t lanes) {
  const uint32_t* points = block_->points + size_t{w} * PTX2CPU_WARP_SIZE;
  uint32_t next = 0;
  while (lanes != 0) {
    const uint32_t number = points[FirstLane(lanes)];
    const uint32_t here = lanes & LanesEqual(points, number);
    next |= FileAt(w, number, here);
    lanes &= ~here;
  }
  return next;
}

uint32_t BlockScheduler::FileAt(uint32_t w, uint32_t number, uint32_t lanes) {
  Warp& warp = warps_[w];
  if (number >= kernel_->point_count) {
    Fail(PTX2CPU_FAULT_UNREACHABLE, w * PTX2CPU_WARP_SIZE + FirstLane(lanes), "no such resume point");
    return 0;
  }
  switch (static_cast<ptx2cpu_point_kind>(kernel_->points[number].kind)) {
    case PTX2CPU_POINT_COLLECTIVE:
      warp.collective |= lanes;
      return 0;
    case PTX2CPU_POINT_CONVERGED:
      warp.converged |= lanes;
      return 0;
    case PTX2CPU_POINT_BARRIER_ARRIVE:
      warp.arriving |= lanes;
      [[fallthrough]];
    case PTX2CPU_POINT_BARRIER:
    case PTX2CPU_POINT_RED_POPC:
    case PTX2CPU_POINT_RED_AND:
    case PTX2CPU_POINT_RED_OR:
      warp.barrier |= lanes;
      return 0;
    case PTX2CPU_POINT_CLUSTER_ARRIVE:
      return ArriveAtCluster(w, lanes);
    case PTX2CPU_POINT_CLUSTER_WAIT:
      return WaitForCluster(w, lanes);
    case PTX2CPU_POINT_START:
    case PTX2CPU_POINT_YIELD:
      break;
  }
  Release(w, lanes);
  return 0;
}

// Resumes lanes of the warp where they can continue, after a step. Returns those that run on in this turn.
uint32_t BlockScheduler::Settle(uint32_t w, bool stopped) {
  Warp& warp = warps_[w];
  if (warp.collective != 0) {
    const uint32_t released = CompleteGroups(w);
    if (released != 0 || fault_.kind != 0) return released;
  }
  if (warp.ready != 0) {
    if (warp.converged == 0) return 0;
    warp.turns_without_stop = stopped ? 0 : warp.turns_without_stop + 1;
    moved_ = true;  // patience ends, so this is no standstill
    return warp.turns_without_stop > (order_ ? kPatienceInRandomOrder : kPatience) ? Converge(w) : 0;
  }
  if (warp.barrier != 0) Arrive(w);
  if (barriers_in_use_ != 0 && fault_.kind == 0) SettleBarriers();
  if (warp.ready == 0 && warp.converged != 0 && fault_.kind == 0) Converge(w);
  return warp.ready;
}

// -- collectives --

uint32_t BlockScheduler::LanesOfClass(uint32_t w, uint32_t lanes, uint32_t collective) const {
  const uint32_t* points = block_->points + size_t{w} * PTX2CPU_WARP_SIZE;
  uint32_t found = 0;
  while (lanes != 0) {
    const uint32_t number = points[FirstLane(lanes)];
    const uint32_t here = lanes & LanesEqual(points, number);
    if (kernel_->points[number].collective == collective) found |= here;
    lanes &= ~here;
  }
  return found;
}

uint32_t BlockScheduler::CompleteGroups(uint32_t w) {
  Warp& warp = warps_[w];
  const uint32_t first_thread = w * PTX2CPU_WARP_SIZE;
  uint32_t released = 0;
  for (uint32_t rest = warp.collective; rest != 0;) {
    const uint32_t thread = first_thread + FirstLane(rest), mask = Word(0, thread);
    const uint32_t collective = PointOf(thread).collective;
    const uint32_t group = LanesOfClass(w, rest & LanesEqual(&Word(0, first_thread), mask), collective);
    rest &= ~group;
    if ((group & ~mask) != 0) {
      released |= CompleteOutsideMask(w, group);
      if (fault_.kind != 0) return 0;
      continue;
    }
    if (group != (mask & warp.live)) continue;
    Step(w, PTX2CPU_ENTRY_COLLECTIVE + collective, group);
    warp.collective &= ~group;
    Release(w, group);
    released |= group;
  }
  return released;
}

// Lanes of one class and mask, of which some are not in that mask. A GPU runs those at one instruction
// together, whatever the mask names, if they name the same one; it traps if they do not, or if lanes of the
// mask wait elsewhere under it. No lane is excluded while others of the warp may still come.
uint32_t BlockScheduler::CompleteOutsideMask(uint32_t w, uint32_t lanes) {
  Warp& warp = warps_[w];
  const uint32_t first_thread = w * PTX2CPU_WARP_SIZE;
  const uint32_t* points = block_->points + size_t{w} * PTX2CPU_WARP_SIZE;
  for (uint32_t rest = lanes; rest != 0 && warp.ready == 0;) {
    const uint32_t thread = first_thread + FirstLane(rest), mask = Word(0, thread);
    const uint32_t here = rest & LanesEqual(points, points[FirstLane(rest)]);
    rest &= ~here;
    const uint32_t company = warp.collective & LanesEqual(points, points[FirstLane(here)]);
    const uint32_t missing = mask & warp.live & ~here, strangers = here & ~mask;
    if (strangers != 0 && (company != here || (missing & lanes) != 0)) {
      const uint32_t lane = FirstLane(strangers);
      char text[96];
      std::snprintf(text, sizeof text, "lane %u is not in its own membermask %#010x", lane, mask);
      Fail(PTX2CPU_FAULT_NOT_A_MEMBER, first_thread + lane, text);
      return 0;
    }
    if (missing != 0) continue;
    Step(w, PTX2CPU_ENTRY_COLLECTIVE + PointOf(thread).collective, here);
    warp.collective &= ~here;
    Release(w, here);
    return here;  // what these do next can decide who is alone at the other places
  }
  return 0;
}

// Among the lanes that wait to converge, those earliest in the program continue together: they can still join
// the lanes that wait later in the program.
uint32_t BlockScheduler::Converge(uint32_t w) {
  Warp& warp = warps_[w];
  const uint32_t* points = block_->points + size_t{w} * PTX2CPU_WARP_SIZE;
  uint32_t lowest = ~0u;
  ForEachLane(warp.converged, [&](uint32_t lane) { lowest = points[lane] < lowest ? points[lane] : lowest; });
  const uint32_t group = warp.converged & LanesEqual(points, lowest);
  warp.turns_without_stop = 0;
  Step(w, PTX2CPU_ENTRY_COLLECTIVE + kernel_->points[lowest].collective, group);
  warp.converged &= ~group;
  Release(w, group);
  return group;
}

}  // namespace ptx2cpu::rt
