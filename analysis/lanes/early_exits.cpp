#include "analysis/lanes/early_exits.h"

#include <algorithm>

namespace ptx2cpu::analysis {

using ir::BlockId;
using ir::Opcode;

namespace {

class Finder {
 public:
  explicit Finder(const ir::Function& f) : f_(f) {
    exits_.before.resize(f.blocks.size());
    exits_.within.resize(f.blocks.size());
  }

  EarlyExits Run() {
    // Inner loops first: a loop over warps contains the exits of its loops over lanes.
    for (const Opcode loop : {Opcode::kForLanes, Opcode::kForWarps}) {
      for (uint32_t n = 0; n < f_.blocks.size(); ++n) {
        if (Is({n}, loop)) exits_.within[n] = ExitsFrom(f_.terminator({n}).edges[0].to);
      }
    }
    for (uint32_t n = 0; n < f_.blocks.size(); ++n) {
      if (!f_.blocks[n].removed && exits_.within[n]) Leave({n}, true);
    }
    while (!work_.empty()) {
      const BlockId block = work_.back();
      work_.pop_back();
      Leave(block, false);
    }
    return std::move(exits_);
  }

 private:
  bool Is(BlockId block, Opcode op) const {
    return !f_.at_block(block).removed && f_.terminator(block).op == op;
  }

  // From the loop's body, along all blocks that it leads to.
  bool ExitsFrom(BlockId entry) const {
    std::vector<bool> seen(f_.blocks.size());
    std::vector<BlockId> found{entry};
    for (size_t n = 0; n < found.size(); ++n) {
      if (Is(found[n], Opcode::kExitLane) || exits_.within[found[n].index]) return true;
      for (const ir::Edge& edge : f_.successors(found[n])) {
        if (seen[edge.to.index]) continue;
        seen[edge.to.index] = true;
        found.push_back(edge.to);
      }
    }
    return false;
  }

  // A loop's body begins before the exits in it: other warps' lanes are not missing there.
  void Leave(BlockId block, bool after_loop) {
    const auto edges = f_.successors(block);
    for (size_t n = after_loop ? 1 : 0; n < edges.size(); ++n) Reach(edges[n].to);
    // A block that suspends continues where it is resumed.
    if (Is(block, Opcode::kSuspend)) Reach(f_.successors(f_.entry)[f_.terminator(block).attrs.index].to);
  }

  void Reach(BlockId block) {
    if (f_.at_block(block).level == ir::Level::kLane || exits_.before[block.index]) return;
    exits_.before[block.index] = true;
    work_.push_back(block);
  }

  const ir::Function& f_;
  EarlyExits exits_;
  std::vector<BlockId> work_;
};

}  // namespace

EarlyExits FindEarlyExits(const ir::Function& f) {
  if (f.has_early_exit && f.resumes <= ir::Resumes::kBlocks && f.parked_slot == ~0u) return Finder(f).Run();
  return {std::vector<bool>(f.blocks.size(), f.has_early_exit),
          std::vector<bool>(f.blocks.size(), f.has_early_exit)};
}

}  // namespace ptx2cpu::analysis
