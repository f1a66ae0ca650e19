// Convenience for code that constructs IR (translation, passes, tests): appends to one block at one position.
//
//   Builder b{f, block, at};
//   ValueId sum = b.Binary(Opcode::kAdd, Type::kI32, x, b.Const(Type::kI32, 1));
//   b.CondBr(b.Icmp(Compare::kUlt, sum, n), {then, {sum}}, {otherwise, {}});
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::ir {

struct Builder {
  Function& f;
  BlockId block;
  Position at = {};

  // -- the general form: any row; `results` counts the results of a row that ends in '*' --
  InstId Make(Opcode op, Type type, std::vector<ValueId> operands, Attrs attrs = {}, Type from = Type::kVoid,
              uint32_t results = 1) {
    Inst inst;
    inst.op = op;
    inst.type = type;
    inst.from = from;
    inst.attrs = attrs;
    inst.operands = std::move(operands);
    inst.at = at;
    return Append(f, block, std::move(inst), results);
  }
  // The same for rows with a result: the first one.
  ValueId Inst1(Opcode op, Type type, std::vector<ValueId> operands, Attrs attrs = {},
                Type from = Type::kVoid) {
    return Result(Make(op, type, std::move(operands), attrs, from));
  }
  ValueId Result(InstId id, size_t number = 0) const { return f.at_inst(id).results[number]; }
  std::pair<ValueId, ValueId> Inst2(Opcode op, Type type, std::vector<ValueId> operands, Attrs attrs = {}) {
    InstId id = Make(op, type, std::move(operands), attrs);
    return {Result(id, 0), Result(id, 1)};
  }

  // -- values --
  ValueId Const(Type type, uint64_t bits) {
    if (Bits(type) < 64) bits &= (uint64_t{1} << Bits(type)) - 1;
    return Inst1(Opcode::kConst, type, {}, {.bits = bits});
  }
  ValueId Undef(Type type) { return Inst1(Opcode::kUndef, type, {}); }
  ValueId Symbol(Space space, uint32_t index) {
    return Inst1(Opcode::kSymbol, Type::kVoid, {}, {.index = index, .space = space});
  }
  ValueId SpecialRegister(Special special, Type type = Type::kI32, uint32_t index = 0, uint32_t flags = 0) {
    return Inst1(Opcode::kSpecialRegister, type, {}, {.index = index, .flags = flags, .special = special});
  }
  ValueId ParamBase() { return Inst1(Opcode::kParamBase, Type::kVoid, {}); }
  ValueId Select(ValueId predicate, ValueId yes, ValueId no) {
    return Inst1(Opcode::kSelect, f.type_of(yes), {predicate, yes, no});
  }

  // -- arithmetic: rows "T:T", "TT:T", "TTT:T", and those that take F from an operand --
  ValueId Unary(Opcode op, Type type, ValueId a, Attrs attrs = {}) { return Inst1(op, type, {a}, attrs); }
  ValueId Binary(Opcode op, Type type, ValueId a, ValueId b, Attrs attrs = {}) {
    return Inst1(op, type, {a, b}, attrs);
  }
  ValueId Ternary(Opcode op, Type type, ValueId a, ValueId b, ValueId c, Attrs attrs = {}) {
    return Inst1(op, type, {a, b, c}, attrs);
  }
  // "F:T": zext, sext, trunc, bitcast, fconvert, f_to_s ... F is the operand's type.
  ValueId Convert(Opcode op, Type to, ValueId value, Attrs attrs = {}) {
    return Inst1(op, to, {value}, attrs, f.type_of(value));
  }
  // `to` when it has that type already, else a bitcast.
  ValueId Bitcast(Type to, ValueId value) {
    return f.type_of(value) == to ? value : Convert(Opcode::kBitcast, to, value);
  }
  ValueId Icmp(Compare compare, ValueId a, ValueId b) { return CompareWith(Opcode::kIcmp, compare, a, b, 0); }
  ValueId Fcmp(Compare compare, ValueId a, ValueId b, uint32_t flags = 0) {
    return CompareWith(Opcode::kFcmp, compare, a, b, flags);
  }
  ValueId Pack(Type to, std::vector<ValueId> parts) {
    Type part = f.type_of(parts.front());
    return Inst1(Opcode::kPack, to, std::move(parts), {}, part);
  }
  std::vector<ValueId> Unpack(Type part, ValueId whole) {
    Type from = f.type_of(whole);
    uint32_t count = static_cast<uint32_t>(Bits(from) / Bits(part));
    return f.at_inst(Make(Opcode::kUnpack, part, {whole}, {}, from, count)).results;
  }

  // -- memory --
  ValueId Load(Type type, Space space, ValueId address, Attrs attrs = {}) {
    attrs.space = space;
    return Inst1(Opcode::kLoad, type, {address}, attrs);
  }
  std::vector<ValueId> LoadVector(Type type, Space space, ValueId address, uint32_t count, Attrs attrs = {}) {
    attrs.space = space;
    return f.at_inst(Make(Opcode::kLoad, type, {address}, attrs, Type::kVoid, count)).results;
  }
  void Store(Type type, Space space, ValueId address, const std::vector<ValueId>& values, Attrs attrs = {}) {
    attrs.space = space;
    std::vector<ValueId> operands{address};
    operands.insert(operands.end(), values.begin(), values.end());
    Make(Opcode::kStore, type, std::move(operands), attrs);
  }
  ValueId SlotLoad(uint32_t slot) {
    return Inst1(Opcode::kSlotLoad, f.slots[slot].type, {}, {.index = slot});
  }
  void SlotStore(uint32_t slot, ValueId value) {
    Make(Opcode::kSlotStore, f.slots[slot].type, {value}, {.index = slot});
  }

  // -- calls: `op` is Call (index: function) or CallIndirect (index: signature); results are of `types` --
  std::vector<ValueId> Call(Opcode op, uint32_t index, std::vector<ValueId> operands,
                            const std::vector<Type>& types) {
    Inst inst;
    inst.op = op;
    inst.attrs.index = index;
    inst.operands = std::move(operands);
    inst.at = at;
    for (Type type : types) inst.results.push_back(AddValue(f, type, InstId{}, block, 0));
    return f.at_inst(Append(f, block, std::move(inst))).results;
  }

  // -- terminators --
  InstId Terminate(Opcode op, std::vector<ValueId> operands = {}, std::vector<Edge> edges = {},
                   Attrs attrs = {}) {
    InstId id = Make(op, Type::kVoid, std::move(operands), attrs);
    f.inst(id).edges = std::move(edges);
    return id;
  }
  InstId Br(BlockId to, std::vector<ValueId> args = {}) {
    return Terminate(Opcode::kBr, {}, {{to, std::move(args)}});
  }
  InstId CondBr(ValueId predicate, Edge yes, Edge no, uint32_t flags = 0) {
    return Terminate(Opcode::kCondBr, {predicate}, {std::move(yes), std::move(no)}, {.flags = flags});
  }
  InstId Ret(std::vector<ValueId> values = {}) { return Terminate(Opcode::kRet, std::move(values)); }

 private:
  ValueId CompareWith(Opcode op, Compare compare, ValueId a, ValueId b, uint32_t flags) {
    return Inst1(op, Type::kVoid, {a, b}, {.flags = flags, .compare = compare}, f.type_of(a));
  }
};

}  // namespace ptx2cpu::ir
