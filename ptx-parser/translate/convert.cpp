// 9.7.9.21 and 9.7.9.22: conversions.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

namespace {

using ir::NarrowFormat;
using ir::Opcode;
using ir::Rounding;
using ir::Type;
using ir::ValueId;

// .rni .rzi .rmi .rpi, and .rn .rz .rm .rp; kNone if neither is written.
Rounding ConversionRounding(const Emitter& e) {
  static constexpr std::pair<Word, Rounding> kRoundings[] = {
      {"rni", Rounding::kNearestEven}, {"rzi", Rounding::kTowardZero}, {"rmi", Rounding::kDown},
      {"rpi", Rounding::kUp},          {"rn", Rounding::kNearestEven}, {"rz", Rounding::kTowardZero},
      {"rm", Rounding::kDown},         {"rp", Rounding::kUp},          {"rna", Rounding::kNearestAway},
  };
  for (auto [word, rounding] : kRoundings) {
    if (e.Has(word)) return rounding;
  }
  return Rounding::kNone;
}

// Flags of the IR rows: those written of .ftz .sat .relu .satfinite.
ir::Attrs ConversionAttrs(const Emitter& e) {
  return {.flags = FloatFlags(e), .rounding = ConversionRounding(e)};
}

ValueId IntegerToInteger(Emitter& e, PtxType to, PtxType from, ValueId value) {
  Type type = ElementType(to);
  if (e.Has("sat")) {
    Opcode op = IsSigned(from) ? Opcode::kSatS : Opcode::kSatU;
    return e.b.Convert(op, type, value, {.flags = IsSigned(to) ? 0u : ir::kUnsigned});
  }
  if (Bits(to) == Bits(from)) return value;
  if (Bits(to) < Bits(from)) return e.b.Convert(Opcode::kTrunc, type, value);
  return e.b.Convert(IsSigned(from) ? Opcode::kSext : Opcode::kZext, type, value);
}

ValueId FloatToFloat(Emitter& e, PtxType to, PtxType from, ValueId value) {
  Type type = ElementType(to);
  if (e.mods().At("irnd")) return e.b.Unary(Opcode::kFRound, type, value, ConversionAttrs(e));
  if (to != from) {
    ir::Attrs attrs = ConversionAttrs(e);
    // An H200 does not flush the f32 input of a conversion to f16: rounding down, -1e-40 becomes the least
    // subnormal.
    if (to == PtxType::kF16) attrs.flags &= ~static_cast<uint32_t>(ir::kFtz);
    return e.b.Convert(Opcode::kFConvert, type, value, attrs);
  }
  uint32_t flags = FloatFlags(e);
  if (flags == 0) return value;
  // x + -0 is x; the flags do the rest.
  uint64_t minus_zero = uint64_t{1} << (Bits(to) - 1);
  return e.b.Binary(Opcode::kFAdd, type, value, e.Const(type, minus_zero),
                    {.flags = flags, .rounding = Rounding::kNearestEven});
}

NarrowFormat FormatOf(PtxType type) {
  if (type == PtxType::kTF32) return NarrowFormat::kTF32;
  if (type == PtxType::kE4M3x2) return NarrowFormat::kE4M3;
  if (type == PtxType::kE5M2x2) return NarrowFormat::kE5M2;
  if (type == PtxType::kE2M3x2) return NarrowFormat::kE2M3;
  if (type == PtxType::kE3M2x2) return NarrowFormat::kE3M2;
  if (type == PtxType::kE2M1x2) return NarrowFormat::kE2M1;
  if (type == PtxType::kUE8M0x2) return NarrowFormat::kUE8M0;
  return NarrowFormat::kNone;
}

ir::Attrs NarrowAttrs(const Emitter& e, PtxType narrow) {
  ir::Attrs attrs = ConversionAttrs(e);
  attrs.narrow = FormatOf(narrow);
  return attrs;
}

}  // namespace

void cvt(Emitter& e) {
  PtxType to = e.dtype(), from = e.type();
  ValueId value = e.Read(1, ElementType(from));
  Type type = ElementType(to);
  ValueId result;
  if (IsFloat(to) && IsFloat(from)) {
    result = FloatToFloat(e, to, from, value);
  } else if (IsFloat(to)) {
    result = e.b.Convert(IsSigned(from) ? Opcode::kSToF : Opcode::kUToF, type, value, ConversionAttrs(e));
  } else if (IsFloat(from)) {
    // Clamping is what float to integer does anyway: .sat adds nothing.
    ir::Attrs attrs = ConversionAttrs(e);
    attrs.flags &= ~static_cast<uint32_t>(ir::kSat);
    result = e.b.Convert(IsSigned(to) ? Opcode::kFToS : Opcode::kFToU, type, value, attrs);
  } else {
    result = IntegerToInteger(e, to, from, value);
  }
  e.Write(0, result);
}

void cvt_packed_half(Emitter& e) {
  Type type = ElementOf(e, 0);
  ValueId high = e.b.Convert(Opcode::kFConvert, type, e.Read(1), ConversionAttrs(e));
  ValueId low = e.b.Convert(Opcode::kFConvert, type, e.Read(2), ConversionAttrs(e));
  e.WriteElements(0, {low, high});
}

void cvt_tf32(Emitter& e) {
  e.Write(0,
          e.b.Convert(Opcode::kToNarrow, Type::kI32, e.Read(1, Type::kF32), NarrowAttrs(e, PtxType::kTF32)));
}

void cvt_to_narrow(Emitter& e) {
  ValueId high, low;
  if (e.type() == PtxType::kF32) {
    high = e.Read(1);
    low = e.Read(2);
  } else {
    std::vector<ValueId> halves = e.ReadElements(1);  // widening is exact
    low = e.b.Convert(Opcode::kFConvert, Type::kF32, halves[0]);
    high = e.b.Convert(Opcode::kFConvert, Type::kF32, halves[1]);
  }
  ir::Attrs attrs = NarrowAttrs(e, e.dtype());
  ValueId packed = e.b.Inst1(Opcode::kToNarrow, WholeType(e.dtype()), {high, low}, attrs, Type::kF32);
  e.Write(0, packed);
}

void cvt_from_narrow(Emitter& e) {
  ir::Attrs attrs = NarrowAttrs(e, e.type());
  attrs.rounding = Rounding::kNone;  // every value of the narrow formats is exact in the wide one
  ValueId bits = e.Read(1);
  ir::InstId id = e.b.Make(Opcode::kFromNarrow, ElementOf(e, 0), {bits}, attrs, e.f.type_of(bits), 2);
  e.WriteElements(0, {e.b.Result(id, 0), e.b.Result(id, 1)});
}

// Two 32-bit integers saturated to 16, 8, 4 or 2 bits: b lowest, a above it; then the low bits of c above
// both.
void cvt_pack(Emitter& e) {
  PtxType to = e.dtype();
  int bits = Bits(to);
  bool sign = Name(to).front() == 's';
  int64_t most = (int64_t{1} << (sign ? bits - 1 : bits)) - 1, least = sign ? -most - 1 : 0;
  auto saturate = [&](ValueId value) {
    value = e.b.Binary(Opcode::kMaxS, Type::kI32, value, e.Const(Type::kI32, static_cast<uint64_t>(least)));
    value = e.b.Binary(Opcode::kMinS, Type::kI32, value, e.Const(Type::kI32, static_cast<uint64_t>(most)));
    return e.b.Binary(Opcode::kAnd, Type::kI32, value, e.Const(Type::kI32, (uint64_t{1} << bits) - 1));
  };
  auto shifted = [&](ValueId value, int amount) {
    return e.b.Binary(Opcode::kShl, Type::kI32, value, e.Const(Type::kI32, static_cast<uint64_t>(amount)));
  };
  ValueId a = saturate(e.Read(1, Type::kI32)), low = saturate(e.Read(2, Type::kI32));
  ValueId result = e.b.Binary(Opcode::kOr, Type::kI32, low, shifted(a, bits));
  if (e.match.form->operands.size() > 3 && e.Present(3)) {
    result = e.b.Binary(Opcode::kOr, Type::kI32, result, shifted(e.Read(3, Type::kI32), 2 * bits));
  }
  e.Write(0, result);
}

}  // namespace ptx2cpu::ptx::rows
