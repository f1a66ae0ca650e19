// 9.7.8: logic and shifts, and prmt of 9.7.9.7.
#include "ptx-parser/translate/attribute_words.h"
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

namespace {

using ir::Compare;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

void Logic(Emitter& e, Opcode op) {
  Type type = ElementOf(e, 1);
  e.Write(0, e.b.Binary(op, type, e.Read(1), e.Read(2)));
}

}  // namespace

void and_bits(Emitter& e) { Logic(e, Opcode::kAnd); }
void or_bits(Emitter& e) { Logic(e, Opcode::kOr); }
void xor_bits(Emitter& e) { Logic(e, Opcode::kXor); }
void not_bits(Emitter& e) { e.Write(0, e.b.Unary(Opcode::kNot, ElementOf(e, 1), e.Read(1))); }

void cnot(Emitter& e) {
  Type type = ElementOf(e, 1);
  ValueId zero = e.Const(type, 0);
  e.Write(0, e.b.Select(e.b.Icmp(Compare::kEq, e.Read(1), zero), e.Const(type, 1), zero));
}

// d = F(a, b, c); with .and or .or also p = (d != 0) BoolOp q.
void lop3(Emitter& e) {
  uint32_t table = static_cast<uint32_t>(*e.Immediate(4)) & 0xff;
  ValueId result = e.b.Ternary(Opcode::kLop3, Type::kI32, e.Read(1, Type::kI32), e.Read(2, Type::kI32),
                               e.Read(3, Type::kI32), {.index = table});
  Word op = e.mods().At("BoolOp");
  if (!op) return e.Write(0, result);
  ValueId q = e.Read(5, Type::kI1);
  ValueId nonzero = e.b.Icmp(Compare::kNe, result, e.Const(Type::kI32, 0));
  ValueId p = e.b.Binary(op == Word("or") ? Opcode::kOr : Opcode::kAnd, Type::kI1, nonzero, q);
  e.Write(0, result);
  e.WriteOperand(e.ast.Children(e.Operand(0))[1], p, false);
}

void shf(Emitter& e) {
  Opcode op = e.Has("l") ? Opcode::kFunnelL : Opcode::kFunnelR;
  uint32_t flags = e.Has("wrap") ? ir::kWrap : 0;
  e.Write(0, e.b.Ternary(op, Type::kI32, e.Read(1, Type::kI32), e.Read(2, Type::kI32), e.Read(3, Type::kI32),
                         {.flags = flags}));
}

void shl(Emitter& e) {
  e.Write(0, e.b.Binary(Opcode::kShl, ElementOf(e, 1), e.Read(1), e.Read(2, Type::kI32)));
}

void shr(Emitter& e) {
  Opcode op = IsSigned(e.type()) ? Opcode::kShrS : Opcode::kShrU;
  e.Write(0, e.b.Binary(op, ElementOf(e, 1), e.Read(1), e.Read(2, Type::kI32)));
}

void prmt(Emitter& e) {
  const Word word = e.mods().At("mode");
  const auto mode = word ? AttributeOf<ir::PermuteMode>(word) : ir::PermuteMode::kGeneral;
  e.Write(0, e.b.Ternary(Opcode::kPrmt, Type::kVoid, e.Read(1, Type::kI32), e.Read(2, Type::kI32),
                         e.Read(3, Type::kI32), {.permute = mode}));
}

}  // namespace ptx2cpu::ptx::rows
