// 9.7.2: arithmetic with the carry flag CC.CF, which is an SSA variable of type i1. For subtraction it is the
// borrow.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

namespace {

using ir::Opcode;
using ir::Type;
using ir::ValueId;

// d = a op b op carry-in, and the carry out if .cc stands.
void WithCarry(Emitter& e, Opcode op, ValueId a, ValueId b, bool carry_in) {
  Type type = ElementOf(e, 0);
  ValueId in = carry_in ? e.ReadCarry() : e.Const(Type::kI1, 0);
  auto [result, carry] = e.b.Inst2(op, type, {a, b, in});
  e.Write(0, result);
  if (e.Has("cc")) e.WriteCarry(carry);
}

ValueId Product(Emitter& e) {
  Opcode op = !e.Has("hi") ? Opcode::kMul : IsSigned(e.type()) ? Opcode::kMulHiS : Opcode::kMulHiU;
  return e.b.Binary(op, ElementOf(e, 1), e.Read(1), e.Read(2));
}

}  // namespace

void add_cc(Emitter& e) { WithCarry(e, Opcode::kAddCarry, e.Read(1), e.Read(2), false); }
void addc(Emitter& e) { WithCarry(e, Opcode::kAddCarry, e.Read(1), e.Read(2), true); }
void sub_cc(Emitter& e) { WithCarry(e, Opcode::kSubBorrow, e.Read(1), e.Read(2), false); }
void subc(Emitter& e) { WithCarry(e, Opcode::kSubBorrow, e.Read(1), e.Read(2), true); }
void mad_cc(Emitter& e) { WithCarry(e, Opcode::kAddCarry, Product(e), e.Read(3), false); }
void madc(Emitter& e) { WithCarry(e, Opcode::kAddCarry, Product(e), e.Read(3), true); }

}  // namespace ptx2cpu::ptx::rows
