// 9.7.4, 9.7.5, 9.7.7: f16 and bf16, scalar and packed, and mixed precision.
#include "ptx-parser/translate/comparison.h"
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

namespace {

using ir::Opcode;
using ir::Rounding;
using ir::Type;
using ir::ValueId;

constexpr uint64_t kOutOfBoundsNan = 0x7ff7;  // f16 and bf16

void BinaryHalf(Emitter& e, Opcode op) {
  Type type = ElementOf(e, 1);
  ir::Attrs attrs{.flags = FloatFlags(e), .rounding = Rounding::kNearestEven};
  Map2(e, [&](ValueId a, ValueId b) { return e.MayContract(e.b.Binary(op, type, a, b, attrs)); });
}

void MinMaxHalf(Emitter& e, Opcode op) {
  Type type = ElementOf(e, 1);
  Map2(e, [&](ValueId a, ValueId b) { return e.b.Binary(op, type, a, b, {.flags = FloatFlags(e)}); });
}

void UnaryHalf(Emitter& e, Opcode op) {
  Type type = ElementOf(e, 1);
  uint32_t flags = FloatFlags(e) & ir::kFtz;
  Map1(e, [&](ValueId a) { return e.b.Unary(op, type, a, {.flags = flags}); });
}

// The f16 or bf16 operand of a mixed instruction, widened exactly.
ValueId Widened(Emitter& e, size_t operand) {
  return e.b.Convert(Opcode::kFConvert, Type::kF32, e.Read(operand, ElementType(e.type())));
}

ir::Attrs MixedAttrs(const Emitter& e) { return {.flags = FloatFlags(e), .rounding = RoundingOf(e)}; }

// 1.0 in the element type.
uint64_t OneBits(Type type) {
  return type == Type::kF16 ? 0x3c00 : type == Type::kBF16 ? 0x3f80 : type == Type::kF32 ? 0x3f800000u : 0;
}

// What set writes where the comparison holds.
uint64_t TrueBits(PtxType destination) {
  return IsFloat(destination) ? OneBits(ElementType(destination)) : ~uint64_t{0};
}

}  // namespace

void add_half(Emitter& e) { BinaryHalf(e, Opcode::kFAdd); }
void sub_half(Emitter& e) { BinaryHalf(e, Opcode::kFSub); }
void mul_half(Emitter& e) { BinaryHalf(e, Opcode::kFMul); }

void fma_half(Emitter& e) {
  Type type = ElementOf(e, 1);
  ir::Attrs attrs{.flags = FloatFlags(e), .rounding = Rounding::kNearestEven};
  Map3(e, [&](ValueId a, ValueId b, ValueId c) { return e.b.Ternary(Opcode::kFFma, type, a, b, c, attrs); });
}

// The result is +0 where a factor is the NaN, of either sign, that tensor copies put outside of the tensor.
void fma_oob(Emitter& e) {
  const Type type = ElementOf(e, 1);
  const ir::Attrs attrs{.flags = FloatFlags(e), .rounding = Rounding::kNearestEven};
  const ValueId outside = e.Const(Type::kI16, kOutOfBoundsNan);
  const ValueId without_sign = e.Const(Type::kI16, 0x7fff);
  auto is_outside = [&](ValueId a) {
    return e.b.Icmp(ir::Compare::kEq,
                    e.b.Binary(Opcode::kAnd, Type::kI16, e.b.Bitcast(Type::kI16, a), without_sign), outside);
  };
  Map3(e, [&](ValueId a, ValueId b, ValueId c) {
    const ValueId any = e.b.Binary(Opcode::kOr, Type::kI1, is_outside(a), is_outside(b));
    return e.b.Select(any, e.Const(type, 0), e.b.Ternary(Opcode::kFFma, type, a, b, c, attrs));
  });
}

void neg_half(Emitter& e) { UnaryHalf(e, Opcode::kFNeg); }
void abs_half(Emitter& e) { UnaryHalf(e, Opcode::kFAbs); }
void min_half(Emitter& e) { MinMaxHalf(e, Opcode::kFMin); }
void max_half(Emitter& e) { MinMaxHalf(e, Opcode::kFMax); }
void tanh_half(Emitter& e) { UnaryHalf(e, Opcode::kFTanh); }
void ex2_half(Emitter& e) { UnaryHalf(e, Opcode::kFEx2); }

void add_mixed(Emitter& e) {
  e.Write(0, e.b.Binary(Opcode::kFAdd, Type::kF32, Widened(e, 1), e.Read(2, Type::kF32), MixedAttrs(e)));
}
void sub_mixed(Emitter& e) {
  e.Write(0, e.b.Binary(Opcode::kFSub, Type::kF32, Widened(e, 1), e.Read(2, Type::kF32), MixedAttrs(e)));
}
void fma_mixed(Emitter& e) {
  e.Write(0, e.b.Ternary(Opcode::kFFma, Type::kF32, Widened(e, 1), Widened(e, 2), e.Read(3, Type::kF32),
                         MixedAttrs(e)));
}

// Scalar: p and optionally q = !p. Packed: p for the low halves, q for the high ones.
void setp_half(Emitter& e) {
  PtxType type = e.type();
  ValueId c = ReadCombined(e);
  std::vector<ValueId> a = e.ReadElements(1), b = e.ReadElements(2);
  ir::Compare compare = CompareOf(e, type);
  ValueId low = CompareValues(e, compare, a[0], b[0]);
  const ast::Operand& destination = e.Operand(0);
  bool pair = destination.kind == ast::OperandKind::kPair;
  ValueId second;
  if (pair) {
    ValueId plain =
        IsPacked(type) ? CompareValues(e, compare, a[1], b[1]) : e.b.Unary(Opcode::kNot, Type::kI1, low);
    second = Combine(e, plain, c);
  }
  e.Write(0, Combine(e, low, c));
  if (pair) e.WriteOperand(e.ast.Children(destination)[1], second, false);
}

// For packed sources an f16x2 or bf16x2 destination holds 1.0 or 0.0 per half, a 32-bit integer all ones or
// zero per half.
void set_half(Emitter& e) {
  PtxType from = e.type(), to = e.dtype();
  ValueId c = ReadCombined(e);
  std::vector<ValueId> a = e.ReadElements(1), b = e.ReadElements(2), results;
  Type element = IsPacked(from) ? (IsFloat(to) ? ElementType(to) : Type::kI16) : ElementType(to);
  for (size_t i = 0; i < a.size(); ++i) {
    ValueId holds = Combine(e, CompareValues(e, CompareOf(e, from), a[i], b[i]), c);
    results.push_back(e.b.Select(holds, e.Const(element, TrueBits(to)), e.Const(element, 0)));
  }
  if (results.size() == 1) {
    e.Write(0, results[0]);
  } else {
    e.Write(0, e.b.Pack(Type::kI32, std::move(results)));
  }
}

}  // namespace ptx2cpu::ptx::rows
