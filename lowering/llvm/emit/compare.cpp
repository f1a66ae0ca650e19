// Comparisons of integers and of floats.
#include "lowering/llvm/emit/compare.h"

#include <llvm/IR/Instructions.h>

#include "lowering/llvm/emit/float_rounding.h"
#include "lowering/llvm/emit/warps.h"

namespace ptx2cpu::lowering {

using ir::CompareInfo;
using Predicate = llvm::CmpInst::Predicate;
using Value = llvm::Value*;

// LLVM numbers the predicates of floats by the outcomes for which they hold, as the table of comparisons
// does.
static_assert(static_cast<int>(Predicate::FCMP_OEQ) == CompareInfo::kEqual &&
              static_cast<int>(Predicate::FCMP_OGT) == CompareInfo::kGreater &&
              static_cast<int>(Predicate::FCMP_OLT) == CompareInfo::kLess &&
              static_cast<int>(Predicate::FCMP_UNO) == CompareInfo::kUnordered &&
              Predicate::FCMP_ULE == (Predicate::FCMP_OLT | Predicate::FCMP_OEQ | Predicate::FCMP_UNO));

std::optional<Predicate> PredicateOf(ir::Compare compare) {
  const ir::CompareInfo& info = Info(compare);
  if (info.of == CompareInfo::kNothing) return std::nullopt;
  if (info.of == CompareInfo::kFloats) return static_cast<Predicate>(info.holds);
  constexpr int kOutcomes = CompareInfo::kEqual | CompareInfo::kGreater | CompareInfo::kLess;
  constexpr Predicate kUnsigned[kOutcomes] = {
      Predicate::BAD_ICMP_PREDICATE, Predicate::ICMP_EQ,  Predicate::ICMP_UGT, Predicate::ICMP_UGE,
      Predicate::ICMP_ULT,           Predicate::ICMP_ULE, Predicate::ICMP_NE};
  const Predicate predicate = kUnsigned[info.holds];
  return info.of == CompareInfo::kSigned ? llvm::ICmpInst::getSignedPredicate(predicate) : predicate;
}

Status EmitIcmp(Site& s) {
  const std::optional<Predicate> predicate = PredicateOf(s.inst.attrs.compare);
  if (!predicate || !llvm::CmpInst::isIntPredicate(*predicate)) return s.Broken("no integer predicate");
  s.Return(s.b.CreateICmp(*predicate, s.Operand(0), s.Operand(1)));
  return {};
}

Status EmitFcmp(Site& s) {
  Floats floats(s);
  Value a = floats.Operand(s, 0, s.inst.from), b = floats.Operand(s, 1, s.inst.from);
  if (IsHalf(s.inst.from)) {
    a = floats.ToF32(a, s.inst.from);
    b = floats.ToF32(b, s.inst.from);
  }
  const std::optional<Predicate> predicate = PredicateOf(s.inst.attrs.compare);
  if (!predicate || !llvm::CmpInst::isFPPredicate(*predicate)) return s.Broken("no float predicate");
  s.Return(s.b.CreateFCmp(*predicate, a, b));
  return {};
}

}  // namespace ptx2cpu::lowering
