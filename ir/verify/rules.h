// The rules of verify.h, one function each, and what they share. Inside the verifier only.
#pragma once

#include <string>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::ir::verify {

struct Subject {
  const Module& module;
  const Function& f;
  std::vector<BlockId> blocks;  // the reachable ones in reverse post order, once the rule "blocks" holds
  const char* rule = "";        // now being checked

  const std::vector<BlockId>& Blocks() const { return blocks; }
  // Runs `check(block, inst)` for every instruction of every reachable block.
  template <typename Check>
  Status ForEach(Check check) const {
    for (BlockId block : Blocks()) {
      for (InstId id : f.at_block(block).insts) TRY_STATUS(check(block, f.at_inst(id)));
    }
    return {};
  }
  std::string NameOf(BlockId block) const;  // "block ^b2 "LABEL"", numbered as Print does
  // "function @f, block ^b2 "L", `br ^b9`: what (rule edges)"
  std::unexpected<Error> Broken(std::string what) const;
  std::unexpected<Error> Broken(BlockId block, std::string what) const;
  std::unexpected<Error> Broken(BlockId block, const Inst& inst, std::string what) const;

 private:
  std::unexpected<Error> BrokenAt(std::string place, Position at, std::string what) const;
};

// Every rule may rely on those before it.
Status CheckBlocks(Subject& s);      // ids are valid, blocks end in one terminator
Status CheckValues(Subject& s);      // values record their definitions
Status CheckTypes(Subject& s);       // T and F are what the row allows
Status CheckSignature(Subject& s);   // count and types of operands and results
Status CheckAttributes(Subject& s);  // only what the row reads, and what it needs
Status CheckReferences(Subject& s);  // variables, functions, slots
Status CheckMemory(Subject& s);      // spaces and orders of accesses, operations of atomics
Status CheckEdges(Subject& s);       // number of edges, arguments fit parameters
Status CheckDominance(Subject& s);   // a definition dominates its uses
Status CheckInterface(Subject& s);   // entry and ret fit the function's header
Status CheckPhaseRows(Subject& s);   // no rows of a later phase
Status CheckSimtLevels(Subject& s);
Status CheckSplitBlocks(Subject& s);
Status CheckSplitBranches(Subject& s);
Status CheckSplitRegions(Subject& s);
Status CheckCollapsedLevels(Subject& s);
Status CheckCollapsedLoops(Subject& s);
Status CheckCollapsedValues(Subject& s);
Status CheckResumable(Subject& s);  // resume points, and where lanes or warps suspend

}  // namespace ptx2cpu::ir::verify
