// Grid-wide groups through the functions that older device code calls: cudaCGGetIntrinsicHandle and the like.
#include <vector>

#include "tests/driver/driver_session.h"

using namespace driver_test;

namespace {

// out: per thread the rank, then size, grids and the sum of errors of the calls; turn: a word per block. In
// each round a block writes the round's number to its word, and after the barrier reads its neighbour's;
// other numbers count as wrong.
const std::string kRounds = kHead + R"(
.extern .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 e) cudaCGSynchronize(.param .b64 h, .param .b32 flags);
.extern .func (.param .b32 e) cudaCGGetSize(.param .b64 threads, .param .b64 grids, .param .b64 h);
.extern .func (.param .b32 e) cudaCGGetRank(.param .b64 thread, .param .b64 grid, .param .b64 h);
.visible .entry rounds(.param .u64 out, .param .u64 turn, .param .u32 count) {
  .reg .pred %p<4>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<14>;
  .local .align 8 .b8 place[16];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [turn];
  ld.param.u32 %r1, [count];
  mov.u64 %rd3, place;
  cvta.local.u64 %rd4, %rd3;
  { .param .b32 s; .param .b64 h; st.param.b32 [s], 1; call (h), cudaCGGetIntrinsicHandle, (s); ld.param.b64 %rd5, [h]; }
  add.u64 %rd6, %rd4, 4;
  { .param .b64 a; .param .b64 b; .param .b64 c; .param .b32 e; st.param.b64 [a], %rd4; st.param.b64 [b], 0; st.param.b64 [c], %rd5;
    call (e), cudaCGGetRank, (a, b, c); ld.param.b32 %r2, [e]; }
  ld.local.u32 %r3, [place];
  { .param .b64 a; .param .b64 b; .param .b64 c; .param .b32 e; st.param.b64 [a], %rd4; st.param.b64 [b], %rd6; st.param.b64 [c], %rd5;
    call (e), cudaCGGetSize, (a, b, c); ld.param.b32 %r4, [e]; }
  ld.local.u32 %r5, [place];
  ld.local.u32 %r6, [place+4];
  mov.u32 %r7, %ctaid.x;
  mov.u32 %r8, %nctaid.x;
  mov.u32 %r9, %tid.x;
  add.u32 %r10, %r7, 1;
  rem.u32 %r10, %r10, %r8;
  mul.wide.u32 %rd7, %r7, 4;
  add.u64 %rd8, %rd2, %rd7;
  mul.wide.u32 %rd9, %r10, 4;
  add.u64 %rd10, %rd2, %rd9;
  mov.u32 %r11, 0;
  add.u32 %r12, %r2, %r4;
Next:
  add.u32 %r11, %r11, 1;
  setp.ne.u32 %p1, %r9, 0;
  @!%p1 st.global.u32 [%rd8], %r11;
  { .param .b64 h; .param .b32 f; .param .b32 e; st.param.b64 [h], %rd5; st.param.b32 [f], 0; call (e), cudaCGSynchronize, (h, f); ld.param.b32 %r13, [e]; }
  add.u32 %r12, %r12, %r13;
  ld.volatile.global.u32 %r14, [%rd10];
  setp.ne.u32 %p2, %r14, %r11;
  @%p2 add.u32 %r12, %r12, 1000;
  { .param .b64 h; .param .b32 f; .param .b32 e; st.param.b64 [h], %rd5; st.param.b32 [f], 0; call (e), cudaCGSynchronize, (h, f); ld.param.b32 %r13, [e]; }
  add.u32 %r12, %r12, %r13;
  setp.lt.u32 %p3, %r11, %r1;
  @%p3 bra Next;
  mov.u32 %r15, %ntid.x;
  mad.lo.u32 %r16, %r7, %r15, %r9;
  mul.wide.u32 %rd11, %r16, 16;
  add.u64 %rd12, %rd1, %rd11;
  st.global.v4.u32 [%rd12], {%r3, %r5, %r6, %r12};
  ret;
}
)";

}  // namespace

TEST_CASE("a grid synchronises through the functions of the device runtime") {
  Session session;
  constexpr unsigned kBlocks = 6, kThreads = 40, kRoundsToGo = 30;
  CUmodule module;
  CUfunction function;
  CUdeviceptr out, turn;
  REQUIRE(cuModuleLoadData(&module, kRounds.c_str()) == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&function, module, "rounds") == CUDA_SUCCESS);
  REQUIRE(cuMemAlloc_v2(&out, kBlocks * kThreads * 16) == CUDA_SUCCESS);
  REQUIRE(cuMemAlloc_v2(&turn, kBlocks * 4) == CUDA_SUCCESS);
  unsigned rounds = kRoundsToGo;
  void* parameters[] = {&out, &turn, &rounds};
  REQUIRE(cuLaunchCooperativeKernel(function, kBlocks, 1, 1, kThreads, 1, 1, 0, nullptr, parameters) ==
          CUDA_SUCCESS);
  std::vector<unsigned> found(kBlocks * kThreads * 4);
  REQUIRE(cuMemcpyDtoH_v2(found.data(), out, found.size() * 4) == CUDA_SUCCESS);
  unsigned wrong = 0;
  for (unsigned i = 0; i < kBlocks * kThreads; ++i) {
    wrong += found[4 * i] != i || found[4 * i + 1] != kBlocks * kThreads || found[4 * i + 2] != 1 ||
             found[4 * i + 3] != 0;
  }
  CHECK(wrong == 0);
  // Not launched cooperatively: no group, and every call reports it, two barriers a round among them.
  rounds = 1;
  REQUIRE(cuMemsetD32_v2(turn, 1, kBlocks) == CUDA_SUCCESS);
  REQUIRE(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyDtoH_v2(found.data(), out, 16) == CUDA_SUCCESS);
  CHECK(found[3] == 4);
  CHECK(cuMemFree_v2(out) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(turn) == CUDA_SUCCESS);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
}
