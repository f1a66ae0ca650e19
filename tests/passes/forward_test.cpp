// forward-stores-across-barriers: which loads take a known value, and every reason to load again.
#include "tests/passes/barrier_kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

const std::string kPass = "forward-stores-across-barriers";
const std::string kBarrier = "  barrier_block %zero {aligned}\n";
const std::string kStoreSlot = "  store i32 shared %slot, %v\n";
const std::string kLoadSlot = "  %w = load i32 shared %slot\n";
const std::string kUseW = "  store i32 global %mine, %w\n  ret\n";

uint32_t CountLoads(const ir::Module& module) {
  return CountInstructions(module.functions.back(), [](const ir::Inst& inst) {
    return inst.op == ir::Opcode::kLoad && inst.attrs.space != ir::Space::kParam &&
           !(inst.attrs.flags & ir::kNonCoherent);
  });
}

// Expected: the loads that are left.
const std::vector<BarrierKernel> kKernels = {
    {"a stored word", kStoreSlot + kBarrier + kLoadSlot + kUseW, 0},
    {"over several barriers, past other words",
     kStoreSlot + kBarrier + "  %o = add i64 %other, %noff\n  store i32 shared %o, %tid\n" + kBarrier +
         "  %o2 = add i64 %other, %toff\n  %u = load i32 shared %o2\n" + kLoadSlot +
         "  %s = add i32 %w, %u\n" + "  store i32 global %mine, %s\n  ret\n",
     1},
    {"a loaded word",
     "  %u = load i32 shared %next\n" + kBarrier + "  %w0 = load i32 shared %next\n" +
         "  %w = add i32 %u, %w0\n" + kUseW,
     1},
    {"as another type",
     kStoreSlot + kBarrier + "  %f = load f32 shared %slot\n  %w = bitcast i32 from f32 %f\n" + kUseW, 0},
    {"two words at once",
     "  %pair = shl i64 %toff, %one\n  %a = add i64 %tile, %pair\n  store i32 shared %a, %v, %tid\n" +
         kBarrier + "  %x, %y = load i32 shared %a\n  %w = sub i32 %x, %y\n" + kUseW,
     0},
    {"by a generic address",
     "  %g = to_generic shared %slot\n  store i32 generic %g, %v\n" + kBarrier + kLoadSlot + kUseW, 0},
    {"the last of two stores",
     kStoreSlot + kBarrier + "  store i32 shared %slot, %tid\n" + kBarrier + kLoadSlot + kUseW, 0},
    {"a global word of the thread",
     "  store i32 global %mine, %tid\n" + kBarrier +
         "  %u = load i32 global %mine\n  %w = add i32 %u, %one\n" + kUseW,
     0},
    {"stored before a loop, read in it",
     kStoreSlot +
         "  br ^head(%zero, %zero)\n^head(%i: i32, %sum: i32):\n  %more = icmp i32 ult %i, %n\n"
         "  cond_br %more, ^body, ^done\n^body:\n" +
         kBarrier +
         "  %u = load i32 shared %slot\n  %s = add i32 %sum, %u\n  %i1 = add i32 %i, %one\n  br ^head(%i1, "
         "%s)\n"
         "^done:\n  store i32 global %mine, %sum\n  ret\n",
     0},
    // -- loaded again --
    {"a neighbour writes there",
     kStoreSlot + kBarrier + "  store i32 shared %next, %tid\n" + kBarrier + kLoadSlot + kUseW, 1},
    {"a neighbour's word",
     "  store i32 shared %next, %v\n" + kBarrier + "  store i32 shared %slot, %tid\n" + kBarrier +
         "  %w = load i32 shared %next\n" + kUseW,
     1},
    {"part of it is overwritten",
     kStoreSlot + "  %b = trunc i8 from i32 %tid\n  store i8 shared %slot, %b\n" + kBarrier + kLoadSlot +
         kUseW,
     1},
    {"another width",
     kStoreSlot + kBarrier + "  %b = load i8 shared %slot\n  %w = zext i32 from i8 %b\n" + kUseW, 1},
    {"one arm only stores",
     "  %odd = icmp i32 ult %tid, %n\n  cond_br %odd, ^a, ^b\n^a:\n" + kStoreSlot + "  br ^b\n^b:\n" +
         kBarrier + kLoadSlot + kUseW,
     1},
    {"another word in each trip",
     "  br ^head(%zero)\n^head(%i: i32):\n  %more = icmp i32 ult %i, %n\n  cond_br %more, ^body, "
     "^done\n^body:\n"
     "  %ti = add i32 %tid, %i\n  %ti64 = zext i64 from i32 %ti\n  %tio = shl i64 %ti64, %two\n"
     "  %a = add i64 %tile, %tio\n  %u = load i32 shared %a\n" +
         kBarrier + "  %s = add i32 %u, %one\n  store i32 shared %a, %s\n" + kBarrier +
         "  %i1 = add i32 %i, %one\n  br ^head(%i1)\n^done:\n" + kLoadSlot + kUseW,
     2},
    {"a volatile load", kStoreSlot + kBarrier + "  %w = load i32 shared volatile %slot\n" + kUseW, 1},
    {"a volatile store", "  store i32 shared volatile %slot, %v\n" + kBarrier + kLoadSlot + kUseW, 1},
    {"a fence between", kStoreSlot + "  fence sc gpu\n" + kBarrier + kLoadSlot + kUseW, 1},
    {"an atomic between",
     kStoreSlot + kBarrier + "  %o = atomic i32 shared relaxed cta add %next, %one\n" + kBarrier + kLoadSlot +
         kUseW,
     1},
    {"an asynchronous copy",
     kStoreSlot + "  %c4 = const i32 0x4\n  copy_async %slot, %mine, %c4, %c4\n" + kBarrier + kLoadSlot +
         kUseW,
     1},
    {"a parameter may point there",
     "  %q = load i64 global %data {nc}\n  %deep = icmp i32 ugt %n, %full\n  store i32 global %mine, %tid\n" +
         kBarrier + "  cond_br %deep, ^x, ^y\n^x:\n  store i32 global %q, %n\n  br ^y\n^y:\n" + kBarrier +
         "  %u = load i32 global %mine\n  %w = add i32 %u, %one\n" + kUseW,
     1},
    {"a word from outside the block, in a loop",
     "  %u0 = load i32 global %data\n  br ^head(%zero)\n^head(%i: i32):\n" + kBarrier +
         "  %u = load i32 global %data\n  %i1 = add i32 %i, %one\n  %more = icmp i32 ult %i1, %n\n"
         "  %none = icmp i32 eq %u, %full\n  %again = or i1 %more, %none\n  cond_br %again, ^head(%i1), "
         "^done\n^done:\n"
         "  store i32 shared %slot, %u0\n  ret\n",
     2},
};

}  // namespace

TEST_CASE("loads of the thread's own words take the known value, others load", "[passes][barriers]") {
  uint32_t forwarded = 0;
  for (const BarrierKernel& kernel : kKernels) {
    INFO(kernel.name);
    ir::Module module = BarrierModule(kernel.body);
    ir::Module after = AfterInShape(module, kPass);
    CHECK(CountLoads(after) == kernel.barriers);
    forwarded += CountLoads(module) - CountLoads(after);
    CheckSameMemory(module, after);
    CheckSameMemory(module, AfterInShape(module, ""));
  }
  CHECK(forwarded >= 9);
}

TEST_CASE("no value is known in a block of unknown shape, or after threads diverge", "[passes][barriers]") {
  std::string body = kStoreSlot + kBarrier + kLoadSlot + kUseW;
  CHECK(CountLoads(AfterInShape(BarrierModule(body), kPass, std::nullopt)) == 1);
  CHECK(CountLoads(AfterInShape(BarrierModule(body), kPass, analysis::LaunchShape{32, 2, 1})) == 1);
  // Some threads wait at one barrier, some at another.
  std::string parts =
      kStoreSlot +
      "  %low = icmp i32 ult %tid, %n\n  cond_br %low, ^a, ^b\n^a:\n  barrier_block %zero\n  br ^c\n"
      "^b:\n  barrier_block %zero\n  br ^c\n^c:\n" +
      kLoadSlot + kUseW;
  CHECK(CountLoads(AfterInShape(BarrierModule(parts), kPass)) == 1);
}

TEST_CASE("words that are wider than the distance of neighbours are not a thread's own",
          "[passes][barriers]") {
  std::string body = "  %v64 = zext i64 from i32 %v\n  store i64 shared %slot, %v64\n" + kBarrier +
                     "  %w64 = load i64 shared %slot\n  %w = trunc i32 from i64 %w64\n" + kUseW;
  CHECK(CountLoads(AfterInShape(BarrierModule(body), kPass)) == 1);
}

TEST_CASE("a barrier that ordered forwarded loads only is removed", "[passes][barriers]") {
  // The neighbour overwrites the word after the barrier; what is read there is known by then.
  std::string body = kStoreSlot + kBarrier + kLoadSlot + kBarrier + "  ret\n";
  ir::Module after = AfterInShape(BarrierModule(body), "remove-redundant-barriers");
  CHECK(CountBarriers(after) == 0);
  CHECK(CountLoads(after) == 0);
}
