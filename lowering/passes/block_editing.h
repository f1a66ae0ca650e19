// Edits of the block structure that several passes need.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/regions/regions.h"
#include "ir/function.h"

namespace ptx2cpu::lowering {

// Moves the instructions from position `where` on into a new block, which `block` then branches to.
ir::BlockId SplitBlock(ir::Function& f, ir::BlockId block, size_t where, const std::string& label);

// Puts an empty block in front of `block`: all edges into `block`, which are `incoming`, lead there instead,
// except those from blocks for which `stays` holds (then `block` keeps its parameters and the new block has
// its own).
ir::BlockId InsertBlockBefore(ir::Function& f, ir::BlockId block,
                              const std::vector<analysis::BlockEdge>& incoming, ir::Level level,
                              const std::string& label, ir::Position at,
                              const std::function<bool(ir::BlockId)>& stays = {});

// Puts an empty block on an edge; it passes the edge's arguments on.
ir::BlockId SplitEdge(ir::Function& f, ir::BlockId from, uint32_t edge, ir::Level level,
                      const std::string& label);

// Puts every instruction that satisfies `alone` into a block of its own.
void Isolate(ir::Function& f, const std::function<bool(const ir::Inst&)>& alone);

// The block's terminator becomes the end of its warp's lanes: the warp is through with the kernel.
void ExitLanes(ir::Function& f, ir::BlockId block);

// Puts a barrier of the lanes that are converged there before position `where`. Returns how many instructions
// that makes.
size_t InsertConvergence(ir::Function& f, ir::BlockId block, size_t where, ir::Position at);

// Puts a barrier of the block, number 0, before position `where`.
void InsertBlockBarrier(ir::Function& f, ir::BlockId block, size_t where, ir::Position at);

struct Copies {
  std::vector<ir::BlockId> blocks;                          // in the order of the originals
  std::vector<std::pair<ir::ValueId, ir::ValueId>> values;  // original, copy
};
// Copies blocks; edges among them lead to the copies, edges out of the set and values from outside stay as
// they are. Values of the originals that are used outside the set need RepairSsa.
Copies CloneBlocks(ir::Function& f, const std::vector<ir::BlockId>& blocks);

// Copies the body of another function into `f`: its blocks in reverse post order, the entry first. Local
// variables and ret stay as they are in the callee.
std::vector<ir::BlockId> CopyFunction(ir::Function& f, const ir::Function& callee);

// What remains is its name, which other code may have taken the address of, and what a launch must know.
void MakeDeclaration(ir::Function& f);

// Replaces parameters that receive one value over every edge by that value. True when there were any.
bool DropRedundantParams(ir::Function& f);

}  // namespace ptx2cpu::lowering
