// broadcast-butterflies: which results of shuffles are taken from lane 0, and that nothing else changes.
#include <algorithm>

#include "tests/passes/barrier_kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

constexpr uint32_t kThreads = 64;

ir::Module Kernel(const std::string& body, uint32_t threads = kThreads) {
  ir::Module module = BarrierModule(
      "  %last = const i32 0x1f\n  %d1 = const i32 0x1\n  %d2 = const i32 0x2\n"
      "  %d4 = const i32 0x4\n  %d8 = const i32 0x8\n  %d16 = const i32 0x10\n" +
      body);
  ir::Function& f = module.functions.back();
  f.required_threads[0] = threads, f.required_threads[1] = f.required_threads[2] = 1;
  return module;
}

// %s0 = first; %s1 ..: each combined with its neighbour's at the next distance.
std::string Steps(const std::string& op, const std::vector<int>& distances, const std::string& first = "%v") {
  std::string text, last = first;
  for (size_t n = 0; n < distances.size(); ++n) {
    const std::string o = "%o" + std::to_string(n), s = "%s" + std::to_string(n);
    text += "  " + o + ", " + o + "p = shuffle i32 bfly " + last + ", %d" + std::to_string(distances[n]) +
            ", %last, %full\n  " + s + " = " + op + " i32 " + o + ", " + last + "\n";
    last = s;
  }
  return text;
}
const std::string kStore = "  store i32 global %mine, %s4\n  ret\n";

uint32_t Broadcasts(const ir::Module& module) {
  Result<ir::Module> after = After(module, "broadcast-butterflies");
  if (!after) FAIL(after.error().Render());
  return CountInstructions(after->functions.back(), [](const ir::Inst& inst) {
    return inst.op == ir::Opcode::kShuffle && inst.attrs.shuffle == ir::ShuffleMode::kIdx;
  });
}

void CheckSame(const ir::Module& module) {
  const uint32_t threads = module.functions.back().required_threads[0];
  const Outcome before = RunKernel(module, module.functions.back(), threads, 0);
  REQUIRE(before.status);
  for (const char* pass : {"broadcast-butterflies", "merge-slots"}) {
    Result<ir::Module> after = After(module, pass);
    if (!after) FAIL(after.error().Render());
    const Outcome same = RunKernel(*after, after->functions.back(), threads, 0);
    if (!same.status) FAIL(same.status.error().Render());
    CHECK(same.data == before.data);
  }
}

}  // namespace

TEST_CASE("what a whole butterfly computes is taken from lane 0", "[passes][butterfly]") {
  for (const char* op : {"add", "max_s", "xor", "mul"}) {
    for (const auto& distances : {std::vector{16, 8, 4, 2, 1}, {1, 2, 4, 8, 16}, {4, 1, 16, 2, 8}}) {
      const ir::Module module = Kernel(Steps(op, distances) + kStore);
      CHECK(Broadcasts(module) == 1);
      CheckSame(module);
    }
  }
}

TEST_CASE("two butterflies, the second of what the first gave", "[passes][butterfly]") {
  std::string second = Steps("max_u", {8, 16, 1, 2, 4}, "%w");
  for (size_t at = 0; (at = second.find_first_of("os", at)) != std::string::npos;) {
    const bool named = at > 0 && second[at - 1] == '%';
    if (named) second.insert(at + 1, "z");
    at += named ? 2 : 1;
  }
  const ir::Module module = Kernel(Steps("add", {16, 8, 4, 2, 1}) + "  %w = add i32 %s4, %tid\n" + second +
                                   "  %r = sub i32 %sz4, %s4\n  store i32 global %mine, %r\n  ret\n");
  CHECK(Broadcasts(module) == 2);
  CheckSame(module);
}

TEST_CASE("results that differ between lanes stay", "[passes][butterfly]") {
  const std::vector<ir::Module> kept = {
      Kernel(Steps("add", {16, 8, 4, 2, 2}) + kStore),      // a bit is missing
      Kernel(Steps("sub", {16, 8, 4, 2, 1}) + kStore),      // the order matters
      Kernel(Steps("add", {16, 8, 4, 2, 1}) + kStore, 48),  // lanes are missing
  };
  for (const ir::Module& module : kept) CHECK(Broadcasts(module) == 0);
  CheckSame(kept[0]);
  CheckSame(kept[1]);
}

namespace {

// Sums of shared words, of which each warp reads those at `place`, that cross a barrier.
ir::Module SumsAcross(const std::string& place) {
  return Kernel(
      "  store i32 shared %slot, %v\n  barrier_block %zero {aligned}\n"
      "  %lane = and i32 %tid, %last\n  %p64 = zext i64 from i32 " +
      place + "\n  %poff = shl i64 %p64, %two\n  %pat = add i64 %tile, %poff\n" +
      "  %w = load i32 shared %pat\n" + Steps("add", {16, 8, 4, 2, 1}, "%w") +
      "  barrier_block %zero {aligned}\n  store i32 shared %slot, %zero\n"
      "  %r = add i32 %s4, %v\n  store i32 global %mine, %r\n  ret\n");
}

uint32_t SlotsOf(const ir::Module& module, ir::Level level) {
  Result<ir::Module> after = After(module, "merge-slots");
  if (!after) FAIL(after.error().Render());
  const std::vector<ir::Slot>& slots = after->functions.back().slots;
  return static_cast<uint32_t>(
      std::ranges::count_if(slots, [&](const ir::Slot& slot) { return slot.shape == level; }));
}

}  // namespace

TEST_CASE("what all warps add up of the same words has one slot of the block", "[passes][butterfly]") {
  const ir::Module alike = SumsAcross("%lane"), own = SumsAcross("%tid");
  CHECK(SlotsOf(alike, ir::Level::kBlock) == 1);
  CHECK(SlotsOf(own, ir::Level::kBlock) == 0);
  CheckSame(alike);
  CheckSame(own);
}
