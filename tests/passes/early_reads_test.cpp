// Reads at the start of an interval see what was there at its barrier, also in kernels that race with them.
#include "tests/passes/kernel_run.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

// Thread 0 leaves a word for all threads; then `body`, and each thread stores %got.
std::string Kernel(const std::string& body) {
  return R"(module "early" ptx 8.0 sm 80 static_shared 512
variable shared @words align 4 size 512 offset 0
kernel @k (data: i64 @0, n: i32 @8) phase simt {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %tid = special i32 tid.x
  %ntid = special i32 ntid.x
  %cta = special i32 ctaid.x
  %before = mul i32 %cta, %ntid
  %number = add i32 %before, %tid
  %number64 = zext i64 from i32 %number
  %two = const i32 0x2
  %off = shl i64 %number64, %two
  %mine = add i64 %data, %off
  %zero = const i32 0x0
  %seven = const i32 0x7
  %nine = const i32 0x9
  %five = const i32 0x5
  %four = const i64 0x4
  %words = symbol shared @words
  %word1 = add i64 %words, %four
  %warp = shr_u i32 %tid, %five
  %warp64 = zext i64 from i32 %warp
  %woff = shl i64 %warp64, %two
  %own = add i64 %words, %woff
  %lane = special i32 laneid
  %leads = icmp i32 eq %lane, %zero
  %first = icmp i32 eq %tid, %zero
  cond_br %first, ^leave, ^left
^leave:
  store i32 shared %words, %seven
  store i32 shared %word1, %seven
  br ^left
^left:
  barrier_block %zero {aligned}
)" + body +
         "  store i32 global %mine, %got\n  ret\n}\n";
}

size_t Barriers(const ir::Function& f) {
  size_t count = 0;
  for (const ir::BlockId block : ir::ReversePostOrder(f)) {
    for (const ir::InstId id : f.at_block(block).insts)
      count += f.at_inst(id).op == ir::Opcode::kBarrierBlock;
  }
  return count;
}

struct Case {
  const char* what;
  std::string body;
  size_t barriers;
};

const Case kCases[] = {
    {"one word, then each warp's leader writes its own",
     "  %got = load i32 shared %words\n  cond_br %leads, ^write, ^end\n^write:\n"
     "  store i32 shared %own, %nine\n  br ^end\n^end:\n",
     2},
    {"a sum of two words, of which the second is overwritten",
     "  %a = load i32 shared %words\n  %b = load i32 shared %word1\n  %c = add i32 %a, %b\n"
     "  %got = sub i32 %c, %seven\n  store i32 shared %word1, %nine\n",
     2},
    {"in a loop",
     "  br ^head(%zero, %seven)\n^head(%i: i32, %old: i32):\n  %got = load i32 shared %words\n"
     "  %next = add i32 %i, %five\n  %again = icmp i32 ult %next, %nine\n  cond_br %again, ^more, ^end\n"
     "^more:\n  barrier_block %zero {aligned}\n  %see = load i32 shared %words\n"
     "  cond_br %first, ^write, ^written\n^write:\n  store i32 shared %words, %seven\n  br ^written\n"
     "^written:\n  barrier_block %zero {aligned}\n  br ^head(%next, %see)\n^end:\n",
     4},
    {"nothing is written", "  %got = load i32 shared %words\n", 1},
    {"another word is written",
     "  %got = load i32 shared %words\n  cond_br %first, ^write, ^end\n^write:\n"
     "  store i32 shared %word1, %nine\n  br ^end\n^end:\n",
     1},
    {"the write is after a barrier",
     "  %got = load i32 shared %words\n  barrier_block %zero {aligned}\n  store i32 shared %own, %nine\n", 2},
};

}  // namespace

TEST_CASE("threads read what a barrier left before others change it", "[passes]") {
  for (const Case& c : kCases) {
    INFO(c.what);
    const ir::Module module = ParseModule(Kernel(c.body));
    const auto early = AfterTier(module, lowering::Tier::kAuto, "keep-early-reads");
    REQUIRE(early);
    CHECK(Barriers(early->functions.back()) == c.barriers);
    const auto all = AfterTier(module, lowering::Tier::kAuto);
    REQUIRE(all);
    for (const uint32_t threads : {1u, 33u, 64u, 100u}) {
      const Outcome outcome = RunKernel(*all, all->functions.back(), threads, 0);
      REQUIRE(outcome.status);
      for (uint32_t i = 0; i < 2 * threads; ++i) {
        INFO(threads << " threads, " << i);
        REQUIRE(outcome.data[i] == 7);
      }
    }
  }
}
