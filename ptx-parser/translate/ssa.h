// SSA construction on the fly: Braun, Buchwald, Hack, Leissa, Mallon, Zwinkau, "Simple and Efficient
// Construction of Static Single Assignment Form" (CC 2013), with block parameters in place of phi functions.
//
// A variable has one canonical type, that of block parameters; inside a block its value may have any type of
// that width (a PTX register is a bag of bits), and is cast where it leaves as an edge argument.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/build.h"

namespace ptx2cpu::ptx {

class Ssa {
 public:
  using Variable = uint32_t;

  explicit Ssa(ir::Function& f) : f_(f) {}

  Variable Declare(ir::Type canonical);
  ir::Type TypeOf(Variable variable) const { return types_[variable]; }

  void Write(Variable variable, ir::BlockId block, ir::ValueId value);
  ir::ValueId Read(Variable variable, ir::BlockId block);

  // Edge number `edge` of `terminator` leads to `to`.
  void AddEdge(ir::InstId terminator, uint32_t edge, ir::BlockId to);
  // No further edges will come.
  void Seal(ir::BlockId block);

  // Places the values of variables that nothing wrote; removes unreachable blocks, trivial parameters (all
  // arguments equal) and unused pure instructions.
  void Finish();

 private:
  struct Predecessor {
    ir::InstId terminator;
    uint32_t edge;
  };
  struct BlockState {
    bool sealed = false;
    std::vector<Predecessor> predecessors;
    std::unordered_map<Variable, ir::ValueId> values;
    std::vector<std::pair<Variable, ir::ValueId>> incomplete;
  };
  struct Pending {  // a parameter whose arguments are still to be looked up
    Variable variable;
    ir::BlockId block;
    ir::ValueId parameter;
  };

  BlockState& State(ir::BlockId block);
  ir::ValueId Lookup(Variable variable, ir::BlockId block);
  void FillArguments(const Pending& pending);
  ir::ValueId UndefinedValue(Variable variable);
  void PlaceUndefinedValues();
  void RemoveTrivialParameters();
  void RemoveUnused();

  ir::Function& f_;
  std::vector<ir::Type> types_;
  std::vector<BlockState> states_;
  std::vector<Pending> pending_;
  std::unordered_map<Variable, ir::ValueId> undefined_;
  ir::BlockId undefined_block_;  // holds what makes undefined_ until Finish
};

}  // namespace ptx2cpu::ptx
