// Passes of the Simt phase by their result: what is inlined, folded, refused.
#include <algorithm>

#include "ir/verify/verify.h"
#include "tests/passes/kernel_run.h"

using namespace ptx2cpu;
using namespace ptx2cpu::test;

namespace {

uint32_t Count(const ir::Function& f, ir::Opcode op) {
  uint32_t count = 0;
  for (ir::BlockId block : ir::ReversePostOrder(f)) {
    for (ir::InstId id : f.at_block(block).insts) count += f.at_inst(id).op == op;
  }
  return count;
}

ir::Module Run(const std::string& text,
               Status (*pass)(ir::Module&, ir::Function&, const lowering::PassOptions&)) {
  ir::Module module = ParseModule("module \"m\" ptx 8.0 sm 80\n" + text);
  Status status = pass(module, Kernel(module), {});
  if (!status) FAIL(status.error().Render());
  Status valid = ir::Verify(module, Kernel(module));
  if (!valid) FAIL(valid.error().Render() << ir::Print(module));
  return module;
}

Status Inlined(ir::Module& module, ir::Function&, const lowering::PassOptions& options) {
  return lowering::InlineCalls(module, options);
}

}  // namespace

TEST_CASE("simplify folds constant branches, merges blocks, drops what is not needed", "[passes]") {
  ir::Module module = Run(R"(kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %data = load i64 param %base
  %t = const i1 0x1
  %one = const i32 0x1
  %unused = add i32 %one, %one
  cond_br %t, ^a(%one), ^dead
^a(%x: i32):
  store i32 global %data, %x
  br ^b(%x, %one)
^b(%y: i32, %never: i32):
  store i32 global %data, %y
  ret
^dead:
  trap
}
)",
                          lowering::Simplify);
  const ir::Function& f = module.functions[0];
  CHECK(ir::ReversePostOrder(f).size() == 1);
  CHECK(Count(f, ir::Opcode::kAdd) == 0);
  CHECK(Count(f, ir::Opcode::kStore) == 2);
  CHECK(f.at_block(f.entry).insts.size() == 6);
}

TEST_CASE("simplify keeps loops, effects and volatile reads", "[passes]") {
  ir::Module module = Run(R"(kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %data = load i64 param %base
  %zero = const i32 0x0
  %one = const i32 0x1
  br ^loop(%zero, %zero)
^loop(%i: i32, %dead: i32):
  %v = load i32 global volatile %data
  %i2 = add i32 %i, %one
  %d2 = add i32 %dead, %one
  %more = icmp i32 ult %i2, %i
  cond_br %more, ^loop(%i2, %d2), ^out
^out:
  ret
}
)",
                          lowering::Simplify);
  const ir::Function& f = module.functions[0];
  CHECK(Count(f, ir::Opcode::kLoad) == 2);
  CHECK(Count(f, ir::Opcode::kAdd) == 1);  // the dead counter is gone, round the loop
  CHECK(ir::ReversePostOrder(f).size() == 3);
}

namespace {
const std::string kCallee = R"(function @f (x: i32) -> (r: i32) phase simt {
^b0(%x: i32):
  BODY
  ret %x
}
kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %data = load i64 param %base
  %t = special i32 tid.x
  %r: i32 = call @f %t ; ptx 30
  %s: i32 = call @f %r ; ptx 31
  store i32 global %data, %s
  ret
}
)";
std::string WithBody(const std::string& body) {
  std::string text = kCallee;
  return text.replace(text.find("BODY"), 4, body);
}
std::string Long(int size) {
  std::string body = "%c0 = const i32 0x1\n";
  for (int i = 0; i < size; ++i) body += "  %v" + std::to_string(i) + " = add i32 %x, %c0\n";
  return body;
}
}  // namespace

TEST_CASE("calls are inlined when they concern the caller's regions or are small", "[passes]") {
  ir::Module small = Run(WithBody(""), Inlined);
  CHECK(Count(Kernel(small), ir::Opcode::kCall) == 0);
  // A function that calls none is inlined while its copies are not too many.
  ir::Module leaf = Run(WithBody(Long(60)), Inlined);
  CHECK(Count(Kernel(leaf), ir::Opcode::kCall) == 0);
  ir::Module stays = Run(WithBody(Long(2200)), Inlined);
  CHECK(Count(Kernel(stays), ir::Opcode::kCall) == 2);
  ir::Module calls = Run("declare function @other (x: i64) phase simt\n" +
                             WithBody("%w = sext i64 from i32 %x\n  call @other %w\n" + Long(60)),
                         Inlined);
  CHECK(Count(Kernel(calls), ir::Opcode::kCall) == 2);
  ir::Module barrier = Run(WithBody(Long(2200) + "  %f = const i32 0xffffffff\n  barrier_warp %f"), Inlined);
  CHECK(Count(Kernel(barrier), ir::Opcode::kCall) == 0);
  CHECK(Count(Kernel(barrier), ir::Opcode::kBarrierWarp) == 2);
}

namespace {
// Recursion and function pointers that lead to a barrier run with resumable lanes, and in no other tier.
void CheckFlattening(const std::string& text, uint32_t line) {
  ir::Module module = ParseModule(text);
  ir::Module lanes = module;
  REQUIRE(lowering::InlineCalls(lanes, {}));
  REQUIRE(lowering::FlattenCalls(lanes, Kernel(lanes), {}));
  CHECK(Kernel(lanes).resumes == ir::Resumes::kLanes);
  CHECK(Count(Kernel(lanes), ir::Opcode::kBarrierBlock) == 1);
  REQUIRE(ir::Verify(lanes));
  for (uint32_t threads : {1u, 33u, 64u}) {
    Outcome expected = RunKernel(module, Kernel(module), threads, 7),
            actual = RunKernel(lanes, Kernel(lanes), threads, 7);
    REQUIRE(expected.status);
    REQUIRE(actual.status);
    CHECK(expected.data == actual.data);
  }
  Result<ir::Module> forced = AfterTier(module, lowering::Tier::kWarp);
  REQUIRE_FALSE(forced);
  CHECK(forced.error().code == ErrorCode::kUnsupported);
  CHECK(forced.error().at.line == line);
}
}  // namespace

TEST_CASE("recursion through a barrier becomes jumps with a stack", "[passes]") {
  CheckFlattening(R"(module "m" ptx 8.0 sm 80
function @f (x: i32) -> (r: i32) phase simt {
^b0(%x: i32):
  %z = const i32 0x0
  %one = const i32 0x1
  barrier_block %z
  %p = icmp i32 eq %x, %z
  cond_br %p, ^end, ^more
^more:
  %y = sub i32 %x, %one
  %q: i32 = call @f %y ; ptx 12
  %s = add i32 %q, %x
  ret %s
^end:
  %t = special i32 tid.x
  ret %t
}
kernel @k (data: i64 @0, n: i32 @8) phase simt { ; ptx 20
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %c8 = const i64 0x8
  %pn = add i64 %pb, %c8
  %n = load i32 param %pn
  %r: i32 = call @f %n
  %t = special i32 tid.x
  %t64 = zext i64 from i32 %t
  %two = const i32 0x2
  %o = shl i64 %t64, %two
  %a = add i64 %data, %o
  store i32 global %a, %r
  ret
}
)",
                  20);
}

TEST_CASE("an indirect call that may reach a barrier becomes a jump with a stack", "[passes]") {
  CheckFlattening(R"(module "m" ptx 8.0 sm 80
signature #0 (x: i32) -> (r: i32)
function @f (x: i32) -> (r: i32) phase simt {
^b0(%x: i32):
  %z = const i32 0x0
  barrier_block %z
  %r = add i32 %x, %x
  ret %r
}
kernel @k (data: i64 @0, n: i32 @8) phase simt { ; ptx 20
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %t = special i32 tid.x
  %f = function_address @f
  %r: i32 = call_indirect #0 %f, %t ; ptx 9
  %t64 = zext i64 from i32 %t
  %two = const i32 0x2
  %o = shl i64 %t64, %two
  %a = add i64 %data, %o
  store i32 global %a, %r
  ret
}
)",
                  20);
}

namespace {
// Each warp adds 1 to its word: all its lanes load it, then all store the sum. In a call, and not in one.
ir::Module AddsOncePerWarp(const std::string& table) {
  return ParseModule("module \"m\" ptx 6.0 sm 35\nvariable shared @" + table + R"( align 8 size 256 offset 0
function @add (p: i64) phase simt {
^b0(%p: i64):
  %one = const i32 0x1
  %v = load i32 %p
  %w = add i32 %v, %one
  store i32 %p, %w
  ret
}
kernel @k (data: i64 @0, n: i32 @8) phase simt {
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %t = special i32 tid.x
  %five = const i32 0x5
  %warp = shr_u i32 %t, %five
  %block = special i32 ctaid.x
  %c8 = const i32 0x8
  %b8 = mul i32 %block, %c8
  %at = add i32 %warp, %b8
  %at64 = zext i64 from i32 %at
  %two = const i32 0x2
  %o = shl i64 %at64, %two
  %a = add i64 %data, %o
  call @add %a
  %five5 = const i32 0x5
  %v = load i32 %a
  %w = mul i32 %v, %five5
  store i32 %a, %w
  call @add %a
  ret
}
)");
}
}  // namespace

TEST_CASE("lanes of GCC's programs execute each access together", "[passes]") {
  for (const lowering::Tier tier : {lowering::Tier::kAuto, lowering::Tier::kLanes}) {
    Result<ir::Module> lowered = AfterTier(AddsOncePerWarp("__nvptx_stacks"), tier);
    REQUIRE(lowered);
    const Outcome outcome = RunKernel(*lowered, Kernel(*lowered), 64, 7);
    REQUIRE(outcome.status);
    for (uint32_t word : {0u, 1u, 8u, 9u}) {
      const uint32_t before = (word * 2654435761u) >> 20;
      CHECK(outcome.data[word] == (before + 1) * 5 + 1);
    }
  }
  ir::Module other = AddsOncePerWarp("tile");  // of another compiler
  REQUIRE(lowering::KeepLanesInStep(other, {}));
  CHECK(Count(Kernel(other), ir::Opcode::kBarrierWarp) == 0);
}

TEST_CASE("lanes of GCC's programs wait only where one may overwrite what another has yet to read",
          "[passes]") {
  // The barriers of each function, in the order of the text.
  const auto barriers = [](const std::string& body) {
    ir::Module module = ParseModule(
        "module \"m\" ptx 6.0 sm 35\nvariable shared @__nvptx_stacks align 8 size 256 offset 0\n" + body);
    REQUIRE(lowering::KeepLanesInStep(module, {}));
    std::vector<uint32_t> counts;
    for (const ir::Function& f : module.functions) {
      REQUIRE(ir::Verify(module, f));
      counts.push_back(Count(f, ir::Opcode::kBarrierWarp));
    }
    return counts;
  };
  using Counts = std::vector<uint32_t>;
  const std::string frame = R"(^b0(%p: i64):
  %stacks = symbol shared @__nvptx_stacks
  %eight = const i64 0x8
  %at = add i64 %stacks, %eight
  %top = load i64 shared %at
)";
  // The table of stacks is apart from what pointers lead to, and not from itself.
  CHECK(barriers("function @f (p: i64) phase simt {\n" + frame + "  store i64 %p, %top\n  ret\n}\n") ==
        Counts{1});  // at the entry: the caller's lanes may have to read what %p points to
  CHECK(barriers("kernel @k (p: i64 @0) phase simt {\n^b0:\n  %stacks = symbol shared @__nvptx_stacks\n"
                 "  %top = load i64 shared %stacks\n  store i64 %top, %top\n  ret\n}\n") == Counts{0});
  CHECK(barriers("kernel @k (p: i64 @0) phase simt {\n^b0:\n  %stacks = symbol shared @__nvptx_stacks\n"
                 "  %top = load i64 shared %stacks\n  store i64 shared %stacks, %top\n  ret\n}\n") ==
        Counts{1});
  // Its address is known elsewhere: it may be what a pointer leads to.
  CHECK(barriers("kernel @k (p: i64 @0) phase simt {\n^b0:\n  %stacks = symbol shared @__nvptx_stacks\n"
                 "  %top = load i64 shared %stacks\n  store i64 %top, %stacks\n  ret\n}\n") == Counts{1});

  const std::string set = R"(function @set (p: i64) phase simt {
^b0(%p: i64):
  store i64 %p, %p
  ret
}
)",
                    get = R"(function @get (p: i64) -> (r: i64) phase simt {
^b0(%p: i64):
  %v = load i64 %p
  ret %v
}
)",
                    two = R"(function @two (p: i64) phase simt {
^b0(%p: i64):
  %v = load i64 %p
  store i64 %v, %p
  ret
}
)";
  // Nothing is left to read after @set and @two, so what follows waits for nothing.
  CHECK(barriers(set + two + R"(kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %p = load i64 param %base
  %v = load i64 %p
  call @set %p
  store i64 %p, %v
  call @two %p
  store i64 %p, %v
  ret
}
)") == Counts{1, 1, 0});
  // @get reads only: lanes wait in front of the store after it, also for what was read before it.
  CHECK(barriers(get + R"(kernel @k (p: i64 @0) phase simt {
^b0:
  %base = param_base
  %p = load i64 param %base
  %v: i64 = call @get %p
  store i64 %p, %v
  ret
}
)") == Counts{0, 1});
}

TEST_CASE("what is needed after two calls lives through both", "[passes]") {
  CheckFlattening(R"(module "m" ptx 8.0 sm 80
function @f (x: i32) -> (r: i32) phase simt {
^b0(%x: i32):
  %z = const i32 0x0
  %one = const i32 0x1
  %two = const i32 0x2
  %w = mul i32 %x, %x
  barrier_block %z
  %p = icmp i32 ule %x, %one
  cond_br %p, ^end, ^more
^more:
  %y = sub i32 %x, %one
  %q: i32 = call @f %y ; ptx 12
  %y2 = sub i32 %y, %one
  %q2: i32 = call @f %y2 ; ptx 13
  %s = add i32 %q, %w
  ret %s
^end:
  %t = special i32 tid.x
  ret %t
}
kernel @k (data: i64 @0, n: i32 @8) phase simt { ; ptx 20
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %c8 = const i64 0x8
  %pn = add i64 %pb, %c8
  %n = load i32 param %pn
  %r: i32 = call @f %n
  %t = special i32 tid.x
  %t64 = zext i64 from i32 %t
  %two = const i32 0x2
  %o = shl i64 %t64, %two
  %a = add i64 %data, %o
  store i32 global %a, %r
  ret
}
)",
                  20);
}

TEST_CASE("a recursive function that never returns leaves no way back to its calls", "[passes]") {
  CheckFlattening(R"(module "m" ptx 8.0 sm 80
function @stop (x: i32) phase simt {
^b0(%x: i32):
  %z = const i32 0x0
  %one = const i32 0x1
  barrier_block %z
  %p = icmp i32 eq %x, %z
  cond_br %p, ^end, ^more
^more:
  %y = sub i32 %x, %one
  call @stop %y ; ptx 12
  br ^again
^again:
  br ^again
^end:
  exit
}
kernel @k (data: i64 @0, n: i32 @8) phase simt { ; ptx 20
^b0:
  %pb = param_base
  %data = load i64 param %pb
  %c8 = const i64 0x8
  %pn = add i64 %pb, %c8
  %n = load i32 param %pn
  %t = special i32 tid.x
  %t64 = zext i64 from i32 %t
  %two = const i32 0x2
  %o = shl i64 %t64, %two
  %a = add i64 %data, %o
  %p = icmp i32 eq %n, %two
  cond_br %p, ^out, ^in
^in:
  store i32 global %a, %n
  call @stop %n
  br ^out
^out:
  store i32 global %a, %t
  ret
}
)",
                  20);
}

namespace {
std::string LongChain() {  // of values that are needed
  std::string body = "%c0 = const i32 0x5\n  %v0 = mul i32 %x, %c0\n";
  for (int i = 1; i < 60; ++i)
    body += "  %v" + std::to_string(i) + " = mul i32 %v" + std::to_string(i - 1) + ", %v" +
            std::to_string(i - 1) + "\n";
  return body;
}

// f<i> holds a barrier and calls f<i + 1> twice.
std::string CallsInPairs(uint32_t depth) {
  std::string text = "module \"m\" ptx 8.0 sm 80\n";
  for (uint32_t i = 0; i < depth; ++i) {
    const std::string name = "@f" + std::to_string(i), next = "@f" + std::to_string(i + 1);
    text += "function " + name + " (x: i32) -> (r: i32) phase simt {\n^b0(%x: i32):\n" + LongChain() +
            "  %f = const i32 0xffffffff\n  barrier_warp %f\n";
    if (i + 1 < depth) {
      text += "  %q: i32 = call " + next + " %v59\n  %s: i32 = call " + next + " %q\n  ret %s\n}\n";
    } else {
      text += "  ret %v59\n}\n";
    }
  }
  std::string kernel = kCallee.substr(kCallee.find("kernel @k"));
  for (size_t at; (at = kernel.find("@f ")) != std::string::npos;) kernel.replace(at, 3, "@f0 ");
  return text + kernel;
}
}  // namespace

TEST_CASE("functions that suspend are flattened where their copies would be too many", "[passes]") {
  ir::Module few = ParseModule(CallsInPairs(3));
  REQUIRE(lowering::InlineCalls(few, {}));
  CHECK(Count(Kernel(few), ir::Opcode::kCall) == 0);
  CHECK(std::ranges::all_of(few.functions,
                            [](const ir::Function& f) { return f.is_kernel || f.is_declaration; }));
  const ir::Module many = ParseModule(CallsInPairs(11));
  Result<ir::Module> lowered = AfterTier(many, lowering::Tier::kAuto);
  REQUIRE(lowered);
  CHECK(Kernel(*lowered).resumes == ir::Resumes::kLanes);
  CHECK(Kernel(*lowered).insts.size() < 5000);
  ir::Module before = many;
  Outcome expected = RunKernel(many, Kernel(before), 3, 7),
          actual = RunKernel(*lowered, Kernel(*lowered), 3, 7);
  REQUIRE(expected.status);
  REQUIRE(actual.status);
  CHECK(expected.data == actual.data);
}

TEST_CASE("an inlined callee's local variables become the caller's", "[passes]") {
  ir::Module module = ParseModule(ReadFile(PTX2CPU_SOURCE_DIR "/tests/passes/kernels/call_barrier.ir"));
  REQUIRE(lowering::InlineCalls(module, {}));
  const ir::Function& f = Kernel(module);
  REQUIRE(f.locals.size() == 1);
  CHECK(f.locals[0].size == 8);
  CHECK(f.local_bytes >= 8);
  CHECK(Count(f, ir::Opcode::kCall) == 0);
}
