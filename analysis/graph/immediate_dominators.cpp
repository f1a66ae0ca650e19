#include "analysis/graph/immediate_dominators.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dominator_tree.hpp>

namespace ptx2cpu::analysis {

std::vector<uint32_t> ImmediateDominators(uint32_t nodes,
                                          const std::vector<std::pair<uint32_t, uint32_t>>& edges,
                                          uint32_t root) {
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;
  using Vertex = boost::graph_traits<Graph>::vertex_descriptor;
  constexpr Vertex kNone = ~Vertex{0};
  Graph graph(nodes);
  for (const auto& [from, to] : edges) boost::add_edge(from, to, graph);
  std::vector<Vertex> dominator(nodes, kNone);
  boost::lengauer_tarjan_dominator_tree(
      graph, root,
      boost::make_iterator_property_map(dominator.begin(), boost::get(boost::vertex_index, graph)));
  std::vector<uint32_t> result(nodes, ~uint32_t{0});
  for (uint32_t v = 0; v < nodes; ++v) {
    if (v != root && dominator[v] != kNone) result[v] = static_cast<uint32_t>(dominator[v]);
  }
  return result;
}

}  // namespace ptx2cpu::analysis
