#include "runtime/engine/cooperative_groups.h"

#include <algorithm>

namespace ptx2cpu::rt {

namespace {

// A handle is the address of the launch's workspace (runtime/abi/abi.h), which only cooperative launches
// have; the group of several devices (scope 2) does not exist here, and has handle 0. The barrier has two
// counters after the words that code of newer toolkits uses: the blocks that have arrived, and how often all
// had arrived.
constexpr char kFunctions[] = R"ptx(.version 7.0
.target sm_70
.address_size 64

.weak .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
  .reg .pred %p;
  .reg .b32 %r<4>;
  .reg .b64 %rd<3>;
  ld.param.u32 %r1, [scope];
  mov.u32 %r2, %envreg1;
  mov.u32 %r3, %envreg2;
  mov.b64 %rd1, {%r3, %r2};
  setp.eq.u32 %p, %r1, 1;
  selp.b64 %rd2, %rd1, 0, %p;
  st.param.b64 [handle], %rd2;
  ret;
}

.weak .func (.param .b32 error) cudaCGSynchronizeGrid(.param .b64 handle, .param .b32 flags)
{
  .reg .pred %p<6>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [handle];
  setp.eq.u64 %p1, %rd1, 0;
  @%p1 bra Invalid;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %tid.y;
  mov.u32 %r3, %tid.z;
  or.b32 %r1, %r1, %r2;
  or.b32 %r1, %r1, %r3;
  setp.ne.u32 %p2, %r1, 0;
  barrier.sync 0;
  @%p2 bra Together;
  mov.u32 %r4, %nctaid.x;
  mov.u32 %r5, %nctaid.y;
  mov.u32 %r6, %nctaid.z;
  mul.lo.u32 %r4, %r4, %r5;
  mul.lo.u32 %r4, %r4, %r6;
  ld.acquire.gpu.u32 %r7, [%rd1+20];
  atom.acq_rel.gpu.add.u32 %r8, [%rd1+16], 1;
  add.u32 %r8, %r8, 1;
  setp.ne.u32 %p3, %r8, %r4;
  @%p3 bra Wait;
  st.relaxed.gpu.u32 [%rd1+16], 0;
  add.u32 %r9, %r7, 1;
  st.release.gpu.u32 [%rd1+20], %r9;
  bra Together;
Wait:
  ld.acquire.gpu.u32 %r10, [%rd1+20];
  setp.eq.u32 %p4, %r10, %r7;
  @%p4 bra Wait;
Together:
  barrier.sync 0;
  mov.u32 %r11, 0;
  st.param.b32 [error], %r11;
  ret;
Invalid:
  mov.u32 %r11, 1;
  st.param.b32 [error], %r11;
  ret;
}

.weak .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [handle];
  ld.param.u32 %r1, [flags];
  {
    .param .b64 a;
    .param .b32 b;
    .param .b32 c;
    st.param.b64 [a], %rd1;
    st.param.b32 [b], %r1;
    call.uni (c), cudaCGSynchronizeGrid, (a, b);
    ld.param.b32 %r2, [c];
  }
  st.param.b32 [error], %r2;
  ret;
}

.weak .func (.param .b32 error) cudaCGGetSize(.param .b64 threads, .param .b64 grids, .param .b64 handle)
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [threads];
  ld.param.u64 %rd2, [grids];
  ld.param.u64 %rd3, [handle];
  setp.eq.u64 %p1, %rd3, 0;
  @%p1 bra Invalid;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %ntid.y;
  mov.u32 %r3, %ntid.z;
  mov.u32 %r4, %nctaid.x;
  mov.u32 %r5, %nctaid.y;
  mov.u32 %r6, %nctaid.z;
  mul.lo.u32 %r1, %r1, %r2;
  mul.lo.u32 %r1, %r1, %r3;
  mul.lo.u32 %r1, %r1, %r4;
  mul.lo.u32 %r1, %r1, %r5;
  mul.lo.u32 %r1, %r1, %r6;
  setp.ne.u64 %p2, %rd1, 0;
  @%p2 st.u32 [%rd1], %r1;
  setp.ne.u64 %p3, %rd2, 0;
  mov.u32 %r7, 1;
  @%p3 st.u32 [%rd2], %r7;
  mov.u32 %r7, 0;
  st.param.b32 [error], %r7;
  ret;
Invalid:
  mov.u32 %r7, 1;
  st.param.b32 [error], %r7;
  ret;
}

.weak .func (.param .b32 error) cudaCGGetRank(.param .b64 thread, .param .b64 grid, .param .b64 handle)
{
  .reg .pred %p<4>;
  .reg .b32 %r<14>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [thread];
  ld.param.u64 %rd2, [grid];
  ld.param.u64 %rd3, [handle];
  setp.eq.u64 %p1, %rd3, 0;
  @%p1 bra Invalid;
  mov.u32 %r1, %ctaid.z;
  mov.u32 %r2, %nctaid.y;
  mov.u32 %r3, %ctaid.y;
  mad.lo.u32 %r1, %r1, %r2, %r3;
  mov.u32 %r2, %nctaid.x;
  mov.u32 %r3, %ctaid.x;
  mad.lo.u32 %r1, %r1, %r2, %r3;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %ntid.y;
  mov.u32 %r6, %ntid.z;
  mul.lo.u32 %r7, %r4, %r5;
  mul.lo.u32 %r7, %r7, %r6;
  mov.u32 %r8, %tid.z;
  mov.u32 %r9, %tid.y;
  mad.lo.u32 %r8, %r8, %r5, %r9;
  mov.u32 %r9, %tid.x;
  mad.lo.u32 %r8, %r8, %r4, %r9;
  mad.lo.u32 %r10, %r1, %r7, %r8;
  setp.ne.u64 %p2, %rd1, 0;
  @%p2 st.u32 [%rd1], %r10;
  setp.ne.u64 %p3, %rd2, 0;
  mov.u32 %r11, 0;
  @%p3 st.u32 [%rd2], %r11;
  st.param.b32 [error], %r11;
  ret;
Invalid:
  mov.u32 %r12, 1;
  st.param.b32 [error], %r12;
  ret;
}
)ptx";

}  // namespace

std::vector<PtxText> WithCooperativeGroups(std::vector<PtxText> texts) {
  const bool named = std::ranges::any_of(
      texts, [](const PtxText& text) { return text.text.find("cudaCG") != std::string::npos; });
  if (named) texts.push_back({kFunctions, "built in cooperative groups"});
  return texts;
}

}  // namespace ptx2cpu::rt
