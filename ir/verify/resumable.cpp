// Rules of resumable kernels: resume points, and where lanes or warps suspend.
#include <fmt/format.h>

#include <algorithm>

#include "ir/verify/rules.h"

namespace ptx2cpu::ir::verify {

namespace {

bool IsResumption(Opcode op) {
  return op == Opcode::kDispatch || op == Opcode::kResume || op == Opcode::kSuspend ||
         op == Opcode::kResumeWord;
}

// Words that a thread at this point hands to the scheduler.
size_t WordsOf(const ResumePoint& point) {
  if (point.op == Opcode::kUndef || IsClusterBarrier(point.op)) return 0;
  if (IsCollective(point.op)) return HasMembermask(point.op, point.flags) ? 1 : 0;
  return point.op == Opcode::kBarrierBlock || point.op == Opcode::kBarrierArrive ? 2 : 3;
}

Status CheckPoints(Subject& s) {
  const Function& f = s.f;
  if (f.resume_points.empty() || f.resume_points[0].op != Opcode::kUndef) {
    return s.Broken("the first resume point is the start of the kernel, which waits for nothing");
  }
  for (size_t i = 0; i < f.resume_points.size(); ++i) {
    const ResumePoint& point = f.resume_points[i];
    bool collective = IsCollective(point.op);
    if (point.op != Opcode::kUndef && !collective && !IsBarrier(point.op)) {
      return s.Broken(fmt::format("resume point {} waits at {}, which is neither a barrier nor a collective",
                                  i, Info(point.op).mnemonic));
    }
    if (collective && f.resumes != Resumes::kLanes) {
      return s.Broken(
          fmt::format("resume point {}: only a function that resumes lanes has points where lanes wait", i));
    }
    if (point.op != Opcode::kUndef && f.resumes == Resumes::kBlocks)
      return s.Broken(fmt::format("resume point {}: a block that suspends only yields", i));
    if (collective != (point.collective != ResumePoint::kNoClass)) {
      return s.Broken(fmt::format("resume point {}: collectives, and only they, have a class", i));
    }
  }
  return {};
}

Status CheckSuspend(const Subject& s, BlockId block, const Inst& inst) {
  if (inst.attrs.index == 0 || inst.attrs.index >= s.f.resume_points.size()) {
    return s.Broken(block, inst, "no such resume point");
  }
  size_t words = WordsOf(s.f.resume_points[inst.attrs.index]);
  if (inst.operands.size() == words) return {};
  return s.Broken(block, inst,
                  fmt::format("{} words, the point's kind takes {}", inst.operands.size(), words));
}

Status CheckDispatch(const Subject& s, BlockId block, const Inst& inst) {
  uint32_t classes = 0;
  for (const ResumePoint& point : s.f.resume_points) {
    if (point.collective != ResumePoint::kNoClass) classes = std::max(classes, point.collective + 1);
  }
  if (s.f.resumes != Resumes::kLanes || block != s.f.entry) {
    return s.Broken(block, inst, "is legal only at the entry of a function that resumes lanes");
  }
  if (inst.edges.size() == classes + 1) return {};
  return s.Broken(block, inst,
                  fmt::format("{} edges for {} classes of collectives", inst.edges.size(), classes));
}

}  // namespace

Status CheckResumable(Subject& s) {
  const Function& f = s.f;
  // Warps and blocks become resumable after they have loops.
  bool blocks = f.resumes == Resumes::kBlocks;
  bool resumable = f.resumes == Resumes::kLanes || (f.resumes != Resumes::kNever && !f.resume_points.empty());
  if (resumable) {
    TRY_STATUS(CheckPoints(s));
    if (!blocks && (!f.has_early_exit || f.is_flat))
      return s.Broken("a function that resumes lanes or warps must keep live masks and have a warp level");
  }
  Level level = f.resumes == Resumes::kLanes ? Level::kLane : blocks ? Level::kBlock : Level::kWarp;
  return s.ForEach([&](BlockId block, const Inst& inst) -> Status {
    if ((inst.op == Opcode::kKeep || inst.op == Opcode::kLeave) && f.together_of == ~0u)
      return s.Broken(block, inst, "in a function that runs no warps of another one");
    if (resumable && IsYield(inst.op) && inst.op != Opcode::kLeave)
      return s.Broken(block, inst, "a yield without a resume point");
    if (resumable && !blocks && f.at_block(block).level == Level::kBlock) {
      return s.Broken(block, "a block of block level in a resumable function");
    }
    if (!IsResumption(inst.op)) return {};
    if (!resumable) return s.Broken(block, inst, "in a function that is not resumable");
    if (inst.op == Opcode::kDispatch) return CheckDispatch(s, block, inst);
    const bool of_warp = f.at_block(block).level == Level::kWarp && RunsTogether(f);
    if (f.at_block(block).level != level && !of_warp) {
      return s.Broken(block, inst, fmt::format("must be at {} level here", Name(level)));
    }
    if (inst.op == Opcode::kSuspend) return CheckSuspend(s, block, inst);
    if (inst.op == Opcode::kResumeWord && blocks)
      return s.Broken(block, inst, "the scheduler leaves no words for a block");
    if (inst.op == Opcode::kResumeWord && inst.attrs.index >= 4)
      return s.Broken(block, inst, "only words 0 to 3 exist");
    return {};
  });
}

}  // namespace ptx2cpu::ir::verify
