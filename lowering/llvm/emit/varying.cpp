// Which values of warp- and block-level code differ between lanes.
#include "analysis/lanes/lane_shapes.h"
#include "lowering/llvm/emit/value_map.h"

namespace ptx2cpu::lowering {

using ir::Opcode;

namespace {

// Of an instruction above lane level, given which operands vary.
bool ResultVaries(const ir::Function& f, const ir::Inst& inst, size_t number,
                  const std::vector<bool>& varying) {
  auto operand = [&](size_t i) { return varying[inst.operands[i].index]; };
  switch (inst.op) {
    case Opcode::kSlotLoad:
      return f.slots[inst.attrs.index].shape == ir::Level::kLane;
    case Opcode::kSpecialRegister:
      return analysis::DiffersBetweenLanes(inst.attrs.special) ||
             (inst.attrs.special == ir::Special::kWarpId &&
              f.at_block(inst.block).level == ir::Level::kBlock);
    case Opcode::kShuffle:
    case Opcode::kMatchAny:
    case Opcode::kResumeWord:
      return true;
    case Opcode::kAgree:
    case Opcode::kAgreeIndex:
    case Opcode::kActiveMask:
    case Opcode::kLiveMask:
    case Opcode::kBarrierReducePopc:
    case Opcode::kBarrierReduceAnd:
    case Opcode::kBarrierReduceOr:
      return false;
    case Opcode::kVoteAll:
    case Opcode::kVoteAny:
    case Opcode::kVoteUni:
    case Opcode::kBallot:
    case Opcode::kRedux:
    case Opcode::kMatchAll:
      return (inst.attrs.flags & ir::kLegacy) == 0 && operand(inst.operands.size() - 1);
    case Opcode::kElect:
      return number == 1 || operand(0);
    case Opcode::kToGeneric:
    case Opcode::kFromGeneric:
      if (inst.attrs.space == ir::Space::kLocal) return true;
      break;
    default:
      break;
  }
  for (size_t i = 0; i < inst.operands.size(); ++i) {
    if (operand(i)) return true;
  }
  return false;
}

}  // namespace

std::vector<bool> FindVarying(const ir::Function& f) {
  std::vector<bool> varying(f.values.size());
  bool changed = true;
  auto mark = [&](ir::ValueId value) {
    if (varying[value.index]) return;
    varying[value.index] = changed = true;
  };
  while (changed) {
    changed = false;
    for (const ir::Block& block : f.blocks) {
      if (block.removed || block.level == ir::Level::kLane) continue;
      for (ir::InstId id : block.insts) {
        const ir::Inst& inst = f.at_inst(id);
        for (size_t r = 0; r < inst.results.size(); ++r) {
          if (ResultVaries(f, inst, r, varying)) mark(inst.results[r]);
        }
        for (const ir::Edge& edge : inst.edges) {
          const ir::Block& to = f.at_block(edge.to);
          for (size_t i = 0; to.level != ir::Level::kLane && i < edge.args.size(); ++i) {
            if (varying[edge.args[i].index]) mark(to.params[i]);
          }
        }
      }
    }
  }
  return varying;
}

}  // namespace ptx2cpu::lowering
