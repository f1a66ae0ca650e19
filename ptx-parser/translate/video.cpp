// 9.7.18: video instructions, scalar and SIMD. Sources are widened to i64, then clamped, combined with c and
// put in place. What the scalar ones do with .sat, with a second minimum or maximum and with a part as
// destination is what an H100 does (tests/ptx/ERRATA.md).
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
    case Component::kNone:
    case Component::kX:
    case Component::kY:
    case Component::kZ:
    case Component::kW:
    case Component::kBytes:
    case Component::kHalves:
      break;
  }
  return {};
}

ValueId Extract(Emitter& e, ValueId word, Field field, bool sign) {
  if (field.length < 32) {
    ValueId position = e.Const(Type::kI32, static_cast<uint64_t>(field.position));
    ValueId length = e.Const(Type::kI32, static_cast<uint64_t>(field.length));
    word = e.b.Ternary(sign ? Opcode::kBfeS : Opcode::kBfeU, Type::kI32, word, position, length);
  }
  return Extended(e, word, sign);
}

// The whole word of an operand that names a part of it, or several.
ast::Operand WholeOf(ast::Operand operand) {
  if (operand.HasSelection()) operand.integer = 0;
  operand.component = Component::kNone;
  return operand;
}

ValueId ReadWord(Emitter& e, size_t operand) {
  return e.ReadOperand(WholeOf(e.Operand(operand)), Type::kI32);
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

namespace {

// The destination's sign; that of a comparison is the first source's.
bool SignedResult(const Emitter& e) { return IsSigned(e.mods().types[0]); }

bool IsShift(std::string_view base) { return base == "vshl" || base == "vshr"; }

// Results that types alone keep from being negative.
bool IsNeverNegative(const Emitter& e, std::string_view base) {
  const bool a = SignedA(e), b = SignedB(e);
  if (base == "vmax") return !a || !b;
  if (base == "vmin") return !a && !b;
  return IsShift(base) ? !a : base == "vabsdiff" || base == "vset";
}

ValueId Above0(Emitter& e, ValueId value) { return Binary(e, Opcode::kMaxS, value, Constant(e, 0)); }

ValueId LowWord(Emitter& e, ValueId value) { return e.b.Convert(Opcode::kTrunc, Type::kI32, value); }

// Unsigned results have no upper limit: they wrap around. Parts are cut to their unsigned maximum, so that
// the largest signed number takes the place of negative ones; those of shifts are not cut. A left shift has
// 34 bits.
ValueId Saturate(Emitter& e, std::string_view base, ValueId value, Field field) {
  const bool sign = SignedResult(e), part = field.length < 32;
  if (base == "vshl") {
    const ValueId above = e.Const(Type::kI32, 64 - 34);
    value = Clamp(e, Binary(e, Opcode::kShrS, Binary(e, Opcode::kShl, value, above), above), 32, sign);
  }
  if (!part || IsShift(base)) return sign ? Clamp(e, value, 32, true) : Above0(e, value);
  const int64_t most = (int64_t{1} << (field.length - (sign ? 1 : 0))) - 1;
  return Binary(e, Opcode::kMinU, Extended(e, LowWord(e, Clamp(e, value, 32, true)), false),
                Constant(e, most));
}

// Numbers that may be negative are compared by their low words. Where the destination is unsigned, one with
// the highest bit is above every other.
ValueId Limit(Emitter& e, std::string_view base, ValueId value, ValueId c) {
  const bool sign = SignedResult(e), sat = e.Has("sat");
  const bool exact = !(sat && IsShift(base)) && (IsNeverNegative(e, base) || base == "vshl");
  if (!exact) value = Extended(e, LowWord(e, value), true);
  const Opcode least = sign ? Opcode::kMinS : Opcode::kMinU, greatest = sign ? Opcode::kMaxS : Opcode::kMaxU;
  return Binary(e, e.Has("min") ? least : greatest, value, Extended(e, c, sign));
}

// Into a part of c. The upper half takes the word's own upper half.
ValueId Merge(Emitter& e, ValueId word, ValueId c, Field field) {
  const ValueId position = e.Const(Type::kI32, static_cast<uint64_t>(field.position));
  if (field.position == 16 && field.length == 16)
    word = e.b.Binary(Opcode::kShrU, Type::kI32, word, position);
  return e.b.Inst1(Opcode::kBfi, Type::kI32,
                   {word, c, position, e.Const(Type::kI32, static_cast<uint64_t>(field.length))});
}

// The destination is written as a whole: what remains of a part is c's.
void WriteWord(Emitter& e, ValueId word) { e.WriteOperand(WholeOf(e.Operand(0)), word, false); }

}  // namespace

void video_scalar_merged(Emitter& e) {
  const std::string_view base = e.match.form->base;
  const Field field = FieldOf(e.Operand(0).component);
  const ValueId a = ReadPart(e, 1, SignedA(e)), b = ReadPart(e, 2, SignedB(e));
  ValueId result = IsShift(base) ? Shift(e, a, b) : Operate(e, base, a, b);
  if (e.Has("sat")) result = Saturate(e, base, result, field);
  if (!e.Present(3)) {
    if (field.length < 32) {
      e.Fail(ErrorCode::kSyntax, "a part of the destination needs the word whose other parts it keeps");
      return;
    }
    return e.Write(0, LowWord(e, result));
  }
  const ValueId c = e.Read(3, Type::kI32);
  if (e.Has("add")) return e.Write(0, e.b.Binary(Opcode::kAdd, Type::kI32, LowWord(e, result), c));
  if (e.Has("min") || e.Has("max")) return e.Write(0, LowWord(e, Limit(e, base, result, c)));
  // With neither, ptxas makes the code of two sources, and the manual's pseudocode leaves c out.
  if (field.length == 32) return e.Write(0, LowWord(e, result));
  WriteWord(e, Merge(e, LowWord(e, result), c, field));
}

// All operands of 32 bits are signed, whatever their types. The types and signs decide how the result is
// saturated: where all are unsigned, a negative one becomes 0, after a scale all ones.
void vmad(Emitter& e) {
  const auto negated = [&](size_t operand) { return e.Operand(operand).Has(ast::Operand::kMinus); };
  const auto read = [&](size_t operand, bool sign) {
    ast::Operand whole = WholeOf(e.Operand(operand));
    whole.flags &= static_cast<uint8_t>(~ast::Operand::kMinus);
    const ValueId word = e.ReadOperand(whole, Type::kI32);
    return Extended(e, LowWord(e, Extract(e, word, FieldOf(e.Operand(operand).component), sign)), true);
  };
  const ValueId a = read(1, SignedA(e)), b = read(2, SignedB(e)), c = read(3, true);
  const bool negative = negated(1) != negated(2);
  ValueId product = Binary(e, Opcode::kMul, a, b);
  if (negative) product = e.b.Unary(Opcode::kNeg, Type::kI64, product);
  ValueId result = Binary(e, negated(3) ? Opcode::kSub : Opcode::kAdd, product, c);
  if (e.Has("po")) result = Binary(e, Opcode::kAdd, result, Constant(e, 1));
  const uint64_t scale = e.Has("shr7") ? 7 : e.Has("shr15") ? 15 : 0;
  if (scale != 0) result = Binary(e, Opcode::kShrS, result, e.Const(Type::kI32, scale));
  if (e.Has("sat")) {
    const bool sign = SignedA(e) || SignedB(e) || negative || negated(3);
    const ValueId most = Constant(e, 0xffffffff);
    if (sign)
      result = Clamp(e, result, 32, true);
    else
      result = Binary(e, Opcode::kMinU, scale == 0 ? Above0(e, result) : result, most);
  }
  e.Write(0, LowWord(e, result));
}

namespace {

// Which bytes or halves of both sources an operand of a SIMD instruction selects, the first source's before
// the second's, and which of the destination it names.
class Lanes {
 public:
  explicit Lanes(Emitter& e) : e_(e), length_(e.match.form->base.back() == '2' ? 16 : 8) {}
  int length() const { return length_; }
  uint32_t count() const { return 32 / static_cast<uint32_t>(length_); }

  // The part of `a` and `b` that is selected for a place; without a selection, the place of the source
  // itself.
  ValueId Select(size_t operand, uint32_t place, ValueId a, ValueId b, bool sign) {
    const ast::Operand& o = e_.Operand(operand);
    uint32_t index = operand == 1 ? place : count() + place;
    if (IsSelection(o)) {
      const ast::Selection selection = ast::Selection::Of(o.integer);
      if (selection.count != count()) Refuse(o);
      index = selection.Digit(place);
    } else if (o.component != Component::kNone) {
      Refuse(o);
    }
    const Field field{static_cast<int>(index % count()) * length_, length_};
    return Extract(e_, index < count() ? a : b, field, sign);
  }

  // A mask: its places fall from the first on.
  bool Writes(uint32_t place) {
    const ast::Operand& o = e_.Operand(0);
    if (o.component == Component::kNone) return true;
    if (!IsSelection(o)) {
      const Field field = FieldOf(o.component);
      if (field.length != length_) Refuse(o);
      return field.position == static_cast<int>(place) * length_;
    }
    const ast::Selection selection = ast::Selection::Of(o.integer);
    bool found = false;
    for (uint32_t i = 0; i < selection.count; ++i) {
      const bool falls = i == 0 || selection.Digit(i) > selection.Digit(i - 1);
      if (!falls || selection.Digit(i) >= count()) Refuse(o);
      found |= selection.Digit(i) == place;
    }
    return found;
  }

 private:
  bool IsSelection(const ast::Operand& o) {
    if (o.HasSelection() && (o.component == Component::kHalves) != (length_ == 16)) Refuse(o);
    return o.HasSelection();
  }
  void Refuse(const ast::Operand& o) {
    e_.Fail(ErrorCode::kSyntax,
            "`" + std::string(o.text) +
                "`: a source is two halves or four bytes of both, a destination some of its own");
  }

  Emitter& e_;
  int length_;
};

}  // namespace

// Two half-words or four bytes at once; .add sums those of the mask and c, else they stay side by side.
void video_simd(Emitter& e) {
  std::string_view base = e.match.form->base;
  Lanes lanes(e);
  const ValueId a = ReadWord(e, 1), b = ReadWord(e, 2);
  ValueId total = ReadWord(e, 3);
  for (uint32_t place = 0; place < lanes.count(); ++place) {
    if (!lanes.Writes(place)) continue;
    ValueId part =
        Operate(e, base, lanes.Select(1, place, a, b, SignedA(e)), lanes.Select(2, place, a, b, SignedB(e)));
    if (e.Has("sat")) part = Clamp(e, part, lanes.length(), SignedD(e));
    const ValueId word = e.b.Convert(Opcode::kTrunc, Type::kI32, part);
    if (e.Has("add")) {
      total = e.b.Binary(Opcode::kAdd, Type::kI32, total, word);
    } else {
      const auto length = static_cast<uint64_t>(lanes.length());
      total = e.b.Inst1(Opcode::kBfi, Type::kI32,
                        {word, total, e.Const(Type::kI32, place * length), e.Const(Type::kI32, length)});
    }
  }
  WriteWord(e, total);
}

// The same row with parts named.
void video_simd_parts(Emitter& e) { video_simd(e); }

}  // namespace ptx2cpu::ptx::rows
