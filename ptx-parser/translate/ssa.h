// SSA construction on the fly: Braun, Buchwald, Hack, Leissa, Mallon, Zwinkau, "Simple and Efficient
// Construction of Static Single Assignment Form" (CC 2013), with block parameters in place of phi functions.
//
// A variable has one canonical type, that of block parameters; inside a block its value may have any type of
// that width (a PTX register is a bag of bits), and is cast where it leaves as an edge argument.
#pragma once

#include <functional>
#include <optional>
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

  // What a block starts with is what another one starts or ends with. Without this knowledge, reading follows
  // the edges. `may_write` holds for what is written at the current place.
  struct Source {
    ir::BlockId block;
    bool at_end;
  };
  using SourceOf = std::function<std::optional<Source>(Variable, ir::BlockId)>;
  void UseSources(SourceOf source_of, std::function<bool(Variable)> may_write) {
    source_of_ = std::move(source_of);
    may_write_ = std::move(may_write);
  }
  // All ways to `block` come from `dominator`, and nothing on them writes other variables than `written`.
  void SetDominator(ir::BlockId block, ir::BlockId dominator, std::vector<Variable> written);

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
    std::unordered_map<Variable, ir::ValueId> values;      // at the end
    std::unordered_map<Variable, ir::ValueId> parameters;  // at the start
    ir::BlockId dominator;                                 // of SetDominator
    std::vector<Variable> written;
    std::vector<std::pair<Variable, ir::ValueId>> incomplete;
    uint32_t chain = kNoChain, place = 0;  // in chains_
  };
  static constexpr uint32_t kNoChain = ~0u;
  // Blocks of which each is the dominator of the next one, as guarded instructions in a row have them. What
  // leaves a variable alone is not walked through.
  struct Chain {
    std::vector<ir::BlockId> blocks;
    std::unordered_map<Variable, std::vector<uint32_t>> writers;  // places after the first, ascending
  };
  struct Pending {  // a parameter whose arguments are still to be looked up
    Variable variable;
    ir::BlockId block;
    ir::ValueId parameter;
  };

  BlockState& State(ir::BlockId block);
  ir::ValueId Lookup(Variable variable, ir::BlockId block);
  std::optional<Source> SourceOfStart(Variable variable, ir::BlockId block);
  ir::BlockId LastWriterBefore(Variable variable, ir::BlockId block);
  ir::ValueId Parameter(Variable variable, ir::BlockId block);
  void FillArguments(const Pending& pending);
  ir::ValueId UndefinedValue(Variable variable);
  void PlaceUndefinedValues();
  void RemoveTrivialParameters();
  void RemoveUnused();

  ir::Function& f_;
  std::vector<ir::Type> types_;
  std::vector<BlockState> states_;
  std::vector<Chain> chains_;
  std::vector<Pending> pending_;
  SourceOf source_of_;
  std::function<bool(Variable)> may_write_;
  std::unordered_map<Variable, ir::ValueId> undefined_;
  ir::BlockId undefined_block_;  // holds what makes undefined_ until Finish
};

}  // namespace ptx2cpu::ptx
