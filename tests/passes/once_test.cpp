// Loops at the head of a region that are the same for all threads run once for the block: which ones do, and
// that nothing changes.
#include "tests/passes/barrier_kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

struct Head {
  std::string trips = "%trips", start = "%zero";
  std::string load = "  %x = load i32 global %at\n";
  std::string before = "";       // in front of the loop
  std::string carried = "%tid";  // into the rest
};

// Each thread adds the first words of data up for itself, and the sum to its own word in the upper half.
ir::Module Kernel(const Head& head, bool collective = false) {
  return BarrierModule(
      "  %c7 = const i32 0x7\n  %c1024 = const i32 0x400\n  %trips = and i32 %n, %c7\n"
      "  %odd = and i32 %tid, %one\n  %own = add i32 %trips, %odd\n" +
      head.before + "  %none = icmp i32 eq " + head.trips +
      ", %zero\n  cond_br %none, ^after(%three), ^enter\n^enter:\n  br ^head(%zero, " + head.start +
      ")\n^head(%k: i32, %s: i32):\n  %k64 = zext i64 from i32 %k\n  %off = shl i64 %k64, %two\n"
      "  %at = add i64 %data, %off\n" +
      head.load +
      "  %s3 = mul i32 %s, %three\n  %s2 = add i32 %s3, %x\n  %k2 = add i32 %k, %one\n"
      "  %again = icmp i32 slt %k2, " +
      head.trips +
      "\n  cond_br %again, ^head(%k2, %s2), ^after(%s2)\n^after(%sum: i32):\n"
      "  %quotient = div_u i32 %sum, %three\n  %r0 = add i32 %quotient, " +
      head.carried + "\n  %r = add i32 %r0, %v\n" +
      (collective ? "  br ^meet\n^meet:\n  barrier_block %zero {aligned}\n  br ^store\n^store:\n" : "") +
      "  %o1 = add i32 %c1024, %gid\n  %o2 = zext i64 from i32 %o1\n"
      "  %o3 = shl i64 %o2, %two\n  %o4 = add i64 %data, %o3\n  store i32 global %o4, %r\n  ret\n");
}

ir::Module Through(const ir::Module& module, const std::string& pass, lowering::CollapseForm form) {
  Result<ir::Module> after = After(module, pass, form);
  if (!after) FAIL(after.error().Render());
  return *std::move(after);
}

// Counts the slots that record that the head is done.
size_t Flags(const ir::Module& module) {
  return static_cast<size_t>(std::ranges::count_if(module.functions.back().slots, [](const ir::Slot& slot) {
    return slot.type == ir::Type::kI1 && slot.shape == ir::Level::kBlock;
  }));
}

// How many heads run once, in both forms of loops.
size_t Once(const ir::Module& module) {
  std::vector<size_t> found;
  for (const lowering::CollapseForm form :
       {lowering::CollapseForm::kFlat, lowering::CollapseForm::kHierarchical}) {
    const ir::Module before = Through(module, "share-slots", form),
                     after = Through(module, "compute-once", form);
    found.push_back(Flags(after) - Flags(before));
    CheckSameMemory(module, after);
  }
  CHECK(found[0] == found[1]);
  return found[0];
}

}  // namespace

TEST_CASE("a loop that is the same for all threads runs once for the block", "[passes][once]") {
  CHECK(Once(Kernel({})) == 1);
  CHECK(Once(Kernel({}, true)) == 1);
  CHECK(Once(Kernel({.trips = "%n", .start = "%cta"})) == 1);
  CHECK(Once(Kernel({.load = "  %x = load i32 global volatile %at\n"})) == 1);
  // Others' values go around it.
  CHECK(Once(Kernel({.before = "  %square = mul i32 %tid, %tid\n  %far = add i32 %square, %trips\n",
                     .carried = "%far"})) == 1);
}

TEST_CASE("a loop that differs between threads runs for each", "[passes][once]") {
  CHECK(Once(Kernel({.trips = "%own"})) == 0);
  CHECK(Once(Kernel({.load = "  %own64 = zext i64 from i32 %tid\n  %ownoff = shl i64 %own64, %two\n"
                             "  %ownat = add i64 %at, %ownoff\n  %x = load i32 global %ownat\n"})) == 0);
  CHECK(Once(Kernel({.start = "%tid"})) == 0);
}

TEST_CASE("a loop that does more than load runs for each thread", "[passes][once]") {
  CHECK(Once(Kernel({.load = "  %x = load i32 global %at {volatile}\n"})) == 0);
  CHECK(Once(Kernel({.load = "  %x = load i32 global %at\n  store i32 shared %slot, %k\n"})) == 0);
}
