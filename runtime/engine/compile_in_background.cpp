#include "runtime/engine/compile_in_background.h"

#include <mutex>
#include <utility>

#include "runtime/engine/background.h"
#include "runtime/engine/compiler.h"
#include "runtime/engine/contained.h"

namespace ptx2cpu::rt {

namespace {

// What reaches most tables: calls, loops, memory of each kind, a barrier, a shuffle, floats and a division.
constexpr const char* kSample = R"(.version 8.3
.target sm_90
.address_size 64
.visible .entry sample(.param .u64 out)
{
  .reg .pred %p<3>; .reg .b64 %a<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .f64 %d<3>;
  .shared .align 4 .b8 buffer[4096];
  ld.param.u64 %a0, [out];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %a1, %r0, 4;
  add.u64 %a0, %a0, %a1;
  mov.u32 %r1, buffer;
  shl.b32 %r2, %r0, 2;
  and.b32 %r2, %r2, 4092;
  add.u32 %r1, %r1, %r2;
  cvt.rn.f32.u32 %f0, %r0;
  mov.f32 %f1, 0f3F800000;
  mov.u32 %r3, 0;
loop:
  ld.global.f32 %f2, [%a0];
  fma.rn.f32 %f1, %f1, %f2, %f0;
  sqrt.rn.f32 %f1, %f1;
  ex2.approx.f32 %f2, %f1;
  div.rn.f32 %f1, %f2, %f1;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p0, %r3, %r0;
  @%p0 bra loop;
  st.shared.f32 [%r1], %f1;
  bar.sync 0;
  ld.shared.u32 %r4, [%r1];
  shfl.sync.bfly.b32 %r5|%p1, %r4, 1, 31, -1;
  cvt.f64.f32 %d0, %f1;
  mul.rn.f64 %d0, %d0, %d0;
  cvt.rzi.s32.f64 %r6, %d0;
  add.u32 %r6, %r6, %r5;
  atom.global.add.u32 %r6, [%a0], %r6;
  st.global.u32 [%a0], %r6;
  ret;
}
)";

void ConstructTables() {
  ModuleOptions options;
  options.cache = nullptr;
  options.quick_tier = false;
  const auto jit = MakeJit(options);
  if (!jit) return;  // then nothing is compiled in the background either
  KernelSource source({{kSample, "sample.ptx"}});
  static_cast<void>(
      KernelCompiler(source, options).Compile(**jit, {.kernel = "sample", .show_progress = false}));
}

}  // namespace

bool CompileInBackground(std::function<void(const std::atomic<bool>& stop)> work) {
  static std::once_flag constructed;
  std::call_once(constructed, [] { static_cast<void>(RunContained(ConstructTables)); });
  return RunInBackground(std::move(work));
}

}  // namespace ptx2cpu::rt
