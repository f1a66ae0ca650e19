// Fragments stay in memory from the instruction that makes them to their products, also where a loop over
// lanes is in between.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 32, kRegistersOfC = 4;

// B is loaded by each lane at an address of its own, before or after the load of A.
std::string Kernel(bool a_is_first) {
  const std::string of_a = R"(
  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%a0, %a1, %a2, %a3}, [%row];
)",
                    of_b = R"(
  ld.global.b32 %place, [%in];
  mul.wide.u32 %at, %place, 4;
  add.s64 %at, %at, %base;
  ld.global.b32 %b0, [%at];
  ld.global.b32 %b1, [%at+256];
)";
  return kHead + R"(
.visible .entry k(.param .u64 in, .param .u64 out) .reqntid 32
{
  .shared .align 16 .b8 window[512];
  .reg .b64 %base, %in, %out, %at; .reg .b32 %t, %row, %word, %place, %a<4>, %b<2>, %c<4>;
  ld.param.u64 %base, [in];
  ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %at, %t, 4;
  add.s64 %in, %base, %at;
  add.s64 %out, %out, %at;
  mov.u32 %row, window;
  mad.lo.u32 %row, %t, 16, %row;
  ld.global.b32 %word, [%in+128];
  st.shared.v4.b32 [%row], {%word, %t, %word, %t};
  bar.sync 0;)" +
         (a_is_first ? of_a + of_b : of_b + of_a) + R"(
  mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%c0, %c1, %c2, %c3}, {%a0, %a1, %a2, %a3}, {%b0, %b1},
    {%t, %t, %t, %t};
  st.global.b32 [%out], %c0;
  st.global.b32 [%out+128], %c1;
  st.global.b32 [%out+256], %c2;
  st.global.b32 [%out+384], %c3;
  ret;
}
)";
}

template <typename Run>
std::vector<std::byte> Results(Run run) {
  harness::KernelCall call{{1, 1, 1}, {kThreads, 1, 1}, 0, {}, {}, {}};
  for (const uint32_t count : {8 * kThreads, kRegistersOfC * kThreads}) {
    auto words = rt::ParseSpec("inout:u32:[0]");
    REQUIRE(words);
    words->data.resize(size_t{4} * count);
    for (uint32_t n = 0; n < count; ++n) {
      // The first ones are places.
      const uint32_t word = n < kThreads ? (n * 7 + 3) % 128 : n * 2654435761u;
      std::memcpy(words->data.data() + size_t{4} * n, &word, 4);
    }
    call.arguments.push_back(std::move(*words));
  }
  const Status status = run(call);
  if (!status) FAIL(status.error().Render());
  return call.arguments[1].data;
}

size_t Count(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("fragments stay in memory over loops of lanes", "[matrix]") {
  size_t counts[2];
  for (const bool a_is_first : {false, true}) {
    const BuiltKernel module = BuildKernel(Kernel(a_is_first), "k");
    const auto wanted =
        Results([&](harness::KernelCall& call) { return harness::RunInterpreter(module, call); });
    for (const char* target : {"native", "x86-64-v3"}) {
      auto kernel = JitKernel::Create(module, {.target = *lowering::ResolveTarget(target)});
      if (!kernel) FAIL(kernel.error().Render());
      CHECK(Results([&](harness::KernelCall& call) { return (*kernel)->Run(call); }) == wanted);
    }
    auto jit = lowering::Jit::Create({.entry_points = EntryPoints()});
    REQUIRE(jit);
    auto code = (*jit)->Explain(module, "k", lowering::Jit::Stage::kLlvm);
    REQUIRE(code);
    counts[a_is_first ? 1 : 0] = Count(*code, "load <32 x i32>");
  }
  CHECK(counts[1] == counts[0]);
}
