#include "lowering/passes/volatile_exchange.h"

#include <algorithm>
#include <set>

#include "analysis/graph/loops.h"

namespace ptx2cpu::lowering {

namespace {

bool IsLoad(const ir::Inst& inst) { return IsVolatile(inst, ir::Opcode::kLoad, ir::Space::kShared); }
bool IsStore(const ir::Inst& inst) { return IsVolatile(inst, ir::Opcode::kStore, ir::Space::kShared); }
bool Separates(const ir::Inst& inst) { return ir::IsBarrier(inst.op) || inst.op == ir::Opcode::kBarrierWarp; }

// The number of the value that distinguishes an address from others. Each access widens its 32-bit register
// again, so conversions are skipped.
uint32_t AddressOf(const ir::Function& f, const ir::Inst& access) {
  ir::ValueId address = access.operands[0];
  while (f.at_value(address).def.valid() && f.at_inst(f.at_value(address).def).op == ir::Opcode::kZext) {
    address = f.at_inst(f.at_value(address).def).operands[0];
  }
  return address.index;
}

template <typename Is>
bool Any(const ir::Function& f, uint32_t block, Is is) {
  const auto& insts = f.at_block(ir::BlockId{block}).insts;
  return std::any_of(insts.begin(), insts.end(), [&](ir::InstId id) { return is(f.at_inst(id)); });
}

// Loops of lanes that wait for each other hold no barrier of the block.
bool WaitsInLoop(const ir::Function& f, const analysis::Cfg& cfg) {
  const analysis::LoopForest forest = analysis::Loops(cfg);
  for (const uint32_t block : cfg.order) {
    if (block == cfg.exit || forest.innermost[block] == analysis::kNoNode) continue;
    if (!Any(f, block, IsLoad) && !Any(f, block, IsStore)) continue;
    const std::span<const uint32_t> around = forest.loops[forest.innermost[block]].blocks;
    const bool whole_block = std::any_of(around.begin(), around.end(), [&](uint32_t b) {
      return Any(f, b, [](const ir::Inst& inst) { return ir::IsBarrier(inst.op); });
    });
    if (!whole_block) return true;
  }
  return false;
}

}  // namespace

bool IsVolatile(const ir::Inst& inst, ir::Opcode op, ir::Space space) {
  return inst.op == op && inst.attrs.space == space && inst.attrs.order == ir::MemoryOrder::kVolatile;
}

bool ExchangesByLockStep(const ir::Function& f) {
  const bool stores = std::any_of(f.insts.begin(), f.insts.end(),
                                  [](const ir::Inst& inst) { return inst.block.valid() && IsStore(inst); });
  if (!stores) return false;
  const analysis::Cfg cfg = analysis::BuildCfg(f);
  // At the end of each block: addresses of stores that some path leads from to here, without a barrier. A
  // lane that reads where it has stored itself exchanges nothing.
  std::vector<std::set<uint32_t>> stored(cfg.size());
  bool exchanges = false;
  for (bool changed = true; changed && !exchanges;) {
    changed = false;
    for (const uint32_t block : cfg.order) {
      if (block == cfg.exit) continue;
      std::set<uint32_t> open;
      for (const uint32_t from : cfg.predecessors[block])
        open.insert(stored[from].begin(), stored[from].end());
      for (const ir::InstId id : f.at_block(ir::BlockId{block}).insts) {
        const ir::Inst& inst = f.at_inst(id);
        if (Separates(inst)) open.clear();
        if (IsLoad(inst)) exchanges |= !open.empty() && !open.contains(AddressOf(f, inst));
        if (IsStore(inst)) open.insert(AddressOf(f, inst));
      }
      changed |= open != stored[block];
      stored[block] = std::move(open);
    }
  }
  return exchanges && !WaitsInLoop(f, cfg);
}

}  // namespace ptx2cpu::lowering
