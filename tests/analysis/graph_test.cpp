// Control flow analyses on small shapes whose answers are evident, and against definitions on random graphs.
#include <random>
#include <set>

#include "analysis/graph/control_dependence.h"
#include "analysis/graph/loops.h"
#include "tests/analysis/graphs.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::analysis;
using test::Graph;
using test::MakeGraph;

namespace {

std::set<uint32_t> Sources(const Graph& graph, char name) {
  Cfg g = BuildCfg(graph.f());
  auto list = ControlDependences(g, PostDominators(g)).sources[graph[name]];
  return {list.begin(), list.end()};
}

std::set<uint32_t> ReachedIn(const Cfg& g, uint32_t from, const std::set<uint32_t>& nodes) {
  std::set<uint32_t> reached;
  std::vector<uint32_t> work{from};
  while (!work.empty()) {
    const uint32_t node = work.back();
    work.pop_back();
    for (const uint32_t to : g.successors[node]) {
      if (nodes.contains(to) && reached.insert(to).second) work.push_back(to);
    }
  }
  return reached;
}

struct DefinedLoop {
  uint32_t header;
  size_t depth;
  bool irreducible;
  std::set<uint32_t> blocks;
  auto operator<=>(const DefinedLoop&) const = default;
};

// By definition: strongly connected parts of `nodes`; within each, those that are left without its header.
void AddLoopsByDefinition(const Cfg& g, const std::set<uint32_t>& nodes, size_t depth,
                          std::set<DefinedLoop>& loops) {
  std::set<uint32_t> left = nodes;
  for (const uint32_t first : g.order) {  // the first entry in reverse post order is the header
    if (!left.contains(first)) continue;
    DefinedLoop loop{first, depth, false, {}};
    for (const uint32_t node : ReachedIn(g, first, nodes)) {
      if (ReachedIn(g, node, nodes).contains(first)) loop.blocks.insert(node);
    }
    for (const uint32_t node : loop.blocks) {
      left.erase(node);
      for (const uint32_t from : g.predecessors[node])
        loop.irreducible |= node != first && !loop.blocks.contains(from);
    }
    if (!loop.blocks.contains(first)) continue;
    std::set<uint32_t> inner = loop.blocks;
    inner.erase(first);
    AddLoopsByDefinition(g, inner, depth + 1, loops);
    loops.insert(std::move(loop));
  }
}

// By definition: a dominates b when b cannot be reached without a.
bool DominatesByDefinition(const Cfg& g, uint32_t a, uint32_t b) {
  if (a == b) return true;
  std::vector<bool> seen(g.size());
  std::vector<uint32_t> work;
  if (a != g.entry) work.push_back(g.entry);
  while (!work.empty()) {
    uint32_t node = work.back();
    work.pop_back();
    if (seen[node]) continue;
    seen[node] = true;
    for (uint32_t to : g.successors[node]) {
      if (to != a) work.push_back(to);
    }
  }
  return !seen[b];
}

}  // namespace

TEST_CASE("dominators of a diamond", "[analysis]") {
  Graph graph = MakeGraph("ab ac bd cd");
  Cfg g = BuildCfg(graph.f());
  DominatorTree d = Dominators(g), p = PostDominators(g);
  CHECK(d.parent[graph['d']] == graph['a']);
  CHECK(d.parent[graph['b']] == graph['a']);
  CHECK(p.parent[graph['a']] == graph['d']);
  CHECK(p.parent[graph['d']] == g.exit);
  CHECK(d.Dominates(graph['a'], graph['d']));
  CHECK_FALSE(d.Dominates(graph['b'], graph['d']));
  CHECK(p.Dominates(graph['d'], graph['b']));
}

TEST_CASE("control dependence", "[analysis]") {
  SECTION("if-then") {
    Graph graph = MakeGraph("ab ac bc");
    CHECK(Sources(graph, 'b') == std::set<uint32_t>{graph['a']});
    CHECK(Sources(graph, 'c').empty());
  }
  SECTION("short circuit: the shared arm depends on both tests") {
    Graph graph = MakeGraph("ab ad bc bd ce de");
    CHECK(Sources(graph, 'd') == std::set<uint32_t>{graph['a'], graph['b']});
    CHECK(Sources(graph, 'c') == std::set<uint32_t>{graph['b']});
  }
  SECTION("a loop depends on its exits, its header on itself") {
    Graph graph = MakeGraph("ab bc bd cb");
    CHECK(Sources(graph, 'c') == std::set<uint32_t>{graph['b']});
    CHECK(Sources(graph, 'b') == std::set<uint32_t>{graph['b']});
    CHECK(Sources(graph, 'd').empty());
  }
  SECTION("an endless loop: the exit can be put where it does not matter") {
    Graph graph = MakeGraph("ab bc cb");
    Cfg g = BuildCfg(graph.f(), {}, [&](ir::BlockId b) { return b.index == graph['b']; });
    CHECK(g.endless == std::vector<uint32_t>{graph['b']});
  }
  SECTION("without an edge there is no decision") {
    Graph graph = MakeGraph("ab ac bd cd");
    Cfg g = BuildCfg(graph.f(), [&](ir::BlockId b, uint32_t e) { return b.index != graph['a'] || e == 0; });
    CHECK(ControlDependences(g, PostDominators(g)).sources[graph['b']].empty());
    CHECK_FALSE(g.reachable(graph['c']));
  }
}

TEST_CASE("loops nest, and those with two entries are recognised", "[analysis]") {
  SECTION("two deep, inner with a break to the outside of both") {
    Graph graph = MakeGraph("ab bc cd dc db be df");
    LoopForest forest = Loops(BuildCfg(graph.f()));
    REQUIRE(forest.loops.size() == 2);
    CHECK(forest.loops[0].header == graph['b']);
    CHECK(forest.loops[1].header == graph['c']);
    CHECK(forest.loops[1].parent == 0);
    CHECK(forest.loops[1].depth == 2);
    CHECK(forest.innermost[graph['d']] == 1);
    CHECK(forest.innermost[graph['b']] == 0);
    CHECK(forest.innermost[graph['e']] == kNoNode);
    CHECK(forest.loops[0].exits.size() == 2);
    CHECK(forest.loops[0].exit_count == 2);
    CHECK(forest.loops[1].exits.size() == 1);
    CHECK(forest.loops[1].exit_count == 2);
    CHECK(forest.loops[1].IsLeftWith(forest.loops[0]));
    CHECK_FALSE(forest.loops[0].irreducible);
  }
  SECTION("a block that branches to itself") {
    Graph graph = MakeGraph("ab bb bc");
    LoopForest forest = Loops(BuildCfg(graph.f()));
    REQUIRE(forest.loops.size() == 1);
    CHECK(forest.loops[0].latches == std::vector<uint32_t>{graph['b']});
  }
  SECTION("irreducible") {
    Graph graph = MakeGraph("ab ac bc cb bd");
    LoopForest forest = Loops(BuildCfg(graph.f()));
    REQUIRE(forest.loops.size() == 1);
    CHECK(forest.loops[0].irreducible);
    CHECK(forest.loops[0].blocks.size() == 2);
  }
}

static bool Leaves(const LoopForest& forest, uint32_t loop, std::pair<uint32_t, uint32_t> edge) {
  return forest.Contains(loop, edge.first) && !forest.Contains(loop, edge.second);
}

TEST_CASE("loops agree with the definition on random graphs", "[analysis]") {
  std::mt19937 random(5);
  size_t irreducible = 0, nested = 0, wrong = 0;
  for (int round = 0; round < test::QuickPart(3000); ++round) {
    std::string edges;
    const size_t blocks = 3 + random() % 12;
    for (size_t b = 0; b < blocks; ++b) {
      const size_t count = b == 0 ? 2 : random() % 3;
      for (size_t e = 0; e < count; ++e) {
        // No edges back to the entry.
        const size_t to = random() % 2 == 0 ? std::min(b + 1, blocks - 1) : 1 + random() % (blocks - 1);
        edges += {static_cast<char>('a' + b), static_cast<char>('a' + to), ' '};
      }
    }
    const Graph graph = MakeGraph(edges);
    const Cfg g = BuildCfg(graph.f());
    std::set<DefinedLoop> expected, found;
    AddLoopsByDefinition(g, {g.order.begin(), g.order.end()}, 1, expected);
    const LoopForest forest = Loops(g);
    for (uint32_t l = 0; l < forest.loops.size(); ++l) {
      const Loop& loop = forest.loops[l];
      std::vector<std::pair<uint32_t, uint32_t>> exits;
      found.insert({loop.header, loop.depth, loop.irreducible, {loop.blocks.begin(), loop.blocks.end()}});
      wrong += loop.blocks.front() != loop.header;
      wrong += loop.parent != kNoNode && !(loop.parent < l && l < forest.loops[loop.parent].last);
      for (const uint32_t node : g.order) {
        wrong += forest.Contains(l, node) != (std::ranges::find(loop.blocks, node) != loop.blocks.end());
        for (const uint32_t to : g.successors[node]) {
          const std::pair edge{node, to};
          const bool exit = Leaves(forest, l, edge) && to != g.exit;
          const bool around = loop.parent != kNoNode && Leaves(forest, loop.parent, edge);
          wrong += (exit && !around) != (std::ranges::find(loop.exits, edge) != loop.exits.end());
          if (exit) exits.push_back(edge);
          const bool latch = to == loop.header && forest.Contains(l, node);
          if (latch) wrong += std::ranges::find(loop.latches, node) == loop.latches.end();
        }
      }
      wrong += loop.exit_count != exits.size();
      wrong += loop.only_exit != (exits.size() == 1 ? exits[0] : std::pair{kNoNode, kNoNode});
      for (uint32_t around = loop.parent; around != kNoNode; around = forest.loops[around].parent) {
        wrong += loop.IsLeftWith(forest.loops[around]) !=
                 std::ranges::any_of(exits, [&](const auto& edge) { return Leaves(forest, around, edge); });
      }
      irreducible += loop.irreducible;
      nested += loop.depth > 1;
    }
    INFO(edges);
    CHECK(found == expected);
  }
  CHECK(wrong == 0);
  CHECK(irreducible > test::QuickPart(100u));
  CHECK(nested > test::QuickPart(100u));
}

TEST_CASE("dominator trees agree with the definition on random graphs", "[analysis]") {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::string edges;
    size_t blocks = 3 + random() % 9;
    for (size_t b = 0; b < blocks; ++b) {
      size_t count = b == 0 ? 2 : random() % 3;
      for (size_t e = 0; e < count; ++e)
        edges += {static_cast<char>('a' + b), static_cast<char>('a' + random() % blocks), ' '};
    }
    Graph graph = MakeGraph(edges);
    Cfg g = BuildCfg(graph.f());
    DominatorTree tree = Dominators(g);
    Cfg reversed = g;
    std::swap(reversed.successors, reversed.predecessors);
    std::swap(reversed.entry, reversed.exit);
    DominatorTree post = PostDominators(g);
    INFO(edges);
    for (uint32_t a : g.order) {
      for (uint32_t b : g.order) {
        CHECK(tree.Dominates(a, b) == DominatesByDefinition(g, a, b));
        CHECK(post.Dominates(a, b) == DominatesByDefinition(reversed, a, b));
      }
    }
  }
}
