// The Collapsed phase: block level, for_warps, warp level, for_lanes, lane level, as the loops require.
//
// Lane-level code is run by one thread at a time. Warp- and block-level code is run in lock step, instruction
// by instruction, by all live threads below it. At the end of a region the values that it defined are
// overwritten with a pattern, so that a value that crosses without a slot is wrong at once.
//
// Before the end of the pipeline, a function in this form is executed in other ways (View in machine.h).
#include <fmt/format.h>

#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

namespace {

constexpr uint64_t kUnlimited = ~uint64_t{0};
constexpr Bits128 kPattern = Bits128{0xA5A5A5A5A5A5A5A5} << 64 | 0xA5A5A5A5A5A5A5A5;

class Loops {
 public:
  explicit Loops(Machine& machine) : m_(machine), f_(machine.kernel) {}
  Status Run();
  Status RunStep(Warp& warp);
  Status RunWarp(Warp& warp);

 private:
  // Runs code of a level from a block on until it ends; `threads` are those of the block or of one warp.
  Status RunLevel(Level level, std::span<Thread> threads, BlockId block);
  // Executes the terminator; false when the level's code has ended.
  Result<bool> Terminate(Level level, std::span<Thread> threads, const Inst& inst, BlockId* block);
  Result<BlockId> Loop(std::span<Thread> threads, const Inst& inst, bool at_block);
  Status Lockstep(std::span<Thread> threads, const Inst& inst);
  Status Complete(std::span<Thread> threads, const Inst& inst);
  Status CheckUniformStore(std::span<Thread> threads, const Inst& inst);
  Status ForWarps(const Inst& inst);
  Status ForLanes(std::span<Thread> threads, const Inst& inst);
  Status RunLane(Thread& thread, const Edge& body, const Inst& loop);
  Result<BlockId> ChooseTogether(std::span<Thread> threads, const Inst& inst);
  void Overwrite(Thread& thread, BlockId block);
  std::unexpected<Error> Broken(const Inst& inst, std::string message) const;

  static bool AnyLive(std::span<const Thread> threads) {
    for (const Thread& thread : threads) {
      if (thread.live()) return true;
    }
    return false;
  }
  static std::vector<Thread*> Live(std::span<Thread> threads) {
    std::vector<Thread*> live;
    for (Thread& thread : threads) {
      if (thread.live()) live.push_back(&thread);
    }
    return live;
  }
  static void EnterAll(std::span<Thread> threads, const Edge& edge) {
    for (Thread* thread : Live(threads)) Enter(thread->frame(), edge);
  }

  Machine& m_;
  const Function& f_;
};

// Not the program's fault: the function breaks the law of its phase.
std::unexpected<Error> Loops::Broken(const Inst& inst, std::string message) const {
  Error error =
      m_.FaultOfBlock(&inst, fmt::format("broken collapsed form at {}: {}", m_.Describe(inst), message))
          .error();
  error.code = ErrorCode::kInternal;
  return Fail(std::move(error));
}

Status Loops::Run() { return RunLevel(Level::kBlock, m_.threads, f_.entry); }

Status Loops::RunStep(Warp& warp) {
  return RunLevel(Level::kWarp, std::span(&m_.threads[warp.first], warp.count), f_.entry);
}

// The warp's own walk through the code of block and warp level. Values are not overwritten: what a barrier's
// block uses after it is loaded again only where the warp can be resumed there.
Status Loops::RunWarp(Warp& warp) {
  std::span<Thread> threads(&m_.threads[warp.first], warp.count);
  while (AnyLive(threads)) {
    const Block& code = f_.at_block(warp.block);
    while (warp.next + 1 < code.insts.size()) {
      TRY_STATUS(Lockstep(threads, f_.at_inst(code.insts[warp.next++])));
      for (const Thread& thread : threads) {
        if (thread.state == ThreadState::kWaiting) return {};
      }
    }
    warp.next = 0;
    const Inst& last = f_.at_inst(code.insts.back());
    if (last.op == Opcode::kForWarps || last.op == Opcode::kEndWarp) {
      if (last.op == Opcode::kForWarps) warp.loop = &last;
      const Edge& edge = warp.loop->edges[last.op == Opcode::kForWarps ? 0 : 1];
      EnterAll(threads, edge);
      warp.block = edge.to;
    } else if (!TRY(Terminate(code.level, threads, last, &warp.block))) {
      return {};
    }
  }
  return {};
}

Status Loops::RunLevel(Level level, std::span<Thread> threads, BlockId block) {
  std::vector<BlockId> visited;
  bool running = true;
  while (running) {
    const Block& code = f_.at_block(block);
    const Inst& last = f_.at_inst(code.insts.back());
    if (code.level != level) {
      return Broken(last, fmt::format("block {} of {} level is reached at {} level", block.index,
                                      Name(code.level), Name(level)));
    }
    if (level == Level::kWarp && (visited.empty() || visited.back() != block)) visited.push_back(block);
    for (InstId id : code.insts) {
      if (id != code.insts.back()) TRY_STATUS(Lockstep(threads, f_.at_inst(id)));
    }
    running = AnyLive(threads) && TRY(Terminate(level, threads, last, &block));
  }
  for (Thread& thread : threads) {
    for (BlockId of : visited) Overwrite(thread, of);
  }
  return {};
}

Result<bool> Loops::Terminate(Level level, std::span<Thread> threads, const Inst& inst, BlockId* block) {
  std::vector<Thread*> live = Live(threads);
  TRY_STATUS(m_.Count(*live.front(), inst));
  bool at_block = level == Level::kBlock;
  const Opcode op = inst.op;
  if (op == Opcode::kBr || op == Opcode::kCondBr || op == Opcode::kSwitch) {
    *block = TRY(ChooseTogether(threads, inst));
    return true;
  }
  if (op == Opcode::kDispatch || op == Opcode::kResume) {
    uint32_t edge = op == Opcode::kDispatch ? m_.dispatch_edge : live.front()->point;
    EnterAll(threads, inst.edges[edge]);
    *block = inst.edges[edge].to;
    return true;
  }
  if (op == Opcode::kSuspend) {
    for (Thread* thread : live) TRY_STATUS(m_.Execute(*thread, inst));
    return false;
  }
  if (op == Opcode::kEndWarp) {
    if (at_block) return Broken(inst, "end_warp at block level");
    return false;
  }
  if (op == Opcode::kRet || op == Opcode::kExit) {
    if (!at_block && op == Opcode::kRet) return Broken(inst, "ret below block level");
    for (Thread* thread : live) thread->state = ThreadState::kExited;
    return false;
  }
  if (op == Opcode::kTrap || op == Opcode::kUnreachable) {
    TRY_STATUS(m_.Execute(*live.front(), inst));
    return false;
  }
  if (op != Opcode::kForWarps && op != Opcode::kForLanes)
    return Broken(inst, fmt::format("may not end a block of {} level", Name(level)));
  *block = TRY(Loop(threads, inst, at_block));
  return block->valid();
}

// Runs a loop over warps or lanes. Returns where the threads continue after it; invalid: none is live.
Result<BlockId> Loops::Loop(std::span<Thread> threads, const Inst& inst, bool at_block) {
  if (inst.op == Opcode::kForWarps) {
    if (!at_block) return Broken(inst, "for_warps below block level");
    TRY_STATUS(ForWarps(inst));
  } else {
    if (at_block && !f_.is_flat)
      return Broken(inst, "for_lanes at block level of a function that is not flat");
    TRY_STATUS(ForLanes(threads, inst));
  }
  const Edge* next = &inst.edges[1];
  if (!AnyLive(threads) && inst.edges.size() == 3) {
    for (Thread& thread : threads) thread.parked = false;
    next = &inst.edges[2];
  }
  if (!AnyLive(threads)) return BlockId{};
  EnterAll(threads, *next);
  return next->to;
}

Result<BlockId> Loops::ChooseTogether(std::span<Thread> threads, const Inst& inst) {
  std::vector<Thread*> live = Live(threads);
  uint32_t choice = 0;
  for (Thread* thread : live) {
    Step step{m_, *thread, thread->frame(), inst};
    uint32_t own = TRY(ChooseEdge(step));
    if (thread == live.front()) choice = own;
    if (own != choice)
      return Broken(inst, "the threads of a level take different edges; an agree must come before");
  }
  EnterAll(threads, inst.edges[choice]);
  return inst.edges[choice].to;
}

Status Loops::Lockstep(std::span<Thread> threads, const Inst& inst) {
  for (Thread* thread : Live(threads)) {
    thread->budget = kUnlimited;
    TRY_STATUS(m_.Execute(*thread, inst));
    TRY_STATUS(m_.RunThread(*thread, 1));  // the body of a call
  }
  if (inst.op == Opcode::kSlotStore) return CheckUniformStore(threads, inst);
  return Complete(threads, inst);
}

// Completes what all live threads have just begun to wait for.
Status Loops::Complete(std::span<Thread> threads, const Inst& inst) {
  std::vector<Thread*> live = Live(threads);
  if (live.empty() || live.front()->state != ThreadState::kWaiting) return {};
  if (inst.op == Opcode::kAgree || inst.op == Opcode::kAgreeIndex) return CompleteAgreement(m_, live);
  if (IsBarrier(inst.op) && m_.view == View::kWarps) return {};  // the scheduler sees to it
  if (inst.op == Opcode::kBarrierArrive) {
    for (Thread* thread : live) Release(*thread);
    return {};
  }
  if (IsBarrier(inst.op)) {
    if (threads.size() != m_.threads.size()) return Broken(inst, "a block barrier below block level");
    return CompleteBarrier(m_, live);
  }
  for (uint32_t w = threads.front().warp; w <= threads.back().warp; ++w) {
    Warp& warp = m_.warps[w];
    if (m_.LiveLanes(warp) == 0) continue;
    if (IsConvergenceWait(*live.front())) {
      TRY_STATUS(CompleteGroup(m_, warp, m_.LiveLanes(warp)));
    } else {
      static_cast<void>(TRY(CompleteGroups(m_, warp)));
    }
  }
  for (Thread* thread : live) {
    if (thread->state == ThreadState::kWaiting) {
      return m_.Fault(*thread, inst, "a member of the membermask is here with another membermask");
    }
  }
  return {};
}

Status Loops::CheckUniformStore(std::span<Thread> threads, const Inst& inst) {
  if (f_.slots[inst.attrs.index].shape == Level::kLane) return {};
  for (Thread* thread : Live(threads)) {
    if (m_.SlotOf(*thread, inst.attrs.index) != Read(thread->frame(), inst.operands[0])) {
      return Broken(inst, fmt::format("slot {} is uniform, but thread {} stores another value",
                                      inst.attrs.index, thread->index));
    }
  }
  return {};
}

Status Loops::ForWarps(const Inst& inst) {
  for (const Warp& warp : m_.warps) {
    std::span<Thread> threads(&m_.threads[warp.first], warp.count);
    if (!AnyLive(threads)) continue;
    EnterAll(threads, inst.edges[0]);
    TRY_STATUS(RunLevel(Level::kWarp, threads, inst.edges[0].to));
  }
  return {};
}

Status Loops::ForLanes(std::span<Thread> threads, const Inst& inst) {
  if ((inst.attrs.flags & kUniform) && Live(threads).size() != threads.size()) {
    return Broken(inst, "requires that all lanes run, but some do not");
  }
  for (Thread* thread : Live(threads)) TRY_STATUS(RunLane(*thread, inst.edges[0], inst));
  return {};
}

Status Loops::RunLane(Thread& thread, const Edge& body, const Inst& loop) {
  thread.entered.assign(1, body.to);
  Enter(thread.frame(), body);
  thread.budget = kUnlimited;
  while (thread.state == ThreadState::kReady) {
    TRY_STATUS(m_.RunThread(thread, 0));
    thread.budget = kUnlimited;
  }
  if (thread.state == ThreadState::kWaiting && thread.waiting_at->op != Opcode::kSuspend) {
    return Broken(*thread.waiting_at, "a barrier or collective at lane level");
  }
  for (BlockId block : thread.entered) {
    if (f_.at_block(block).level != Level::kLane) {
      return Broken(loop,
                    fmt::format("lane-level code enters block {}, which is not of lane level", block.index));
    }
    Overwrite(thread, block);
  }
  if (thread.state == ThreadState::kRegionEnd) thread.state = ThreadState::kReady;
  return {};
}

void Loops::Overwrite(Thread& thread, BlockId block) {
  const Block& code = f_.at_block(block);
  for (ValueId param : code.params) Write(thread.frame(), param, kPattern);
  for (InstId id : code.insts) {
    for (ValueId result : f_.at_inst(id).results) Write(thread.frame(), result, kPattern);
  }
}

}  // namespace

// Until sequence-divergent-arms has run the loops have no meaning for a complete warp.
// Nor do they before a block that suspends has resume points.
View ViewOf(const Function& kernel) {
  if (kernel.phase != Phase::kCollapsed || HasOpenArms(kernel)) return View::kThreads;
  if (kernel.resumes == Resumes::kNever) return View::kLoops;
  if (kernel.resumes == Resumes::kBlocks) return kernel.resume_points.empty() ? View::kThreads : View::kLoops;
  return kernel.resume_points.empty() ? View::kWarps : View::kSteps;
}

void Machine::PrepareSlots() {
  slots.clear();
  for (const Slot& slot : kernel.slots) {
    size_t copies = slot.shape == Level::kBlock ? 1 : slot.shape == Level::kWarp ? warp_count : thread_count;
    if (view == View::kThreads) copies = thread_count;
    slots.emplace_back(copies, kPattern);
  }
}

Result<bool> Machine::RunCollapsed() {
  TRY_STATUS(Loops(*this).Run());
  bool suspended = false;
  for (Thread& thread : threads) {
    if (thread.state != ThreadState::kYielded) continue;
    suspended = true;
    Release(thread);
  }
  return suspended;
}
Status Machine::RunWarp(Warp& warp) { return Loops(*this).RunWarp(warp); }

// The other lanes of the warp do not exist for the step.
Status Machine::RunStep(Warp& warp, uint32_t lanes, uint32_t edge) {
  dispatch_edge = edge;
  for (uint32_t lane = 0; lane < warp.count; ++lane) ThreadAt(warp, lane).parked = (lanes >> lane & 1) == 0;
  TRY_STATUS(Loops(*this).RunStep(warp));
  for (uint32_t lane = 0; lane < warp.count; ++lane) {
    Thread& thread = ThreadAt(warp, lane);
    thread.parked = false;
    if (thread.state == ThreadState::kYielded) Release(thread);
  }
  return {};
}

}  // namespace ptx2cpu::ir::interpret
