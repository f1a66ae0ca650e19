// Finds the block that a register's value comes from before translation, from the control graph and the
// blocks that write each register. If nothing writes a register on the paths from a dominating block, its
// value is that of the dominating block, so that nested loops and branches need neither a parameter for it
// nor a walk.
//
// This works for reducible graphs only. They have an order in which all edges lead forward except back edges
// to loop heads, and in which the blocks of each loop are adjacent. All blocks on paths from a block's
// immediate dominator to the block lie between the two in that order, and so do the loops around such blocks
// that do not hold the block itself.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptx-parser/translate/control_graph.h"

namespace ptx2cpu::ptx {

// A tree whose nodes come after their parents. Ancestors are found in logarithmic time by one further pointer
// per node (Myers, "An applicative random-access stack", 1983). Node 0 is the root.
class JumpTree {
 public:
  JumpTree() : parent_{0}, jump_{0}, depth_{0} {}
  void Add(uint32_t parent);
  uint32_t Parent(uint32_t node) const { return parent_[node]; }
  uint32_t CommonAncestor(uint32_t a, uint32_t b) const;
  // The nearest ancestor or the node itself that `stops`; must hold for all ancestors of one for which it
  // holds, and for the root.
  template <typename Stops>
  uint32_t Nearest(uint32_t node, const Stops& stops) const {
    while (!stops(node)) node = stops(jump_[node]) ? parent_[node] : jump_[node];
    return node;
  }

 private:
  std::vector<uint32_t> parent_, jump_, depth_;
};

class ReachingBlocks {
 public:
  struct Source {
    uint32_t block;
    bool at_end;  // the value that the block ends with; else the one that it starts with
  };

  // `writers`: for each register the blocks that write it, in any order, also several times. Nothing for
  // irreducible graphs.
  static std::optional<ReachingBlocks> Of(const ControlGraph& graph,
                                          const std::vector<std::vector<uint32_t>>& writers);

  // Whose value of the register `block` starts with: the end of a block that may write it, or the start of
  // one where several values may meet or where nothing wrote it. That may be `block` itself.
  Source Find(uint32_t reg, uint32_t block) const;
  bool Writes(uint32_t reg, uint32_t block) const;

 private:
  struct Loop {
    uint32_t head = 0;
    uint32_t end = 0;  // position after its last block; the first is its head's
  };

  void Number(const ControlGraph& graph);
  void FindDominators();
  bool IsReducible() const;
  void FindLoops();
  void Order(const std::vector<uint32_t>& parents, const std::vector<uint32_t>& loop_of);

  // Nodes are the reachable blocks in reverse post order.
  std::vector<uint32_t> blocks_;  // by node
  std::vector<uint32_t> nodes_;   // by block
  std::vector<std::vector<uint32_t>> predecessors_;
  JumpTree dominators_;
  std::vector<Loop> loops_;  // [0] is the function
  JumpTree nesting_;
  std::vector<uint32_t> innermost_;
  std::vector<uint32_t> positions_;             // by node: its place in the order
  std::vector<std::vector<uint32_t>> writers_;  // by register: positions, ascending
};

}  // namespace ptx2cpu::ptx
