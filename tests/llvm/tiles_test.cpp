// Collectives of a warp's tiles have the interpreter's results, also where threads have exited, and do not
// search for the lanes with the same mask where masks depend on the lane's number only.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 96;

constexpr const char* kCollectives[] = {
    "shfl.sync.up.b32 %r|%p, %v, 1, %clamp, %m; @!%p mov.u32 %r, 7;",
    "shfl.sync.bfly.b32 %r, %v, 1, %clamp, %m;",
    "shfl.sync.idx.b32 %r, %v, 0, %clamp, %m;",
    "setp.gt.u32 %p, %v, %i; vote.sync.ballot.b32 %r, %p, %m;",
    "setp.gt.u32 %p, %v, 9; vote.sync.all.pred %p, %p, %m; selp.u32 %r, 1, 0, %p;",
    "and.b32 %r, %v, 1; match.any.sync.b32 %r, %r, %m;",
    "redux.sync.add.s32 %r, %v, %m;",
    "bar.warp.sync %m; mov.u32 %r, %v;",
};

// Tiles of `lanes`: masks from the lane's number or, with `hidden`, from memory. Threads from `ends` on end
// first.
std::string Kernel(const std::string& collective, uint32_t lanes, bool hidden, uint32_t ends) {
  const std::string ones = std::to_string((uint64_t{1} << lanes) - 1), low = std::to_string(32 - lanes),
                    clamp = std::to_string((32 - lanes) << 8 | (lanes - 1));
  const bool up = collective.find(".up.") != std::string::npos;
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout) {
  .reg .b32 %i, %v, %l, %m, %r, %clamp; .reg .b64 %in, %out; .reg .pred %p;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  setp.ge.u32 %p, %i, )" +
         std::to_string(ends) + R"(;
  @%p ret;
  mad.wide.u32 %out, %i, 4, %out;
  mov.u32 %clamp, )" +
         (up ? std::to_string((32 - lanes) << 8) : clamp) + R"(;
  ld.global.u32 %m, [%in+)" +
         std::to_string(4 * kThreads) + R"(];
  mov.u32 %l, %laneid;
  and.b32 %l, %l, )" +
         low + R"(;
  )" + (hidden ? "add.u32 %l, %l, %m;\n  " : "") +
         "mov.u32 %m, " + ones + R"(;
  shl.b32 %m, %m, %l;
  mad.wide.u32 %in, %i, 4, %in;
  ld.global.u32 %v, [%in];
  )" + collective +
         R"(
  st.global.u32 [%out], %r;
  ret;
}
)";
}

std::vector<uint32_t> Results(const std::function<Status(harness::KernelCall&)>& run) {
  harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
  std::vector<uint32_t> words(kThreads + 1);
  for (uint32_t i = 0; i < kThreads; ++i) words[i] = (i + 3) * 2654435761u >> 26;
  for (size_t argument = 0; argument < 2; ++argument) {
    auto parsed = rt::ParseSpec("inout:u32:[0]");
    REQUIRE(parsed);
    parsed->data.resize(4 * words.size());
    if (argument == 0) std::memcpy(parsed->data.data(), words.data(), 4 * words.size());
    call.arguments.push_back(std::move(*parsed));
  }
  const Status status = run(call);
  if (!status) FAIL(status.error().Render());
  std::memcpy(words.data(), call.arguments[1].data.data(), 4 * words.size());
  return words;
}

}  // namespace

TEST_CASE("collectives of tiles give what the interpreter gives", "[tiles][long]") {
  test::Sample sample(13);
  for (const char* collective : kCollectives) {
    for (uint32_t lanes : {2u, 4u, 8u, 16u}) {
      for (uint32_t ends : {kThreads, 77u, 3u}) {
        for (bool hidden : {false, true}) {
          if (sample.Skips()) continue;
          INFO(collective << ", tiles of " << lanes << ", " << ends << " threads, hidden " << hidden);
          const BuiltKernel module = BuildKernel(Kernel(collective, lanes, hidden, ends), "k");
          const std::vector<uint32_t> expected =
              Results([&](harness::KernelCall& call) { return harness::RunInterpreter(module, call); });
          auto kernel = JitKernel::Create(module);
          if (!kernel) FAIL(kernel.error().Render());
          CHECK(Results([&](harness::KernelCall& call) { return (*kernel)->Run(call); }) == expected);
        }
      }
    }
  }
}

TEST_CASE("masks that follow from the lane's number are not searched for groups", "[tiles]") {
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4")});
  REQUIRE(jit);
  const auto searches = [&](bool hidden) {
    const auto code = (*jit)->Explain(BuildKernel(Kernel(kCollectives[1], 8, hidden, kThreads), "k"), "k",
                                      lowering::Jit::Stage::kLlvm);
    REQUIRE(code);
    return code->find("call void @ptx2cpu_warp_match_any_b32") != std::string::npos;
  };
  CHECK(searches(true));
  CHECK_FALSE(searches(false));
}
