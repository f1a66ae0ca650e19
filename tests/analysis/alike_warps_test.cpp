// Values that all warps of a block compute alike: body by body.
#include "analysis/values/alike_warps.h"

#include <catch2/catch.hpp>

#include "analysis/values/uniformity.h"
#include "ir/text/text.h"

using namespace ptx2cpu;

namespace {

constexpr const char* kBarrier = "  barrier_block %zero {aligned}\n";
constexpr const char* kLoad = "  %at = add i64 %parts, %offset\n  %v = load i32 shared %at\n";
constexpr const char* kTake = "  %x, %in = shuffle i32 idx %v, %zero, %c31, %full\n";

// Whether `%x` of a body is the same in all threads of a block.
bool IsOfBlock(const std::string& body, const std::string& threads = "required_threads 64 1 1") {
  const std::string text = R"(module "m" ptx 8.0 sm 80 static_shared 128
variable shared @s align 4 size 128 offset 0
kernel @k (data: i64 @0) phase simt )" +
                           threads + R"( {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %parts = symbol shared @s
  %zero = const i32 0x0
  %c2 = const i32 0x2
  %c31 = const i32 0x1f
  %c63 = const i32 0x3f
  %half = const i32 0xffff
  %full = const i32 0xffffffff
  %tid = special i32 tid.x
  %lane = and i32 %tid, %c31
  %word = shl i32 %lane, %c2
  %offset = zext i64 from i32 %word
)" + body + "  store i32 global %data, %x\n  ret\n}\n";
  auto module = ir::Parse(text, "test.ir");
  if (!module) FAIL(module.error().Render());
  const ir::Function& f = module->functions[0];
  const analysis::UniformityResult uniformity = analysis::AnalyzeUniformity(f);
  for (const ir::Inst& inst : f.insts) {
    if (inst.op == ir::Opcode::kStore && inst.attrs.space == ir::Space::kGlobal)
      return uniformity.UniformAt(inst.operands[1], ir::Level::kBlock);
  }
  FAIL("no store");
  return false;
}

std::string Of(std::initializer_list<std::string> parts) {
  std::string all;
  for (const std::string& part : parts) all += part;
  return all;
}

}  // namespace

TEST_CASE("what each warp adds up of the block's shared words is the block's", "[analysis]") {
  const std::string step = "  %o, %p = shuffle i32 bfly %v, %c2, %c31, %full\n  %w = add i32 %v, %o\n",
                    take = "  %x, %in = shuffle i32 idx %w, %zero, %c31, %full\n";
  CHECK(IsOfBlock(Of({kBarrier, kLoad, kTake})));
  CHECK(IsOfBlock(Of({kBarrier, kLoad, step, take})));
  CHECK(IsOfBlock(Of({kBarrier, kLoad, "  %x = redux i32 add %v, %full\n"})));
  // Lanes that read and others that bring zero.
  CHECK(IsOfBlock(
      Of({kBarrier, "  %few = icmp i32 ult %lane, %c2\n  cond_br %few, ^read, ^sum(%zero)\n^read:\n",
          "  %at = add i64 %parts, %offset\n  %u = load i32 shared %at\n  br ^sum(%u)\n", "^sum(%v: i32):\n",
          kTake})));
}

TEST_CASE("what the warps of a block compute differently is not the block's", "[analysis]") {
  CHECK_FALSE(IsOfBlock(Of({kBarrier, kLoad, kTake}), ""));  // a warp may lack lanes
  CHECK_FALSE(IsOfBlock(Of({kBarrier, kLoad, kTake}), "required_threads 48 1 1"));
  CHECK_FALSE(IsOfBlock(Of({kBarrier, kLoad, "  %x, %in = shuffle i32 idx %v, %zero, %c31, %half\n"})));
  CHECK_FALSE(IsOfBlock(Of({kBarrier, kLoad, "  %x, %in = shuffle i32 idx %v, %lane, %c31, %full\n"})));
  CHECK_FALSE(IsOfBlock(Of({kBarrier, kLoad, "  %x, %in = shuffle i32 bfly %v, %c2, %c31, %full\n"})));
  // Another warp's word; a word that may have changed since another warp read it.
  CHECK_FALSE(IsOfBlock(Of({kBarrier, "  %v = and i32 %tid, %c63\n", kTake})));
  CHECK_FALSE(IsOfBlock(Of({kBarrier, "  fence acquire gpu\n", kLoad, kTake})));
  // Warps that come from different places bring different values.
  CHECK_FALSE(IsOfBlock(Of({"  %few = icmp i32 ult %tid, %c31\n  cond_br %few, ^meet(%zero), ^other\n",
                            "^other:\n  br ^meet(%c2)\n^meet(%v: i32):\n", kTake})));
}

TEST_CASE("after threads of some warps have ended, warps do not compute alike", "[analysis]") {
  const auto ends = [](const std::string& which) {
    return "  %few = icmp i32 ult " + which + ", %c2\n  cond_br %few, ^gone, ^on\n^gone:\n  ret\n^on:\n";
  };
  CHECK(IsOfBlock(Of({ends("%lane"), kLoad, kTake})));
  CHECK_FALSE(IsOfBlock(Of({ends("%tid"), kLoad, kTake})));
}

TEST_CASE("warps that leave a loop in different trips do not compute alike", "[analysis]") {
  const auto loop = [](const std::string& until) {
    return "  br ^l(%zero)\n^l(%n: i32):\n  %m = add i32 %n, %c2\n  %p = icmp i32 ult %m, " + until +
           "\n  cond_br %p, ^l(%m), ^out\n^out:\n  %v = add i32 %m, %c2\n";
  };
  CHECK(IsOfBlock(loop("%lane") + kTake));
  CHECK(IsOfBlock(loop("%c63") + kTake));
  CHECK_FALSE(IsOfBlock(loop("%tid") + kTake));
}
