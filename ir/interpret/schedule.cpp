// The scheduler of the Simt and Split phases. Threads run one after the other, each until it waits, ends, or
// has used its slice; so every legal program ends, also one whose threads spin for each other. Groups
// continue as soon as their members have arrived, wherever in the program each of them is.
//
// clang-format off
//   warp collective     all live lanes of the membermask wait at the same kind with the same mask
//   converged forms     (activemask, no membermask) the lanes at one instruction when no lane of the warp can run
//   block barrier       a warp arrives when all its live lanes wait at the barrier (PTX: counts are in whole warps)
//   agree               all live threads of its level
// clang-format on
#include <fmt/format.h>

#include <algorithm>

#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

namespace {

// Slices of running siblings after which lanes that wait to converge stop hoping for more company.
constexpr uint32_t kPatience = 200;

class Scheduler {
 public:
  explicit Scheduler(Machine& machine) : m_(machine) {}
  Result<Machine::Turn> TakeTurn();
  Result<bool> CompleteShortBarriers();
  std::unexpected<Error> Deadlock() const;

 private:
  bool AnyReady(const Warp& warp) const;
  Status SliceThreads(Warp& warp);
  Status StepWarp(Warp& warp);
  Status AfterTurn(Warp& warp, bool preempted, bool stopped);
  Status Settle(Warp& warp);
  Status SettleBlock();
  Status Converge(Warp& warp);
  Status AgreeAll(std::vector<Thread*> threads, Level level);
  Status Arrive(Warp& warp);
  bool IsComplete(const Barrier& barrier) const;
  Status CompleteNamed(uint32_t id);
  std::string DescribeWait(const Thread& thread) const;
  std::string DescribeOtherBlocks() const;
  std::string DescribeLanes(const std::vector<uint32_t>& by_warp) const;

  Machine& m_;
};

struct BarrierOperands {
  uint32_t id = 0, count = 0;
};
BarrierOperands OperandsOf(const Thread& thread) { return {BarrierWord(thread, 0), BarrierWord(thread, 1)}; }

bool WaitsAtBarrier(const Thread& thread) {
  if (thread.state != ThreadState::kWaiting) return false;
  const Opcode op = WaitsFor(thread);
  return IsBlockBarrier(op);
}
bool WaitsToAgree(const Thread& thread) {
  return thread.state == ThreadState::kWaiting &&
         (thread.waiting_at->op == Opcode::kAgree || thread.waiting_at->op == Opcode::kAgreeIndex);
}

// The position of a thread, from the outermost call inwards; less is earlier in the program.
std::vector<uint64_t> PlaceOf(const Thread& thread) {
  if (PointOf(thread) != nullptr) return {thread.point};
  std::vector<uint64_t> place;
  for (uint32_t d = 0; d < thread.depth; ++d) {
    const Frame& frame = *thread.frames[d];
    place.push_back(uint64_t{frame.facts->order[frame.block.index]} << 32 | frame.next);
  }
  return place;
}

bool Scheduler::AnyReady(const Warp& warp) const {
  for (uint32_t lane = 0; lane < warp.count; ++lane) {
    if (m_.ThreadAt(warp, lane).state == ThreadState::kReady) return true;
  }
  return false;
}

Result<Machine::Turn> Scheduler::TakeTurn() {
  Machine::Turn turn;
  for (size_t i = 0; i < m_.warps.size(); ++i) {
    Warp& warp = m_.warps[m_.options.backwards ? m_.warps.size() - 1 - i : i];
    turn.live |= m_.LiveLanes(warp) != 0;
    turn.ran |= AnyReady(warp);
    TRY_STATUS(m_.view == View::kThreads ? SliceThreads(warp) : StepWarp(warp));
  }
  return turn;
}

Status Scheduler::SliceThreads(Warp& warp) {
  for (uint32_t i = 0; i < warp.count; ++i) {
    Thread& thread = m_.ThreadAt(warp, m_.options.backwards ? warp.count - 1 - i : i);
    if (thread.state != ThreadState::kReady) continue;
    thread.budget = m_.options.slice;
    TRY_STATUS(m_.RunThread(thread, 0));
    const bool preempted = thread.state == ThreadState::kReady;
    TRY_STATUS(AfterTurn(warp, preempted, !preempted));
  }
  return {};
}

// All ready lanes, each until it suspends; or the warp until it waits.
Status Scheduler::StepWarp(Warp& warp) {
  uint32_t ready = 0;
  for (uint32_t lane = 0; lane < warp.count; ++lane) {
    ready |= (m_.ThreadAt(warp, lane).state == ThreadState::kReady ? 1u : 0u) << lane;
  }
  if (ready == 0) return {};
  TRY_STATUS(m_.view == View::kWarps ? m_.RunWarp(warp) : m_.RunStep(warp, ready, 0));
  return AfterTurn(warp, AnyReady(warp), true);
}

// `stopped`: a lane has, at a wait or at its end. Only then may a group be complete that was not.
Status Scheduler::AfterTurn(Warp& warp, bool preempted, bool stopped) {
  warp.unsettled |= stopped;
  warp.slices_without_stop = preempted ? warp.slices_without_stop + 1 : 0;
  return preempted || !AnyReady(warp) ? Settle(warp) : Status{};
}

// Resumes lanes of the warp where they can continue; called when one was preempted or none is ready.
Status Scheduler::Settle(Warp& warp) {
  if (warp.unsettled) {
    if (TRY(CompleteGroups(m_, warp))) return {};
    warp.unsettled = false;
  }
  if (AnyReady(warp)) return warp.slices_without_stop > kPatience ? Converge(warp) : Status{};
  TRY_STATUS(AgreeAll(LiveThreads(m_, warp), Level::kWarp));
  TRY_STATUS(Arrive(warp));
  TRY_STATUS(SettleBlock());
  return AnyReady(warp) ? Status{} : Converge(warp);
}

Status Scheduler::SettleBlock() {
  for (uint32_t id = 0; id < kNamedBarriers; ++id) {
    if (m_.barriers[id].in_use && IsComplete(m_.barriers[id])) TRY_STATUS(CompleteNamed(id));
  }
  std::vector<Thread*> threads;
  for (Thread& thread : m_.threads) {
    if (!thread.live()) continue;
    if (!WaitsToAgree(thread)) return {};
    threads.push_back(&thread);
  }
  return AgreeAll(std::move(threads), Level::kBlock);
}

// The threads agree when all of them wait at one agree of the level.
Status Scheduler::AgreeAll(std::vector<Thread*> threads, Level level) {
  if (threads.empty()) return {};
  for (Thread* thread : threads) {
    if (!WaitsToAgree(*thread) || thread->waiting_at != threads.front()->waiting_at) return {};
    Level own = AgreeLevel(*thread);
    if (own != level && !(own == Level::kLane && level == Level::kWarp)) return {};
  }
  return CompleteAgreement(m_, threads);
}

// Among the lanes that wait to converge, those earliest in the program continue together: they can still join
// the lanes that wait later in the program.
Status Scheduler::Converge(Warp& warp) {
  uint32_t members = 0;
  std::vector<uint64_t> earliest;
  for (Thread* thread : LiveThreads(m_, warp)) {
    if (thread->state != ThreadState::kWaiting || !IsConvergenceWait(*thread)) continue;
    std::vector<uint64_t> place = PlaceOf(*thread);
    if (members == 0 || place < earliest) {
      earliest = std::move(place);
      members = 1u << thread->lane;
    } else if (place == earliest) {
      members |= 1u << thread->lane;
    }
  }
  warp.slices_without_stop = 0;
  warp.unsettled |= members != 0;
  return members == 0 ? Status{} : CompleteGroup(m_, warp, members);
}

// -- named barriers --

// Counts the warp at its barrier when all its live lanes have come there.
Status Scheduler::Arrive(Warp& warp) {
  std::vector<Thread*> lanes = LiveThreads(m_, warp);
  if (lanes.empty()) return {};
  for (Thread* thread : lanes) {
    if (!WaitsAtBarrier(*thread) || thread->barrier_arrived) return {};
    BarrierOperands own = OperandsOf(*thread), first = OperandsOf(*lanes.front());
    if (own.id != first.id) return {};
    bool arrive = WaitsFor(*thread) == Opcode::kBarrierArrive;
    if (own.id >= kNamedBarriers || own.count % kWarpSize != 0 || (arrive && own.count == 0)) {
      return m_.Fault(
          *thread, *thread->waiting_at,
          fmt::format("barrier {} with a count of {} threads: there are barriers 0..15 and counts are "
                      "multiples of 32",
                      own.id, own.count));
    }
    if (own.count != first.count) return {};
  }
  BarrierOperands operands = OperandsOf(*lanes.front());
  Barrier& barrier = m_.barriers[operands.id];
  if (!barrier.in_use) {
    barrier = {.expected = operands.count,
               .arrived = 0,
               .in_use = true,
               .warp_arrived = std::vector<bool>(m_.warp_count)};
  }
  if (barrier.expected != operands.count) {
    return m_.Fault(*lanes.front(), *lanes.front()->waiting_at,
                    fmt::format("barrier {} is in use with a count of {} threads, this warp passes {}",
                                operands.id, barrier.expected, operands.count));
  }
  barrier.arrived += kWarpSize;
  barrier.warp_arrived[lanes.front()->warp] = true;
  for (Thread* thread : lanes) {
    thread->barrier_arrived = true;
    if (WaitsFor(*thread) == Opcode::kBarrierArrive) Release(*thread);
  }
  return {};
}

bool Scheduler::IsComplete(const Barrier& barrier) const {
  if (barrier.expected != 0) return barrier.arrived >= barrier.expected;
  for (uint32_t w = 0; w < m_.warp_count; ++w) {
    if (!barrier.warp_arrived[w] && m_.LiveLanes(m_.warps[w]) != 0) return false;
  }
  return true;
}

Status Scheduler::CompleteNamed(uint32_t id) {
  std::vector<Thread*> waiting;
  for (Thread& thread : m_.threads) {
    if (WaitsAtBarrier(thread) && thread.barrier_arrived && OperandsOf(thread).id == id)
      waiting.push_back(&thread);
  }
  m_.barriers[id] = {};
  return waiting.empty() ? Status{} : CompleteBarrier(m_, waiting);
}

// A barrier with a count whose missing warps may be ones that have ended: exited threads leave every count.
// Only when no thread can run, because until then it is unknown which warps were meant.
Result<bool> Scheduler::CompleteShortBarriers() {
  uint32_t ended = 0;
  for (const Warp& warp : m_.warps) ended += m_.LiveLanes(warp) == 0 ? kWarpSize : 0;
  for (uint32_t id = 0; id < kNamedBarriers; ++id) {
    const Barrier& barrier = m_.barriers[id];
    if (!barrier.in_use || barrier.arrived + ended < barrier.expected || ended == 0) continue;
    TRY_STATUS(CompleteNamed(id));
    return true;
  }
  return false;
}

// -- deadlock --

std::string Scheduler::DescribeLanes(const std::vector<uint32_t>& by_warp) const {
  std::string text;
  uint32_t shown = 0;
  for (uint32_t w = 0; w < by_warp.size(); ++w) {
    if (by_warp[w] == 0) continue;
    if (++shown > 4) return text + ", ...";
    text += fmt::format("{}warp {} lanes {:#010x}", text.empty() ? "" : ", ", w, by_warp[w]);
  }
  return text.empty() ? "none" : text;
}

std::string Scheduler::DescribeWait(const Thread& thread) const {
  const Inst& inst = *thread.waiting_at;
  std::vector<uint32_t> here(m_.warp_count), missing(m_.warp_count);
  bool barrier = WaitsAtBarrier(thread), agree = WaitsToAgree(thread);
  bool cluster = WaitsFor(thread) == Opcode::kClusterWait;
  bool whole_block = barrier || cluster || (agree && AgreeLevel(thread) == Level::kBlock);
  bool masked = !whole_block && !agree && !IsConvergenceWait(thread);
  uint32_t mask = masked ? MemberMask(thread) : ~0u;
  for (const Thread& other : m_.threads) {
    if (!other.live() || (!whole_block && other.warp != thread.warp)) continue;
    bool arrived = other.waiting_at == &inst;
    if (barrier) arrived = WaitsAtBarrier(other) && OperandsOf(other).id == OperandsOf(thread).id;
    if (cluster) arrived = other.cluster_arrival > m_.cluster.phase;
    if (arrived) here[other.warp] |= 1u << other.lane;
    if (!arrived && (mask >> other.lane & 1) != 0) missing[other.warp] |= 1u << other.lane;
  }
  std::string what = m_.Describe(inst);
  if (barrier) {
    BarrierOperands operands = OperandsOf(thread);
    what += operands.count == 0 ? fmt::format(" (barrier {} of all live threads)", operands.id)
                                : fmt::format(" (barrier {} of {} threads)", operands.id, operands.count);
  } else if (masked) {
    what += fmt::format(" (membermask {:#010x})", mask);
  }
  std::string text =
      fmt::format("{}: arrived {}; missing {}", what, DescribeLanes(here), DescribeLanes(missing));
  return cluster ? text + DescribeOtherBlocks() : text;
}

// Threads of other blocks that have not arrived at the cluster's barrier.
std::string Scheduler::DescribeOtherBlocks() const {
  std::string text;
  for (const auto& block : m_.cluster.blocks) {
    std::vector<uint32_t> missing(block->warp_count);
    for (const Thread& thread : block->threads) {
      if (thread.live() && thread.cluster_arrival <= m_.cluster.phase)
        missing[thread.warp] |= 1u << thread.lane;
    }
    std::string lanes = DescribeLanes(missing);
    if (block.get() == &m_ || lanes == "none") continue;
    text += fmt::format("; missing of block ({},{},{}) {}", block->ctaid[0], block->ctaid[1], block->ctaid[2],
                        lanes);
  }
  return text;
}

std::unexpected<Error> Scheduler::Deadlock() const {
  for (const Thread& thread : m_.threads) {  // a GPU traps before it comes to this
    if (thread.state != ThreadState::kWaiting || !IsCollective(WaitsFor(thread)) || IsConvergenceWait(thread))
      continue;
    const uint32_t mask = MemberMask(thread);
    if ((mask >> thread.lane & 1) == 0)
      return m_.Fault(thread, *thread.waiting_at,
                      fmt::format("lane {} is not in its own membermask {:#010x}", thread.lane, mask));
  }
  std::vector<const Inst*> seen;
  std::string text;
  for (const Thread& thread : m_.threads) {
    if (thread.state != ThreadState::kWaiting) continue;
    if (std::find(seen.begin(), seen.end(), thread.waiting_at) != seen.end()) continue;
    if (seen.size() == 4) break;
    seen.push_back(thread.waiting_at);
    text += (text.empty() ? "" : ". ") + DescribeWait(thread);
  }
  return m_.FaultOfBlock(seen.front(), "deadlock: no thread can continue. " + text,
                         "every live thread that a barrier or membermask expects must reach it");
}

}  // namespace

Result<Machine::Turn> Machine::TakeTurn() {
  if (view != View::kLoops) return Scheduler(*this).TakeTurn();
  if (ended_) return Turn{};
  ended_ = !TRY(RunCollapsed());
  return Turn{.live = true, .ran = true};
}

Result<bool> Machine::CompleteShortBarriers() { return Scheduler(*this).CompleteShortBarriers(); }
std::unexpected<Error> Machine::Deadlock() { return Scheduler(*this).Deadlock(); }

}  // namespace ptx2cpu::ir::interpret
