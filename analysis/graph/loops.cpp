#include "analysis/graph/loops.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>

namespace ptx2cpu::analysis {

bool Loop::Contains(uint32_t block) const { return std::binary_search(blocks.begin(), blocks.end(), block); }

namespace {

using Digraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

// Components of the subgraph of `nodes`, without edges into `without` (a header already accounted for).
std::vector<std::vector<uint32_t>> Components(const Cfg& g, const std::vector<uint32_t>& nodes,
                                              uint32_t without) {
  std::vector<uint32_t> local(g.size(), kNoNode);
  for (uint32_t i = 0; i < nodes.size(); ++i) local[nodes[i]] = i;
  Digraph graph(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    for (uint32_t to : g.successors[nodes[i]]) {
      if (to != without && local[to] != kNoNode) boost::add_edge(i, local[to], graph);
    }
  }
  std::vector<int> component(nodes.size());
  int count = boost::strong_components(
      graph, boost::make_iterator_property_map(component.begin(), boost::get(boost::vertex_index, graph)));
  std::vector<std::vector<uint32_t>> result(static_cast<size_t>(count));
  for (uint32_t i = 0; i < nodes.size(); ++i) result[static_cast<size_t>(component[i])].push_back(nodes[i]);
  std::erase_if(result, [&](const std::vector<uint32_t>& c) {
    if (c.size() > 1) return false;
    const auto& out = g.successors[c[0]];
    return c[0] == without || std::find(out.begin(), out.end(), c[0]) == out.end();
  });
  return result;
}

Loop Describe(const Cfg& g, std::vector<uint32_t> blocks, const std::vector<uint32_t>& position) {
  std::sort(blocks.begin(), blocks.end());
  Loop loop;
  loop.blocks = std::move(blocks);
  uint32_t entries = 0;
  for (uint32_t block : loop.blocks) {
    bool entered = block == g.entry;
    for (uint32_t p : g.predecessors[block]) entered |= !loop.Contains(p);
    if (!entered) continue;
    ++entries;
    if (loop.header == kNoNode || position[block] < position[loop.header]) loop.header = block;
  }
  loop.irreducible = entries > 1;
  for (uint32_t block : loop.blocks) {
    for (uint32_t to : g.successors[block]) {
      if (to == loop.header) loop.latches.push_back(block);
      if (to != g.exit && !loop.Contains(to)) loop.exits.push_back({block, to});
    }
  }
  return loop;
}

}  // namespace

LoopForest Loops(const Cfg& g) {
  LoopForest forest;
  forest.innermost.assign(g.size(), kNoNode);
  std::vector<uint32_t> position(g.size(), kNoNode);
  for (uint32_t i = 0; i < g.order.size(); ++i) position[g.order[i]] = i;
  struct Task {
    std::vector<uint32_t> nodes;
    uint32_t without, parent;
  };
  std::vector<Task> tasks{{g.order, kNoNode, kNoNode}};
  for (size_t t = 0; t < tasks.size(); ++t) {
    Task task = tasks[t];
    for (std::vector<uint32_t>& nodes : Components(g, task.nodes, task.without)) {
      Loop loop = Describe(g, std::move(nodes), position);
      uint32_t index = static_cast<uint32_t>(forest.loops.size());
      loop.parent = task.parent;
      loop.depth = task.parent == kNoNode ? 1 : forest.loops[task.parent].depth + 1;
      for (uint32_t block : loop.blocks)
        forest.innermost[block] = index;  // inner loops come later and overwrite
      tasks.push_back({loop.blocks, loop.header, index});
      forest.loops.push_back(std::move(loop));
    }
  }
  return forest;
}

}  // namespace ptx2cpu::analysis
