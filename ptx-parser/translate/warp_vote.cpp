// 9.7.13.8 to 9.7.13.14: vote, match, redux, activemask, elect.
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

using ir::Opcode;
using ir::Type;
using ir::ValueId;

namespace {

void Vote(Emitter& e, ValueId members, uint32_t flags) {
  Opcode op = e.Has("ballot") ? Opcode::kBallot
              : e.Has("all")  ? Opcode::kVoteAll
              : e.Has("any")  ? Opcode::kVoteAny
                              : Opcode::kVoteUni;
  e.Write(0, e.b.Binary(op, Type::kVoid, e.Read(1, Type::kI1), members, {.flags = flags}));
}

ir::AtomicOp ReductionOf(const Emitter& e) {
  PtxType type = e.type();
  bool sign = IsSigned(type);
  if (IsFloat(type)) return e.Has("min") ? ir::AtomicOp::kFMin : ir::AtomicOp::kFMax;
  if (e.Has("add")) return ir::AtomicOp::kAdd;
  if (e.Has("min")) return sign ? ir::AtomicOp::kMinS : ir::AtomicOp::kMinU;
  if (e.Has("max")) return sign ? ir::AtomicOp::kMaxS : ir::AtomicOp::kMaxU;
  if (e.Has("and")) return ir::AtomicOp::kAnd;
  return e.Has("or") ? ir::AtomicOp::kOr : ir::AtomicOp::kXor;
}

}  // namespace

void vote_sync(Emitter& e) { Vote(e, e.Read(2, Type::kI32), 0); }
void vote(Emitter& e) { Vote(e, e.Const(Type::kI32, 0xffffffffu), ir::kLegacy); }

void match_any(Emitter& e) {
  e.Write(0, e.b.Binary(Opcode::kMatchAny, ElementOf(e, 1), e.Read(1), e.Read(2, Type::kI32)));
}

void match_all(Emitter& e) {
  auto [mask, all] = e.b.Inst2(Opcode::kMatchAll, ElementOf(e, 1), {e.Read(1), e.Read(2, Type::kI32)});
  const ast::Operand& destination = e.Operand(0);
  e.Write(0, mask);
  if (destination.kind == ast::OperandKind::kPair) e.WriteOperand(e.ast.Children(destination)[1], all, false);
}

void activemask(Emitter& e) { e.Write(0, e.b.Inst1(Opcode::kActiveMask, Type::kVoid, {})); }

void redux(Emitter& e) {
  ir::Attrs attrs{.flags = FloatFlags(e), .atomic = ReductionOf(e)};
  e.Write(0, e.b.Binary(Opcode::kRedux, ElementOf(e, 1), e.Read(1), e.Read(2, Type::kI32), attrs));
}

void elect(Emitter& e) {
  auto [leader, is_leader] = e.b.Inst2(Opcode::kElect, Type::kVoid, {e.Read(1, Type::kI32)});
  const ast::Operand& destination = e.Operand(0);
  e.Write(0, leader);
  if (destination.kind == ast::OperandKind::kPair)
    e.WriteOperand(e.ast.Children(destination)[1], is_leader, false);
}

}  // namespace ptx2cpu::ptx::rows
