// The only source of this folder that includes the IR's types: a change of these recompiles no other source
// here.
#include "ir/type.h"
#include "ptx-parser/match/types.h"

namespace ptx2cpu::ptx {

ir::Type ElementType(PtxType type) {
  const TypeInfo& info = Info(type);
  switch (info.kind) {
    case TypeKind::kPredicate:
      return ir::Type::kI1;
    case TypeKind::kBrainFloat:
      return ir::Type::kBF16;
    case TypeKind::kFloat:
      return info.element_bits == 16   ? ir::Type::kF16
             : info.element_bits == 32 ? ir::Type::kF32
                                       : ir::Type::kF64;
    case TypeKind::kNarrow:
      return WholeType(type);
    case TypeKind::kNone:
    case TypeKind::kBits:
    case TypeKind::kUnsigned:
    case TypeKind::kSigned:
    case TypeKind::kOpaque:
      break;
  }
  return ir::IntegerOfBits(info.element_bits);
}

ir::Type WholeType(PtxType type) {
  const TypeInfo& info = Info(type);
  if (info.elements == 1 && info.kind != TypeKind::kNarrow) return ElementType(type);
  return ir::IntegerOfBits(info.bits() < 8 ? 8 : info.bits());
}

}  // namespace ptx2cpu::ptx
