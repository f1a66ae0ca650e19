// Clocks and timers.
//
// On a GPU the threads of a block run at the same time; here they run one after the other through a region.
// If each read the real time, threads that wait for a time to pass would wait one after the other, and a
// thread's measurement would not reflect its work. So each thread has a clock of its own, which lags the real
// time by some skew. All threads begin a region at the time of the first reading there. At each place that
// reads a clock the latest time of any thread there is known: a thread that arrives with an earlier one
// continues from that, as if it had run beside the others. Otherwise its time passes as real time does. So
// threads that do the same wait together, and measure their own work.
//
// A thread's time never goes back, is never ahead of the real time, and never from before a barrier that it
// has passed. Where threads could exchange the time without a barrier (atomics, volatile accesses, calls),
// each reading returns the real time.
#include "lowering/llvm/emit/time.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::Special;

namespace {

constexpr uint64_t kNoSkewYet = ~uint64_t{0};
constexpr size_t kMaxPlaces = 32;

bool IsTime(Special special) { return special >= Special::kClock && special <= Special::kGlobaltimerHi; }
bool IsTimer(Special special) {
  return special >= Special::kGlobaltimer && special <= Special::kGlobaltimerHi;
}

// It exchanges no information with other threads before the next barrier.
bool IsPrivate(const ir::Inst& inst) {
  if (inst.op == Opcode::kNanosleep || inst.op == Opcode::kSpecialRegister) return true;
  if (inst.attrs.order != ir::MemoryOrder::kWeak || (inst.attrs.flags & ir::kVolatile) != 0) return false;
  const ir::Effect effect = ir::Info(inst.op).effect;
  return effect == ir::Effect::kPure || effect == ir::Effect::kReads || effect == ir::Effect::kWrites ||
         effect == ir::Effect::kTerminator;
}

// The reading of a place where a thread's own time is kept.
llvm::Value* OwnTime(Site& s, llvm::Value* now, const ThreadTimes::Of& times, llvm::AllocaInst* latest_here) {
  llvm::Type* i64 = s.b.getInt64Ty();
  llvm::Value *begin = s.b.CreateLoad(i64, times.begin), *skew = s.b.CreateLoad(i64, times.skew);
  llvm::Value* is_first = s.b.CreateICmpEQ(skew, s.b.getInt64(kNoSkewYet));
  llvm::Value* own = s.b.CreateSelect(is_first, begin, s.b.CreateSub(now, skew));
  own = s.b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, own, s.b.CreateLoad(i64, latest_here));
  own = s.b.CreateSelect(s.b.CreateICmpEQ(own, s.b.getInt64(0)), now, own);  // no thread has read
  s.b.CreateStore(own, latest_here);
  s.b.CreateStore(s.b.CreateSub(now, own), times.skew);
  s.b.CreateStore(s.b.CreateSelect(s.b.CreateICmpEQ(begin, s.b.getInt64(0)), own, begin), times.begin);
  return own;
}

}  // namespace

std::optional<ThreadTimes> BeginTimes(FunctionEmitter& e, ir::BlockId entry) {
  std::vector<const ir::Inst*> places;
  for (const ir::BlockId id : BlocksOfLevel(e.f, entry)) {
    for (const ir::InstId inst_id : e.f.at_block(id).insts) {
      const ir::Inst& inst = e.f.at_inst(inst_id);
      if (!IsPrivate(inst)) return std::nullopt;
      if (inst.op == Opcode::kSpecialRegister && IsTime(inst.attrs.special)) places.push_back(&inst);
    }
  }
  if (places.empty() || places.size() > kMaxPlaces) return std::nullopt;
  const auto new_time = [&] {
    llvm::AllocaInst* time = e.body.Scratch(e.b.getInt64Ty(), 1);
    e.b.CreateStore(e.b.getInt64(0), time);
    return time;
  };
  ThreadTimes times{{new_time(), new_time()}, {new_time(), new_time()}, {}};
  for (const ir::Inst* place : places) times.latest[place] = new_time();
  return times;
}

void BeginThread(FunctionEmitter& e, const ThreadTimes& times) {
  e.b.CreateStore(e.b.getInt64(kNoSkewYet), times.clock.skew);
  e.b.CreateStore(e.b.getInt64(kNoSkewYet), times.timer.skew);
}

llvm::Value* TimeValue(Site& s, Special special) {
  const bool timer = IsTimer(special);
  llvm::Value* time =
      s.b.CreateCall(s.e.m.Service(timer ? "ptx2cpu_globaltimer" : "ptx2cpu_clock"), {s.e.body.Block()});
  if (const auto& times = s.e.step->times)
    time = OwnTime(s, time, timer ? times->timer : times->clock, times->latest.at(&s.inst));
  const bool high = special == Special::kClockHi || special == Special::kGlobaltimerHi;
  return high ? s.b.CreateLShr(time, 32) : time;
}

}  // namespace ptx2cpu::lowering
