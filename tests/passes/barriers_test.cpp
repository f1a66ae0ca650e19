// remove-redundant-barriers: which barriers go, and every reason for which one stays.
#include "tests/passes/barrier_kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

const std::string kBarrier = "  barrier_block %zero {aligned}\n";
const std::string kStoreSlot = "  store i32 shared %slot, %v\n";
const std::string kUseW = "  store i32 global %mine, %w\n  ret\n";

// A loop of n trips around `body`, which may use the trip's number %i.
std::string Loop(const std::string& body) {
  return "  br ^head(%zero)\n^head(%i: i32):\n  %more = icmp i32 ult %i, %n\n  cond_br %more, ^body, "
         "^done\n^body:\n" +
         body + "  %i1 = add i32 %i, %one\n  br ^head(%i1)\n^done:\n";
}

const std::vector<BarrierKernel> kKernels = {
    // -- none is needed --
    {"a thread's own word", kStoreSlot + kBarrier + "  %w = load i32 shared %slot\n" + kUseW, 0},
    {"reads on both sides",
     "  %u = load i32 shared %slot\n" + kBarrier + "  %w0 = load i32 shared %next\n  %w = add i32 %u, %w0\n" +
         kUseW,
     0},
    {"nothing before", kBarrier + kStoreSlot + "  ret\n", 0},
    {"nothing after", kStoreSlot + kBarrier + "  ret\n", 0},
    {"different memories",
     "  store i32 global %mine, %tid\n" + kBarrier + "  %w = load i32 shared %next\n" + kUseW, 0},
    {"different variables",
     kStoreSlot + kBarrier + "  %o = add i64 %other, %noff\n  %w = load i32 shared %o\n" + kUseW, 0},
    {"own words in a loop",
     Loop("  %u = load i32 shared %slot\n  %s = add i32 %u, %v\n  store i32 shared %slot, %s\n" + kBarrier) +
         "  %w = load i32 shared %slot\n" + kUseW,
     0},
    {"32-bit addresses that may wrap",
     "  %tile32 = trunc i32 from i64 %tile\n  %t32 = shl i32 %tid, %two\n  %n4 = shl i32 %n, %two\n"
     "  %a0 = add i32 %tile32, %t32\n  %a1 = add i32 %a0, %n4\n  %a = zext i64 from i32 %a1\n"
     "  store i32 shared %a, %v\n" +
         kBarrier + "  %w = load i32 shared %a\n" + kUseW,
     0},
    {"a generic address of the same word",
     "  %g = to_generic shared %slot\n  store i32 generic %g, %v\n" + kBarrier +
         "  %w = load i32 shared %slot\n" + kUseW,
     0},
    {"a byte of the own word",
     kStoreSlot + kBarrier +
         "  %c3 = const i64 0x3\n  %b = add i64 %slot, %c3\n  %w8 = load i8 shared %b\n"
         "  %w = zext i32 from i8 %w8\n" +
         kUseW,
     0},
    {"interleaved words",
     "  %a0 = shl i64 %toff, %one\n  %a = add i64 %tile, %a0\n  %b = add i64 %a, %four64\n  store i32 shared "
     "%a, %v\n" +
         kBarrier + "  store i32 shared %b, %v\n" + kBarrier + "  %w = load i32 shared %a\n" + kUseW,
     0},
    {"frozen memory",
     "  store i32 global %mine, %tid\n" + kBarrier + "  %w = load i32 global %mate {nc}\n  ret\n", 0},
    // -- one of several is needed --
    {"barrier after barrier", kStoreSlot + kBarrier + kBarrier + "  %w = load i32 shared %next\n" + kUseW, 1},
    {"the last two order nothing new",
     kStoreSlot + kBarrier + "  %w = load i32 shared %next\n" + kBarrier + "  store i32 global %mine, %w\n" +
         kBarrier + "  ret\n",
     1},
    // -- all are needed --
    {"a neighbour's word is read", kStoreSlot + kBarrier + "  %w = load i32 shared %next\n" + kUseW, 1},
    {"a neighbour's word is overwritten", "  %w = load i32 shared %next\n" + kBarrier + kStoreSlot + kUseW,
     1},
    {"two writes of one word",
     kStoreSlot + kBarrier + "  store i32 shared %next, %tid\n" + kBarrier +
         "  %w = load i32 shared %slot\n" + kUseW,
     2},
    {"global memory orders like shared memory",
     "  store i32 global %mine, %tid\n" + kBarrier + "  %w = load i32 global %mate\n" + kBarrier + kUseW, 2},
    {"a pointer from nowhere",
     "  %q = load i64 global %data {nc}\n  store i32 global %mine, %tid\n  %deep = icmp i32 ugt %n, %full\n"
     "  cond_br %deep, ^x, ^y\n^x:\n  br ^y\n^y:\n" +
         kBarrier + "  cond_br %deep, ^x2, ^y2\n^x2:\n  %w = load i32 global %q\n" +
         "  store i32 global %mine, %w\n" + "  br ^y2\n^y2:\n  ret\n",
     1},
    {"threads that leave early wrote",
     "  %leader = icmp i32 eq %tid, %zero\n  cond_br %leader, ^leave, ^stay\n^leave:\n"
     "  store i32 shared %tile, %n\n  ret\n^stay:\n" +
         kBarrier + "  %w = load i32 shared %tile\n" + kUseW,
     1},
    {"around a loop's back edge",
     Loop("  %u = load i32 shared %next\n  store i32 global %mine, %u\n" + kBarrier +
          "  %s = add i32 %u, %v\n" + "  store i32 shared %slot, %s\n" + kBarrier) +
         "  ret\n",
     2},
    {"another word in each trip",
     Loop("  %ti = add i32 %tid, %i\n  %ti64 = zext i64 from i32 %ti\n  %tio = shl i64 %ti64, %two\n"
          "  %a = add i64 %tile, %tio\n  store i32 shared %a, %i\n" +
          kBarrier) +
         "  %w = load i32 shared %slot\n" + kUseW,
     1},
    {"wider than the distance of neighbours",
     "  %v64 = zext i64 from i32 %v\n  store i32 shared %slot, %v\n  %pair = shl i64 %toff, %one\n"
     "  %a = add i64 %tile, %pair\n" +
         kBarrier + "  %w64 = load i64 shared %a\n  %w = trunc i32 from i64 %w64\n" + kUseW,
     1},
    {"halves of a neighbour's word",
     "  %h0 = shl i64 %tid64, %one\n  %h = add i64 %tile, %h0\n  %z16 = trunc i16 from i32 %v\n"
     "  store i16 shared %h, %z16\n" +
         kBarrier + "  %w = load i32 shared %slot\n" + kUseW,
     1},
    {"one thread for all",
     "  %leader = icmp i32 eq %tid, %zero\n  cond_br %leader, ^a, ^b\n^a:\n  store i32 shared %tile, %n\n  "
     "br ^b\n^b:\n" +
         kBarrier + "  %w = load i32 shared %tile\n" + kUseW,
     1},
    {"an address of either memory",
     "  %g = to_generic shared %slot\n  %far = icmp i32 ugt %n, %full\n  %e = select i64 %far, %data, %g\n"
     "  store i32 generic %e, %v\n" +
         kBarrier + "  %w = load i32 shared %next\n" + kUseW,
     1},
    {"an asynchronous copy",
     "  %c4 = const i32 0x4\n  copy_async %slot, %mine, %c4, %c4\n" + kBarrier +
         "  %w = load i32 shared %slot\n" + kUseW,
     1},
    {"a volatile access", kStoreSlot + kBarrier + "  %w = load i32 shared volatile %slot\n" + kUseW, 1},
    {"an atomic",
     "  %o = atomic i32 shared relaxed cta add %slot, %v\n" + kBarrier + "  %w = load i32 shared %slot\n" +
         kUseW,
     1},
    {"a fence", kStoreSlot + "  fence sc gpu\n" + kBarrier + "  %w = load i32 shared %slot\n" + kUseW, 1},
    {"a call", kStoreSlot + kBarrier + "  nanosleep %zero\n  %w = load i32 shared %slot\n" + kUseW, 1},
    {"lanes that happen to be converged",
     kStoreSlot + kBarrier + "  %m = activemask\n  %w = load i32 shared %slot\n" + kUseW, 1},
    {"a reduction is never superfluous",
     "  %p = icmp i32 ult %v, %n\n  %w = barrier_reduce_popc %p, %zero {aligned}\n" + kUseW, 1},
};

}  // namespace

TEST_CASE("barriers that no thread can observe go, all others stay", "[passes][barriers]") {
  uint32_t removed = 0;
  Sample sample(3);
  for (const BarrierKernel& kernel : kKernels) {
    INFO(kernel.name);
    ir::Module module = BarrierModule(kernel.body);
    ir::Module after = AfterInShape(module, "remove-redundant-barriers");
    CHECK(CountBarriers(after) == kernel.barriers);
    removed += CountBarriers(module) - CountBarriers(after);
    if (sample.Skips()) continue;
    CheckSameMemory(module, after);
    CheckSameMemory(module, AfterInShape(module, ""));
  }
  CHECK(removed >= 15);
}

TEST_CASE("an own word is one of a block whose shape is known, or of the linear id", "[passes][barriers]") {
  auto left = [](const std::string& body, std::optional<analysis::LaunchShape> shape) {
    return CountBarriers(AfterInShape(BarrierModule(body), "remove-redundant-barriers", shape));
  };
  std::string by_x = kStoreSlot + kBarrier + "  %w = load i32 shared %slot\n" + kUseW;
  CHECK(left(by_x, std::nullopt) == 1);  // threads of different y share a word
  CHECK(left(by_x, analysis::LaunchShape{64, 2, 1}) == 1);
  CHECK(left(by_x, analysis::LaunchShape{64, 1, 1}) == 0);

  auto linear = [&](const std::string& last) {
    return "  %ty = special i32 tid.y\n  %tz = special i32 tid.z\n  %ny = special i32 ntid.y\n"
           "  %l0 = mul i32 %tz, %ny\n  %l1 = add i32 %l0, %ty\n  %l2 = mul i32 %l1, %ntid\n" +
           last +
           "  %l4 = zext i64 from i32 %l3\n  %l5 = shl i64 %l4, %two\n  %a = add i64 %tile, %l5\n"
           "  store i32 shared %a, %v\n" +
           kBarrier + "  %w = load i32 shared %a\n" + kUseW;
  };
  CHECK(left(linear("  %l3 = add i32 %l2, %tid\n"), std::nullopt) == 0);
  CHECK(left(linear("  %l3 = add i32 %l2, %one\n"), std::nullopt) == 1);

  // The ids' factor wraps in 32 bits: threads 0 and 4 have one address.
  std::string wraps =
      "  %big = const i32 0x40000000\n  %m0 = mul i32 %tid, %big\n  %m1 = add i32 %m0, %n\n"
      "  %a = zext i64 from i32 %m1\n  store i32 shared %a, %v\n" +
      kBarrier + "  %w = load i32 shared %a\n" + kUseW;
  CHECK(left(wraps, kLineOfThreads) == 1);

  // rows of 16 words
  auto rows =
      "  %ty = special i32 tid.y\n  %c4 = const i32 0x4\n  %r0 = shl i32 %ty, %c4\n  %r1 = add i32 %r0, "
      "%tid\n"
      "  %r2 = zext i64 from i32 %r1\n  %r3 = shl i64 %r2, %two\n  %a = add i64 %tile, %r3\n"
      "  store i32 shared %a, %v\n" +
      kBarrier + "  %w = load i32 shared %a\n" + kUseW;
  CHECK(left(rows, analysis::LaunchShape{16, 16, 1}) == 0);
  CHECK(left(rows, analysis::LaunchShape{17, 16, 1}) == 1);  // the 17th of a row is the first of the next
  CHECK(left(rows, analysis::LaunchShape{17, 1, 1}) == 0);
  CHECK(left(rows, std::nullopt) == 1);
}

TEST_CASE("barriers that not all threads reach together stay, and all when parts of the block have their own",
          "[passes][barriers]") {
  auto left = [](const std::string& body) {
    return CountBarriers(AfterInShape(BarrierModule(body), "remove-redundant-barriers"));
  };
  // A warp waits at one barrier, another at the other: they are one barrier of the block.
  CHECK(left("  %low = icmp i32 ult %tid, %n\n  cond_br %low, ^a, ^b\n^a:\n  store i32 shared %slot, %v\n"
             "  barrier_block %zero\n  br ^c\n^b:\n  barrier_block %zero\n  %w = load i32 shared %tile\n" +
             std::string("  store i32 global %mine, %w\n  br ^c\n^c:\n  ret\n")) == 2);
  // The same decision for all threads.
  CHECK(left("  %low = icmp i32 ult %one, %n\n  cond_br %low, ^a, ^b\n^a:\n  store i32 shared %slot, %v\n"
             "  barrier_block %zero\n  br ^c\n^b:\n  barrier_block %zero\n  %w = load i32 shared %tile\n" +
             std::string("  store i32 global %mine, %w\n  br ^c\n^c:\n  ret\n")) == 0);
  CHECK(left("  %c64 = const i32 0x40\n" + kBarrier + kBarrier + "  barrier_block %one, %c64\n  ret\n") == 3);
  CHECK(left(kBarrier + kBarrier + "  barrier_block %n\n  ret\n") == 3);
}

TEST_CASE("arrays of dynamic size share their memory", "[passes][barriers]") {
  auto left = [](const char* size) {
    std::string text = kBarrierPrologue + "  %x0 = symbol shared @x\n  %y0 = symbol shared @y\n" +
                       "  %x = add i64 %x0, %toff\n  %y = add i64 %y0, %noff\n  store i32 shared %x, %v\n" +
                       kBarrier + "  %w = load i32 shared %y\n" + kUseW + "}\n";
    std::string variables = std::string("variable shared @x extern align 4 size 0 offset 16384\n") +
                            "variable shared @y align 4 size " + size + " offset 16384\n";
    text.insert(text.find("function"), variables);
    ir::Module module = ParseModule(text);
    return CountBarriers(AfterInShape(module, "remove-redundant-barriers"));
  };
  CHECK(left("0") == 1);
  CHECK(left("512") == 0);
}
