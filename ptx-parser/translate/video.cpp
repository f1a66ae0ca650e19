// 9.7.18: video instructions, scalar and SIMD. Sources are widened to i64, where no intermediate result
// overflows (vmad: i128), then clamped, combined with c and put in place.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

namespace {

using ast::Component;
using ir::Compare;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

ValueId Constant(Emitter& e, int64_t value) { return e.Const(Type::kI64, static_cast<uint64_t>(value)); }

ValueId Binary(Emitter& e, Opcode op, ValueId a, ValueId b) { return e.b.Binary(op, Type::kI64, a, b); }

ValueId Extended(Emitter& e, ValueId word, bool sign) {
  return e.b.Convert(sign ? Opcode::kSext : Opcode::kZext, Type::kI64, word);
}

// The bits of a word that .b0 .. .b3 or .h0, .h1 names.
struct Field {
  int position = 0, length = 32;
};

Field FieldOf(Component component) {
  switch (component) {
    case Component::kB0:
    case Component::kB1:
    case Component::kB2:
    case Component::kB3:
      return {8 * (static_cast<int>(component) - static_cast<int>(Component::kB0)), 8};
    case Component::kH0:
      return {0, 16};
    case Component::kH1:
      return {16, 16};
    default:
      return {};
  }
}

ValueId Extract(Emitter& e, ValueId word, Field field, bool sign) {
  if (field.length < 32) {
    ValueId position = e.Const(Type::kI32, static_cast<uint64_t>(field.position));
    ValueId length = e.Const(Type::kI32, static_cast<uint64_t>(field.length));
    word = e.b.Ternary(sign ? Opcode::kBfeS : Opcode::kBfeU, Type::kI32, word, position, length);
  }
  return Extended(e, word, sign);
}

ValueId ReadWord(Emitter& e, size_t operand) {
  ast::Operand whole = e.Operand(operand);
  whole.component = Component::kNone;
  return e.ReadOperand(whole, Type::kI32);
}

ValueId ReadPart(Emitter& e, size_t operand, bool sign) {
  return Extract(e, ReadWord(e, operand), FieldOf(e.Operand(operand).component), sign);
}

ValueId Clamp(Emitter& e, ValueId value, int bits, bool sign) {
  int64_t most = (int64_t{1} << (sign ? bits - 1 : bits)) - 1, least = sign ? -most - 1 : 0;
  return Binary(e, Opcode::kMinS, Binary(e, Opcode::kMaxS, value, Constant(e, least)), Constant(e, most));
}

// The operation an opcode's base names, without the digit of SIMD forms.
ValueId Operate(Emitter& e, std::string_view base, ValueId a, ValueId b) {
  if (base.starts_with("vadd")) return Binary(e, Opcode::kAdd, a, b);
  if (base.starts_with("vsub")) return Binary(e, Opcode::kSub, a, b);
  if (base.starts_with("vabsdiff")) return e.b.Unary(Opcode::kAbs, Type::kI64, Binary(e, Opcode::kSub, a, b));
  if (base.starts_with("vmin")) return Binary(e, Opcode::kMinS, a, b);
  if (base.starts_with("vmax")) return Binary(e, Opcode::kMaxS, a, b);
  if (base.starts_with("vavrg")) {  // rounds halves away from zero below it, up above
    ValueId sum = Binary(e, Opcode::kAdd, a, b);
    ValueId one = e.b.Convert(Opcode::kZext, Type::kI64, e.b.Icmp(Compare::kSge, sum, Constant(e, 0)));
    return Binary(e, Opcode::kShrS, Binary(e, Opcode::kAdd, sum, one), e.Const(Type::kI32, 1));
  }
  static constexpr std::pair<Word, Compare> kCompares[] = {
      {"eq", Compare::kEq},  {"ne", Compare::kNe},  {"lt", Compare::kSlt},
      {"le", Compare::kSle}, {"gt", Compare::kSgt}, {"ge", Compare::kSge},
  };
  for (auto [word, compare] : kCompares) {
    if (e.mods().At("cmp") == word) return e.b.Convert(Opcode::kZext, Type::kI64, e.b.Icmp(compare, a, b));
  }
  CHECK(false, "no such video operation");
  return a;
}

ValueId Shift(Emitter& e, ValueId a, ValueId b) {
  ValueId amount = e.b.Convert(Opcode::kTrunc, Type::kI32, b);
  amount = e.Has("wrap") ? e.b.Binary(Opcode::kAnd, Type::kI32, amount, e.Const(Type::kI32, 31))
                         : e.b.Binary(Opcode::kMinU, Type::kI32, amount, e.Const(Type::kI32, 32));
  Opcode op = e.match.form->base == "vshl" ? Opcode::kShl : Opcode::kShrS;
  return e.b.Binary(op, Type::kI64, a, amount);
}

// Types of the sources: after the destination's, except for comparisons, which have none.
bool SignedA(const Emitter& e) { return IsSigned(e.mods().types[e.mods().type_count - 2]); }
bool SignedB(const Emitter& e) { return IsSigned(e.mods().types[e.mods().type_count - 1]); }
bool SignedD(const Emitter& e) { return e.mods().type_count == 3 && IsSigned(e.mods().types[0]); }

}  // namespace

void video_scalar(Emitter& e) {
  std::string_view base = e.match.form->base;
  ValueId a = ReadPart(e, 1, SignedA(e)), b = ReadPart(e, 2, SignedB(e));
  bool shift = base == "vshl" || base == "vshr";
  ValueId result = shift ? Shift(e, a, b) : Operate(e, base, a, b);
  ValueId word = e.b.Convert(Opcode::kTrunc, Type::kI32, result);
  e.Write(0, e.Has("add") ? e.b.Binary(Opcode::kAdd, Type::kI32, word, e.Read(3, Type::kI32)) : word);
}

// Two half-words or four bytes at once; .add sums them all and c, else they stay side by side.
void video_simd(Emitter& e) {
  std::string_view base = e.match.form->base;
  int length = base.back() == '2' ? 16 : 8;
  ValueId a = ReadWord(e, 1), b = ReadWord(e, 2), total = ReadWord(e, 3);
  bool add = e.Has("add");
  for (int position = 0; position < 32; position += length) {
    Field field{position, length};
    ValueId part = Operate(e, base, Extract(e, a, field, SignedA(e)), Extract(e, b, field, SignedB(e)));
    if (e.Has("sat")) part = Clamp(e, part, length, SignedD(e));
    ValueId word = e.b.Convert(Opcode::kTrunc, Type::kI32, part);
    if (add) {
      total = e.b.Binary(Opcode::kAdd, Type::kI32, total, word);
    } else {
      total = e.b.Inst1(Opcode::kBfi, Type::kI32,
                        {word, total, e.Const(Type::kI32, static_cast<uint64_t>(position)),
                         e.Const(Type::kI32, static_cast<uint64_t>(length))});
    }
  }
  e.Write(0, total);
}

}  // namespace ptx2cpu::ptx::rows
