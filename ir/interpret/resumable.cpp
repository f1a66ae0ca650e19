// Resumable kernels: suspending, resuming, and what a waiting thread waits for. The scheduler is the one of
// the Simt phase (schedule.cpp): the rules by which threads continue are the same.
#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

const ResumePoint* PointOf(const Thread& thread) {
  if (thread.waiting_at == nullptr || thread.waiting_at->op != Opcode::kSuspend) return nullptr;
  return &thread.frame().function->resume_points[thread.waiting_at->attrs.index];
}

Opcode WaitsFor(const Thread& thread) {
  const ResumePoint* point = PointOf(thread);
  return point != nullptr ? point->op : thread.waiting_at->op;
}

uint32_t MemberMask(const Thread& thread) {
  if (PointOf(thread) != nullptr) return thread.words[0];
  return static_cast<uint32_t>(Read(thread.frame(), thread.waiting_at->operands.back()));
}

// Operand positions: bar.red has its predicate first.
uint32_t BarrierWord(const Thread& thread, size_t number) {
  if (PointOf(thread) != nullptr) return thread.words[number];
  const Inst& inst = *thread.waiting_at;
  const size_t id = inst.op == Opcode::kBarrierBlock || inst.op == Opcode::kBarrierArrive ? 0 : 1;
  const size_t at = number == 2 ? 0 : id + number;
  return at < inst.operands.size() ? static_cast<uint32_t>(Read(thread.frame(), inst.operands[at])) : 0;
}

void ReturnFromBarrier(Thread& thread, uint32_t result) {
  if (PointOf(thread) != nullptr) {
    thread.words[0] = result;
  } else {
    Write(thread.frame(), thread.waiting_at->results[0], result);
  }
}

bool IsConvergenceWait(const Thread& thread) {
  const ResumePoint* point = PointOf(thread);
  const Opcode op = WaitsFor(thread);
  const uint32_t flags = point != nullptr ? point->flags : thread.waiting_at->attrs.flags;
  return IsConverged(op, flags);
}

bool SameKind(const Thread& a, const Thread& b) {
  const ResumePoint *point = PointOf(a), *other = PointOf(b);
  if (point != nullptr || other != nullptr) {
    return point != nullptr && other != nullptr && point->collective == other->collective;
  }
  return SameOperation(*a.waiting_at, *b.waiting_at);
}

// A point that waits for nothing: the thread stays ready, others run first.
Status ExecuteSuspend(Step& s) {
  s.thread.point = s.inst.attrs.index;
  for (size_t i = 0; i < s.inst.operands.size(); ++i) s.thread.words[i] = s.Operand32(i);
  if (s.machine.view == View::kThreads) {  // a block that suspends: each thread for itself
    Enter(s.frame, {s.frame.function->entry, {}});
    s.thread.budget = 0;
    return {};
  }
  const Opcode op = s.frame.function->resume_points[s.thread.point].op;
  bool yields = op == Opcode::kUndef || op == Opcode::kClusterArrive;
  if (op == Opcode::kClusterArrive) TRY_STATUS(ArriveAtCluster(s));
  if (op == Opcode::kClusterWait) yields = !TRY(MustWaitForCluster(s));
  Wait(s);
  if (yields) s.thread.state = ThreadState::kYielded;
  return {};
}

Status ExecuteResume(Step& s) {
  const Edge& edge = s.inst.edges[s.thread.point];
  if (s.machine.view != View::kThreads) s.thread.entered.push_back(edge.to);
  Enter(s.frame, edge);
  return {};
}

// Before there are resume points threads run for themselves: the others continue first.
Status ExecuteYieldBlock(Step& s) {
  s.thread.budget = 0;
  return {};
}
Status ExecuteYieldWarp(Step& s) { return ExecuteYieldBlock(s); }

// The code for warps whose lanes are together becomes part of a function that is run.
Status ExecuteKeep(Step& s) { return s.Fault("code of a warp whose lanes are together, on its own"); }
Status ExecuteLeave(Step& s) { return ExecuteKeep(s); }

Status ExecuteResumeWord(Step& s) {
  s.Return(s.thread.words[s.inst.attrs.index]);
  return {};
}

}  // namespace ptx2cpu::ir::interpret
