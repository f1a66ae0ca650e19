// The blocks of a function body before translation: runs of statements between labels and branches, with
// their edges, so that the number of a block's predecessors and unreachable code are known beforehand.
#pragma once

#include <vector>

#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx {

struct StatementBlock {
  uint32_t first = 0;  // statements [first, end), numbers within the function
  uint32_t end = 0;
  uint32_t label = ast::kNone;       // Module::labels; the first of several
  std::vector<uint32_t> successors;  // in edge order; one entry per edge
  uint32_t predecessors = 0;         // edges from reachable blocks, fall-through of the entry not counted
  bool reachable = false;
};

struct ControlGraph {
  std::vector<StatementBlock> blocks;    // in source order; [0] is the entry
  std::vector<uint32_t> block_of_label;  // label -> block, kNone when of another function
};

// True for the instructions after which control does not fall through: bra, brx, ret, exit, trap, and calls
// of functions that do not return; only when not guarded.
bool EndsBlock(const ast::Module& module, const ast::Instruction& instruction);

ControlGraph BuildControlGraph(const ast::Module& module, const ast::Function& function);

}  // namespace ptx2cpu::ptx
