// Addresses of functions: the same in all kernels of a program, called from kernels that never name the
// function.
#include "run_program.h"

namespace ptx2cpu::api_test {
namespace {

// Functions of (u32) -> u32; one uses shared memory, which each kernel lays out anew.
const std::string kFunctions = R"(
.shared .align 4 .b8 scratch[4];
.visible .func (.param .b32 r) plus(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, 1000; st.param.b32 [r], %a; ret; }
.func (.param .b32 r) through_shared(.param .b32 x) {
  .reg .b32 %a; ld.param.b32 %a, [x]; st.shared.u32 [scratch], %a; ld.shared.u32 %a, [scratch]; add.u32 %a, %a, 5; st.param.b32 [r], %a; ret;
}
.func (.param .b32 r) others_sum(.param .b32 x) {
  .reg .b32 %a<3>; ld.param.b32 %a0, [x]; shfl.sync.bfly.b32 %a1, %a0, 1, 31, -1; add.u32 %a0, %a0, %a1; st.param.b32 [r], %a0; ret;
}
.func (.param .b32 r) other_type(.param .b32 x, .param .b32 y) { .reg .b32 %a; mov.u32 %a, 7; st.param.b32 [r], %a; ret; }
.visible .global .align 8 .u64 table[3] = {plus, through_shared, other_type};
)";

const std::string kGive = R"(
.visible .entry give(.param .u64 p) {
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [p];
  mov.u64 %d1, plus; st.global.u64 [%d0], %d1;
  mov.u64 %d1, through_shared; st.global.u64 [%d0+8], %d1;
  mov.u64 %d1, others_sum; st.global.u64 [%d0+16], %d1;
  ret;
}
)";

// p[tid] = f(tid); before it shared memory that moves what the functions use.
const std::string kCall = R"(
.shared .align 4 .b8 mine[64];
.visible .entry call_it(.param .u64 p, .param .u64 f) {
  .reg .b64 %d<4>; .reg .b32 %r<4>;
  ld.param.u64 %d0, [p];
  ld.param.u64 %d1, [f];
  mov.u32 %r0, %tid.x;
  st.shared.u32 [mine], %r0;
  { .param .b32 x; .param .b32 r; st.param.b32 [x], %r0;
    P: .callprototype (.param .b32 _) _ (.param .b32 _);
    call (r), %d1, (x), P; ld.param.b32 %r1, [r]; }
  mul.wide.u32 %d2, %r0, 4;
  add.u64 %d0, %d0, %d2;
  st.global.u32 [%d0], %r1;
  ret;
}
)";

void CheckCalls(const Program& program, bool separate) {
  std::vector<uint64_t> addresses(3);
  REQUIRE(Get(program, "give").Launch({}, addresses.data()));
  const auto table = program.Variable("table");
  REQUIRE(table);
  uint64_t first = 0;
  std::memcpy(&first, table->data(), 8);
  CHECK(first == addresses[0]);
  const Kernel call = Get(program, "call_it");
  for (size_t f = 0; f < 3; ++f) {
    std::vector<uint32_t> out(32);
    const Status status = call.Launch({.block = {32}}, out.data(), addresses[f]);
    if (!status) FAIL(status.error().Render());
    for (uint32_t i = 0; i < 32; ++i) {
      INFO("function " << f << ", thread " << i << (separate ? ", two modules" : ""));
      CHECK(out[i] == (f == 0 ? i + 1000 : f == 1 ? i + 5 : i + (i ^ 1)));
    }
  }
}

TEST_CASE("a function pointer made by one kernel is called by another that never names the function",
          "[function]") {
  CheckCalls(Linked({kFunctions + kGive + kCall}), false);
  CheckCalls(Linked({kCall, kFunctions + kGive}), true);
}

TEST_CASE("the host reads a table of functions before any kernel is compiled", "[function]") {
  const Program program = Linked({kFunctions + kCall});
  const auto table = program.Variable("table");
  REQUIRE(table);
  uint64_t functions[3];
  std::memcpy(functions, table->data(), 24);
  uint32_t out = 0;
  REQUIRE(Get(program, "call_it").Launch({}, &out, functions[0]));
  CHECK(out == 1000);
}

TEST_CASE("a call of what is no function of the type is a fault with its line", "[function]") {
  const Program program = Linked({kFunctions + kCall});
  const auto table = program.Variable("table");
  REQUIRE(table);
  uint64_t other = 0, nowhere = 0;
  std::memcpy(&other, table->data() + 16, 8);
  uint32_t out = 0;
  Status status = Get(program, "call_it").Launch({}, &out, other);
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().Render(),
             Catch::Contains("not a function of this type") && Catch::Contains("call (r), %d1"));
  status = Get(program, "call_it").Launch({}, &out, nowhere);
  REQUIRE_FALSE(status);
  CHECK(status.error().code == ErrorCode::kFault);
}

}  // namespace
}  // namespace ptx2cpu::api_test
