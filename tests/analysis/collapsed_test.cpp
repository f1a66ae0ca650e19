// Analyses of collapsed kernels: what lives for a warp's turn, and where lanes may be missing.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "analysis/lanes/early_exits.h"
#include "analysis/lanes/slots_of_turn.h"
#include "analysis/regions/slot_liveness.h"
#include "ir/text/text.h"

using namespace ptx2cpu;

namespace {

// A kernel with two slots of lanes whose one loop over warps has two loops over lanes, and a third loop over
// warps after it.
ir::Module Kernel(const std::string& first, const std::string& second, const std::string& third) {
  const std::string text = R"(module "m" ptx 8.0 sm 80
kernel @k () phase collapsed early_exit entry ^start {
  slot #0 i32 lane
  slot #1 i32 lane
^start block "start":
  for_warps ^turn, ^between
^turn warp "turn":
  for_lanes ^first, ^middle
^middle warp "middle":
  for_lanes ^second, ^turned
^turned warp "turned":
  end_warp
^between block "between":
  for_warps ^again, ^done
^again warp "again":
  for_lanes ^third, ^over
^over warp "over":
  end_warp
^done block "done":
  ret
^first "first":
  %lane = special i32 laneid
  %zero = const i32 0x0
  %some = icmp i32 eq %lane, %zero
)" + first + "^second \"second\":\n" +
                           second + "^third \"third\":\n" + third + "}\n";
  Result<ir::Module> module = ir::Parse(text, "test.ir");
  if (!module) FAIL(module.error().Render());
  return *std::move(module);
}

std::vector<bool> OfTurn(const std::string& first, const std::string& second, const std::string& third) {
  const ir::Module module = Kernel(first, second, third);
  return analysis::FindSlotsOfTurn(module.functions[0]).is_of_turn;
}

const std::string kStore = "  slot_store i32 #0 %lane\n  slot_store i32 #1 %lane\n  end_lane\n";
const std::string kLoad = "  %a = slot_load i32 #0\n  %b = slot_load i32 #1\n  end_lane\n";
const std::string kEnd = "  end_lane\n";

}  // namespace

TEST_CASE("slots that are stored before they are loaded in a turn live for the turn", "[analysis]") {
  CHECK(OfTurn(kStore, kLoad, kEnd) == std::vector<bool>{true, true});
}

TEST_CASE("a slot that another turn loads outlives its turn", "[analysis]") {
  CHECK(OfTurn(kStore, kEnd, "  %a = slot_load i32 #1\n  end_lane\n") == std::vector<bool>{true, false});
}

TEST_CASE("a slot that one way of a lane does not store outlives its turn", "[analysis]") {
  const std::string first =
      "  slot_store i32 #0 %lane\n  cond_br %some, ^one, ^other\n^one:\n  slot_store i32 #1 %lane\n  br "
      "^join\n^other:\n  br ^join\n^join:\n  end_lane\n";
  CHECK(OfTurn(first, kLoad, kEnd) == std::vector<bool>{true, false});
}

TEST_CASE("a turn's ends are its loop's own", "[analysis]") {
  const ir::Module module = Kernel(kStore, kLoad, kEnd);
  const ir::Function& f = module.functions[0];
  std::map<std::string, std::string> ends;
  for (uint32_t n = 0; n < f.blocks.size(); ++n) {
    if (!analysis::BeginsTurns(f.terminator({n}).op)) continue;
    for (ir::BlockId end : analysis::EndsOfTurn(f, {n})) ends[f.blocks[n].label] += f.at_block(end).label;
  }
  CHECK(ends == std::map<std::string, std::string>{{"start", "turned"},
                                                   {"turn", "first"},
                                                   {"middle", "second"},
                                                   {"between", "over"},
                                                   {"again", "third"}});
}

TEST_CASE("a slot is needed until the last load that a thread comes to", "[analysis]") {
  // By store, in the order of the code: the other slots that are needed after it.
  const auto needed = [](const ir::Module& module, size_t max_live) {
    const ir::Function& f = module.functions[0];
    const analysis::SlotLiveness liveness(f, std::vector<bool>(f.slots.size(), true), max_live);
    std::map<std::string, std::set<uint32_t>> found;
    if (liveness.gave_up()) return found;
    liveness.EachStore([&](const ir::Inst& store, const std::set<uint32_t>& others) {
      found[f.at_block(store.block).label + std::to_string(store.attrs.index)] = others;
    });
    return found;
  };
  using Found = std::map<std::string, std::set<uint32_t>>;
  CHECK(needed(Kernel(kStore, kLoad, kEnd), 2) == Found{{"first0", {}}, {"first1", {0}}});
  CHECK(needed(Kernel(kStore, kEnd, kLoad), 2) == Found{{"first0", {}}, {"first1", {0}}});
  CHECK(needed(Kernel(kStore, kLoad, kStore), 2) ==
        Found{{"first0", {}}, {"first1", {0}}, {"third0", {}}, {"third1", {}}});
  CHECK(needed(Kernel(kStore, kLoad, kEnd), 1).empty());
}

TEST_CASE("lanes are missing only after an exit of their warp", "[analysis]") {
  const ir::Module module =
      Kernel("  cond_br %some, ^gone, ^stays\n^gone:\n  exit_lane\n^stays:\n  end_lane\n", kEnd, kEnd);
  const ir::Function& f = module.functions[0];
  const analysis::EarlyExits exits = analysis::FindEarlyExits(f);
  std::string before, within;
  for (uint32_t n = 0; n < f.blocks.size(); ++n) {
    if (exits.before[n]) before += f.blocks[n].label + " ";
    if (exits.within[n]) within += f.blocks[n].label + " ";
  }
  CHECK(before == "middle turned between again over done ");
  CHECK(within == "start turn ");
}
