// PTX type words, and which registers fit an operand of each type (9.2 and 9.4 of the manual).
#pragma once

#include <cstdint>
#include <string_view>

namespace ptx2cpu::ir {
enum class Type : uint8_t;
}

namespace ptx2cpu::ptx {

enum class TypeKind : uint8_t {
  kNone,
  kPredicate,
  kBits,
  kUnsigned,
  kSigned,
  kFloat,
  kBrainFloat,
  kNarrow,
  kOpaque
};

enum class PtxType : uint8_t {
  kNone,
#define TYPE(name, word, kind, bits, elements) k##name,
#include "ptx-parser/match/types.def"
#undef TYPE
};

struct TypeInfo {
  std::string_view word;
  TypeKind kind = TypeKind::kNone;
  uint16_t element_bits = 0;
  uint8_t elements = 1;
  int bits() const { return element_bits * elements; }
};

const TypeInfo& Info(PtxType type);
PtxType FindType(std::string_view word);  // kNone if the word is not a type
inline std::string_view Name(PtxType type) { return Info(type).word; }
inline int Bits(PtxType type) { return Info(type).bits(); }
inline bool IsSigned(PtxType type) { return Info(type).kind == TypeKind::kSigned; }
inline bool IsPacked(PtxType type) { return Info(type).elements > 1; }
bool IsFloat(PtxType type);  // f16, bf16, f32, f64 and their packed forms

// The IR type of one element: integers of the width for .b .u .s, kF16 for f16x2, kI1 for pred, the integer
// of the register's width for narrow formats.
ir::Type ElementType(PtxType type);
// The IR type of the whole: ElementType for scalars, an integer of the width for packed ones.
ir::Type WholeType(PtxType type);

// How strictly a register's declared type must fit an operand's type.
enum class Fit : uint8_t {
  kExact,  // same width; .b fits all; .u and .s fit each other; floats only themselves or .b
  kWider,  // ld, st, cvt: the register may also be wider (9.4.1)
};
bool Fits(PtxType register_type, PtxType operand_type, Fit fit);

}  // namespace ptx2cpu::ptx
