#include "analysis/graph/dominators.h"

#include <utility>

#include "analysis/graph/immediate_dominators.h"

namespace ptx2cpu::analysis {
namespace {

void Number(DominatorTree& tree) {
  uint32_t clock = 0;
  std::vector<std::pair<uint32_t, size_t>> stack{{tree.root, 0}};
  tree.enter[tree.root] = clock++;
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next < tree.children[node].size()) {
      uint32_t child = tree.children[node][next++];
      tree.enter[child] = clock++;
      stack.push_back({child, 0});
    } else {
      tree.leave[node] = clock++;
      stack.pop_back();
    }
  }
}

using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

DominatorTree Tree(const Cfg& g, const Edges& edges, uint32_t root) {
  const auto count = static_cast<uint32_t>(g.size());
  DominatorTree tree;
  tree.root = root;
  tree.parent = ImmediateDominators(count, edges, root);
  tree.children.resize(count);
  tree.enter.assign(count, kNoNode);
  tree.leave.assign(count, kNoNode);
  for (uint32_t v = 0; v < count; ++v) {
    if (tree.parent[v] != kNoNode) tree.children[tree.parent[v]].push_back(v);
  }
  Number(tree);
  return tree;
}

}  // namespace

DominatorTree Dominators(const Cfg& g) {
  Edges edges;
  for (uint32_t from : g.order) {
    for (uint32_t to : g.successors[from]) edges.emplace_back(from, to);
  }
  return Tree(g, edges, g.entry);
}

DominatorTree PostDominators(const Cfg& g) {
  Edges edges;
  for (uint32_t from : g.order) {
    for (uint32_t to : g.successors[from]) edges.emplace_back(to, from);
  }
  return Tree(g, edges, g.exit);
}

}  // namespace ptx2cpu::analysis
