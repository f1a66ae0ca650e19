#include "analysis/lanes/early_exits.h"

#include <algorithm>

#include "analysis/graph/reached_blocks.h"

namespace ptx2cpu::analysis {

using ir::BlockId;
using ir::Opcode;

namespace {

class EarlyExitFinder {
 public:
  explicit EarlyExitFinder(const ir::Function& f) : f_(f), turn_(f) {
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
  bool ExitsFrom(BlockId entry) {
    return std::ranges::any_of(turn_.From(entry), [&](BlockId block) {
      return Is(block, Opcode::kExitLane) || exits_.within[block.index];
    });
  }

  // A loop's body begins before the exits in it: other warps' lanes are not missing there.
  void Leave(BlockId block, bool after_loop) {
    const auto edges = f_.successors(block);
    for (size_t n = after_loop ? 1 : 0; n < edges.size(); ++n) Reach(edges[n].to);
    // A block that suspends continues where it is resumed.
    if (Is(block, Opcode::kSuspend) && f_.resumes == ir::Resumes::kBlocks)
      Reach(f_.successors(f_.entry)[f_.terminator(block).attrs.index].to);
  }

  void Reach(BlockId block) {
    if (f_.at_block(block).level == ir::Level::kLane || exits_.before[block.index]) return;
    exits_.before[block.index] = true;
    work_.push_back(block);
  }

  const ir::Function& f_;
  ReachedBlocks turn_;
  EarlyExits exits_;
  std::vector<BlockId> work_;
};

}  // namespace

EarlyExits FindEarlyExits(const ir::Function& f) {
  const size_t count = f.blocks.size();
  EarlyExits exits{std::vector<bool>(count, f.has_early_exit), std::vector<bool>(count, f.has_early_exit),
                   std::vector<bool>(count)};
  if (f.resumes == ir::Resumes::kLanes) {
    const std::vector<BlockId> heads = ir::TogetherByPoint(f);
    ReachedBlocks together(f);
    together.From(heads);
    // Where warps suspend, some of their lanes may have exited before.
    const bool suspends = std::ranges::count_if(heads, &BlockId::valid) > 1;
    const EarlyExits found = EarlyExitFinder(f).Run();
    for (uint32_t n = 0; n < count; ++n) {
      exits.apart[n] = !together.Contains({n});
      if (exits.apart[n] || suspends) continue;
      exits.before[n] = found.before[n];
      exits.within[n] = found.within[n];
    }
    return exits;
  }
  if (!f.has_early_exit || f.resumes > ir::Resumes::kBlocks || f.parked_slot != ~0u) return exits;
  EarlyExits found = EarlyExitFinder(f).Run();
  found.apart.resize(count);
  return found;
}

}  // namespace ptx2cpu::analysis
