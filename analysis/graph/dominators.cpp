#include "analysis/graph/dominators.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dominator_tree.hpp>

namespace ptx2cpu::analysis {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;

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

DominatorTree Tree(const Graph& graph, uint32_t root) {
  size_t count = boost::num_vertices(graph);
  using Vertex = boost::graph_traits<Graph>::vertex_descriptor;
  std::vector<Vertex> dominator(count, boost::graph_traits<Graph>::null_vertex());
  boost::lengauer_tarjan_dominator_tree(
      graph, root,
      boost::make_iterator_property_map(dominator.begin(), boost::get(boost::vertex_index, graph)));
  DominatorTree tree;
  tree.root = root;
  tree.parent.assign(count, kNoNode);
  tree.children.resize(count);
  tree.enter.assign(count, kNoNode);
  tree.leave.assign(count, kNoNode);
  for (size_t v = 0; v < count; ++v) {
    if (v == root || dominator[v] == boost::graph_traits<Graph>::null_vertex()) continue;
    tree.parent[v] = static_cast<uint32_t>(dominator[v]);
    tree.children[dominator[v]].push_back(static_cast<uint32_t>(v));
  }
  Number(tree);
  return tree;
}

}  // namespace

DominatorTree Dominators(const Cfg& g) {
  Graph graph(g.size());
  for (uint32_t from : g.order) {
    for (uint32_t to : g.successors[from]) boost::add_edge(from, to, graph);
  }
  return Tree(graph, g.entry);
}

DominatorTree PostDominators(const Cfg& g) {
  Graph graph(g.size());
  for (uint32_t from : g.order) {
    for (uint32_t to : g.successors[from]) boost::add_edge(to, from, graph);
  }
  return Tree(graph, g.exit);
}

}  // namespace ptx2cpu::analysis
