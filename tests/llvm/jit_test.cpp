// The JIT: launches, module variables, faults with their PTX lines, calls, explanations.
#include <catch2/catch.hpp>

#include "lowering/compile.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

std::shared_ptr<JitKernel> Load(const std::string& ptx, const std::string& kernel,
                                lowering::JitOptions options = {}) {
  auto jit = JitKernel::Create(BuildKernel(ptx, kernel), std::move(options));
  if (!jit) FAIL(jit.error().Render());
  return *jit;
}

harness::KernelCall Call(Dim3 grid, Dim3 block, const std::vector<std::string>& specs) {
  harness::KernelCall call{grid, block, 0, {}, {}, {}};
  for (const std::string& spec : specs) {
    auto argument = rt::ParseSpec(spec);
    if (!argument) FAIL(argument.error().Render());
    call.arguments.push_back(std::move(*argument));
  }
  return call;
}

std::vector<uint32_t> Words(const harness::KernelCall& call, size_t argument) {
  const auto& data = call.arguments[argument].data;
  std::vector<uint32_t> words(data.size() / 4);
  std::memcpy(words.data(), data.data(), data.size());
  return words;
}

void Run(JitKernel& kernel, harness::KernelCall& call) {
  Status status = kernel.Run(call);
  if (!status) FAIL(status.error().Render());
}

// A kernel (in: u64, out: u64) of one statement list; %i is the thread, %v its element of in, stored to out
// at the end.
std::string Simple(const std::string& body, const std::string& before = "") {
  return kHead + before + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout)
{
  .reg .pred %p<8>; .reg .b32 %i, %v, %a<8>; .reg .b64 %in, %out, %at, %d<4>;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %at, %i, 4;
  add.s64 %in, %in, %at;
  add.s64 %out, %out, %at;
  ld.global.u32 %v, [%in];
)" + body +
         R"(
  st.global.u32 [%out], %v;
  ret;
}
)";
}

}  // namespace

TEST_CASE("vector addition at several block shapes, thread index versions and levels") {
  for (auto ids : {lowering::ThreadIds::kAnyShape, lowering::ThreadIds::kBoth}) {
    for (int level : {0, 3}) {
      auto kernel = Load(kVecAdd, "vecadd", {.entry_points = {}, .optimisation = level, .thread_ids = ids});
      for (uint32_t threads : {1u, 31u, 33u, 256u, 1024u}) {
        auto call = Call({(1000 + threads - 1) / threads, 1, 1}, {threads, 1, 1},
                         {"in:f32:gen(iota,1000,0)", "in:f32:gen(iota,1000,5)", "out:f32:1000", "u32:999"});
        Run(*kernel, call);
        bool right = true;
        for (uint32_t i = 0; i < 1000; ++i) {
          float got;
          std::memcpy(&got, call.arguments[2].data.data() + 4 * i, 4);
          right &= got == (i < 999 ? 2 * static_cast<float>(i) + 5 : 0);
        }
        CHECK(right);
      }
    }
  }
}

TEST_CASE("a visible variable is found by name and read by the kernel") {
  auto kernel = Load(kBlockSum, "block_sum");
  auto call = Call({1, 1, 1}, {64, 1, 1}, {"in:u32:gen(constant,64,2)", "out:u32:1"});
  Run(*kernel, call);
  CHECK(Words(call, 1)[0] == 3 * 128);
  uint32_t scale = 7;
  call.variables.push_back(
      {"scale", {reinterpret_cast<std::byte*>(&scale), reinterpret_cast<std::byte*>(&scale) + 4}});
  Run(*kernel, call);
  CHECK(Words(call, 1)[0] == 7 * 128);
  CHECK(kernel->jit().Variable("nothing") == nullptr);
}

TEST_CASE("kernels of one module share its variables, and a caller can own them") {
  auto jit = lowering::Jit::Create({.entry_points = EntryPoints()});
  REQUIRE(jit);
  alignas(16) uint32_t mine = 11;
  REQUIRE((*jit)->Bind("scale", reinterpret_cast<std::byte*>(&mine)));
  CHECK_FALSE((*jit)->Bind("scale", reinterpret_cast<std::byte*>(&mine)));
  const BuiltKernel module = BuildKernel(kBlockSum, "block_sum");
  auto first = (*jit)->Add(module), second = (*jit)->Add(module);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->kernel->run_block != second->kernel->run_block);
  CHECK((*jit)->Variable("scale") == reinterpret_cast<std::byte*>(&mine));
  CHECK(first->kernel->static_shared_bytes >= 128);
  CHECK(first->kernel->parameter_count == 2);
}

TEST_CASE("faults name the PTX line") {
  SECTION("trap") {
    auto kernel = Load(Simple("  setp.eq.u32 %p1, %i, 5;\n  @%p1 trap;"), "k");
    auto call = Call({1, 1, 1}, {32, 1, 1}, {"in:u32:gen(iota,32,0)", "out:u32:32"});
    Status status = kernel->Run(call);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == ErrorCode::kFault);
    CHECK(status.error().at.line == 16);
  }
  SECTION("a wild pointer, found through the line table") {
    auto kernel = Load(Simple("  mov.u64 %d1, 64;\n  st.global.u32 [%d1], %v;"), "k");
    auto call = Call({1, 1, 1}, {32, 1, 1}, {"in:u32:gen(iota,32,0)", "out:u32:32"});
    Status status = kernel->Run(call);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == ErrorCode::kFault);
    CHECK(status.error().at.line == 16);
  }
  SECTION(
      "a membermask that names lanes of the other arm of a divergent branch, in a tier that cannot wait") {
    const std::string ptx = Simple(
        "  setp.lt.u32 %p1, %v, 3;\n  @%p1 bra A;\n  shfl.sync.down.b32 %v, %v, 1, 31, -1;\n"
        "  add.u32 %v, %v, 7;\nA:\n  shfl.sync.down.b32 %v, %v, 1, 31, -1;");
    lowering::BuildOptions warp;
    warp.pipeline.passes.tier = lowering::Tier::kWarp;
    auto kernel = JitKernel::Create(BuildKernel(ptx, "k", warp));
    REQUIRE(kernel);
    auto call = Call({1, 1, 1}, {32, 1, 1}, {"in:u32:gen(iota,32,0)", "out:u32:32"});
    Status status = (*kernel)->Run(call);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == ErrorCode::kFault);
    CHECK(status.error().at.line == 17);
  }
  SECTION("a barrier that not all come to") {
    auto kernel = Load(Simple("  setp.lt.u32 %p1, %v, 32;\n  @%p1 bar.sync 1, 64;\n  bar.sync 2, 64;"), "k");
    auto call = Call({1, 1, 1}, {64, 1, 1}, {"in:u32:gen(iota,64,0)", "out:u32:64"});
    Status status = kernel->Run(call);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == ErrorCode::kFault);
    CHECK(status.error().message.find("bar.sync") != std::string::npos);
    CHECK(status.error().message.find("16") != std::string::npos);
  }
  SECTION("a lane outside its membermask, among others with other masks") {
    const std::string ptx = Simple(
        "{ .reg .b32 %below; mov.u32 %below, %lanemask_lt;\n  shfl.sync.down.b32 %v, %v, 1, 31, %below; }");
    for (lowering::Tier tier : {lowering::Tier::kWarp, lowering::Tier::kResumable, lowering::Tier::kLanes}) {
      lowering::BuildOptions options;
      options.pipeline.passes.tier = tier;
      auto kernel = JitKernel::Create(BuildKernel(ptx, "k", options));
      REQUIRE(kernel);
      auto call = Call({1, 1, 1}, {32, 1, 1}, {"in:u32:gen(iota,32,0)", "out:u32:32"});
      Status status = (*kernel)->Run(call);
      REQUIRE_FALSE(status);
      CHECK(status.error().at.line == 16);
      CHECK(status.error().message.find("membermask") != std::string::npos);
    }
  }
}

TEST_CASE("collectives with masks that differ between halves of a warp") {
  // The mask of each half warp; the lower half adds, the upper one votes on the same instructions.
  auto kernel = Load(Simple("  and.b32 %a1, %i, 16;\n  mov.u32 %a2, 0xffff;\n  shl.b32 %a2, %a2, %a1;\n"
                            "  redux.sync.add.s32 %a3, %v, %a2;\n  setp.gt.u32 %p1, %v, 3;\n"
                            "  vote.sync.ballot.b32 %a4, %p1, %a2;\n  add.u32 %v, %a3, %a4;"),
                     "k");
  auto call = Call({1, 1, 1}, {32, 1, 1}, {"in:u32:gen(iota,32,0)", "out:u32:32"});
  Run(*kernel, call);
  std::vector<uint32_t> out = Words(call, 1);
  for (uint32_t i = 0; i < 32; ++i) CHECK(out[i] == (i < 16 ? 120 + 0xfff0u : 376 + 0xffff0000u));
}

TEST_CASE("lanes that have left take no part in what follows") {
  auto kernel = Load(Simple("  setp.ge.u32 %p1, %i, 20;\n  @%p1 bra GONE;\n  mov.u32 %a1, 1;\n"
                            "  redux.sync.add.s32 %v, %a1, -1;\n  bra STAY;\nGONE:\n  ret;\nSTAY:"),
                     "k");
  auto call = Call({1, 1, 1}, {32, 1, 1}, {"in:u32:gen(iota,32,0)", "out:u32:32"});
  Run(*kernel, call);
  std::vector<uint32_t> out = Words(call, 1);
  for (uint32_t i = 0; i < 32; ++i) CHECK(out[i] == (i < 20 ? 20u : 0u));
}

TEST_CASE("calls: recursion, addresses of functions in memory, local memory of callees") {
  const std::string before = R"(
.func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, %a; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) square(.param .b32 x) {
  .local .align 4 .b8 room[16]; .reg .b32 %a, %b; .reg .b64 %d;
  ld.param.b32 %a, [x]; and.b32 %b, %a, 3; mul.wide.u32 %d, %b, 4;
  .reg .b64 %base; mov.u64 %base, room; add.s64 %d, %base, %d;
  st.local.b32 [%d], %a; ld.local.b32 %b, [%d]; mul.lo.u32 %a, %a, %b; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) sum_to(.param .b32 x) {
  .reg .b32 %a, %b; .reg .pred %p;
  ld.param.b32 %a, [x]; setp.eq.u32 %p, %a, 0; mov.u32 %b, 0; @%p bra OUT;
  sub.u32 %b, %a, 1;
  { .param .b32 q; .param .b32 s; st.param.b32 [q], %b; call (s), sum_to, (q); ld.param.b32 %b, [s]; }
  add.u32 %b, %b, %a;
OUT:
  st.param.b32 [r], %b; ret; }
.global .align 8 .u64 table[2] = {twice, square};
)";
  auto kernel = Load(Simple(R"(
  proto: .callprototype (.param .b32 _) _ (.param .b32 _);
  and.b32 %a1, %i, 1; mul.wide.u32 %d0, %a1, 8; mov.u64 %d1, table; add.s64 %d1, %d1, %d0; ld.global.u64 %d2, [%d1];
  { .param .b32 q; .param .b32 s; st.param.b32 [q], %v; call (s), %d2, (q), proto; ld.param.b32 %a2, [s]; }
  { .param .b32 q; .param .b32 s; st.param.b32 [q], %v; call (s), sum_to, (q); ld.param.b32 %a3, [s]; }
  add.u32 %v, %a2, %a3;
)",
                            before),
                     "k");
  auto call = Call({1, 1, 1}, {40, 1, 1}, {"in:u32:gen(iota,40,0)", "out:u32:40"});
  Run(*kernel, call);
  std::vector<uint32_t> out = Words(call, 1);
  for (uint32_t i = 0; i < 40; ++i) CHECK(out[i] == (i % 2 == 0 ? 2 * i : i * i) + i * (i + 1) / 2);
}

TEST_CASE("code addresses lead to PTX lines and source lines") {
  auto kernel = Load(
      ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"/somewhere/add.cu\"\n"
      ".visible .entry k(.param .u64 pout)\n{\n  .reg .b32 %a<4>; .reg .b64 %d<2>;\n"
      "  ld.param.u64 %d0, [pout];\n  .loc 1 42 7\n  mov.u32 %a0, %tid.x;\n"
      "  mul.wide.u32 %d1, %a0, 4;\n  add.s64 %d1, %d0, %d1;\n  st.global.u32 [%d1], %a0;\n  ret;\n}\n",
      "k");
  bool found = false;
  for (uintptr_t pc = kernel->kernel().code_begin; pc < kernel->kernel().code_end; ++pc) {
    auto at = kernel->jit().LineOf(pc);
    if (at && at->ptx_line == 13 && at->source_line == 42 && at->source_file == 1) found = true;
  }
  CHECK(found);
  CHECK_FALSE(kernel->jit().LineOf(kernel->kernel().code_end));
}

TEST_CASE("a kernel may have the name of a library function") {
  std::string ptx = Simple("  add.u32 %v, %v, 1;");
  ptx.replace(ptx.find("entry k("), 8, "entry memset(");
  auto kernel = Load(ptx, "memset");
  auto call = Call({1, 1, 1}, {32, 1, 1}, {"in:u32:gen(iota,32,0)", "out:u32:32"});
  Run(*kernel, call);
  CHECK(Words(call, 1)[31] == 32);
}

TEST_CASE("explanations show the kernel at each stage") {
  auto kernel = Load(kVecAdd, "vecadd");
  using Stage = lowering::Jit::Stage;
  auto text = [&](Stage stage) {
    auto result = kernel->jit().Explain(kernel->module(), "vecadd", stage);
    REQUIRE(result);
    return *result;
  };
  CHECK(text(Stage::kLlvm).find("define void @ptx2cpu_block_vecadd(") != std::string::npos);
  CHECK(text(Stage::kOptimized).find("fadd") != std::string::npos);
  CHECK(text(Stage::kAssembly).find("ptx2cpu_block_vecadd:") != std::string::npos);
}

TEST_CASE("a lane loop without barriers becomes vector code") {
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v3")});
  REQUIRE(jit);
  auto text = (*jit)->Explain(BuildKernel(kVecAdd, "vecadd"), "vecadd", lowering::Jit::Stage::kOptimized);
  REQUIRE(text);
  CHECK(text->find("fadd <16 x float>") != std::string::npos);
}

TEST_CASE("what cannot be emitted is refused with its line") {
  auto jit = lowering::Jit::Create({.entry_points = EntryPoints()});
  REQUIRE(jit);
  auto added = (*jit)->Add(BuildKernel(Simple("  { .param .b32 q; st.param.b32 [q], %v; call missing, (q); }",
                                              ".extern .func missing(.param .b32 x);\n"),
                                       "k"));
  REQUIRE_FALSE(added);
  CHECK(added.error().code == ErrorCode::kUnsupported);
  CHECK(added.error().message.find("missing") != std::string::npos);
  CHECK(added.error().at.line != 0);
  const BuiltKernel simt = BuildKernel(
      kVecAdd, "vecadd", {.pipeline = {.passes = {}, .stop_after = "ir", .dump_after = {}, .dump = {}}});
  auto early = (*jit)->Add(simt, "vecadd");
  REQUIRE_FALSE(early);
  CHECK(early.error().code == ErrorCode::kInternal);
}
