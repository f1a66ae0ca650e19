// Rules of single phases: levels, regions, loops.
#include <fmt/format.h>

#include "ir/verify/rules.h"

namespace ptx2cpu::ir::verify {

namespace {

bool IsMask(Opcode op) { return op == Opcode::kLiveMask || op == Opcode::kSetLiveMask; }
bool IsBranch(Opcode op) { return op == Opcode::kCondBr || op == Opcode::kSwitch; }

// Barriers are at block level, collectives at warp level, an agree at either.
Status CheckLevelOf(const Subject& s, BlockId block, const Inst& inst) {
  Level level = s.f.at_block(block).level;
  // Resumable warps reach barriers independently of each other.
  Level barrier = s.f.resumes == Resumes::kWarps || IsOfWarp(inst.op) ? Level::kWarp : Level::kBlock;
  if (IsBarrier(inst.op) && level != barrier) {
    return s.Broken(block, inst, fmt::format("a block barrier in a block of {} level", Name(level)));
  }
  if (IsCollective(inst.op) && level != Level::kWarp) {
    return s.Broken(block, inst, fmt::format("a warp collective in a block of {} level", Name(level)));
  }
  if (IsMask(inst.op)) {
    if (level != Level::kWarp) {
      return s.Broken(block, inst,
                      fmt::format("a row for lanes of a warp in a block of {} level", Name(level)));
    }
    bool kept = s.f.has_early_exit && s.f.parked_slot < s.f.slots.size() &&
                s.f.slots[s.f.parked_slot].shape == Level::kWarp &&
                s.f.slots[s.f.parked_slot].type == Type::kI32;
    if (!kept)
      return s.Broken(block, inst, "the function keeps no live masks or has no warp slot for parked lanes");
  }
  if (IsAgreement(inst.op) && level == Level::kLane)
    return s.Broken(block, inst, "an agree in a block of lane level");
  return {};
}

// What a block above lane level may hold besides barriers, collectives and agrees.
bool MayStandAbove(const Inst& inst) {
  bool read_only = inst.attrs.space == Space::kParam || inst.attrs.space == Space::kConst;
  Effect effect = Info(inst.op).effect;
  return effect == Effect::kPure || effect == Effect::kTerminator || (inst.op == Opcode::kLoad && read_only);
}

}  // namespace

Status CheckPhaseRows(Subject& s) {
  Phase phase = s.f.is_kernel ? s.f.phase : Phase::kSimt;
  return s.ForEach([&](BlockId block, const Inst& inst) -> Status {
    uint32_t row = Info(inst.op).attributes;
    Phase first = (row & kOnlyCollapsed) ? Phase::kCollapsed
                  : (row & kFromSplit)   ? Phase::kSplit
                                         : Phase::kSimt;
    if (phase >= first) return {};
    return s.Broken(block, inst, fmt::format("the phase {} does not have this row", Name(phase)));
  });
}

Status CheckSimtLevels(Subject& s) {
  for (BlockId block : s.Blocks()) {
    Level level = s.f.at_block(block).level;
    if (level != Level::kLane) return s.Broken(block, fmt::format("a block of {} level", Name(level)));
  }
  return {};
}

Status CheckSplitBlocks(Subject& s) {
  for (BlockId block : s.Blocks()) {
    int boundaries = 0;
    for (InstId id : s.f.at_block(block).insts) {
      const Inst& inst = s.f.at_inst(id);
      TRY_STATUS(CheckLevelOf(s, block, inst));
      bool boundary = IsBarrier(inst.op) || IsCollective(inst.op) || IsAgreement(inst.op);
      if (boundary && ++boundaries > 1)
        return s.Broken(block, inst, "a second barrier, collective or agree in the block");
      bool above = s.f.at_block(block).level != Level::kLane;
      if (above && !boundary && !MayStandAbove(inst)) {
        return s.Broken(block, inst,
                        "only pure instructions may share a block with a barrier, collective or agree");
      }
    }
  }
  return {};
}

Status CheckSplitBranches(Subject& s) {
  return s.ForEach([&](BlockId block, const Inst& inst) -> Status {
    Level level = s.f.at_block(block).level;
    if (level == Level::kLane || !IsBranch(inst.op)) return {};
    if (level == Level::kWarp && (inst.attrs.flags & kDivergent)) return {};
    const Value& decision = s.f.at_value(inst.operands[0]);
    Opcode def = decision.def.valid() ? s.f.at_inst(decision.def).op : Opcode::kUndef;
    if (def == Opcode::kConst) return {};
    if (!IsAgreement(def))
      return s.Broken(block, inst, "a branch above lane level that is not decided by an agree");
    if (s.f.at_block(decision.block).level < level)
      return s.Broken(block, inst, "the agree is of a lower level than the branch");
    return {};
  });
}

namespace {

// The blocks of `level` or above that are reached from `head` through lower ones; stops after the second.
std::vector<BlockId> NextAbove(const Function& f, BlockId head, Level level) {
  std::vector<bool> seen(f.blocks.size());
  std::vector<BlockId> work{head}, next;
  seen[head.index] = true;
  while (!work.empty() && next.size() < 2) {
    BlockId block = work.back();
    work.pop_back();
    for (const Edge& edge : f.successors(block)) {
      if (seen[edge.to.index]) continue;
      seen[edge.to.index] = true;
      (f.at_block(edge.to).level >= level ? next : work).push_back(edge.to);
    }
  }
  return next;
}

}  // namespace

Status CheckSplitRegions(Subject& s) {
  const Function& f = s.f;
  for (Level level : {Level::kWarp, Level::kBlock}) {
    std::vector<bool> is_head(f.blocks.size());
    is_head[f.entry.index] = true;
    for (BlockId block : s.Blocks()) {
      if (f.at_block(block).level < level) continue;
      for (const Edge& edge : f.successors(block)) is_head[edge.to.index] = true;
    }
    for (BlockId block : s.Blocks()) {
      if (!is_head[block.index] || f.at_block(block).level >= level) continue;
      std::vector<BlockId> next = NextAbove(f, block, level);
      if (next.size() < 2) continue;
      return s.Broken(
          block,
          fmt::format("paths from this region's first block reach different blocks of {} level, {} and {}",
                      Name(level), s.NameOf(next[0]), s.NameOf(next[1])));
    }
  }
  return {};
}

Status CheckCollapsedLevels(Subject& s) {
  const Function& f = s.f;
  bool runs_blocks = f.resumes == Resumes::kNever || f.resumes == Resumes::kBlocks || f.resume_points.empty();
  Level entry = runs_blocks ? Level::kBlock : Level::kWarp;
  if (f.at_block(f.entry).level != entry)
    return s.Broken(f.entry, fmt::format("the entry block is not of {} level", Name(entry)));
  for (BlockId block : s.Blocks()) {
    if (f.is_flat && f.at_block(block).level == Level::kWarp)
      return s.Broken(block, "a block of warp level in a flat function");
  }
  return s.ForEach([&](BlockId block, const Inst& inst) -> Status {
    TRY_STATUS(CheckLevelOf(s, block, inst));
    Level level = f.at_block(block).level;
    bool boundary = IsBarrier(inst.op) || IsCollective(inst.op) || IsAgreement(inst.op);
    bool slot = inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSlotStore ||
                inst.op == Opcode::kResumeWord || IsMask(inst.op);
    if (level != Level::kLane && !boundary && !slot && !MayStandAbove(inst) && inst.op != Opcode::kLoad) {
      return s.Broken(block, inst,
                      fmt::format("an instruction with effects in a block of {} level", Name(level)));
    }
    return {};
  });
}

namespace {

// The level of the blocks that a terminator without edges may end; those that are not here may end any.
constexpr struct {
  Opcode op;
  Level level;
} kEnds[] = {{Opcode::kRet, Level::kBlock},
             {Opcode::kEndWarp, Level::kWarp},
             {Opcode::kEndLane, Level::kLane},
             {Opcode::kExitLane, Level::kLane},
             {Opcode::kExit, Level::kWarp}};

Status CheckEnd(const Subject& s, BlockId block, const Inst& inst) {
  Level is = s.f.at_block(block).level, wants = is;
  if (inst.op == Opcode::kExitLane && !s.f.has_early_exit)
    return s.Broken(block, inst, "an exit_lane in a function without has_early_exit");
  if (inst.op == Opcode::kExit && is == Level::kLane)
    return s.Broken(block, inst, "an exit; expected exit_lane");
  bool resumable = !s.f.resume_points.empty() && s.f.resumes != Resumes::kBlocks;
  if (inst.op == Opcode::kExit && (s.f.parked_slot != ~0u || resumable))
    return s.Broken(block, inst, "an exit of a warp after the arms of branches were sequenced");
  for (const auto& end : kEnds) {
    if (end.op == inst.op) wants = end.level;
  }
  if (is != wants)
    return s.Broken(block, inst,
                    fmt::format("in a block of {} level, expected {} level", Name(is), Name(wants)));
  return {};
}

}  // namespace

Status CheckCollapsedLoops(Subject& s) {
  const Function& f = s.f;
  return s.ForEach([&](BlockId block, const Inst& inst) -> Status {
    if (!IsTerminator(inst.op)) return {};
    Level level = f.at_block(block).level;
    Level body = level;  // of edge 0
    if (inst.op == Opcode::kForWarps) {
      if (level != Level::kBlock || f.is_flat)
        return s.Broken(block, inst, "for_warps is legal only at block level of functions that are not flat");
      body = Level::kWarp;
    } else if (inst.op == Opcode::kForLanes) {
      Level wants = f.is_flat ? Level::kBlock : Level::kWarp;
      if (level != wants)
        return s.Broken(block, inst, fmt::format("for_lanes must be at {} level here", Name(wants)));
      body = Level::kLane;
    }
    for (size_t e = 0; e < inst.edges.size(); ++e) {
      Level wants = e == 0 ? body : level, is = f.at_block(inst.edges[e].to).level;
      if (is != wants) {
        return s.Broken(
            block, inst,
            fmt::format("edge {} leads to {} level, expected {} level", e, Name(is), Name(wants)));
      }
    }
    if (body != level && !inst.edges[0].args.empty())
      return s.Broken(block, inst, "arguments into a loop's body; slots carry values there");
    if (inst.op == Opcode::kCondBr && (inst.attrs.flags & kDivergent) != 0 &&
        (level != Level::kWarp || s.f.parked_slot != ~0u))
      return s.Broken(block, inst, "a divergent branch below warp level, or after the others were sequenced");
    return CheckEnd(s, block, inst);
  });
}

// Only uniform values may be used below their level; the load of a narrower slot is not uniform.
Status CheckCollapsedValues(Subject& s) {
  const Function& f = s.f;
  auto crosses = [&](BlockId block, ValueId id) {
    const Value& value = f.at_value(id);
    Level defined = f.at_block(value.block).level;
    if (!value.def.valid() || defined <= f.at_block(block).level) return false;
    const Inst& def = f.at_inst(value.def);
    return def.op == Opcode::kSlotLoad && f.slots[def.attrs.index].shape < defined;
  };
  return s.ForEach([&](BlockId block, const Inst& inst) -> Status {
    for (size_t n = 0; n < inst.operands.size(); ++n) {
      if (!crosses(block, inst.operands[n])) continue;
      return s.Broken(
          block, inst,
          fmt::format("operand {} was loaded from a narrower slot at a higher level; load it here", n));
    }
    for (const Edge& edge : inst.edges) {
      for (ValueId arg : edge.args) {
        if (crosses(block, arg))
          return s.Broken(block, inst, "an argument was loaded from a narrower slot at a higher level");
      }
    }
    return {};
  });
}

}  // namespace ptx2cpu::ir::verify
