// 9.7.1: integer arithmetic.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

namespace {

using ir::Compare;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

bool SignedSource(const Emitter& e) { return IsSigned(e.type()); }

void BinaryInteger(Emitter& e, Opcode op, uint32_t flags = 0) {
  Type type = ElementOf(e, 1);
  Map2(e, [&](ValueId a, ValueId b) { return e.b.Binary(op, type, a, b, {.flags = flags}); });
}

ValueId Extend(Emitter& e, ValueId value, Type to, bool sign) {
  return e.b.Convert(sign ? Opcode::kSext : Opcode::kZext, to, value);
}

// A source of a wide product; a constant is extended here.
ValueId ReadWide(Emitter& e, size_t operand, Type wide) {
  bool sign = SignedSource(e);
  Type narrow = ElementOf(e, operand);
  if (std::optional<int64_t> constant = e.Immediate(operand)) {
    int unused = 64 - ir::Bits(narrow);
    uint64_t bits = static_cast<uint64_t>(*constant) << unused;
    return e.Const(wide, sign ? static_cast<uint64_t>(static_cast<int64_t>(bits) >> unused) : bits >> unused);
  }
  return Extend(e, e.Read(operand), wide, sign);
}

// The product of operands 1 and 2 that .lo, .hi or .wide selects.
ValueId ProductOf(Emitter& e) {
  bool sign = SignedSource(e);
  if (e.Has("wide")) {
    Type wide = ElementOf(e, 0);
    return e.b.Binary(Opcode::kMul, wide, ReadWide(e, 1, wide), ReadWide(e, 2, wide));
  }
  Opcode op = e.Has("hi") ? (sign ? Opcode::kMulHiS : Opcode::kMulHiU) : Opcode::kMul;
  return e.b.Binary(op, ElementOf(e, 1), e.Read(1), e.Read(2));
}

// 24-bit products: the operands' low 24 bits; .lo the low 32 bits of the 48-bit product, .hi its bits 16
// to 47.
ValueId Product24(Emitter& e) {
  bool sign = SignedSource(e);
  Opcode shift = sign ? Opcode::kShrS : Opcode::kShrU;
  auto low24 = [&](size_t operand) {
    ValueId wide = Extend(e, e.Read(operand, Type::kI32), Type::kI64, false);
    ValueId amount = e.Const(Type::kI32, 40);
    return e.b.Binary(shift, Type::kI64, e.b.Binary(Opcode::kShl, Type::kI64, wide, amount), amount);
  };
  ValueId product = e.b.Binary(Opcode::kMul, Type::kI64, low24(1), low24(2));
  if (e.Has("hi")) product = e.b.Binary(shift, Type::kI64, product, e.Const(Type::kI32, 16));
  return e.b.Convert(Opcode::kTrunc, Type::kI32, product);
}

void MinMax(Emitter& e, Opcode op_s, Opcode op_u) {
  Type type = ElementOf(e, 1);
  Opcode op = SignedSource(e) ? op_s : op_u;
  bool relu = e.Has("relu");
  Map2(e, [&](ValueId a, ValueId b) {
    ValueId result = e.b.Binary(op, type, a, b);
    return relu ? e.b.Binary(Opcode::kMaxS, type, result, e.Const(type, 0)) : result;
  });
}

}  // namespace

void add_integer(Emitter& e) { BinaryInteger(e, Opcode::kAdd, e.Has("sat") ? ir::kSat : 0); }
void sub_integer(Emitter& e) { BinaryInteger(e, Opcode::kSub, e.Has("sat") ? ir::kSat : 0); }
void mul_integer(Emitter& e) { e.Write(0, ProductOf(e)); }

void mad_integer(Emitter& e) {
  ValueId product = ProductOf(e);
  uint32_t flags = e.Has("sat") ? ir::kSat : 0;
  e.Write(0, e.b.Binary(Opcode::kAdd, ElementOf(e, 0), product, e.Read(3), {.flags = flags}));
}

void mul24(Emitter& e) { e.Write(0, Product24(e)); }
void mad24(Emitter& e) {
  ValueId product = Product24(e);
  uint32_t flags = e.Has("sat") ? ir::kSat : 0;
  e.Write(0, e.b.Binary(Opcode::kAdd, Type::kI32, product, e.Read(3), {.flags = flags}));
}

// d = c + |a - b|, the difference taken in the operands' own signedness.
void sad(Emitter& e) {
  Type type = ElementOf(e, 1);
  ValueId a = e.Read(1), b = e.Read(2);
  ValueId less = e.b.Icmp(SignedSource(e) ? Compare::kSlt : Compare::kUlt, a, b);
  ValueId difference =
      e.b.Select(less, e.b.Binary(Opcode::kSub, type, b, a), e.b.Binary(Opcode::kSub, type, a, b));
  e.Write(0, e.b.Binary(Opcode::kAdd, type, e.Read(3), difference));
}

void div_integer(Emitter& e) { BinaryInteger(e, SignedSource(e) ? Opcode::kDivS : Opcode::kDivU); }
void rem(Emitter& e) { BinaryInteger(e, SignedSource(e) ? Opcode::kRemS : Opcode::kRemU); }
void abs_integer(Emitter& e) { e.Write(0, e.b.Unary(Opcode::kAbs, ElementOf(e, 1), e.Read(1))); }
void neg_integer(Emitter& e) { e.Write(0, e.b.Unary(Opcode::kNeg, ElementOf(e, 1), e.Read(1))); }
void min_integer(Emitter& e) { MinMax(e, Opcode::kMinS, Opcode::kMinU); }
void max_integer(Emitter& e) { MinMax(e, Opcode::kMaxS, Opcode::kMaxU); }

void popc(Emitter& e) { e.Write(0, e.b.Unary(Opcode::kPopc, ElementOf(e, 1), e.Read(1))); }
void clz(Emitter& e) { e.Write(0, e.b.Unary(Opcode::kClz, ElementOf(e, 1), e.Read(1))); }
void brev(Emitter& e) { e.Write(0, e.b.Unary(Opcode::kBrev, ElementOf(e, 1), e.Read(1))); }

void bfind(Emitter& e) {
  Opcode op = SignedSource(e) ? Opcode::kBfindS : Opcode::kBfindU;
  uint32_t flags = e.Has("shiftamt") ? ir::kShiftAmount : 0;
  e.Write(0, e.b.Unary(op, ElementOf(e, 1), e.Read(1), {.flags = flags}));
}

void fns(Emitter& e) {
  e.Write(0, e.b.Ternary(Opcode::kFns, Type::kVoid, e.Read(1, Type::kI32), e.Read(2, Type::kI32),
                         e.Read(3, Type::kI32)));
}

void bfe(Emitter& e) {
  Opcode op = SignedSource(e) ? Opcode::kBfeS : Opcode::kBfeU;
  e.Write(0, e.b.Ternary(op, ElementOf(e, 1), e.Read(1), e.Read(2, Type::kI32), e.Read(3, Type::kI32)));
}

void bfi(Emitter& e) {
  e.Write(0, e.b.Inst1(Opcode::kBfi, ElementOf(e, 1),
                       {e.Read(1), e.Read(2), e.Read(3, Type::kI32), e.Read(4, Type::kI32)}));
}

// Extends the low b bits of a; 0 if b = 0. .clamp: b at most 32; .wrap: b mod 32.
void szext(Emitter& e) {
  ValueId length = e.Read(2, Type::kI32);
  if (e.Has("wrap")) {
    length = e.b.Binary(Opcode::kAnd, Type::kI32, length, e.Const(Type::kI32, 31));
  } else {
    length = e.b.Binary(Opcode::kMinU, Type::kI32, length, e.Const(Type::kI32, 32));
  }
  Opcode op = SignedSource(e) ? Opcode::kBfeS : Opcode::kBfeU;
  e.Write(0, e.b.Ternary(op, Type::kI32, e.Read(1, Type::kI32), e.Const(Type::kI32, 0), length));
}

void bmsk(Emitter& e) {
  uint32_t flags = e.Has("wrap") ? ir::kWrap : 0;
  e.Write(0, e.b.Binary(Opcode::kBmsk, Type::kVoid, e.Read(1, Type::kI32), e.Read(2, Type::kI32),
                        {.flags = flags}));
}

namespace {
void DotProduct(Emitter& e, Opcode op) {
  uint32_t flags = (IsSigned(e.mods().types[0]) ? ir::kSignedA : 0) |
                   (IsSigned(e.mods().types[1]) ? ir::kSignedB : 0) | (e.Has("hi") ? ir::kHigh : 0);
  e.Write(0, e.b.Ternary(op, Type::kVoid, e.Read(1, Type::kI32), e.Read(2, Type::kI32), e.Read(3, Type::kI32),
                         {.flags = flags}));
}
}  // namespace

void dp4a(Emitter& e) { DotProduct(e, Opcode::kDp4a); }
void dp2a(Emitter& e) { DotProduct(e, Opcode::kDp2a); }

}  // namespace ptx2cpu::ptx::rows
