#include "ir/build.h"

namespace ptx2cpu::ir {
namespace {

ValueId CompareWith(Builder& b, Opcode op, Compare compare, ValueId x, ValueId y, uint32_t flags) {
  return b.Inst1(op, Type::kVoid, {x, y}, {.flags = flags, .compare = compare}, b.f.type_of(x));
}

}  // namespace

InstId Builder::Make(Opcode op, Type type, std::vector<ValueId> operands, const Attrs& attrs, Type from,
                     uint32_t results) {
  Inst inst;
  inst.op = op;
  inst.type = type;
  inst.from = from;
  inst.attrs = attrs;
  inst.operands = std::move(operands);
  inst.at = at;
  return Append(f, block, std::move(inst), results);
}

ValueId Builder::Inst1(Opcode op, Type type, std::vector<ValueId> operands, const Attrs& attrs, Type from) {
  return Result(Make(op, type, std::move(operands), attrs, from));
}

std::pair<ValueId, ValueId> Builder::Inst2(Opcode op, Type type, std::vector<ValueId> operands,
                                           const Attrs& attrs) {
  const InstId id = Make(op, type, std::move(operands), attrs);
  return {Result(id, 0), Result(id, 1)};
}

ValueId Builder::Const(Type type, uint64_t bits) {
  if (Bits(type) < 64) bits &= (uint64_t{1} << Bits(type)) - 1;
  return Inst1(Opcode::kConst, type, {}, {.bits = bits});
}

ValueId Builder::Undef(Type type) { return Inst1(Opcode::kUndef, type, {}); }

ValueId Builder::Symbol(Space space, uint32_t index) {
  return Inst1(Opcode::kSymbol, Type::kVoid, {}, {.index = index, .space = space});
}

ValueId Builder::SpecialRegister(Special special, Type type, uint32_t index, uint32_t flags) {
  return Inst1(Opcode::kSpecialRegister, type, {}, {.index = index, .flags = flags, .special = special});
}

ValueId Builder::ParamBase() { return Inst1(Opcode::kParamBase, Type::kVoid, {}); }

ValueId Builder::Select(ValueId predicate, ValueId yes, ValueId no) {
  return Inst1(Opcode::kSelect, f.type_of(yes), {predicate, yes, no});
}

ValueId Builder::Unary(Opcode op, Type type, ValueId a, const Attrs& attrs) {
  return Inst1(op, type, {a}, attrs);
}

ValueId Builder::Binary(Opcode op, Type type, ValueId a, ValueId b, const Attrs& attrs) {
  return Inst1(op, type, {a, b}, attrs);
}

ValueId Builder::Ternary(Opcode op, Type type, ValueId a, ValueId b, ValueId c, const Attrs& attrs) {
  return Inst1(op, type, {a, b, c}, attrs);
}

ValueId Builder::Convert(Opcode op, Type to, ValueId value, const Attrs& attrs) {
  return Inst1(op, to, {value}, attrs, f.type_of(value));
}

ValueId Builder::Bitcast(Type to, ValueId value) {
  return f.type_of(value) == to ? value : Convert(Opcode::kBitcast, to, value);
}

ValueId Builder::Icmp(Compare compare, ValueId a, ValueId b) {
  return CompareWith(*this, Opcode::kIcmp, compare, a, b, 0);
}

ValueId Builder::Fcmp(Compare compare, ValueId a, ValueId b, uint32_t flags) {
  return CompareWith(*this, Opcode::kFcmp, compare, a, b, flags);
}

ValueId Builder::Pack(Type to, std::vector<ValueId> parts) {
  const Type part = f.type_of(parts.front());
  return Inst1(Opcode::kPack, to, std::move(parts), {}, part);
}

std::vector<ValueId> Builder::Unpack(Type part, ValueId whole) {
  const Type from = f.type_of(whole);
  const auto count = static_cast<uint32_t>(Bits(from) / Bits(part));
  return f.at_inst(Make(Opcode::kUnpack, part, {whole}, {}, from, count)).results;
}

ValueId Builder::Load(Type type, Space space, ValueId address, Attrs attrs) {
  attrs.space = space;
  return Inst1(Opcode::kLoad, type, {address}, attrs);
}

std::vector<ValueId> Builder::LoadVector(Type type, Space space, ValueId address, uint32_t count,
                                         Attrs attrs) {
  attrs.space = space;
  return f.at_inst(Make(Opcode::kLoad, type, {address}, attrs, Type::kVoid, count)).results;
}

void Builder::Store(Type type, Space space, ValueId address, const std::vector<ValueId>& values,
                    Attrs attrs) {
  attrs.space = space;
  std::vector<ValueId> operands{address};
  operands.insert(operands.end(), values.begin(), values.end());
  Make(Opcode::kStore, type, std::move(operands), attrs);
}

ValueId Builder::SlotLoad(uint32_t slot) {
  return Inst1(Opcode::kSlotLoad, f.slots[slot].type, {}, {.index = slot});
}

void Builder::SlotStore(uint32_t slot, ValueId value) {
  Make(Opcode::kSlotStore, f.slots[slot].type, {value}, {.index = slot});
}

std::vector<ValueId> Builder::Call(Opcode op, uint32_t index, std::vector<ValueId> operands,
                                   const std::vector<Type>& types) {
  Inst inst;
  inst.op = op;
  inst.attrs.index = index;
  inst.operands = std::move(operands);
  inst.at = at;
  for (const Type type : types) inst.results.push_back(AddValue(f, type, InstId{}, block, 0));
  return f.at_inst(Append(f, block, std::move(inst))).results;
}

InstId Builder::Terminate(Opcode op, std::vector<ValueId> operands, std::vector<Edge> edges,
                          const Attrs& attrs) {
  const InstId id = Make(op, Type::kVoid, std::move(operands), attrs);
  f.inst(id).edges = std::move(edges);
  return id;
}

InstId Builder::Br(BlockId to, std::vector<ValueId> args) {
  return Terminate(Opcode::kBr, {}, {{to, std::move(args)}});
}

InstId Builder::CondBr(ValueId predicate, Edge yes, Edge no, uint32_t flags) {
  return Terminate(Opcode::kCondBr, {predicate}, {std::move(yes), std::move(no)}, {.flags = flags});
}

InstId Builder::Ret(std::vector<ValueId> values) { return Terminate(Opcode::kRet, std::move(values)); }

}  // namespace ptx2cpu::ir
