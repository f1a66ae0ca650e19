// Words that depend on the lane's number only.
#include "analysis/lanes/lane_words.h"

#include <catch2/catch.hpp>

#include "ir/text/text.h"

using namespace ptx2cpu;

namespace {

// What the lanes' last stores hold, if it is known; the first value is a word of memory.
std::optional<analysis::WordPerLane> Words(const std::string& code) {
  const std::string text = R"(module "m" ptx 8.0 sm 80
kernel @k () phase collapsed entry ^start {
  slot #0 i32 lane
^start block "start":
  for_warps ^turn, ^done
^turn warp "turn":
  for_lanes ^work, ^turned
^turned warp "turned":
  %found = slot_load i32 #0
  %used = add i32 %found, %found
  end_warp
^done block "done":
  ret
^work lane "work":
  %at = const i64 0x0
  %read = load i32 global %at
  %lane = special i32 laneid
  %low = const i32 0xfffffff8
  %ones = const i32 0xff
)" + code + "  end_lane\n}\n";
  const Result<ir::Module> module = ir::Parse(text, "test.ir");
  if (!module) FAIL(module.error().Render());
  const ir::Function& f = module->functions[0];
  analysis::LaneWords words(f);
  for (const ir::Inst& inst : f.insts) {
    if (inst.op == ir::Opcode::kSlotLoad) return words.Of(inst.results[0]);
  }
  return {};
}

}  // namespace

TEST_CASE("the masks of tiles are known through slots", "[analysis]") {
  const auto masks =
      Words("  %begin = and i32 %lane, %low\n  %mask = shl i32 %ones, %begin\n  slot_store i32 #0 %mask\n");
  REQUIRE(masks);
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) CHECK((*masks)[lane] == 0xffu << (lane / 8 * 8));
  CHECK(analysis::AreTiles(*masks));
}

TEST_CASE("words of special registers are known, a shift by 32 gives 0", "[analysis]") {
  const auto words = Words(
      "  %before = special i32 lanemask_lt\n  %far = add i32 %lane, %lane\n  %none = shl i32 %before, %far\n"
      "  slot_store i32 #0 %none\n");
  REQUIRE(words);
  for (uint32_t lane = 0; lane < kWarpSize; ++lane)
    CHECK((*words)[lane] == (lane < 16 ? ((1u << lane) - 1) << 2 * lane : 0));
  CHECK_FALSE(analysis::AreTiles(*words));  // no lane is in its own
}

TEST_CASE("a word of memory is not known, nor is a slot that may hold another word", "[analysis]") {
  CHECK_FALSE(Words("  %sum = add i32 %lane, %read\n  slot_store i32 #0 %sum\n"));
  CHECK_FALSE(Words("  slot_store i32 #0 %lane\n  slot_store i32 #0 %ones\n"));
  CHECK(Words("  slot_store i32 #0 %ones\n  slot_store i32 #0 %ones\n"));
}

TEST_CASE("masks are tiles where all that a mask names have it", "[analysis]") {
  analysis::WordPerLane masks;
  masks.fill(~0u);
  CHECK(analysis::AreTiles(masks));
  masks[5] = 1u << 5;
  CHECK_FALSE(analysis::AreTiles(masks));  // others name lane 5
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) masks[lane] = lane == 5 ? 1u << 5 : ~(1u << 5);
  CHECK(analysis::AreTiles(masks));
}
