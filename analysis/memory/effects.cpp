#include "analysis/memory/effects.h"

namespace ptx2cpu::analysis {
namespace {

void CountAccess(const ir::Inst& inst, Effects& effects) {
  ir::Effect effect = ir::Info(inst.op).effect;
  bool reads = effect == ir::Effect::kReads || effect == ir::Effect::kMemory;
  bool writes = effect == ir::Effect::kWrites || effect == ir::Effect::kMemory;
  switch (inst.attrs.space) {
    case ir::Space::kShared:
      effects.reads_shared |= reads;
      effects.writes_shared |= writes;
      break;
    case ir::Space::kLocal:
      effects.uses_local = true;
      break;
    case ir::Space::kGlobal:
    case ir::Space::kGeneric:
      effects.reads_global |= reads;
      effects.writes_global |= writes;
      break;
    default:
      break;
  }
  effects.volatile_access |= inst.attrs.order == ir::MemoryOrder::kVolatile;
}

}  // namespace

Effects SummarizeEffects(const ir::Function& f) {
  Effects effects;
  for (ir::BlockId block : ir::ReversePostOrder(f)) {
    for (ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      effects.block_barriers += ir::IsBarrier(inst.op);
      if (ir::IsCollective(inst.op) && ++effects.collectives == 1)
        effects.first_collective_line = inst.at.ptx_line;
      switch (inst.op) {
        case ir::Opcode::kAtomic:
        case ir::Opcode::kAtomicCas:
          ++effects.atomics;
          break;
        case ir::Opcode::kCall:
        case ir::Opcode::kCallIndirect:
          ++effects.calls;
          break;
        case ir::Opcode::kExit:
          effects.exits = true;
          break;
        case ir::Opcode::kCopyBulk:
        case ir::Opcode::kCopyMulticast:
        case ir::Opcode::kReduceBulk:
          effects.reads_global = effects.writes_global = true;
          effects.reads_shared = effects.writes_shared = true;
          break;
        case ir::Opcode::kTexture:
          effects.reads_global = true;
          break;
        case ir::Opcode::kSurfaceStore:
          effects.writes_global = true;
          break;
        case ir::Opcode::kCopyAsync:
          effects.reads_global = effects.writes_shared = true;
          break;
        default:
          break;
      }
      bool access = inst.op == ir::Opcode::kLoad || inst.op == ir::Opcode::kStore ||
                    inst.op == ir::Opcode::kAtomic || inst.op == ir::Opcode::kAtomicCas;
      if (access) CountAccess(inst, effects);
    }
  }
  return effects;
}

}  // namespace ptx2cpu::analysis
