// 9.7.2: arithmetic with the carry flag CC.CF, which is an SSA variable of type i1. It is the adder's carry,
// after a subtraction too, which is a + ~b + 1: set where nothing was borrowed. The IR's sub_borrow takes and
// produces a borrow.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

namespace {

using ir::Opcode;
using ir::Type;
using ir::ValueId;

ValueId Inverted(Emitter& e, ValueId flag) {
  const ir::Value& value = e.f.at_value(flag);
  if (value.def.valid() && e.f.at_inst(value.def).op == Opcode::kNot)
    return e.f.at_inst(value.def).operands[0];
  return e.b.Unary(Opcode::kNot, Type::kI1, flag);
}

// d = a + b + carry-in, and the carry out with .cc.
void Add(Emitter& e, ValueId a, ValueId b, bool carry_in) {
  ValueId in = carry_in ? e.ReadCarry() : e.Const(Type::kI1, 0);
  auto [result, carry] = e.b.Inst2(Opcode::kAddCarry, ElementOf(e, 0), {a, b, in});
  e.Write(0, result);
  if (e.Has("cc")) e.WriteCarry(carry);
}

void Subtract(Emitter& e, ValueId a, ValueId b, bool carry_in) {
  ValueId in = carry_in ? Inverted(e, e.ReadCarry()) : e.Const(Type::kI1, 0);
  auto [result, borrow] = e.b.Inst2(Opcode::kSubBorrow, ElementOf(e, 0), {a, b, in});
  e.Write(0, result);
  if (e.Has("cc")) e.WriteCarry(Inverted(e, borrow));
}

// The half of the product that .lo or .hi selects.
ValueId HalfProduct(Emitter& e) {
  Opcode op = !e.Has("hi") ? Opcode::kMul : IsSigned(e.type()) ? Opcode::kMulHiS : Opcode::kMulHiU;
  return e.b.Binary(op, ElementOf(e, 1), e.Read(1), e.Read(2));
}

}  // namespace

void add_cc(Emitter& e) { Add(e, e.Read(1), e.Read(2), false); }
void addc(Emitter& e) { Add(e, e.Read(1), e.Read(2), true); }
void sub_cc(Emitter& e) { Subtract(e, e.Read(1), e.Read(2), false); }
void subc(Emitter& e) { Subtract(e, e.Read(1), e.Read(2), true); }
void mad_cc(Emitter& e) { Add(e, HalfProduct(e), e.Read(3), false); }
void madc(Emitter& e) { Add(e, HalfProduct(e), e.Read(3), true); }

}  // namespace ptx2cpu::ptx::rows
