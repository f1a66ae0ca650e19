#include "lowering/repetition.h"

#include <algorithm>

#include "analysis/graph/back_edges.h"

namespace ptx2cpu::lowering {

namespace {

bool CallsFunctions(const ir::Function& f) {
  return std::ranges::any_of(f.insts, [](const ir::Inst& inst) {
    return inst.block.valid() && (inst.op == ir::Opcode::kCall || inst.op == ir::Opcode::kCallIndirect);
  });
}

}  // namespace

bool Repeats(const ir::Module& module) {
  return std::ranges::any_of(module.functions, [](const ir::Function& f) {
    return !f.is_declaration && (!analysis::FindBackEdges(f).empty() || (!f.is_kernel && CallsFunctions(f)));
  });
}

bool MayBeginSlowly(const ir::Module& module, bool many_blocks) {
  // The loops of resumable kernels lead through resume points, and their launches do not switch to better
  // code while they run.
  if (module.functions[0].resumes != ir::Resumes::kNever) return false;
  return many_blocks || !Repeats(module);
}

}  // namespace ptx2cpu::lowering
