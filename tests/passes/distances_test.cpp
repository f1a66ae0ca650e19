// specialise-distances: which regions get code of their own for small distances, and that each distance,
// small or not, a power of two or not, still leads to the elements that it led to.
#include "tests/passes/barrier_kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

const std::string kFill = "  store i32 shared %slot, %v\n  barrier_block %zero {aligned}\n";

// %place: of the element of the tile that the thread takes, or stores to.
std::string Load(const std::string& place) {
  return kFill + place +
         "  %p64 = zext i64 from i32 %place\n  %poff = shl i64 %p64, %two\n  %at = add i64 %tile, %poff\n"
         "  %x = load i32 shared %at\n  store i32 global %mine, %x\n  ret\n";
}
std::string Store(const std::string& place) {
  return place +
         "  %p64 = zext i64 from i32 %place\n  %poff = shl i64 %p64, %two\n  %at = add i64 %tile, %poff\n"
         "  store i32 shared %at, %v\n  barrier_block %zero {aligned}\n"
         "  %x = load i32 shared %slot\n  store i32 global %mine, %x\n  ret\n";
}

const std::string kMask = "  %d1 = add i32 %n, %full\n";
const std::string kLow = "  %c1023 = const i32 0x3ff\n";

uint32_t Loops(const ir::Module& module) {
  return CountInstructions(module.functions.back(),
                           [](const ir::Inst& inst) { return inst.op == ir::Opcode::kForLanes; });
}

void CheckSameForAll(const ir::Module& module, const ir::Module& after) {
  for (uint32_t threads : {1u, 33u, 64u, 256u}) {
    for (uint32_t n : {0u, 1u, 2u, 3u, 4u, 5u, 7u, 8u, 15u, 16u, 24u, 31u, 32u, 33u, 63u, 64u, 96u, 128u}) {
      INFO(threads << " threads, n = " << n);
      const Outcome before = RunKernel(module, module.functions.back(), threads, n, 1);
      if (!before.status) FAIL(before.status.error().Render());
      const Outcome same = RunKernel(after, after.functions.back(), threads, n, 1);
      if (!same.status) FAIL(same.status.error().Render());
      CHECK(same.data == before.data);
    }
  }
}

const BarrierKernel kKernels[] = {
    {"the lower one of a pair",
     Load(kMask +
          "  %low = and i32 %tid, %d1\n  %twice = shl i32 %tid, %one\n  %place = sub i32 %twice, %low\n"),
     6},
    {"a mask", Load("  %place = and i32 %n, %tid\n"), 5},
    {"the rest of a mask", Load(kMask + "  %m = xor i32 %d1, %full\n  %place = and i32 %tid, %m\n"), 6},
    {"the other one of a pair", Load("  %place = xor i32 %tid, %n\n"), 6},
    {"the other one, stored to", Store("  %place = xor i32 %n, %tid\n"), 6},
    {"the mirrored place",
     Load(kMask + kLow + "  %far = xor i32 %tid, %d1\n  %place = and i32 %far, %c1023\n"), 6},
    {"the place in a row, and the row",
     Load(kLow + "  %row = div_u i32 %tid, %n\n  %in = rem_u i32 %tid, %n\n  %far = mul i32 %row, %three\n"
                 "  %sum = add i32 %far, %in\n  %place = and i32 %sum, %c1023\n"),
     6},
    {"two distances of one number",
     Load(kMask + kLow +
          "  %a = and i32 %tid, %d1\n  %b = xor i32 %tid, %n\n  %c = add i32 %a, %b\n"
          "  %place = and i32 %c, %c1023\n"),
     6},
    {"a number that is neither", Load("  %n2 = add i32 %n, %two\n  %place = and i32 %n2, %tid\n"), 0},
    {"a number that is known", Load("  %place = xor i32 %tid, %three\n"), 0},
    {"a distance that is added", Load(kLow + "  %far = add i32 %tid, %n\n  %place = and i32 %far, %c1023\n"),
     0},
    {"a place that comes from memory",
     Load(kLow + "  %other1 = xor i32 %v, %n\n  %place = and i32 %other1, %c1023\n"), 0},
    {"a distance that no address depends on",
     Load("  %place = shl i32 %zero, %one\n  %w = xor i32 %tid, %n\n  store i32 global %mate, %w\n"), 0},
};

}  // namespace

TEST_CASE("regions that exchange elements over a distance have code for each small one",
          "[passes][distances]") {
  for (const BarrierKernel& kernel : kKernels) {
    INFO(kernel.name);
    const ir::Module module = BarrierModule(kernel.body);
    const Result<ir::Module> before = After(module, "share-slots"),
                             after = After(module, "specialise-distances");
    REQUIRE(before);
    if (!after) FAIL(after.error().Render());
    CHECK(Loops(*after) - Loops(*before) == kernel.barriers);
    CheckSameForAll(module, *after);
  }
}

TEST_CASE("a distance that a loop halves is compared ahead of each loop over threads",
          "[passes][distances]") {
  const ir::Module module = BarrierModule(
      kFill +
      "  br ^head(%n)\n^head(%d: i32):\n  %place = xor i32 %tid, %d\n  %p64 = zext i64 from i32 %place\n"
      "  %poff = shl i64 %p64, %two\n  %at = add i64 %tile, %poff\n  %x = load i32 shared %at\n"
      "  %y = load i32 shared %slot\n  %s = add i32 %x, %y\n  barrier_block %zero {aligned}\n"
      "  store i32 shared %slot, %s\n  barrier_block %zero {aligned}\n"
      "  %half = shr_u i32 %d, %one\n  %more = icmp i32 ne %half, %zero\n"
      "  cond_br %more, ^head(%half), ^out\n"
      "^out:\n  %r = load i32 shared %slot\n  store i32 global %mine, %r\n  ret\n");
  const Result<ir::Module> before = After(module, "share-slots"),
                           after = After(module, "specialise-distances");
  REQUIRE(before);
  if (!after) FAIL(after.error().Render());
  CHECK(Loops(*after) == Loops(*before) + 6);
  CheckSameForAll(module, *after);
}
