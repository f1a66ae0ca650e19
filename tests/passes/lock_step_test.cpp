// Programs that exchange values of a warp through volatile shared memory, without barriers.
#include "tests/passes/kernel_run.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

// The last steps of a reduction as they were written then: every lane adds what the lane 16, 8, 4, 2, 1
// further has.
std::string Reduction(int sm, const std::string& space = "shared") {
  std::string text = "module \"m\" ptx 5.0 sm " + std::to_string(sm) + R"( static_shared 512
variable shared @tile align 4 size 512 offset 0
kernel @k (data: i64 @0, n: i32 @8) phase simt {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %t = special i32 tid.x
  %lane = special i32 laneid
  %t64 = zext i64 from i32 %t
  %two = const i32 0x2
  %o = shl i64 %t64, %two
  %mine = add i64 %data, %o
  %tile = symbol shared @tile
  %at = add i64 %tile, %o
  %v = load i32 global %mine
  store i32 shared volatile %at, %v
  %sixteen = const i32 0x10
  %low = icmp i32 ult %lane, %sixteen
  cond_br %low, ^sum, ^end
^sum:
)";
  for (int step = 16; step >= 1; step /= 2) {
    const std::string n = std::to_string(step);
    text += "  %c" + n + " = const i64 " + std::to_string(4 * step) + "\n  %a" + n + " = add i64 %at, %c" +
            n + "\n  %x" + n + " = load i32 " + space + " volatile %at\n  %y" + n + " = load i32 " + space +
            " volatile %a" + n + "\n  %s" + n + " = add i32 %x" + n + ", %y" + n +
            "\n  store i32 shared volatile %at, %s" + n + "\n";
  }
  return text +
         "  br ^end\n^end:\n  %r = load i32 shared volatile %at\n  store i32 global %mine, %r\n  ret\n}\n";
}

}  // namespace

TEST_CASE("volatile shared memory is exchanged in lock step ", "[passes]") {
  ir::Module module = ParseModule(Reduction(GENERATE(60, 90)));
  for (lowering::Tier tier : {lowering::Tier::kAuto, lowering::Tier::kWarp, lowering::Tier::kLanes}) {
    Result<ir::Module> built = AfterTier(module, tier);
    if (!built) FAIL(built.error().Render());
    Outcome outcome = RunKernel(*built, Kernel(*built), 64, 0, 1);
    if (!outcome.status) FAIL(outcome.status.error().Render());
    for (uint32_t warp : {0u, 1u}) {
      uint32_t sum = 0;
      for (uint32_t lane = 0; lane < 32; ++lane) sum += ((warp * 32 + lane) * 2654435761u) >> 20;
      CHECK(outcome.data[warp * 32] == sum);
    }
  }
}

TEST_CASE("targets from sm_70 on get such barriers only where a store reaches a load without one",
          "[passes]") {
  // A lane that waits in a loop for the others' turns, a store that no volatile load follows, a barrier in
  // between, a lane that reads back its own.
  const auto kernel = [](const std::string& body) {
    return "module \"m\" ptx 7.0 sm 90 static_shared 512\nvariable shared @tile align 4 size 512 offset "
           "0\nkernel @k (data: i64 @0, n: i32 @8) phase simt {\n^b0:\n"
           "  %pb = param_base\n  %data = load i64 param %pb\n  %t = special i32 tid.x\n  %at = symbol "
           "shared @tile\n" +
           body + "}\n";
  };
  const std::string turns = kernel(
      "  br ^wait\n^wait:\n  %x = load i32 shared volatile %at\n  %mine = icmp eq i32 %x, %t\n  cond_br "
      "%mine, ^go, ^wait\n"
      "^go:\n  %one = const i32 1\n  %next = add i32 %x, %one\n  store i32 shared volatile %at, %next\n"
      "  %seen = load i32 shared volatile %at\n  store i32 global %data, %seen\n  ret\n");
  const std::string own_word =
      "  %t64 = zext i64 from i32 %t\n  %two = const i32 2\n  %o = shl i64 %t64, %two\n"
      "  %mine = add i64 %at, %o\n";
  const std::string other = kernel(
      own_word +
      "  store i32 shared volatile %mine, %t\n  %x = load i32 shared %mine\n  store i32 global %data, %x\n"
      "  ret\n");
  const std::string apart = kernel(
      "  store i32 shared volatile %at, %t\n  %zero = const i32 0\n  barrier_block %zero\n  %x = load i32 "
      "shared volatile %at\n  store i32 global %data, %x\n  ret\n");
  const std::string own =
      kernel(own_word +
             "  %w = trunc i32 from i64 %mine\n  %v = zext i64 from i32 %w\n  %u = zext i64 from i32 %w\n"
             "  store i32 shared volatile %mine, %t\n  store i32 shared volatile %v, %t\n"
             "  %y = load i32 shared volatile %u\n  %x = load i32 shared volatile %mine\n"
             "  store i32 global %data, %x\n  ret\n");
  const std::string pair = kernel(
      "  store i32 shared volatile %at, %t\n  %four = const i64 4\n  %next = add i64 %at, %four\n  %x = load "
      "i32 shared volatile %next\n  store i32 global %data, %x\n  ret\n");
  for (const auto& [text, barriers] : {std::pair{Reduction(60), true},
                                       {Reduction(70), true},
                                       {Reduction(60, "generic"), true},
                                       {turns, false},
                                       {other, false},
                                       {apart, false},
                                       {own, false},
                                       {pair, true}}) {
    INFO(text);
    Result<ir::Module> built = After(ParseModule(text), "insert-implicit-warp-barriers");
    if (!built) FAIL(built.error().Render());
    bool found = false;
    for (const ir::Inst& inst : Kernel(*built).insts)
      found |= inst.block.valid() && inst.op == ir::Opcode::kBarrierWarp;
    CHECK(found == barriers);
  }
}

namespace {

// A kernel whose threads hold the address of their own word, `%at`, of two tiles of 128 words.
ir::Module OfTile(const std::string& body) {
  return ParseModule(
      "module \"m\" ptx 7.0 sm 90 static_shared 1024\nvariable shared @tile align 4 size 512 offset 0\n"
      "variable shared @other align 4 size 512 offset 512\n"
      "kernel @k (data: i64 @0, n: i32 @8) phase simt {\n^b0:\n  %pb = param_base\n"
      "  %data = load i64 param %pb\n  %c8 = const i64 8\n  %pn = add i64 %pb, %c8\n"
      "  %n = load i32 param %pn\n  %t = special i32 tid.x\n  %two = const i32 2\n"
      "  %w = zext i64 from i32 %t\n  %o = shl i64 %w, %two\n  %tile = symbol shared @tile\n"
      "  %second = symbol shared @other\n  %at = add i64 %tile, %o\n  %zero = const i32 0\n"
      "  %four = const i32 4\n  %c16 = const i64 16\n  %c128 = const i64 128\n" +
      body + "}\n");
}

size_t Barriers(const ir::Module& module) {
  Result<ir::Module> built = After(module, "keep-statements-in-step");
  if (!built) FAIL(built.error().Render());
  size_t count = 0;
  for (const ir::Inst& inst : Kernel(*built).insts)
    count += inst.block.valid() && inst.op == ir::Opcode::kBarrierWarp ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("lanes that are seen to meet in shared memory wait for each other, others do not", "[passes]") {
  const std::string end = "  br ^end\n^end:\n  ret\n";
  const std::string guarded = "  %few = icmp i32 ult %t, %four\n  cond_br %few, ^arm, ^end\n^arm:\n";
  struct Case {
    const char* what;
    std::string body;
    size_t barriers;
  };
  const Case cases[] = {
      {"stores over those of lanes 4 to 7",
       "  store i32 shared %at, %zero\n  %a = add i64 %at, %c16\n" + guarded + "  store i32 shared %a, %t\n" +
           end,
       1},
      {"a halo before the tile, and one after it",
       "  %a = add i64 %at, %c16\n  store i32 shared %a, %t\n" + guarded +
           "  store i32 shared %at, %t\n  %b = add i64 %a, %c128\n  store i32 shared %b, %t\n" + end,
       0},
      {"a halo as wide as an argument",
       "  %m = zext i64 from i32 %n\n  %h = shl i64 %m, %two\n  %a = add i64 %at, %h\n"
       "  store i32 shared %a, %t\n  %few = icmp i32 ult %t, %n\n  cond_br %few, ^arm, ^end\n^arm:\n"
       "  store i32 shared %at, %t\n" +
           end,
       0},
      {"the next lane's word is read after it was stored, and stored after it was read",
       "  store i32 shared %at, %t\n  %a = add i64 %at, %c16\n  %x = load i32 shared %a\n"
       "  store i32 shared %at, %x\n  br ^end\n^end:\n  ret\n",
       2},
      {"the same in an arm after a loop that lanes leave in turns of their own, all of which enter it",
       "  %one = const i32 1\n  br ^loop(%t)\n^loop(%i: i32):\n  %j = add i32 %i, %one\n"
       "  %p = icmp i32 ult %j, %n\n  cond_br %p, ^loop(%j), ^after\n^after:\n  %e = icmp i32 eq %j, %n\n"
       "  cond_br %e, ^arm, ^end\n^arm:\n  store i32 shared %at, %t\n  %a = add i64 %at, %c16\n"
       "  %x = load i32 shared %a\n  store i32 shared %at, %x\n" +
           end,
       2},
      {"a barrier is between them",
       "  store i32 shared %at, %t\n  barrier_block %zero\n  %a = add i64 %at, %c16\n"
       "  %x = load i32 shared %a\n  store i32 global %data, %x\n" +
           end,
       0},
      {"two tiles",
       "  store i32 shared %at, %t\n  %b = add i64 %second, %c16\n  %a = add i64 %b, %o\n"
       "  %x = load i32 shared %a\n  store i32 shared %a, %x\n" +
           end,
       0},
      {"neighbours in global memory",
       "  %g = add i64 %data, %o\n  %a = add i64 %g, %c16\n  %x = load i32 global %a\n"
       "  store i32 global %g, %x\n" +
           end,
       1},
      {"words of narrow rows, in a block of any shape",
       "  %c64 = const i64 64\n  %a = add i64 %at, %c64\n  store i32 shared %at, %t\n"
       "  store i32 shared %a, %zero\n" +
           end,
       0},
      {"a number that is there already",
       "  store i32 shared %at, %zero\n  %a = add i64 %at, %c16\n" + guarded +
           "  store i32 shared %a, %zero\n" + end,
       0},
      {"one lane, whichever it is: `x == n && y == n` of rows of eight",
       "  %c7 = const i32 7\n  %three = const i32 3\n  %x = and i32 %t, %c7\n  %y = shr_u i32 %t, %three\n"
       "  %ex = icmp i32 eq %x, %n\n  %ey = icmp i32 eq %y, %n\n  %one = and i1 %ex, %ey\n"
       "  cond_br %one, ^arm, ^end\n^arm:\n  %xw = zext i64 from i32 %x\n  %xo = shl i64 %xw, %two\n"
       "  %a = add i64 %tile, %xo\n  %v = load i32 shared %a\n  store i32 shared %a, %t\n" +
           end,
       0},
      {"the same by lanes that are not of a row",
       "  %c7 = const i32 7\n  %three = const i32 3\n  %x = and i32 %t, %c7\n  %y = shr_u i32 %t, %three\n"
       "  %ex = icmp i32 ne %x, %n\n  %ey = icmp i32 ne %y, %n\n  %others = or i1 %ex, %ey\n"
       "  cond_br %others, ^end, ^arm\n^arm:\n  %xw = zext i64 from i32 %x\n  %xo = shl i64 %xw, %two\n"
       "  %a = add i64 %tile, %xo\n  %v = load i32 shared %a\n  store i32 shared %a, %t\n" +
           end,
       0},
      {"a column: four lanes of one x",
       "  %c7 = const i32 7\n  %x = and i32 %t, %c7\n  %ex = icmp i32 eq %x, %n\n"
       "  cond_br %ex, ^arm, ^end\n^arm:\n  %xw = zext i64 from i32 %x\n  %xo = shl i64 %xw, %two\n"
       "  %a = add i64 %tile, %xo\n  %v = load i32 shared %a\n  store i32 shared %a, %t\n" +
           end,
       1},
      {"a column below the diagonal, which is not in it: `x == n && y > n`",
       "  %c7 = const i32 7\n  %three = const i32 3\n  %x = and i32 %t, %c7\n  %y = shr_u i32 %t, %three\n"
       "  %ex = icmp i32 eq %x, %n\n  %ey = icmp i32 sgt %y, %n\n  %below = and i1 %ex, %ey\n"
       "  cond_br %below, ^arm, ^end\n^arm:\n  %row = shl i32 %y, %three\n  %e = add i32 %row, %x\n"
       "  %d0 = shl i32 %x, %three\n  %d = add i32 %d0, %x\n  %ew = zext i64 from i32 %e\n"
       "  %eo = shl i64 %ew, %two\n  %a = add i64 %tile, %eo\n  %dw = zext i64 from i32 %d\n"
       "  %do = shl i64 %dw, %two\n  %diagonal = add i64 %tile, %do\n"
       "  %v = load i32 shared %diagonal\n  store i32 shared %a, %v\n" +
           end,
       0},
      {"turns of lanes that wait for each other",
       "  br ^wait\n^wait:\n  %x = load i32 shared volatile %tile\n  %mine = icmp eq i32 %x, %t\n"
       "  cond_br %mine, ^go, ^wait\n^go:\n  %y = load i32 shared %second\n  %z = add i32 %y, %t\n"
       "  store i32 shared %second, %z\n  %next = add i32 %x, %four\n"
       "  store i32 shared volatile %tile, %next\n" +
           end,
       0},
  };
  for (const Case& one : cases) {
    INFO(one.what);
    CHECK(Barriers(OfTile(one.body)) == one.barriers);
  }
}
