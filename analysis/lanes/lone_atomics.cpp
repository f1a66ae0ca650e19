#include "analysis/lanes/lone_atomics.h"

#include <algorithm>

namespace ptx2cpu::analysis {

using ir::Opcode;

bool MayBeAlone(const ir::Inst& inst) {
  if (inst.op != Opcode::kAtomic && inst.op != Opcode::kAtomicCas) return false;
  const bool is_shared = inst.attrs.space == ir::Space::kGlobal || inst.attrs.space == ir::Space::kGeneric;
  return is_shared && inst.attrs.scope != ir::Scope::kSys && inst.attrs.scope != ir::Scope::kCta;
}

bool MayRunAlone(const ir::Function& f) {
  if (!f.is_kernel || f.resumes != ir::Resumes::kNever || !f.entries.empty()) return false;
  bool has_some = false;
  for (const ir::Inst& inst : f.insts) {
    if (!inst.block.valid()) continue;
    if (inst.op == Opcode::kCall || inst.op == Opcode::kCallIndirect) return false;
    has_some |= MayBeAlone(inst);
  }
  return has_some;
}

}  // namespace ptx2cpu::analysis
