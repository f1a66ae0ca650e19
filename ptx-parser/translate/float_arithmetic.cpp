// 9.7.3: floating point. Rounding, .ftz, .sat, NaN rules are attributes of the IR instruction.
#include "ptx-parser/translate/attribute_words.h"
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

using ir::Opcode;
using ir::Rounding;
using ir::Type;
using ir::ValueId;

Rounding RoundingOf(const Emitter& e) {
  if (e.Has("rz")) return Rounding::kTowardZero;
  if (e.Has("rm")) return Rounding::kDown;
  if (e.Has("rp")) return Rounding::kUp;
  return Rounding::kNearestEven;
}

uint32_t FloatFlags(const Emitter& e) {
  static constexpr std::pair<Word, uint32_t> kFlags[] = {
      {"ftz", ir::kFtz},         {"sat", ir::kSat},
      {"relu", ir::kRelu},       {"NaN", ir::kPropagateNan},
      {"xorsign", ir::kXorSign}, {"approx", ir::kApprox},
      {"full", ir::kFullRange},  {"satfinite", ir::kSatFinite},
  };
  uint32_t flags = 0;
  for (auto [word, flag] : kFlags) {
    if (e.Has(word)) flags |= flag;
  }
  if (e.Has("abs")) flags |= ir::kAbs;
  return flags;
}

namespace {

ir::Attrs Rounded(const Emitter& e) { return {.flags = FloatFlags(e), .rounding = RoundingOf(e)}; }
ir::Attrs Flags(const Emitter& e) { return {.flags = FloatFlags(e)}; }

void BinaryFloat(Emitter& e, Opcode op) {
  Type type = ElementOf(e, 1);
  ir::Attrs attrs = Rounded(e);
  Map2(e, [&](ValueId a, ValueId b) { return e.MayContract(e.b.Binary(op, type, a, b, attrs)); });
}

void FusedMultiplyAdd(Emitter& e) {
  Type type = ElementOf(e, 1);
  ir::Attrs attrs = Rounded(e);
  Map3(e, [&](ValueId a, ValueId b, ValueId c) { return e.b.Ternary(Opcode::kFFma, type, a, b, c, attrs); });
}

void UnaryFloat(Emitter& e, Opcode op, const ir::Attrs& attrs) {
  e.Write(0, e.b.Unary(op, ElementOf(e, 1), e.Read(1), attrs));
}

// Two operands, or three: min(min(a, b), c).
void MinMax(Emitter& e, Opcode op) {
  Type type = ElementOf(e, 1);
  ValueId result = e.b.Binary(op, type, e.Read(1), e.Read(2), Flags(e));
  if (e.match.form->operands.size() > 3 && e.Present(3))
    result = e.b.Binary(op, type, result, e.Read(3), Flags(e));
  e.Write(0, result);
}

// Approximate functions have no rounding; the others are rounded as written.
ir::Attrs ApproxOrRounded(const Emitter& e) { return e.Has("approx") ? Flags(e) : Rounded(e); }

// .approx is in the operation's name: the row of the IR table takes only .ftz.
ir::Attrs OnlyFtz(const Emitter& e) { return {.flags = FloatFlags(e) & ir::kFtz}; }

}  // namespace

void testp(Emitter& e) {
  const auto test = AttributeOf<ir::FloatTest>(e.mods().At("op"));
  e.Write(0, e.b.Convert(Opcode::kFTest, Type::kVoid, e.Read(1), {.test = test}));
}

void copysign(Emitter& e) {
  e.Write(0, e.b.Binary(Opcode::kFCopysign, ElementOf(e, 1), e.Read(1), e.Read(2)));
}
void add_float(Emitter& e) { BinaryFloat(e, Opcode::kFAdd); }
void sub_float(Emitter& e) { BinaryFloat(e, Opcode::kFSub); }
void mul_float(Emitter& e) { BinaryFloat(e, Opcode::kFMul); }
void fma_float(Emitter& e) { FusedMultiplyAdd(e); }
void mad_float(Emitter& e) { FusedMultiplyAdd(e); }

void div_float(Emitter& e) {
  ir::Attrs attrs = e.Has("full") ? Flags(e) : ApproxOrRounded(e);
  e.Write(0, e.b.Binary(Opcode::kFDiv, ElementOf(e, 1), e.Read(1), e.Read(2), attrs));
}

void abs_float(Emitter& e) { UnaryFloat(e, Opcode::kFAbs, OnlyFtz(e)); }
void neg_float(Emitter& e) { UnaryFloat(e, Opcode::kFNeg, OnlyFtz(e)); }
void min_float(Emitter& e) { MinMax(e, Opcode::kFMin); }
void max_float(Emitter& e) { MinMax(e, Opcode::kFMax); }
void rcp(Emitter& e) { UnaryFloat(e, Opcode::kFRcp, ApproxOrRounded(e)); }
void sqrt(Emitter& e) { UnaryFloat(e, Opcode::kFSqrt, ApproxOrRounded(e)); }
void rsqrt(Emitter& e) { UnaryFloat(e, Opcode::kFRsqrt, OnlyFtz(e)); }
void sin(Emitter& e) { UnaryFloat(e, Opcode::kFSin, OnlyFtz(e)); }
void cos(Emitter& e) { UnaryFloat(e, Opcode::kFCos, OnlyFtz(e)); }
void lg2(Emitter& e) { UnaryFloat(e, Opcode::kFLg2, OnlyFtz(e)); }
void ex2(Emitter& e) { UnaryFloat(e, Opcode::kFEx2, OnlyFtz(e)); }
void tanh(Emitter& e) { UnaryFloat(e, Opcode::kFTanh, OnlyFtz(e)); }

}  // namespace ptx2cpu::ptx::rows
