// Loops that stride by the block go outside the loop over threads: which ones do, and that each thread still
// takes the trips that it took.
#include "tests/passes/barrier_kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

// %n elements of data, summed by each thread with a stride of the block; the sums follow them.
std::string Sum(const std::string& body, const std::string& stride = "%ntid") {
  return "  %c1024 = const i32 0x400\n  %m = and i32 %n, %c1023\n  %some = icmp i32 slt %tid, %m\n"
         "  cond_br %some, ^enter, ^out(%zero)\n^enter:\n  br ^head(%tid, %zero)\n"
         "^head(%i: i32, %sum: i32):\n  %i64 = zext i64 from i32 %i\n  %off = shl i64 %i64, %two\n"
         "  %at = add i64 %data, %off\n  %x = load i32 global %at\n" +
         body + "  %i2 = add i32 %i, " + stride +
         "\n  %again = icmp i32 slt %i2, %m\n  cond_br %again, ^head(%i2, %sum2), ^out(%sum2)\n"
         "^out(%r: i32):\n  %o1 = add i32 %c1024, %gid\n  %o2 = zext i64 from i32 %o1\n"
         "  %o3 = shl i64 %o2, %two\n  %o4 = add i64 %data, %o3\n  store i32 global %o4, %r\n  ret\n";
}

ir::Module Kernel(const std::string& body) {
  return BarrierModule("  %c1023 = const i32 0x3ff\n  %v2 = add i32 %v, %one\n" + body);
}

uint32_t Barriers(const ir::Module& module) {
  uint32_t count = 0;
  for (const ir::Block& block : module.functions.back().blocks) {
    for (ir::InstId id : block.insts) {
      if (!block.removed) count += ir::IsBarrier(module.functions.back().at_inst(id).op);
    }
  }
  return count;
}

ir::Module Interchanged(const ir::Module& module) {
  Result<ir::Module> after = After(module, "interchange-loops");
  if (!after) FAIL(after.error().Render());
  return *std::move(after);
}

// Before the pass, after it and after all of them, for counts of trips that differ between threads.
void CheckSame(const ir::Module& module) {
  Result<ir::Module> all = After(module, "merge-slots");
  if (!all) FAIL(all.error().Render());
  for (uint32_t threads : {1u, 5u, 32u, 40u, 96u}) {
    for (uint32_t n : {0u, 1u, 31u, 97u, 500u}) {
      INFO(threads << " threads, " << n << " elements");
      const Outcome before = RunKernel(module, module.functions.back(), threads, n);
      REQUIRE(before.status);
      for (const ir::Module& after : {Interchanged(module), *all}) {
        const Outcome same = RunKernel(after, after.functions.back(), threads, n);
        if (!same.status) FAIL(same.status.error().Render());
        CHECK(same.data == before.data);
      }
    }
  }
}

}  // namespace

// Not among neighbours: the element is the address that each thread reads.
const std::string kFar =
    "  %far = and i32 %x, %c1023\n  %far64 = zext i64 from i32 %far\n"
    "  %faroff = shl i64 %far64, %two\n  %farat = add i64 %data, %faroff\n"
    "  %y = load i32 global %farat\n";

TEST_CASE("a loop that strides by the block and sums goes outside the threads", "[passes][interchange]") {
  const ir::Module module = Kernel(Sum(kFar + "  %sum2 = add i32 %sum, %y\n"));
  CHECK(Barriers(module) == 0);
  CHECK(Barriers(Interchanged(module)) == 1);
  CheckSame(module);
}

TEST_CASE("a loop that does little more than load stays, alone if other code is long",
          "[passes][interchange]") {
  const ir::Module light = Kernel(Sum("  %sum2 = add i32 %sum, %x\n"));
  CHECK(Barriers(Interchanged(light)) == 0);
  CheckSame(light);
  std::string more;
  for (int n = 0; n < 60; ++n) more += "  %w" + std::to_string(n) + " = add i32 %v, %v2\n";
  const ir::Module among = Kernel(more + "  %v3 = add i32 %w59, %w0\n" +
                                  Sum("  %sum2 = add i32 %sum, %x\n  %unused = add i32 %v3, %x\n"));
  CheckSame(among);
}

TEST_CASE("a loop that goes through many arrays goes outside the threads", "[passes][interchange]") {
  const auto loads = [](int count) {
    std::string text, sum = "%x";
    for (int n = 0; n < count; ++n) {
      const std::string number = std::to_string(n);
      text += "  %far" + number + " = const i64 0x" + number + "00\n  %at" + number + " = add i64 %at, %far" +
              number + "\n  %y" + number + " = load i32 global %at" + number + "\n  %s" + number +
              " = xor i32 " + sum + ", %y" + number + "\n";
      sum = "%s" + number;
    }
    return Sum(text + "  %sum2 = add i32 %sum, " + sum + "\n");
  };
  CHECK(Barriers(Interchanged(Kernel(loads(2)))) == 0);
  const ir::Module many = Kernel(loads(6));
  CHECK(Barriers(Interchanged(many)) == 1);
  CheckSame(many);
}

TEST_CASE("a light loop among operations of warps is a region of its own", "[passes][interchange]") {
  const std::string lanes =
      "  %last = const i32 0x1f\n"
      "  %pair, %fine = shuffle i32 bfly %v, %one, %last, %full\n";
  const ir::Module module =
      Kernel(lanes + Sum("  %sum1 = add i32 %sum, %pair\n  %sum2 = add i32 %sum1, %x\n"));
  CHECK(Barriers(Interchanged(module)) == 2);
  CheckSame(module);
}

TEST_CASE("a loop with an exponential stays, one with several goes outside the threads",
          "[passes][interchange]") {
  const std::string to_float = "  %x0 = bitcast f32 from i32 %x\n", sum = "  %sum2 = add i32 %sum, %power\n";
  const std::string power = "  %x1 = fex2 f32 %x0\n";
  const ir::Module one = Kernel(Sum(to_float + power + "  %power = bitcast i32 from f32 %x1\n" + sum));
  CHECK(Barriers(Interchanged(one)) == 0);
  CheckSame(one);
  const ir::Module three = Kernel(Sum(to_float + power + "  %x2 = fex2 f32 %x1\n  %x3 = fex2 f32 %x2\n" +
                                      "  %power = bitcast i32 from f32 %x3\n" + sum));
  CHECK(Barriers(Interchanged(three)) == 1);
  CheckSame(three);
}

TEST_CASE("a branch in the loop, and a value of the last trip", "[passes][interchange]") {
  const ir::Module module =
      Kernel(Sum("  %odd = and i32 %x, %one\n  %is = icmp i32 eq %odd, %one\n  cond_br %is, ^odd, ^even\n"
                 "^odd:\n  %twice = shl i32 %x, %one\n  br ^both(%twice)\n^even:\n  br ^both(%x)\n"
                 "^both(%y: i32):\n  %part = mul i32 %sum, %three\n  %sum2 = add i32 %part, %y\n"));
  CHECK(Barriers(Interchanged(module)) == 1);
  CheckSame(module);
}

TEST_CASE("a constant stride of the loop itself", "[passes][interchange]") {
  const ir::Module module =
      Kernel(Sum(kFar + "  %sum2 = xor i32 %sum, %y\n  %c96 = const i32 0x60\n", "%c96"));
  CHECK(Barriers(Interchanged(module)) == 1);
  CheckSame(module);
}

TEST_CASE("a stride of the grid, of blocks whose size is a number", "[passes][interchange]") {
  const ir::Module module = Kernel(
      "  %blocks = special i32 nctaid.x\n  %c5 = const i32 0x5\n"
      "  %stride = shl i32 %blocks, %c5\n" +
      Sum(kFar + "  %sum2 = add i32 %sum, %y\n", "%stride"));
  CHECK(Barriers(Interchanged(module)) == 1);
  CheckSame(module);
}

TEST_CASE("a light loop after another one, in a kernel with operations of warps, is a region of its own",
          "[passes][interchange]") {
  const std::string before =
      "  br ^turn(%zero, %zero)\n^turn(%k: i32, %all: i32):\n  %u = load i32 global %data\n"
      "  %all2 = add i32 %all, %u\n  %k2 = add i32 %k, %one\n  %more = icmp i32 slt %k2, %three\n"
      "  cond_br %more, ^turn(%k2, %all2), ^first\n^first:\n";
  const std::string after =
      "  %last = const i32 0x1f\n  %pair, %fine = shuffle i32 bfly %r, %one, %last, %full\n";
  std::string body = Sum("  %sum1 = add i32 %sum, %all2\n  %sum2 = add i32 %sum1, %x\n");
  body.insert(body.find("  %o1 = add"), after);
  const ir::Module module = Kernel(before + body);
  CHECK(Barriers(Interchanged(module)) == 2);
  CheckSame(module);
}

TEST_CASE("loops that step by one element, or that few threads reach, stay", "[passes][interchange]") {
  CHECK(Barriers(Interchanged(Kernel(Sum("  %sum2 = add i32 %sum, %x\n", "%one")))) == 0);
  const std::string reached =
      "  %few = icmp i32 slt %tid, %three\n  cond_br %few, ^go, ^stay\n^stay:\n  ret\n^go:\n";
  CHECK(Barriers(Interchanged(Kernel(reached + Sum("  %sum2 = add i32 %sum, %x\n")))) == 0);
}
