#include "ptx-parser/match/types.h"

#include <iterator>

namespace ptx2cpu::ptx {

namespace {
constexpr TypeInfo kTypes[] = {
    {"", TypeKind::kNone, 0, 1},
#define TYPE(name, word, kind, bits, elements) {word, TypeKind::kind, bits, elements},
#include "ptx-parser/match/types.def"
#undef TYPE
};

bool IsIntegerKind(TypeKind kind) { return kind == TypeKind::kUnsigned || kind == TypeKind::kSigned; }
bool IsFloatKind(TypeKind kind) { return kind == TypeKind::kFloat || kind == TypeKind::kBrainFloat; }
}  // namespace

const TypeInfo& Info(PtxType type) { return kTypes[static_cast<size_t>(type)]; }

PtxType FindType(std::string_view word) {
  for (size_t i = 1; i < std::size(kTypes); ++i) {
    if (kTypes[i].word == word) return static_cast<PtxType>(i);
  }
  return PtxType::kNone;
}

bool IsFloat(PtxType type) { return IsFloatKind(Info(type).kind); }

bool Fits(PtxType register_type, PtxType operand_type, Fit fit) {
  const TypeInfo& have = Info(register_type);
  const TypeInfo& want = Info(operand_type);
  if (have.kind == TypeKind::kPredicate || want.kind == TypeKind::kPredicate) return have.kind == want.kind;
  if (have.kind == TypeKind::kOpaque || want.kind == TypeKind::kOpaque) {
    return have.kind == want.kind || have.bits() == want.bits();
  }
  if (have.bits() < want.bits()) return false;
  if (have.bits() > want.bits()) {
    // 9.4.1: a wider register fits if it is untyped, or if both are integers; a narrow format is held in
    // .b16 or .b32.
    if (want.kind == TypeKind::kNarrow && have.bits() <= 16 && want.bits() < 16)
      return have.kind == TypeKind::kBits;
    if (fit != Fit::kWider) return false;
    if (IsFloatKind(want.kind)) return have.kind == TypeKind::kBits;
    if (IsFloatKind(have.kind)) return want.kind == TypeKind::kBits;
    return true;
  }
  if (have.kind == TypeKind::kBits || want.kind == TypeKind::kBits) return true;
  if (want.elements != have.elements) return false;  // packed values are held in .b registers
  if (want.kind == TypeKind::kNarrow) return true;
  if (IsIntegerKind(want.kind)) return IsIntegerKind(have.kind);
  return have.kind == want.kind && have.element_bits == want.element_bits;
}

}  // namespace ptx2cpu::ptx
