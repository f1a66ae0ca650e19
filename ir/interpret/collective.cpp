// Barriers, collectives and agreements. Their handlers only make the thread wait; the scheduler
// (schedule.cpp) or the loops (collapsed.cpp) decide when a group is complete.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "ir/interpret/group.h"

namespace ptx2cpu::ir::interpret {

void Wait(Step& s) {
  s.thread.state = ThreadState::kWaiting;
  s.thread.waiting_at = &s.inst;
  s.thread.barrier_arrived = false;
}

void Release(Thread& thread) {
  thread.state = ThreadState::kReady;
  thread.waiting_at = nullptr;
  thread.barrier_arrived = false;
}

Status ExecuteCollective(Step& s) {
  Wait(s);
  return {};
}
Status ExecuteBarrierBlock(Step& s) { return ExecuteCollective(s); }
Status ExecuteBarrierArrive(Step& s) { return ExecuteCollective(s); }
Status ExecuteBarrierReducePopc(Step& s) { return ExecuteCollective(s); }
Status ExecuteBarrierReduceAnd(Step& s) { return ExecuteCollective(s); }
Status ExecuteBarrierReduceOr(Step& s) { return ExecuteCollective(s); }

namespace {
// Which lanes of a warp are to agree within the arms of a divergent branch is known only once the arms run
// one after the other; a thread on its own has its own value until then.
Status WaitToAgree(Step& s) {
  const bool of_arms = s.machine.view == View::kThreads && s.machine.lanes_diverge &&
                       s.frame.function->at_block(s.inst.block).level == Level::kWarp;
  if (of_arms)
    s.Return(s.Operand(0));
  else
    Wait(s);
  return {};
}
}  // namespace

Status ExecuteAgree(Step& s) { return WaitToAgree(s); }
Status ExecuteAgreeIndex(Step& s) { return WaitToAgree(s); }

Level AgreeLevel(const Thread& thread) {
  return thread.frame().function->at_block(thread.waiting_at->block).level;
}

std::vector<Thread*> LiveThreads(Machine& machine, const Warp& warp) {
  std::vector<Thread*> threads;
  for (uint32_t lane = 0; lane < warp.count; ++lane) {
    if (machine.ThreadAt(warp, lane).live()) threads.push_back(&machine.ThreadAt(warp, lane));
  }
  return threads;
}

namespace {

// PTX shfl: source lane and whether it is in range, from lane, b and c.
uint32_t SourceLane(ShuffleMode mode, uint32_t lane, uint32_t b, uint32_t c, bool* in_range) {
  int bval = static_cast<int>(b & 31), cval = static_cast<int>(c & 31),
      segment = static_cast<int>(c >> 8 & 31);
  int own = static_cast<int>(lane);
  int highest = (own & segment) | (cval & ~segment & 31), lowest = own & segment, source = own;
  switch (mode) {
    case ShuffleMode::kUp:
      source = own - bval;
      *in_range = source >= highest;
      break;
    case ShuffleMode::kDown:
      source = own + bval;
      *in_range = source <= highest;
      break;
    case ShuffleMode::kBfly:
      source = own ^ bval;
      *in_range = source <= highest;
      break;
    case ShuffleMode::kNone:
    case ShuffleMode::kIdx:
      source = lowest | (bval & ~segment & 31);
      *in_range = source <= highest;
      break;
  }
  return *in_range ? static_cast<uint32_t>(source) : lane;
}

void Match(Group& group, bool all) {
  group.ForEach([&](Thread& t) {
    uint32_t same = 0;
    group.ForEach(
        [&](Thread& other) { same |= (OperandOf(other, 0) == OperandOf(t, 0) ? 1u : 0u) << other.lane; });
    ReturnTo(t, all && same != group.members ? 0 : same, 0);
    if (all) ReturnTo(t, same == group.members, 1);
  });
}

}  // namespace

// -- what the members get: a function for each collective, a row without one is a link error --

void CompleteShuffle(Group& group) {
  Bits128 values[kWarpSize] = {};
  group.ForEach([&](Thread& t) { values[t.lane] = OperandOf(t, 0); });
  group.ForEach([&](Thread& t) {
    bool in_range = false;
    uint32_t source = SourceLane(t.waiting_at->attrs.shuffle, t.lane, static_cast<uint32_t>(OperandOf(t, 1)),
                                 static_cast<uint32_t>(OperandOf(t, 2)), &in_range);
    ReturnTo(t, values[source], 0);  // undefined in PTX for lanes outside the group; a GPU's give 0
    ReturnTo(t, in_range, 1);
  });
}

void CompleteRedux(Group& group) {
  const Inst& inst = *group.first().waiting_at;
  bool is_float = IsFloat(inst.type), first = true;
  Bits128 result = 0;
  group.ForEach([&](Thread& t) {
    Bits128 value = OperandOf(t, 0);
    if (first) {
      // Combining a float with itself applies .abs and makes a NaN canonical.
      result = is_float ? Combine(inst.attrs.atomic, inst.type, value, value, inst.attrs.flags) : value;
    } else {
      result =
          Combine(inst.attrs.atomic, inst.type, result, value, inst.attrs.flags) & MaskOf(Bits(inst.type));
    }
    first = false;
  });
  group.ReturnToAll(result);
}

void CompleteBarrierWarp(Group&) {}
void CompleteVoteAll(Group& group) { group.ReturnToAll(group.Ballot() == group.members); }
void CompleteVoteAny(Group& group) { group.ReturnToAll(group.Ballot() != 0); }
void CompleteVoteUni(Group& group) {
  const uint32_t ballot = group.Ballot();
  group.ReturnToAll(ballot == 0 || ballot == group.members);
}
void CompleteBallot(Group& group) { group.ReturnToAll(group.Ballot()); }
void CompleteMatchAny(Group& group) { Match(group, false); }
void CompleteMatchAll(Group& group) { Match(group, true); }
void CompleteActiveMask(Group& group) { group.ReturnToAll(group.members); }
void CompleteElect(Group& group) {
  group.ReturnToAll(static_cast<Bits128>(std::countr_zero(group.members)));
  group.ForEach([&](Thread& t) { ReturnTo(t, &t == &group.first(), 1); });
}

namespace {
using Completer = void (*)(Group&);
constexpr Completer kCompleters[] = {
#define OP(name, mnemonic, signature, types, from, attributes, effects, ...) \
  []<Effect effect>() -> Completer {                                         \
    if constexpr (effect == Effect::kCollective)                             \
      return Complete##name;                                                 \
    else                                                                     \
      return nullptr;                                                        \
  }.template operator()<Effect::effects>(),
#include "ir/opcodes.def"
#undef OP
};
}  // namespace

Status CompleteGroup(Machine& machine, Warp& warp, uint32_t members) {
  Group group{machine, warp, members};
  if (const ResumePoint* point = PointOf(group.first())) {
    group.ForEach([](Thread& t) { Release(t); });
    return machine.RunStep(warp, members, 1 + point->collective);
  }
  const Opcode op = group.first().waiting_at->op;
  CHECK(IsCollective(op), "only lanes at a collective form a group");
  kCompleters[static_cast<size_t>(op)](group);
  group.ForEach([](Thread& t) { Release(t); });
  return group.status;
}

namespace {
uint32_t ParkedLanes(Machine& machine, const Warp& warp) {
  uint32_t lanes = 0;
  for (uint32_t lane = 0; lane < warp.count; ++lane) {
    const Thread& thread = machine.ThreadAt(warp, lane);
    lanes |= (thread.parked && thread.state != ThreadState::kExited ? 1u : 0u) << lane;
  }
  return lanes;
}
}  // namespace

namespace {

bool WaitsForMembers(const Thread& thread) {
  return thread.state == ThreadState::kWaiting && IsCollective(WaitsFor(thread)) &&
         !IsConvergenceWait(thread);
}

// Lanes that wait for members, of those for which `holds`.
template <typename Holds>
uint32_t LanesWhere(Machine& machine, const Warp& warp, Holds holds) {
  uint32_t lanes = 0;
  for (uint32_t lane = 0; lane < warp.count; ++lane) {
    const Thread& other = machine.ThreadAt(warp, lane);
    lanes |= (WaitsForMembers(other) && holds(other) ? 1u : 0u) << lane;
  }
  return lanes;
}

// The lanes at one instruction under one mask, of which some are not in it. A GPU runs them together,
// whatever the mask names, if all that have arrived of the warp name the same one; it traps (an illegal
// instruction) where they do not, or where lanes of the mask wait elsewhere under it. No lane is excluded
// while others of the warp may still come.
Result<bool> CompleteOutsideMask(Machine& machine, Warp& warp, const Thread& thread, uint32_t here) {
  for (Thread* other : LiveThreads(machine, warp)) {
    if (other->state == ThreadState::kReady) return false;
  }
  const uint32_t mask = MemberMask(thread), missing = mask & machine.LiveLanes(warp) & ~here;
  const uint32_t company =
      LanesWhere(machine, warp, [&](const Thread& other) { return other.waiting_at == thread.waiting_at; });
  const uint32_t elsewhere = LanesWhere(machine, warp, [&](const Thread& other) {
    return SameKind(thread, other) && MemberMask(other) == mask;
  });
  if (company != here || (missing & elsewhere) != 0) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(here & ~mask));
    const Thread& stranger = machine.ThreadAt(warp, lane);
    return machine.Fault(stranger, *stranger.waiting_at,
                         fmt::format("lane {} is not in its own membermask {:#010x}", lane, mask));
  }
  if (missing != 0) return false;
  TRY_STATUS(CompleteGroup(machine, warp, here));
  return true;
}

}  // namespace

Result<bool> CompleteGroups(Machine& machine, Warp& warp) {
  bool any = false;
  for (Thread* thread : LiveThreads(machine, warp)) {
    if (!WaitsForMembers(*thread)) continue;
    const Inst& inst = *thread->waiting_at;
    const uint32_t mask = MemberMask(*thread);
    if (uint32_t waiting = mask & ParkedLanes(machine, warp); waiting != 0) {
      return machine.Fault(
          *thread, inst,
          fmt::format("its membermask {:#010x} names lanes {:#010x}, which wait at the other arm of a "
                      "divergent branch; lanes that meet from different places need the lane "
                      "scheduler (tier T3)",
                      mask, waiting));
    }
    const uint32_t here = LanesWhere(machine, warp, [&](const Thread& other) {
      return other.waiting_at == &inst && MemberMask(other) == mask;
    });
    if ((here & ~mask) != 0) {
      any |= TRY(CompleteOutsideMask(machine, warp, *thread, here));
      continue;
    }
    const uint32_t members = mask & machine.LiveLanes(warp);
    const uint32_t arrived = members & LanesWhere(machine, warp, [&](const Thread& other) {
                               return SameKind(*thread, other) && MemberMask(other) == mask;
                             });
    if (arrived != members) continue;
    TRY_STATUS(CompleteGroup(machine, warp, members));
    any = true;
  }
  return any;
}

Status ExecuteLiveMask(Step& s) {
  s.Return(s.machine.LiveLanes(s.machine.warps[s.thread.warp]));
  return {};
}

// Every live lane executes it with the same mask; the state after the first is that after all.
Status ExecuteSetLiveMask(Step& s) {
  Warp& warp = s.machine.warps[s.thread.warp];
  warp.unsettled = true;
  for (uint32_t lane = 0; lane < warp.count; ++lane) {
    s.machine.ThreadAt(warp, lane).parked = (s.Operand32(0) >> lane & 1) == 0;
  }
  if (s.machine.LiveLanes(warp) != 0) return {};
  Error error = s.Fault("set_live_mask leaves no lane to run").error();
  error.code = ErrorCode::kInternal;
  return Fail(std::move(error));
}

Status CompleteAgreement(Machine& machine, std::span<Thread* const> threads) {
  const Inst& inst = *threads.front()->waiting_at;
  bool block_level = AgreeLevel(*threads.front()) == Level::kBlock;
  Bits128 first = OperandOf(*threads.front(), 0);
  for (Thread* thread : threads) {
    if (OperandOf(*thread, 0) == first) continue;
    const Thread& other = *threads.front();
    return machine.FaultOfBlock(
        &inst, fmt::format(
                   "divergent branch: it decides whether a {} is reached, and thread ({},{},{}) has {} where "
                   "thread ({},{},{}) has {}",
                   block_level ? "block barrier" : "warp collective", other.tid[0], other.tid[1],
                   other.tid[2], static_cast<uint64_t>(first), thread->tid[0], thread->tid[1], thread->tid[2],
                   static_cast<uint64_t>(OperandOf(*thread, 0))));
  }
  for (Thread* thread : threads) {
    ReturnTo(*thread, first);
    Release(*thread);
  }
  return {};
}

Status CompleteBarrier(Machine& machine, std::span<Thread* const> threads) {
  uint32_t count = 0;
  const Opcode op = WaitsFor(*threads.front());
  for (Thread* thread : threads) {
    if (WaitsFor(*thread) != op) {
      return machine.Fault(
          *thread, *thread->waiting_at,
          fmt::format("a barrier mixes {} with {}", machine.Describe(*threads.front()->waiting_at),
                      machine.Describe(*thread->waiting_at)));
    }
    if (op != Opcode::kBarrierBlock) count += BarrierWord(*thread, 2) != 0 ? 1 : 0;
  }
  for (Thread* thread : threads) {
    if (op == Opcode::kBarrierReducePopc) ReturnFromBarrier(*thread, count);
    if (op == Opcode::kBarrierReduceAnd) ReturnFromBarrier(*thread, count == threads.size());
    if (op == Opcode::kBarrierReduceOr) ReturnFromBarrier(*thread, count != 0);
    Release(*thread);
  }
  return {};
}

}  // namespace ptx2cpu::ir::interpret
