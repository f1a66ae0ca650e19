// Counting code: a variable of the module, one word a counter, holds how often threads enter each block of
// the program. A block does the same work each time (bytes, operations), so a profile can compute the work of
// a launch.
//
//   before             after
//     ^b2:               ^b2:
//       ...                %c = symbol global @ptx2cpu.counts.KERNEL
//                          atomic.add %c + 8 * 2, 1
//                          ...
//
// It is the first pass, so blocks are those that translation made: another translation of the kernel has
// the same ones. The sums wait in the worker where atomics do (runtime/abi/deferred_atomics.h).
#include <algorithm>

#include "ir/build.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {
namespace {

using ir::Opcode;
using ir::Type;

constexpr uint64_t kWordBytes = 8;

// The block that is entered as often as this one, because each leads to the other alone; itself: none.
ir::BlockId SameCount(const ir::Function& f, const std::vector<std::vector<ir::BlockId>>& predecessors,
                      ir::BlockId block) {
  const std::vector<ir::BlockId>& before = predecessors[block.index];
  if (block == f.entry || before.size() != 1 || f.successors(before[0]).size() != 1) return block;
  return before[0];
}

}  // namespace

BlockCounters CountersOf(const ir::Module& module) {
  BlockCounters counters;
  counters.of_block.resize(module.functions.size());
  for (size_t n = 0; n < module.functions.size(); ++n) {
    const ir::Function& f = module.functions[n];
    if (f.is_declaration) continue;
    std::vector<uint32_t>& of_block = counters.of_block[n];
    of_block.assign(f.blocks.size(), BlockCounters::kNone);
    const auto predecessors = ir::Predecessors(f);
    for (const ir::BlockId block : ir::ReversePostOrder(f)) {
      const ir::BlockId same = SameCount(f, predecessors, block);
      of_block[block.index] = same == block ? counters.count++ : of_block[same.index];
    }
  }
  return counters;
}

Status InsertCounts(ir::Module& module, const PassOptions& options) {
  if (!options.counts) return {};
  const BlockCounters counters = CountersOf(module);
  ir::Variable variable;
  variable.name = CountersName(module.functions[0].name);
  variable.size = kWordBytes * counters.count;
  variable.align = 64;
  const auto number = static_cast<uint32_t>(module.variables.size());
  module.variables.push_back(std::move(variable));
  std::vector<bool> done(counters.count, false);
  for (size_t n = 0; n < module.functions.size(); ++n) {
    ir::Function& f = module.functions[n];
    if (f.is_declaration) continue;
    for (const ir::BlockId block : ir::ReversePostOrder(f)) {
      const uint32_t counter = counters.of_block[n][block.index];
      if (done[counter]) continue;
      done[counter] = true;
      std::vector<ir::InstId> insts = std::move(f.block(block).insts);
      f.block(block).insts.clear();
      ir::Builder b{f, block, {}};
      const ir::ValueId address = b.Binary(Opcode::kAdd, Type::kI64, b.Symbol(ir::Space::kGlobal, number),
                                           b.Const(Type::kI64, kWordBytes * counter));
      b.Make(Opcode::kAtomic, Type::kI64, {address, b.Const(Type::kI64, 1)},
             {.flags = ir::kNoResult,
              .space = ir::Space::kGlobal,
              .atomic = ir::AtomicOp::kAdd,
              .order = ir::MemoryOrder::kRelaxed,
              .scope = ir::Scope::kGpu});
      std::vector<ir::InstId>& all = f.block(block).insts;
      all.insert(all.end(), insts.begin(), insts.end());
    }
  }
  return {};
}

}  // namespace ptx2cpu::lowering
