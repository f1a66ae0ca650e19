// The sets that are found by following trees and frontiers, against their definitions on random graphs.
#include "analysis/graph/meetings.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "analysis/graph/control_dependence.h"
#include "analysis/graph/loops.h"
#include "analysis/values/uniformity.h"
#include "ir/build.h"
#include "tests/quick.h"

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

// What is reached from the starts without passing `without`. Paths end at what dominates `stop`.
std::vector<bool> Reached(const Cfg& g, const DominatorTree& dominators, const std::vector<uint32_t>& starts,
                          uint32_t stop, uint32_t without) {
  std::vector<bool> reached(g.size());
  std::vector<uint32_t> work;
  const auto reach = [&](uint32_t node) {
    if (node == without || reached[node]) return;
    reached[node] = true;
    if (!dominators.Dominates(node, stop)) work.push_back(node);
  };
  for (uint32_t start : starts) reach(start);
  while (!work.empty()) {
    const uint32_t node = work.back();
    work.pop_back();
    for (uint32_t to : g.successors[node]) reach(to);
  }
  return reached;
}

// By Menger's theorem: disjoint paths from two starts meet where no single node lies on all of the paths. A
// start is where another one leads.
Set MeetingsByCuts(const Cfg& g, const std::vector<uint32_t>& starts, uint32_t stop) {
  const DominatorTree dominators = Dominators(g);
  Set met;
  for (uint32_t node : g.order) {
    std::vector<uint32_t> others = starts;
    if (std::erase(others, node) != 0) {
      if (Reached(g, dominators, others, stop, kNoNode)[node]) met.insert(node);
    } else if (std::ranges::all_of(g.order, [&](uint32_t cut) {
                 return cut == node || Reached(g, dominators, starts, stop, cut)[node];
               })) {
      met.insert(node);
    }
  }
  met.erase(g.exit);  // nothing runs there
  return met;
}

}  // namespace

TEST_CASE("paths from a branch meet where no single block is on all of them", "[analysis]") {
  std::mt19937 random(7);
  int met = 0, irreducible = 0;
  for (int round = 0; round < test::QuickPart(900); ++round) {
    const ir::Function f = RandomFunction(random, 4 + random() % 16, round % 2 == 0);
    const Cfg g = BuildCfg(f);
    const LoopForest loops = Loops(g);
    const bool reducible = std::ranges::none_of(loops.loops, &Loop::irreducible);
    irreducible += reducible ? 0 : 1;
    Meetings meetings(g, loops);
    for (uint32_t branch : g.order) {
      if (g.successors[branch].size() < 2) continue;
      const auto found = meetings.Of(g.successors[branch], branch);
      Set exact(found.begin(), found.end());
      exact.erase(g.exit);
      const Set expected = MeetingsByCuts(g, g.successors[branch], branch);
      INFO("round " << round << ", branch " << branch);
      if (reducible) CHECK(exact == expected);
      CHECK(std::ranges::includes(exact, expected));
      met += static_cast<int>(expected.size());
    }
    // And from where a loop is left.
    for (const Loop& loop : loops.loops) {
      Set targets;
      for (auto [from, to] : loop.exits) targets.insert(to);
      if (loop.irreducible || !reducible) continue;
      const std::vector<uint32_t> starts(targets.begin(), targets.end());
      const auto found = meetings.Of(starts, loop.header);
      Set exact(found.begin(), found.end());
      exact.erase(g.exit);
      CHECK(exact == (starts.size() < 2 ? Set{} : MeetingsByCuts(g, starts, loop.header)));
    }
  }
  CHECK(met > test::QuickPart(1000));
  CHECK(irreducible > test::QuickPart(20));
}

// A large loop with several entries, whose meetings are not looked for one by one.
TEST_CASE("threads that part in a large loop with several entries may meet everywhere in it", "[analysis]") {
  for (const bool parts : {false, true}) {
    ir::Function f;
    f.name = "k";
    f.is_kernel = true;
    constexpr uint32_t kBlocks = 300;
    std::vector<ir::ValueId> params(1);
    for (uint32_t n = 0; n < kBlocks; ++n) {
      ir::AddBlock(f);
      if (n != 0) params.push_back(ir::AddParam(f, {n}, ir::Type::kI32));
    }
    f.entry = {0};
    for (uint32_t n = 0; n < kBlocks; ++n) {
      ir::Builder b{f, {n}};
      const ir::ValueId number = b.Const(ir::Type::kI32, n);
      const ir::ValueId decision =
          b.SpecialRegister(parts && n == 150 ? ir::Special::kTidX : ir::Special::kCtaidX);
      const uint32_t anywhere = 1 + (n * 97 + 13) % (kBlocks - 1);
      if (n + 1 == kBlocks)
        b.Ret();
      else
        b.Terminate(ir::Opcode::kSwitch, {decision}, {{{n + 1}, {number}}, {{anywhere}, {number}}});
    }
    const UniformityResult result = AnalyzeUniformity(f, std::nullopt);
    size_t same = 0;
    for (uint32_t n = 1; n < kBlocks; ++n) same += result.values[params[n].index].kind <= Uniformity::kBlock;
    INFO(same << " are the same in all threads");
    CHECK((parts ? same < kBlocks / 2 : same == kBlocks - 1));
  }
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
    deciding.Forget();
    const auto again = deciding.Take(first);
    CHECK(Set(again.begin(), again.end()) == Set(sources[first].begin(), sources[first].end()));
  }
}
