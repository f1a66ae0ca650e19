// The function under construction: instructions at the end of a block, constants, and variables in SSA form.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/build.h"
#include "ptx-parser/translate/current_instruction.h"
#include "ptx-parser/translate/ssa.h"

namespace ptx2cpu::ptx {

class SsaBuilder : public CurrentInstruction {
 public:
  SsaBuilder(const ast::Module& ast_in, const ast::Function& source_in, ir::Function& function)
      : CurrentInstruction(ast_in, source_in), b{function, {}, {}}, f(function), ssa(function) {}

  ir::Builder b;
  ir::Function& f;
  Ssa ssa;
  uint32_t statement_block = 0;  // of the current instruction
  ir::ValueId Const(ir::Type type, uint64_t bits);
  ir::ValueId Offset(ir::ValueId address, int64_t offset);  // address + offset
  void SetBlock(ir::BlockId block);
  void AddEdges(ir::InstId terminator);  // reports every edge of a terminator to SSA
  ir::ValueId ReadVariable(Ssa::Variable variable) { return ssa.Read(variable, b.block); }
  void WriteVariable(Ssa::Variable variable, ir::ValueId value);

  // A write of a guarded instruction, which waits until the instruction is known to have happened.
  struct DelayedWrite {
    Ssa::Variable variable;
    ir::ValueId value;
  };
  bool delaying = false;
  std::vector<DelayedWrite> delayed;

 private:
  std::unordered_map<uint64_t, ir::ValueId> constants_;  // of the current block
};

}  // namespace ptx2cpu::ptx
