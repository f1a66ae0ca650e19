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
  InstId Make(Opcode op, Type type, std::vector<ValueId> operands, const Attrs& attrs = {},
              Type from = Type::kVoid, uint32_t results = 1);
  // The same for rows with a result: the first one.
  ValueId Inst1(Opcode op, Type type, std::vector<ValueId> operands, const Attrs& attrs = {},
                Type from = Type::kVoid);
  ValueId Result(InstId id, size_t number = 0) const { return f.at_inst(id).results[number]; }
  std::pair<ValueId, ValueId> Inst2(Opcode op, Type type, std::vector<ValueId> operands,
                                    const Attrs& attrs = {});

  // -- values --
  ValueId Const(Type type, uint64_t bits);
  ValueId Undef(Type type);
  ValueId Symbol(Space space, uint32_t index);
  ValueId SpecialRegister(Special special, Type type = Type::kI32, uint32_t index = 0, uint32_t flags = 0);
  ValueId ParamBase();
  ValueId Select(ValueId predicate, ValueId yes, ValueId no);

  // -- arithmetic: rows "T:T", "TT:T", "TTT:T", and those that take F from an operand --
  ValueId Unary(Opcode op, Type type, ValueId a, const Attrs& attrs = {});
  ValueId Binary(Opcode op, Type type, ValueId a, ValueId b, const Attrs& attrs = {});
  ValueId Ternary(Opcode op, Type type, ValueId a, ValueId b, ValueId c, const Attrs& attrs = {});
  // "F:T": zext, sext, trunc, bitcast, fconvert, f_to_s ... F is the operand's type.
  ValueId Convert(Opcode op, Type to, ValueId value, const Attrs& attrs = {});
  // `to` when it has that type already, else a bitcast.
  ValueId Bitcast(Type to, ValueId value);
  ValueId Icmp(Compare compare, ValueId a, ValueId b);
  ValueId Fcmp(Compare compare, ValueId a, ValueId b, uint32_t flags = 0);
  ValueId Pack(Type to, std::vector<ValueId> parts);
  std::vector<ValueId> Unpack(Type part, ValueId whole);

  // -- memory --
  ValueId Load(Type type, Space space, ValueId address, Attrs attrs = {});
  std::vector<ValueId> LoadVector(Type type, Space space, ValueId address, uint32_t count, Attrs attrs = {});
  void Store(Type type, Space space, ValueId address, const std::vector<ValueId>& values, Attrs attrs = {});
  ValueId SlotLoad(uint32_t slot);
  void SlotStore(uint32_t slot, ValueId value);

  // -- calls: `op` is Call (index: function) or CallIndirect (index: signature); results are of `types` --
  std::vector<ValueId> Call(Opcode op, uint32_t index, std::vector<ValueId> operands,
                            const std::vector<Type>& types);

  // -- terminators --
  InstId Terminate(Opcode op, std::vector<ValueId> operands = {}, std::vector<Edge> edges = {},
                   const Attrs& attrs = {});
  InstId Br(BlockId to, std::vector<ValueId> args = {});
  InstId CondBr(ValueId predicate, Edge yes, Edge no, uint32_t flags = 0);
  InstId Ret(std::vector<ValueId> values = {});
};

}  // namespace ptx2cpu::ir
