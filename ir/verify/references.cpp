// Rules about what instructions refer to: variables, functions, slots, memory spaces, the function's own
// header.
#include <fmt/format.h>

#include <algorithm>

#include "ir/verify/rules.h"

namespace ptx2cpu::ir::verify {

namespace {

// Types of values passed for a header: addresses of aggregate results first, then parameters.
std::vector<Type> PassedTypes(const std::vector<Param>& params, const std::vector<Param>& returns) {
  std::vector<Type> types;
  for (const Param& p : returns) {
    if (p.type == Type::kVoid) types.push_back(Type::kI64);
  }
  for (const Param& p : params) types.push_back(p.type == Type::kVoid ? Type::kI64 : p.type);
  return types;
}

std::vector<Type> ReturnedTypes(const std::vector<Param>& returns) {
  std::vector<Type> types;
  for (const Param& p : returns) {
    if (p.type != Type::kVoid) types.push_back(p.type);
  }
  return types;
}

std::string Difference(const Function& f, std::span<const ValueId> are, const std::vector<Type>& want,
                       std::string_view noun) {
  if (are.size() != want.size()) return fmt::format("{} {}s, expected {}", are.size(), noun, want.size());
  for (size_t n = 0; n < are.size(); ++n) {
    if (f.type_of(are[n]) != want[n]) {
      return fmt::format("{} {} is {}, expected {}", noun, n, Name(f.type_of(are[n])), Name(want[n]));
    }
  }
  return {};
}

Status CheckCall(const Subject& s, BlockId block, const Inst& inst) {
  const std::vector<Param>*params, *returns;
  std::span<const ValueId> operands = inst.operands;
  if (inst.op == Opcode::kCall) {
    if (inst.attrs.index >= s.module.functions.size()) return s.Broken(block, inst, "no such function");
    const Function& callee = s.module.functions[inst.attrs.index];
    if (callee.is_kernel) return s.Broken(block, inst, fmt::format("a call of the kernel @{}", callee.name));
    params = &callee.params;
    returns = &callee.returns;
  } else {
    if (inst.attrs.index >= s.module.signatures.size()) return s.Broken(block, inst, "no such signature");
    params = &s.module.signatures[inst.attrs.index].params;
    returns = &s.module.signatures[inst.attrs.index].returns;
    operands = operands.subspan(1);  // the function's address
  }
  std::string wrong = Difference(s.f, operands, PassedTypes(*params, *returns), "argument");
  if (wrong.empty()) wrong = Difference(s.f, inst.results, ReturnedTypes(*returns), "result");
  if (!wrong.empty()) return s.Broken(block, inst, std::move(wrong));
  return {};
}

Status CheckSymbol(const Subject& s, BlockId block, const Inst& inst) {
  const Attrs& a = inst.attrs;
  if (a.space == Space::kLocal) {
    if (a.index >= s.f.locals.size()) return s.Broken(block, inst, "no such local variable");
    return {};
  }
  if (a.index >= s.module.variables.size()) return s.Broken(block, inst, "no such variable");
  const Variable& variable = s.module.variables[a.index];
  if (variable.space != a.space) {
    return s.Broken(block, inst,
                    fmt::format("the variable @{} is in space {}", variable.name, Name(variable.space)));
  }
  return {};
}

Status CheckSlot(const Subject& s, BlockId block, const Inst& inst) {
  if (inst.attrs.index >= s.f.slots.size()) return s.Broken(block, inst, "no such slot");
  Type type = s.f.slots[inst.attrs.index].type;
  if (type != inst.type)
    return s.Broken(block, inst, fmt::format("slot {} is {}", inst.attrs.index, Name(type)));
  return {};
}

// Shared memory of other blocks is accessed by generic addresses.
Status CheckAccessSpace(const Subject& s, BlockId block, const Inst& inst) {
  if (inst.attrs.space != Space::kSharedCluster) return {};
  return s.Broken(block, inst, "only address conversions may name the shared memory of the cluster");
}

bool IsOneOf(MemoryOrder order, std::initializer_list<MemoryOrder> allowed) {
  return std::find(allowed.begin(), allowed.end(), order) != allowed.end();
}

}  // namespace

Status CheckReferences(Subject& s) {
  return s.ForEach([&](BlockId block, const Inst& inst) -> Status {
    const uint32_t fields = Info(inst.op).attributes;
    if ((fields & kIndexOfVariable) != 0) return CheckSymbol(s, block, inst);
    if ((fields & kIndexOfSlot) != 0) return CheckSlot(s, block, inst);
    if ((fields & kIndexOfFunction) != 0 && inst.attrs.index >= s.module.functions.size())
      return s.Broken(block, inst, "no such function");
    if ((fields & kIndexOfSignature) != 0 && inst.attrs.index >= s.module.signatures.size())
      return s.Broken(block, inst, "no such signature");
    if (inst.op == Opcode::kCall || inst.op == Opcode::kCallIndirect) return CheckCall(s, block, inst);
    return {};
  });
}

namespace {

Status CheckOrder(const Subject& s, BlockId block, const Inst& inst) {
  using enum MemoryOrder;
  const Attrs& a = inst.attrs;
  if (inst.op == Opcode::kLoad && !IsOneOf(a.order, {kWeak, kVolatile, kRelaxed, kAcquire, kSeqCst}))
    return s.Broken(block, inst, "a load does not release");
  if (inst.op == Opcode::kStore && !IsOneOf(a.order, {kWeak, kVolatile, kRelaxed, kRelease, kSeqCst}))
    return s.Broken(block, inst, "a store does not acquire");
  return {};
}

Status CheckSpace(const Subject& s, BlockId block, const Inst& inst) {
  const Space space = inst.attrs.space;
  if (inst.op == Opcode::kStore && (space == Space::kConst || space == Space::kParam)) {
    return s.Broken(block, inst, fmt::format("a store to the space {}, which is read only", Name(space)));
  }
  if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) return CheckAccessSpace(s, block, inst);
  const bool atomic = inst.op == Opcode::kAtomic || inst.op == Opcode::kAtomicCas;
  if (atomic && space != Space::kGeneric && space != Space::kGlobal && space != Space::kShared)
    return s.Broken(block, inst, fmt::format("an atomic operation in the space {}", Name(space)));
  const bool converts = inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric;
  if ((converts || inst.op == Opcode::kIsSpace) && space == Space::kGeneric)
    return s.Broken(block, inst, "the row needs the attribute 'space'");
  return {};
}

Status CheckOperation(const Subject& s, BlockId block, const Inst& inst) {
  if (inst.op != Opcode::kAtomic && inst.op != Opcode::kRedux) return {};
  const AtomicOp op = inst.attrs.atomic;
  const bool no_reduction = op == AtomicOp::kExchange || op == AtomicOp::kMbarrier;
  if (ActsOn(op, inst.type) && !(inst.op == Opcode::kRedux && no_reduction)) return {};
  return s.Broken(block, inst, fmt::format("the operation {} does not take {}", Name(op), Name(inst.type)));
}

}  // namespace

Status CheckMemory(Subject& s) {
  return s.ForEach([&](BlockId block, const Inst& inst) -> Status {
    TRY_STATUS(CheckOrder(s, block, inst));
    TRY_STATUS(CheckSpace(s, block, inst));
    return CheckOperation(s, block, inst);
  });
}

Status CheckInterface(Subject& s) {
  const Function& f = s.f;
  std::vector<Type> passed, returned;
  if (!f.is_kernel) {
    passed = PassedTypes(f.params, f.returns);
    returned = ReturnedTypes(f.returns);
  }
  std::string wrong = Difference(f, f.at_block(f.entry).params, passed, "parameter");
  if (!wrong.empty())
    return s.Broken(f.entry, "the entry block does not fit the function's header: " + wrong);
  return s.ForEach([&](BlockId block, const Inst& inst) -> Status {
    if (inst.op != Opcode::kRet) return {};
    std::string difference = Difference(f, inst.operands, returned, "value");
    if (difference.empty()) return {};
    return s.Broken(block, inst, "the ret does not fit the function's header: " + difference);
  });
}

}  // namespace ptx2cpu::ir::verify
