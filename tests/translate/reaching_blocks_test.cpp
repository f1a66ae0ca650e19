// Where registers come from, against sets of reaching writes on random graphs.
#include "ptx-parser/translate/reaching_blocks.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

namespace ptx2cpu::ptx::test {
namespace {

using Writes = std::set<uint32_t>;  // blocks; kNothing: no write yet
constexpr uint32_t kNothing = ~0u;

struct Reaching {
  std::vector<Writes> start, end;  // by block
};

Reaching ReachingWrites(const ControlGraph& graph, const std::vector<uint32_t>& writers) {
  Reaching sets{std::vector<Writes>(graph.blocks.size()), std::vector<Writes>(graph.blocks.size())};
  sets.start[0].insert(kNothing);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
      const bool writes = std::ranges::find(writers, b) != writers.end();
      Writes end = writes && !sets.start[b].empty() ? Writes{b} : sets.start[b];
      changed |= end != sets.end[b];
      sets.end[b] = std::move(end);
      for (const uint32_t to : graph.blocks[b].successors)
        sets.start[to].insert(sets.end[b].begin(), sets.end[b].end());
    }
  }
  return sets;
}

bool Dominates(const ControlGraph& graph, uint32_t a, uint32_t b) {
  if (a == b) return true;
  std::vector<bool> seen(graph.blocks.size());
  std::vector<uint32_t> work{0};
  while (!work.empty()) {
    const uint32_t block = work.back();
    work.pop_back();
    if (block == a || seen[block]) continue;
    seen[block] = true;
    work.insert(work.end(), graph.blocks[block].successors.begin(), graph.blocks[block].successors.end());
  }
  return !seen[b];
}

ControlGraph RandomGraph(std::mt19937& random) {
  const uint32_t count = 2 + random() % 14;
  ControlGraph graph;
  graph.blocks.resize(count);
  for (uint32_t b = 0; b < count; ++b) {
    const uint32_t edges = random() % 8 == 0 ? 0 : 1 + random() % 3;
    for (uint32_t e = 0; e < edges; ++e) {
      const bool near = random() % 2 == 0 && b + 1 < count;
      graph.blocks[b].successors.push_back(near ? b + 1 : 1 + random() % (count - 1));
    }
  }
  std::vector<uint32_t> work{0};
  graph.blocks[0].reachable = true;
  while (!work.empty()) {
    const uint32_t block = work.back();
    work.pop_back();
    for (const uint32_t to : graph.blocks[block].successors) {
      if (graph.blocks[to].reachable) continue;
      graph.blocks[to].reachable = true;
      work.push_back(to);
    }
  }
  return graph;
}

}  // namespace

TEST_CASE("a register comes from where all of its writes that reach a block also reach") {
  std::mt19937 random(11);
  size_t reducible = 0, skipped = 0, wrong = 0;
  for (int round = 0; round < 4000; ++round) {
    const ControlGraph graph = RandomGraph(random);
    std::vector<std::vector<uint32_t>> writers(3);
    for (auto& blocks : writers) {
      for (uint32_t n = random() % 4; n > 0; --n)
        blocks.push_back(static_cast<uint32_t>(random() % graph.blocks.size()));
    }
    const auto reaching = ReachingBlocks::Of(graph, writers);
    if (!reaching) continue;
    ++reducible;
    for (uint32_t reg = 0; reg < writers.size(); ++reg) {
      const Reaching sets = ReachingWrites(graph, writers[reg]);
      for (uint32_t b = 0; b < graph.blocks.size(); ++b) {
        if (!graph.blocks[b].reachable) continue;
        const auto [from, at_end] = reaching->Find(reg, b);
        const bool same = sets.start[b] == (at_end ? sets.end[from] : sets.start[from]);
        const bool writes = std::ranges::find(writers[reg], b) != writers[reg].end();
        if (!same || !Dominates(graph, from, b) || reaching->Writes(reg, b) != writes) ++wrong;
        if (from != b) ++skipped;
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(reducible > 1000);
  CHECK(skipped > 10000);
}

TEST_CASE("irreducible graphs have no answer") {
  ControlGraph graph;
  graph.blocks.resize(3);
  for (auto& block : graph.blocks) block.reachable = true;
  graph.blocks[0].successors = {1, 2};
  graph.blocks[1].successors = {2};
  graph.blocks[2].successors = {1};
  CHECK_FALSE(ReachingBlocks::Of(graph, {}));
}

// A write after the loop's exit in the text, before it in execution; and one in a block that leaves the loop.
TEST_CASE("registers that loops write and read after their exits") {
  ControlGraph graph;
  graph.blocks.resize(5);
  for (auto& block : graph.blocks) block.reachable = true;
  graph.blocks[0].successors = {1};
  graph.blocks[1].successors = {2, 3};  // the loop's head; its body is block 2
  graph.blocks[2].successors = {1};
  graph.blocks[3].successors = {4};
  const auto reaching = ReachingBlocks::Of(graph, {{0, 2}, {0}});
  REQUIRE(reaching);
  for (const uint32_t block : {3u, 4u}) {  // not the entry: the body may have run
    CHECK(reaching->Find(0, block).block == 3);
    CHECK_FALSE(reaching->Find(0, block).at_end);
  }
  CHECK(reaching->Find(0, 1).block == 1);
  CHECK(reaching->Find(0, 2).block == 1);
  CHECK(reaching->Find(1, 4).block == 0);
  CHECK(reaching->Find(1, 4).at_end);
}

}  // namespace ptx2cpu::ptx::test
