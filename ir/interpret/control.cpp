// Terminators.
#include <fmt/format.h>

#include <algorithm>

#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

void Enter(Frame& frame, const Edge& edge) {
  const std::vector<ValueId>& params = frame.function->at_block(edge.to).params;
  Bits128 few[8];
  std::vector<Bits128> many;
  Bits128* values = few;
  if (edge.args.size() > std::size(few)) {
    many.resize(edge.args.size());
    values = many.data();
  }
  // All arguments are read before a parameter is written: an argument may be a parameter of the same block.
  for (size_t i = 0; i < edge.args.size(); ++i) values[i] = Read(frame, edge.args[i]);
  for (size_t i = 0; i < edge.args.size(); ++i) Write(frame, params[i], values[i]);
  frame.block = edge.to;
  frame.next = 0;
}

Result<uint32_t> ChooseEdge(Step& s) {
  if (s.inst.op == Opcode::kBr) return 0;
  if (s.inst.op == Opcode::kCondBr) return s.Predicate(0) ? 0 : 1;
  if (s.inst.op == Opcode::kSwitch)
    return std::min(s.Operand32(0), static_cast<uint32_t>(s.inst.edges.size()) - 1);
  return s.Fault(fmt::format("{} does not choose an edge", Info(s.inst.op).mnemonic));
}

namespace {

// A loop enters its blocks again and again: the list is cut back to different ones when it grows.
void NoteEntered(std::vector<BlockId>& entered, BlockId block) {
  if (entered.size() >= 1024) {
    std::sort(entered.begin(), entered.end());
    entered.erase(std::unique(entered.begin(), entered.end()), entered.end());
  }
  entered.push_back(block);
}

Status Branch(Step& s) {
  const Edge& edge = s.inst.edges[TRY(ChooseEdge(s))];
  if (s.machine.view != View::kThreads && s.thread.depth == 1) NoteEntered(s.thread.entered, edge.to);
  Enter(s.frame, edge);
  return {};
}

// Loop terminators are executed by the loops of collapsed.cpp, never by a thread: the function breaks the law
// of its phase.
Status NotByThread(Step& s) {
  Error error =
      s.Fault(fmt::format("{} met outside the Collapsed phase or below its level", Info(s.inst.op).mnemonic))
          .error();
  error.code = ErrorCode::kInternal;
  return Fail(std::move(error));
}

bool IsLoopForm(const Step& s) { return s.machine.kernel.phase == Phase::kCollapsed && s.thread.depth == 1; }
bool RunsAlone(const Step& s) { return IsLoopForm(s) && s.machine.view == View::kThreads; }

Status EndRegion(Step& s, ThreadState state) {
  if (!IsLoopForm(s)) return NotByThread(s);
  s.thread.state = state;
  return {};
}

// A thread on its own executes the body of a loop once.
Status EnterLoop(Step& s, const Inst*& loop) {
  if (!RunsAlone(s)) return NotByThread(s);
  loop = &s.inst;
  Enter(s.frame, loop->edges[0]);
  return {};
}
Status LeaveLoop(Step& s, const Inst* loop) {
  if (!RunsAlone(s) || loop == nullptr) return NotByThread(s);
  Enter(s.frame, loop->edges[1]);
  return {};
}

}  // namespace

Status ExecuteBr(Step& s) { return Branch(s); }
Status ExecuteCondBr(Step& s) { return Branch(s); }
Status ExecuteSwitch(Step& s) { return Branch(s); }

Status ExecuteRet(Step& s) {
  Thread& thread = s.thread;
  if (thread.depth == 1) {
    if (IsLoopForm(s) && !RunsAlone(s)) return NotByThread(s);
    thread.state = ThreadState::kExited;
    return {};
  }
  const Inst* call = s.frame.call;
  if (call->results.size() > s.inst.operands.size()) {
    return s.Fault(fmt::format("{} returns {} values, its caller expects {}", s.frame.function->name,
                               s.inst.operands.size(), call->results.size()));
  }
  Frame& caller = *thread.frames[thread.depth - 2];
  for (size_t i = 0; i < call->results.size(); ++i) Write(caller, call->results[i], s.Operand(i));
  --thread.depth;
  return {};
}

Status ExecuteExit(Step& s) {
  s.thread.state = ThreadState::kExited;
  return {};
}

Status ExecuteTrap(Step& s) { return s.Fault("trap"); }
Status ExecuteUnreachable(Step& s) { return s.Fault("a call that must not return has returned"); }
Status ExecuteForWarps(Step& s) { return EnterLoop(s, s.thread.warps_loop); }
Status ExecuteForLanes(Step& s) { return EnterLoop(s, s.thread.lanes_loop); }
Status ExecuteDispatch(Step& s) { return NotByThread(s); }
Status ExecuteEndWarp(Step& s) { return LeaveLoop(s, s.thread.warps_loop); }
Status ExecuteEndLane(Step& s) {
  return RunsAlone(s) ? LeaveLoop(s, s.thread.lanes_loop) : EndRegion(s, ThreadState::kRegionEnd);
}
Status ExecuteExitLane(Step& s) { return EndRegion(s, ThreadState::kExited); }

}  // namespace ptx2cpu::ir::interpret
