// Loops that walk down columns go outside the loop over threads: which ones do, and that nothing changes.
#include "tests/passes/barrier_kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

struct Walk {
  std::string step = "%c128";   // elements from trip to trip
  std::string trips = "%rows";  // of a thread
  std::string end = "  ret\n";  // of threads that do not walk
  std::string body =
      "  %far = and i32 %x, %c1023\n  %far64 = zext i64 from i32 %far\n"
      "  %faroff = shl i64 %far64, %two\n  %farat = add i64 %data, %faroff\n"
      "  %y = load i32 global %farat\n";
};

// A thread's column of up to 7 elements, each with the one above it; its number in the grid has the result.
ir::Module Kernel(const Walk& walk) {
  return BarrierModule(
      "  %c1023 = const i32 0x3ff\n  %c1024 = const i32 0x400\n  %c128 = const i32 0x80\n  %c7 = const i32 "
      "0x7\n"
      "  %c90 = const i32 0x5a\n  %rows = and i32 %n, %c7\n  %odd = and i32 %tid, %one\n"
      "  %own = add i32 %odd, %rows\n  %out = icmp i32 sgt %tid, %c90\n  cond_br %out, ^away, ^stay\n"
      "^away:\n" +
      walk.end +
      "^stay:\n  %inner = icmp i32 sgt %tid, %zero\n  %back = select i32 %inner, %one, %zero\n"
      "  %left = sub i32 %tid, %back\n  %none = icmp i32 eq %rows, %zero\n"
      "  cond_br %none, ^after(%zero), ^enter\n^enter:\n  br ^head(%zero, "
      "%tid, %left, %three)\n"
      "^head(%k: i32, %i: i32, %l: i32, %above: i32):\n  %i64 = zext i64 from i32 %i\n"
      "  %off = shl i64 %i64, %two\n  %at = add i64 %data, %off\n  %x = load i32 global %at\n"
      "  %l64 = zext i64 from i32 %l\n  %loff = shl i64 %l64, %two\n  %lat = add i64 %data, %loff\n"
      "  %lx = load i32 global %lat\n" +
      walk.body +
      "  %s1 = mul i32 %above, %three\n  %s2 = add i32 %s1, %lx\n  %s3 = add i32 %s2, %y\n"
      "  %sum = add i32 %s3, %x\n  %k2 = add i32 %k, %one\n  %i2 = add i32 %i, " +
      walk.step + "\n  %l2 = add i32 %l, " + walk.step + "\n  %again = icmp i32 slt %k2, " + walk.trips +
      "\n  cond_br %again, ^head(%k2, %i2, %l2, %sum), ^after(%sum)\n"
      "^after(%r: i32):\n  %o1 = add i32 %c1024, %gid\n  %o2 = zext i64 from i32 %o1\n"
      "  %o3 = shl i64 %o2, %two\n  %o4 = add i64 %data, %o3\n  store i32 global %o4, %r\n  ret\n");
}

uint32_t Barriers(const ir::Module& module) {
  uint32_t count = 0;
  for (const ir::Inst& inst : module.functions.back().insts)
    count += inst.block.valid() && ir::IsBarrier(inst.op);
  return count;
}

ir::Module Through(const ir::Module& module, const std::string& pass) {
  Result<ir::Module> after = After(module, pass);
  if (!after) FAIL(after.error().Render());
  return *std::move(after);
}

void CheckSame(const ir::Module& module) {
  const ir::Module moved = Through(module, "interchange-loops"), all = Through(module, "merge-slots");
  for (uint32_t threads : {1u, 5u, 32u, 40u, 96u}) {
    for (uint32_t n : {0u, 1u, 2u, 7u}) {
      INFO(threads << " threads, " << n << " rows");
      const Outcome before = RunKernel(module, module.functions.back(), threads, n);
      REQUIRE(before.status);
      for (const ir::Module* after : {&moved, &all}) {
        const Outcome same = RunKernel(*after, after->functions.back(), threads, n);
        if (!same.status) FAIL(same.status.error().Render());
        CHECK(same.data == before.data);
      }
    }
  }
}

}  // namespace

TEST_CASE("a loop that walks down columns goes outside the threads", "[passes][columns]") {
  const ir::Module module = Kernel({});
  CHECK(Barriers(Through(module, "interchange-loops")) == 1);
  CheckSame(module);
  const ir::Module ending = Kernel({.end = "  br ^after(%n)\n"});  // the others have ended by then
  CHECK(Barriers(Through(ending, "interchange-loops")) == 1);
  CheckSame(ending);
}

TEST_CASE("of what it carries only what is computed is in slots", "[passes][columns]") {
  const ir::Module all = Through(Kernel({}), "merge-slots");
  uint32_t of_lanes = 0;
  for (const ir::Slot& slot : all.functions.back().slots) of_lanes += slot.shape == ir::Level::kLane;
  CHECK(of_lanes == 1);
}

TEST_CASE("loops whose threads take other trips, walk along rows, or meet others stay", "[passes][columns]") {
  const Walk others[] = {
      {.trips = "%own"},
      {.step = "%one"},
      {.end = "  %few = icmp i32 slt %n, %three\n  cond_br %few, ^after(%one), ^after(%two)\n"},
  };
  for (const Walk& walk : others) {
    INFO(walk.trips << ", " << walk.step << ", " << walk.end);
    const ir::Module module = Kernel(walk);
    CHECK(Barriers(Through(module, "interchange-loops")) == 0);
    CheckSame(module);
  }
}
