#include "analysis/lanes/deferred_atomics.h"

#include <algorithm>

#include "analysis/values/thread_transfer.h"

namespace ptx2cpu::analysis {

using ir::AtomicOp;
using ir::MemoryOrder;
using ir::Opcode;
using ir::Space;
using Role = DeferredAtomics::Role;

namespace {

std::vector<bool> UsedValues(const ir::Function& f) {
  std::vector<bool> used(f.values.size());
  for (const ir::Inst& inst : f.insts) {
    if (!inst.block.valid()) continue;
    for (ir::ValueId operand : inst.operands) used[operand.index] = true;
    for (const ir::Edge& edge : inst.edges) {
      for (ir::ValueId arg : edge.args) used[arg.index] = true;
    }
  }
  return used;
}

// In any order, and of several as of one.
bool AnyOrder(AtomicOp op) {
  using enum AtomicOp;
  return op == kAdd || op == kAnd || op == kOr || op == kXor || op == kMinS || op == kMinU || op == kMaxS ||
         op == kMaxU;
}

bool CanWait(const ir::Inst& inst, const std::vector<bool>& used) {
  return inst.op == Opcode::kAtomic && inst.attrs.space == Space::kGlobal &&
         inst.attrs.scope != ir::Scope::kCta &&  // done without a lock anyway
         (inst.attrs.order == MemoryOrder::kRelaxed || inst.attrs.order == MemoryOrder::kWeak) &&
         (inst.type == ir::Type::kI32 || inst.type == ir::Type::kI64) && AnyOrder(inst.attrs.atomic) &&
         !used[inst.results[0].index];
}

// Whether the address is one that the data decides, as far as it can be seen quickly. Where each thread has a
// word of its own, or all have one, there are few atomics for each address.
constexpr int kDepth = 12;
bool IsOfData(const ir::Function& f, ir::ValueId value, int depth) {
  const ir::InstId def = f.at_value(value).def;
  if (!def.valid() || depth == 0) return false;
  const ir::Inst& inst = f.at_inst(def);
  if (inst.op == Opcode::kLoad) return inst.attrs.space != Space::kParam;
  if (ir::Info(inst.op).effect != ir::Effect::kPure) return false;
  const bool folds = inst.op == Opcode::kRemS || inst.op == Opcode::kRemU || inst.op == Opcode::kAnd ||
                     inst.op == Opcode::kShrU || inst.op == Opcode::kXor;
  return folds || std::ranges::any_of(inst.operands,
                                      [&](ir::ValueId operand) { return IsOfData(f, operand, depth - 1); });
}

bool MayBeGlobal(Space space) { return space == Space::kGlobal || space == Space::kGeneric; }

// Nothing: the function does what is not followed here.
std::optional<Role> RoleOf(const ir::Inst& inst, bool private_shared) {
  switch (ir::Info(inst.op).effect) {
    case ir::Effect::kPure:
    case ir::Effect::kTerminator:
    case ir::Effect::kBarrier:  // the host thread runs all of the block, and looks at each access
    case ir::Effect::kCollective:
      return Role::kNone;
    case ir::Effect::kOpaque:
      return std::nullopt;
    case ir::Effect::kReads:
    case ir::Effect::kWrites:
    case ir::Effect::kMemory:
      break;
  }
  if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) {
    if (!MayBeGlobal(inst.attrs.space) || (inst.attrs.flags & ir::kNonCoherent) != 0) return Role::kNone;
    return IsStrong(inst, private_shared) ? Role::kOrders : Role::kObserves;
  }
  if (inst.op == Opcode::kAtomic || inst.op == Opcode::kAtomicCas)
    return MayBeGlobal(inst.attrs.space) ? Role::kOrders : Role::kNone;
  if (inst.op == Opcode::kFence) return inst.attrs.scope == ir::Scope::kCta ? Role::kNone : Role::kOrders;
  // Textures of memory that the kernel writes may show any of its states.
  const bool is_own = inst.op == Opcode::kTexture || inst.op == Opcode::kImageQuery ||
                      inst.op == Opcode::kSlotLoad || inst.op == Opcode::kSlotStore ||
                      inst.op == Opcode::kLiveMask || inst.op == Opcode::kSetLiveMask;
  return is_own ? std::optional(Role::kNone) : std::nullopt;
}

}  // namespace

DeferredAtomics FindDeferredAtomics(const ir::Function& f) {
  if (!f.is_kernel || f.resumes != ir::Resumes::kNever) return {};
  const bool may = std::ranges::any_of(f.insts, [](const ir::Inst& inst) {
    return inst.block.valid() && inst.op == Opcode::kAtomic && inst.attrs.space == Space::kGlobal;
  });
  if (!may) return {};
  const bool private_shared = HasPrivateShared(f);
  const std::vector<bool> used = UsedValues(f);
  DeferredAtomics found;
  std::vector<Role> roles(f.insts.size(), Role::kNone);
  for (size_t i = 0; i < f.insts.size(); ++i) {
    const ir::Inst& inst = f.insts[i];
    if (!inst.block.valid()) continue;
    const auto role = RoleOf(inst, private_shared);
    if (!role) return {};
    roles[i] = *role;
    if (found.operation == AtomicOp::kNone && CanWait(inst, used) && IsOfData(f, inst.operands[0], kDepth)) {
      found.operation = inst.attrs.atomic;
      found.type = inst.type;
    }
  }
  if (found.operation == AtomicOp::kNone) return {};
  for (size_t i = 0; i < f.insts.size(); ++i) {
    const ir::Inst& inst = f.insts[i];
    if (inst.block.valid() && CanWait(inst, used) && inst.attrs.atomic == found.operation &&
        inst.type == found.type)
      roles[i] = Role::kDeferred;
  }
  found.roles = std::move(roles);
  return found;
}

}  // namespace ptx2cpu::analysis
