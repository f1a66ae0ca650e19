#include "analysis/graph/cfg.h"

#include <algorithm>
#include <unordered_map>

namespace ptx2cpu::analysis {
namespace {

void AddEdge(Cfg& g, uint32_t from, uint32_t to) {
  auto& list = g.successors[from];
  if (std::find(list.begin(), list.end(), to) != list.end()) return;
  list.push_back(to);
  g.predecessors[to].push_back(from);
}

// Depth first from the entry, adding the edges of each block when it is first met.
template <typename Numbers>
void Grow(Cfg& g, const ir::Function& f, const Numbers& numbers, const EdgeFilter& keep) {
  std::vector<std::pair<uint32_t, size_t>> stack;
  std::vector<uint32_t> added_from(g.size(), kNoNode);  // a switch may have many edges
  auto visit = [&](uint32_t node) {
    g.reached[node] = true;
    stack.push_back({node, 0});
    if (node == g.exit) return;
    const ir::BlockId block = numbers.BlockOf(node);
    std::span<const ir::Edge> edges = f.successors(block);
    for (uint32_t e = 0; e < edges.size(); ++e) {
      const uint32_t to = numbers.NodeOf(edges[e].to);
      if ((keep && !keep(block, e)) || added_from[to] == node) continue;
      added_from[to] = node;
      g.successors[node].push_back(to);
      g.predecessors[to].push_back(node);
    }
    if (g.successors[node].empty()) AddEdge(g, node, g.exit);
  };
  visit(g.entry);
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next < g.successors[node].size()) {
      uint32_t to = g.successors[node][next++];
      if (!g.reached[to]) visit(to);
    } else {
      g.order.push_back(node);
      stack.pop_back();
    }
  }
  std::reverse(g.order.begin(), g.order.end());
}

// Ensures that every node has a path to the exit: the last node (in reverse post order) that has none gets an
// edge, and again.
void CloseEndlessLoops(Cfg& g, const std::function<bool(ir::BlockId)>& leaves) {
  std::vector<bool> ends(g.size());
  auto mark = [&](uint32_t from) {
    std::vector<uint32_t> work{from};
    ends[from] = true;
    while (!work.empty()) {
      uint32_t node = work.back();
      work.pop_back();
      for (uint32_t p : g.predecessors[node]) {
        if (!ends[p]) {
          ends[p] = true;
          work.push_back(p);
        }
      }
    }
  };
  mark(g.exit);
  for (bool any : {false, true}) {
    for (auto it = g.order.rbegin(); it != g.order.rend(); ++it) {
      if (ends[*it] || (!any && !(leaves && leaves({*it})))) continue;
      AddEdge(g, *it, g.exit);
      g.endless.push_back(*it);
      mark(*it);
    }
  }
  if (!g.reached[g.exit]) {
    g.reached[g.exit] = true;
    g.order.push_back(g.exit);
  }
}

}  // namespace

namespace {

struct OfFunction {
  static ir::BlockId BlockOf(uint32_t node) { return {node}; }
  static uint32_t NodeOf(ir::BlockId block) { return block.index; }
};

class OfBlocks {
 public:
  explicit OfBlocks(const std::vector<ir::BlockId>& blocks) : blocks_(blocks) {
    for (uint32_t node = 0; node < blocks.size(); ++node) node_of_[blocks[node].index] = node;
  }
  ir::BlockId BlockOf(uint32_t node) const { return blocks_[node]; }
  uint32_t NodeOf(ir::BlockId block) const { return node_of_.at(block.index); }

 private:
  const std::vector<ir::BlockId>& blocks_;
  std::unordered_map<uint32_t, uint32_t> node_of_;
};

Cfg WithoutEdges(size_t blocks, uint32_t entry) {
  Cfg g;
  g.exit = static_cast<uint32_t>(blocks);
  g.entry = entry;
  g.successors.resize(blocks + 1);
  g.predecessors.resize(blocks + 1);
  g.reached.resize(blocks + 1);
  return g;
}

}  // namespace

Cfg BuildCfg(const ir::Function& f, const EdgeFilter& keep, const std::function<bool(ir::BlockId)>& leaves) {
  return BuildCfgFrom(f, f.entry, keep, leaves);
}

Cfg BuildCfgFrom(const ir::Function& f, ir::BlockId entry, const EdgeFilter& keep,
                 const std::function<bool(ir::BlockId)>& leaves) {
  Cfg g = WithoutEdges(f.blocks.size(), entry.index);
  Grow(g, f, OfFunction{}, keep);
  CloseEndlessLoops(g, leaves);
  return g;
}

Cfg BuildCfgOf(const ir::Function& f, const std::vector<ir::BlockId>& blocks) {
  Cfg g = WithoutEdges(blocks.size(), 0);
  Grow(g, f, OfBlocks(blocks), {});
  CloseEndlessLoops(g, {});
  return g;
}

}  // namespace ptx2cpu::analysis
