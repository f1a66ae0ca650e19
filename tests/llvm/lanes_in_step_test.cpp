// Warps of GCC's offloaded programs run the serial parts of a thread on all lanes: what one lane loads while
// another block stores must be what all lanes load, and what releases a lock must be stored once. The kernels
// are written as GCC writes them; blocks on several host threads meet at one word.
#include <catch2/catch.hpp>

#include "lowering/compile.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr unsigned kBlocks = 12, kWarps = 2, kTurns = 400, kManyTurns = 10000;

// %lead: lane 0 of a warp whose lanes act as one thread; %one: they do; %from: the lane that has the result.
std::string Kernel(const std::string& turn, unsigned turns) {
  return R"(.version 6.0
.target sm_35
.address_size 64
.shared .align 8 .u64 __nvptx_stacks[32];
.shared .align 4 .u32 __nvptx_uni[32];
.visible .entry k(.param .u64 pwords)
{
  .reg .pred %one, %lead, %p<4>; .reg .b32 %from, %lane, %n, %v<4>; .reg .b64 %words, %at, %r<8>;
  ld.param.u64 %words, [pwords];
  mov.u32 %lane, %tid.y;
  mul.wide.u32 %r0, %lane, 4;
  mov.u64 %at, __nvptx_uni;
  add.u64 %at, %at, %r0;
  mov.u32 %from, 0;
  st.shared.u32 [%at], %from;
  ld.shared.u32 %from, [%at];
  setp.eq.u32 %one, %from, 0;
  mov.u32 %lane, %laneid;
  and.b32 %from, %from, %lane;
  setp.eq.u32 %lead, %from, %lane;
  mov.u32 %n, )" +
         std::to_string(turns) + R"(;
TURN:
)" + turn +
         R"(
  sub.u32 %n, %n, 1;
  setp.ne.u32 %p0, %n, 0;
  @%p0 bra TURN;
  ret;
}
)";
}

const std::string kShare =
    "@%one mov.b64 {%v0, %v1}, %r3;\n  @%one shfl.sync.idx.b32 %v0, %v0, %from, 31, 0xffffffff;\n"
    "  @%one shfl.sync.idx.b32 %v1, %v1, %from, 31, 0xffffffff;\n"
    "  @%one mov.b64 %r3, {%v0, %v1};\n";

// A reduction over teams: compare and swap until no other block came between.
const std::string kSum = R"(  ld.u64 %r1, [%words];
AGAIN:
  add.u64 %r2, %r1, 1;
  @%lead atom.cas.b64 %r3, [%words], %r1, %r2;
  )" + kShare + R"(  setp.ne.u64 %p1, %r1, %r3;
  mov.u64 %r1, %r3;
  @%p1 bra AGAIN;
  bar.sync 0;
)";
// A lock that a store releases, and what it protects.
const std::string kLocked = R"(  membar.sys;
LOCK:
  @%lead atom.exch.b32 %v2, [%words + 8], 1;
  @%lead membar.sys;
  @%one shfl.sync.idx.b32 %v2, %v2, %from, 31, 0xffffffff;
  setp.ne.u32 %p1, %v2, 0;
  @%p1 bra LOCK;
  ld.u64 %r1, [%words];
  add.u64 %r1, %r1, 1;
  st.u64 [%words], %r1;
  membar.sys;
  mov.u32 %v3, 0;
  st.u32 [%words + 8], %v3;
)";
// A flag that one block sets for the next one, read with a fence after it, decides on the way.
const std::string kFlag = R"(  mov.u32 %v0, %ctaid.x;
  and.b32 %v0, %v0, 1;
  setp.ne.u32 %p3, %v0, 0;
  @%p3 bra READ;
  membar.sys;
  st.u32 [%words + 8], %n;
  bra DONE;
READ:
  ld.u32 %v2, [%words + 8];
  membar.sys;
  and.b32 %v2, %v2, 1;
  setp.eq.u32 %p1, %v2, 0;
  @%p1 bra DONE;
  @%lead atom.add.u64 %r3, [%words + 16], 1;
  )" + kShare + R"(DONE:
  bar.sync 0;
)";

uint64_t FirstWordAfter(const std::string& turn, unsigned turns) {
  lowering::BuildOptions lane_by_lane;  // as calls through pointers are, which all programs of GCC's have
  lane_by_lane.pipeline.passes.tier = lowering::Tier::kLanes;
  auto kernel = JitKernel::Create(BuildKernel(Kernel(turn, turns), "k", lane_by_lane), {.optimisation = 1});
  if (!kernel) FAIL(kernel.error().Render());
  harness::KernelCall call{{kBlocks, 1, 1}, {32, kWarps, 1}, 0, {}, {}, {}};
  auto words = rt::ParseSpec("inout:u64:[0,0,0,0]");
  REQUIRE(words);
  call.arguments.push_back(std::move(*words));
  RunOrFail(**kernel, call, 4);
  uint64_t first = 0;
  std::memcpy(&first, call.arguments[0].data.data(), sizeof first);
  return first;
}

// Lanes that read what was there before the first one wrote for all.
const std::string kReadAfterStore = R"(  membar.sys;
  mov.u32 %v0, 7;
  st.u32 [%words + 8], %v0;
  ld.u32 %v1, [%words + 8];
  setp.ne.u32 %p1, %v1, 7;
  @%p1 atom.add.u64 %r3, [%words], 1;
)";
const std::string kReadAfterAtomic = R"(  @%lead red.add.u32 [%words + 8], 1;
  ld.u32 %v1, [%words + 8];
  setp.eq.u32 %p1, %v1, 0;
  @%p1 atom.add.u64 %r3, [%words], 1;
)";

// In the interpreter, the last lane first.
uint64_t FirstWordBackwards(const std::string& turn, const std::string& stage) {
  lowering::BuildOptions options;
  options.pipeline.passes.tier = lowering::Tier::kLanes;
  options.pipeline.stop_after = stage;
  const BuiltKernel module = BuildKernel(Kernel(turn, 1), "k", options);
  harness::KernelCall call{{1, 1, 1}, {32, 1, 1}, 0, {}, {}, {}};
  auto words = rt::ParseSpec("inout:u64:[0,0,0,0]");
  REQUIRE(words);
  call.arguments.push_back(std::move(*words));
  const Status status = harness::RunInterpreter(module, call, {.slice = 1000, .backwards = true});
  if (!status) FAIL(status.error().Render());
  uint64_t first = 0;
  std::memcpy(&first, call.arguments[0].data.data(), sizeof first);
  return first;
}

}  // namespace

TEST_CASE("lanes that act as one thread read what the first one has written for all", "[in_step]") {
  for (const char* stage : {"keep-lanes-in-step", ""}) {
    CHECK(FirstWordBackwards(kReadAfterStore, stage) == 0);
    CHECK(FirstWordBackwards(kReadAfterAtomic, stage) == 0);
  }
}

TEST_CASE("lanes that act as one thread load what other blocks change once", "[in_step]") {
  for (int n = 0; n < 3; ++n) {
    CHECK(FirstWordAfter(kSum, kManyTurns) == kBlocks * kWarps * kManyTurns);
  }
}

TEST_CASE("lanes that act as one thread go one way after a load with a fence", "[in_step]") {
  for (int n = 0; n < 3; ++n) CHECK(FirstWordAfter(kFlag, kManyTurns) == 0);
}

TEST_CASE("lanes that act as one thread release a lock once, after all of their stores", "[in_step]") {
  for (int n = 0; n < 3; ++n) CHECK(FirstWordAfter(kLocked, kTurns) == kBlocks * kWarps * kTurns);
}
