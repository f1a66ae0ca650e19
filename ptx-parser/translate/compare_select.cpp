// 9.7.6: comparison and selection.
#include "ptx-parser/translate/comparison.h"
#include "ptx-parser/translate/elementwise.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

using ir::Compare;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

namespace {

struct CompareName {
  Word word;
  Compare as_signed, as_unsigned, as_float;
};
constexpr CompareName kCompares[] = {
    {"eq", Compare::kEq, Compare::kEq, Compare::kFeq},
    {"ne", Compare::kNe, Compare::kNe, Compare::kFne},
    {"lt", Compare::kSlt, Compare::kUlt, Compare::kFlt},
    {"le", Compare::kSle, Compare::kUle, Compare::kFle},
    {"gt", Compare::kSgt, Compare::kUgt, Compare::kFgt},
    {"ge", Compare::kSge, Compare::kUge, Compare::kFge},
    {"lo", Compare::kUlt, Compare::kUlt, Compare::kNone},
    {"ls", Compare::kUle, Compare::kUle, Compare::kNone},
    {"hi", Compare::kUgt, Compare::kUgt, Compare::kNone},
    {"hs", Compare::kUge, Compare::kUge, Compare::kNone},
    {"equ", Compare::kNone, Compare::kNone, Compare::kFequ},
    {"neu", Compare::kNone, Compare::kNone, Compare::kFneu},
    {"ltu", Compare::kNone, Compare::kNone, Compare::kFltu},
    {"leu", Compare::kNone, Compare::kNone, Compare::kFleu},
    {"gtu", Compare::kNone, Compare::kNone, Compare::kFgtu},
    {"geu", Compare::kNone, Compare::kNone, Compare::kFgeu},
    {"num", Compare::kNone, Compare::kNone, Compare::kFnum},
    {"nan", Compare::kNone, Compare::kNone, Compare::kFnan},
};

}  // namespace

Compare CompareOf(const Emitter& e, PtxType type) {
  Word word;
  for (Word group : {Word("BCmpOp"), Word("SCmpOp"), Word("UCmpOp"), Word("FCmpOp"), Word("CmpOp")}) {
    if (!word) word = e.mods().At(group);
  }
  for (const CompareName& name : kCompares) {
    if (name.word != word) continue;
    return IsFloat(type) ? name.as_float : IsSigned(type) ? name.as_signed : name.as_unsigned;
  }
  return Compare::kNone;
}

ValueId CompareValues(Emitter& e, Compare compare, ValueId a, ValueId b) {
  if (compare == Compare::kNone) {
    e.Fail(ErrorCode::kSyntax, "this comparison does not exist for the operands' type");
    return e.Const(Type::kI1, 0);
  }
  if (Info(compare).of == ir::CompareInfo::kFloats)
    return e.b.Fcmp(compare, a, b, e.Has("ftz") ? ir::kFtz : 0);
  return e.b.Icmp(compare, a, b);
}

ValueId ReadCombined(Emitter& e) { return e.mods().At("BoolOp") ? e.Read(3, Type::kI1) : ValueId{}; }

ValueId Combine(Emitter& e, ValueId result, ValueId c) {
  if (!c.valid()) return result;
  Word op = e.mods().At("BoolOp");
  Opcode opcode = op == Word("and") ? Opcode::kAnd : op == Word("or") ? Opcode::kOr : Opcode::kXor;
  return e.b.Binary(opcode, Type::kI1, result, c);
}

// p = (a CmpOp b) BoolOp c; q = !(a CmpOp b) BoolOp c.
void setp(Emitter& e) {
  ValueId c = ReadCombined(e);
  ValueId holds = CompareValues(e, CompareOf(e, e.type()), e.Read(1), e.Read(2));
  const ast::Operand& destination = e.Operand(0);
  bool pair = destination.kind == ast::OperandKind::kPair;
  ValueId second = pair ? Combine(e, e.b.Unary(Opcode::kNot, Type::kI1, holds), c) : ValueId{};
  e.Write(0, Combine(e, holds, c));
  if (pair) e.WriteOperand(e.ast.Children(destination)[1], second, false);
}

// All ones or zero as an integer, 1.0 or 0.0 as a float.
void set(Emitter& e) {
  ValueId c = ReadCombined(e);
  ValueId holds = Combine(e, CompareValues(e, CompareOf(e, e.type()), e.Read(1), e.Read(2)), c);
  bool is_float = IsFloat(e.dtype());
  Type type = ElementOf(e, 0);
  e.Write(0, e.b.Select(holds, e.Const(type, is_float ? 0x3f800000u : 0xffffffffu), e.Const(type, 0)));
}

// Selection moves bits: a .b or .f register keeps the type it is stored in.
void selp(Emitter& e) {
  Type type = e.StoredType(e.Operand(0), Bits(e.OperandType(0)));
  ValueId yes = e.Read(1, type), no = e.Read(2, type);
  e.Write(0, e.b.Select(e.Read(3, Type::kI1), yes, no));
}

// a where c >= 0, else b. For .f32, -0 counts as zero and NaN takes b.
void slct(Emitter& e) {
  Type type = e.StoredType(e.Operand(0), Bits(e.OperandType(0)));
  ValueId yes = e.Read(1, type), no = e.Read(2, type);
  ValueId holds = IsFloat(e.type()) ? e.b.Fcmp(Compare::kFge, e.Read(3), e.Const(Type::kF32, 0),
                                               e.Has("ftz") ? ir::kFtz : 0)
                                    : e.b.Icmp(Compare::kSge, e.Read(3), e.Const(Type::kI32, 0));
  e.Write(0, e.b.Select(holds, yes, no));
}

}  // namespace ptx2cpu::ptx::rows
