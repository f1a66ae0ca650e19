// The minimum cut against all subsets of small graphs, and large graphs in short time.
#include "analysis/graph/minimum_cut.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <random>

using namespace ptx2cpu::analysis;

namespace {

bool Separates(const CutGraph& graph, const std::vector<bool>& cut) {
  std::vector<bool> reached(graph.prices.size());
  for (uint32_t s : graph.sources) reached[s] = !cut[s];
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [from, to] : graph.edges) {
      if (!reached[from] || reached[to] || cut[to]) continue;
      reached[to] = changed = true;
    }
  }
  for (uint32_t t : graph.sinks) {
    if (reached[t]) return false;
  }
  return true;
}

uint64_t PriceOf(const CutGraph& graph, const std::vector<bool>& cut) {
  uint64_t price = 0;
  for (size_t n = 0; n < cut.size(); ++n) price += cut[n] ? graph.prices[n] : 0;
  return price;
}

// Edges lead from lower to higher nodes, as from operands to results.
CutGraph RandomGraph(std::mt19937& random, uint32_t nodes) {
  CutGraph graph;
  for (uint32_t n = 0; n < nodes; ++n) {
    graph.prices.push_back(random() % 3 == 0 ? 1 : 128 * (1 + random() % 2));
    for (uint32_t k = 0; n > 0 && k < 2; ++k) {
      if (random() % 4 != 0)
        graph.edges.push_back({static_cast<uint32_t>(n - 1 - random() % std::min(n, 8u)), n});
    }
    if (random() % 4 == 0) graph.sources.push_back(n);
    if (random() % 4 == 0) graph.sinks.push_back(n);
  }
  return graph;
}

}  // namespace

TEST_CASE("no set of nodes that separates is cheaper than the minimum cut", "[analysis][cut]") {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    CutGraph graph = RandomGraph(random, 10);
    std::vector<bool> cut = MinimumCut(graph);
    REQUIRE(Separates(graph, cut));
    uint64_t best = ~uint64_t{0};
    for (uint32_t set = 0; set < 1u << 10; ++set) {
      std::vector<bool> other(10);
      for (uint32_t n = 0; n < 10; ++n) other[n] = set >> n & 1;
      if (Separates(graph, other)) best = std::min(best, PriceOf(graph, other));
    }
    REQUIRE(PriceOf(graph, cut) == best);
  }
}

TEST_CASE("of equal cuts the one nearest to the sinks", "[analysis][cut]") {
  CutGraph chain{{4, 4, 4}, {{0, 1}, {1, 2}}, {0}, {2}};
  CHECK(MinimumCut(chain) == std::vector<bool>{false, false, true});
  CutGraph fan{{4, 4, 4, 4}, {{0, 1}, {0, 2}, {0, 3}}, {0}, {1, 2, 3}};
  CHECK(MinimumCut(fan) == std::vector<bool>{true, false, false, false});
}

TEST_CASE("ten thousand nodes are cut in less than a second, twice the same", "[analysis][cut]") {
  std::mt19937 random(11);
  CutGraph graph = RandomGraph(random, 10000);
  auto start = std::chrono::steady_clock::now();
  std::vector<bool> cut = MinimumCut(graph);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  CHECK(Separates(graph, cut));
  CHECK(took.count() < 10);  // sanitizers
  WARN("10000 nodes: " << took.count() << " s");
  CHECK(MinimumCut(graph) == cut);
}
