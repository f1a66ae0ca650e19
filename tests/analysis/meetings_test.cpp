// The sets that are found by following trees and frontiers, against their definitions on random graphs.
#include "analysis/graph/meetings.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "analysis/graph/control_dependence.h"
#include "analysis/graph/loops.h"
#include "ir/build.h"

using namespace ptx2cpu;
using namespace ptx2cpu::analysis;

namespace {

using Set = std::set<uint32_t>;

ir::Function RandomFunction(std::mt19937& random, uint32_t blocks, bool only_forward) {
  ir::Function f;
  f.is_kernel = true;
  for (uint32_t b = 0; b < blocks; ++b) ir::AddBlock(f);
  f.entry = {0};
  for (uint32_t b = 0; b < blocks; ++b) {
    ir::Builder build{f, {b}};
    const auto target = [&] {
      const uint32_t least = only_forward ? b + 1 : 1;
      return ir::Edge{{static_cast<uint32_t>(least + random() % (blocks - least))}, {}};
    };
    if (b + 1 == blocks || random() % 10 == 0) {
      build.Terminate(ir::Opcode::kRet);
    } else if (random() % 3 == 0) {
      build.Br({b + 1});
    } else {
      build.CondBr(build.Const(ir::Type::kI1, 1), target(), random() % 2 ? target() : ir::Edge{{b + 1}, {}});
    }
  }
  return f;
}

// Labels along every edge until nothing changes: each node has the start it is reached from, and itself where
// two of these meet.
Set MeetingsByLabels(const Cfg& g, const std::vector<uint32_t>& starts, uint32_t stop) {
  std::vector<uint32_t> label(g.size(), kNoNode);
  Set met;
  for (uint32_t s : starts) label[s] = s;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t node : g.order) {
      if (node == g.exit || node == stop || label[node] == kNoNode) continue;
      for (uint32_t to : g.successors[node]) {
        if (label[to] == label[node]) continue;
        if (label[to] == kNoNode) {
          label[to] = label[node];
        } else if (label[to] == to) {
          if (!met.insert(to).second) continue;
        } else {
          label[to] = to;
          met.insert(to);
        }
        changed = true;
      }
    }
  }
  return met;
}

// Without the edges that start another trip of a loop.
Cfg OneTrip(const Cfg& g) {
  const DominatorTree dominators = Dominators(g);
  Cfg trip = g;
  for (uint32_t node : g.order)
    std::erase_if(trip.successors[node], [&](uint32_t to) { return dominators.Dominates(to, node); });
  return trip;
}

bool IsReducible(const Cfg& g) {
  return std::ranges::none_of(Loops(g).loops, [](const Loop& loop) { return loop.irreducible; });
}

}  // namespace

TEST_CASE("paths from a branch meet where labels along all edges do", "[analysis]") {
  std::mt19937 random(7);
  int met = 0;
  for (int round = 0; round < 900; ++round) {
    const bool only_forward = round % 2 == 0;
    const ir::Function f = RandomFunction(random, 4 + random() % 16, only_forward);
    const Cfg g = BuildCfg(f);
    if (!IsReducible(g)) continue;
    const Cfg trip = OneTrip(g);
    Meetings meetings(g);
    for (uint32_t branch : g.order) {
      if (g.successors[branch].size() < 2) continue;
      const auto found = meetings.Of(g.successors[branch], branch);
      Set exact(found.begin(), found.end());
      Set expected = MeetingsByLabels(trip, trip.successors[branch], branch);
      exact.erase(g.exit);  // nothing runs there
      expected.erase(g.exit);
      INFO("round " << round << ", branch " << branch);
      if (only_forward) CHECK(exact == expected);
      CHECK(std::ranges::includes(exact, expected));  // with loops, those of one trip at least
      met += static_cast<int>(expected.size());
    }
  }
  CHECK(met > 1000);
}

TEST_CASE(
    "what depends on branches, and which branches decide, is as the lists of control dependence have it",
    "[analysis]") {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const ir::Function f = RandomFunction(random, 4 + random() % 20, false);
    const Cfg g = BuildCfg(f);
    const DominatorTree post = PostDominators(g);
    const auto sources = ControlDependences(g, post).sources;
    INFO("round " << round);
    Set chosen, direct;
    DependentNodes some(g, post);
    for (uint32_t branch : g.order) {
      if (random() % 3 != 0) continue;
      chosen.insert(branch);
      some.AddDirect(branch);
    }
    for (uint32_t node : g.order) {
      const bool depends =
          std::ranges::any_of(sources[node], [&](uint32_t source) { return chosen.contains(source); });
      CHECK(some.Contains(node) == depends);
    }
    // In any number of steps.
    const uint32_t first = g.order[random() % g.order.size()];
    Set reached{first};
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t node : g.order) {
        if (std::ranges::any_of(sources[node], [&](uint32_t source) { return reached.contains(source); }))
          changed |= reached.insert(node).second;
      }
    }
    DependentNodes all(g, post);
    all.AddWithNode(first);
    for (uint32_t node : g.order) CHECK(all.Contains(node) == reached.contains(node));
    DecidingBranches deciding(g, post);
    Set known, expected;
    for (int n = 0; n < 5; ++n) {
      const uint32_t node = g.order[random() % g.order.size()];
      for (uint32_t branch : deciding.Take(node)) known.insert(branch);
      expected.insert(sources[node].begin(), sources[node].end());
      CHECK(known == expected);
    }
  }
}
