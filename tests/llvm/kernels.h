// PTX kernels of the code generation tests, and building them.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>

namespace ptx2cpu::ir {
struct Module;
}  // namespace ptx2cpu::ir
namespace ptx2cpu::lowering {
struct BuildOptions;
}  // namespace ptx2cpu::lowering

namespace ptx2cpu::llvm_test {

inline const std::string kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";

// out[i] = a[i] + b[i]
inline const std::string kVecAdd = kHead + R"(
.visible .entry vecadd(.param .u64 pa, .param .u64 pb, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %d<8>;
  ld.param.u64 %d0, [pa];
  ld.param.u64 %d1, [pb];
  ld.param.u64 %d2, [pout];
  ld.param.u32 %r0, [pn];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  setp.ge.s32 %p0, %r4, %r0;
  @%p0 bra DONE;
  cvta.to.global.u64 %d3, %d0;
  cvta.to.global.u64 %d4, %d1;
  cvta.to.global.u64 %d5, %d2;
  mul.wide.s32 %d6, %r4, 4;
  add.s64 %d3, %d3, %d6;
  add.s64 %d4, %d4, %d6;
  add.s64 %d5, %d5, %d6;
  ld.global.f32 %f0, [%d3];
  ld.global.f32 %f1, [%d4];
  add.f32 %f2, %f0, %f1;
  st.global.f32 [%d5], %f2;
DONE:
  ret;
}
)";

// A block's sum: shuffles within warps, shared memory between them, a visible variable as scale.
inline const std::string kBlockSum = kHead + R"(
.visible .global .align 4 .u32 scale = 3;
.shared .align 4 .b8 partial[128];
.visible .entry block_sum(.param .u64 pin, .param .u64 pout)
{
  .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %d<8>;
  ld.param.u64 %d0, [pin];
  ld.param.u64 %d1, [pout];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d2, %r0, 4;
  add.s64 %d3, %d0, %d2;
  ld.global.u32 %r1, [%d3];
  mov.u32 %r10, 16;
LOOP:
  shfl.sync.bfly.b32 %r2, %r1, %r10, 31, -1;
  add.u32 %r1, %r1, %r2;
  shr.u32 %r10, %r10, 1;
  setp.ne.u32 %p1, %r10, 0;
  @%p1 bra LOOP;
  and.b32 %r3, %r0, 31;
  shr.u32 %r4, %r0, 5;
  setp.ne.u32 %p0, %r3, 0;
  @%p0 bra SKIP;
  shl.b32 %r5, %r4, 2;
  mov.u32 %r6, partial;
  add.u32 %r6, %r6, %r5;
  st.shared.u32 [%r6], %r1;
SKIP:
  bar.sync 0;
  setp.ne.u32 %p2, %r0, 0;
  @%p2 bra END;
  mov.u32 %r7, %ntid.x;
  shr.u32 %r7, %r7, 5;
  mov.u32 %r8, partial;
  mov.u32 %r9, 0;
SUM:
  ld.shared.u32 %r11, [%r8];
  add.u32 %r9, %r9, %r11;
  add.u32 %r8, %r8, 4;
  sub.u32 %r7, %r7, 1;
  setp.ne.u32 %p3, %r7, 0;
  @%p3 bra SUM;
  mov.u64 %d4, scale;
  cvta.global.u64 %d4, %d4;
  ld.u32 %r12, [%d4];
  mul.lo.u32 %r9, %r9, %r12;
  st.global.u32 [%d1], %r9;
END:
  ret;
}
)";

// Every operation that has no instruction on some machine: half floats, directed roundings, approximate
// functions, bits.
inline const std::string kExotic = kHead + R"(
.visible .entry exotic(.param .u64 pin, .param .u64 pout)
{
  .reg .b16 %h<8>; .reg .b32 %r<20>; .reg .f32 %f<16>; .reg .f64 %g<8>; .reg .b64 %d<8>;
  ld.param.u64 %d0, [pin];
  ld.param.u64 %d1, [pout];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d2, %r0, 4;
  add.s64 %d3, %d0, %d2;
  ld.global.f32 %f0, [%d3];
  cvt.rn.f16.f32 %h0, %f0;
  fma.rn.f16 %h1, %h0, %h0, %h0;
  cvt.f32.f16 %f1, %h1;
  cvt.rn.bf16.f32 %h2, %f0;
  fma.rn.bf16 %h3, %h2, %h2, %h2;
  mov.b32 %r1, {%h1, %h3};
  add.rz.f32 %f2, %f0, %f1;
  mul.rm.f32 %f3, %f2, %f0;
  fma.rp.f32 %f4, %f3, %f0, %f2;
  sin.approx.f32 %f5, %f0;
  ex2.approx.f32 %f6, %f5;
  lg2.approx.f32 %f7, %f6;
  tanh.approx.f32 %f8, %f7;
  rsqrt.approx.f32 %f9, %f6;
  cvt.f64.f32 %g0, %f8;
  fma.rn.f64 %g1, %g0, %g0, %g0;
  div.rn.f64 %g2, %g1, %g0;
  cvt.rni.s64.f64 %d4, %g2;
  cvt.rz.f32.s64 %f10, %d4;
  cvt.rpi.f32.f32 %f11, %f9;
  add.f32 %f12, %f10, %f11;
  mov.b32 %r2, %f12;
  popc.b32 %r3, %r2;
  brev.b32 %r4, %r1;
  clz.b32 %r5, %r4;
  add.u32 %r6, %r3, %r5;
  xor.b32 %r6, %r6, %r1;
  mov.b32 %r7, %f4;
  xor.b32 %r6, %r6, %r7;
  and.b32 %r6, %r6, 0x3bff3bff;  // no NaN: payloads are free
  add.s64 %d5, %d1, %d2;
  st.global.u32 [%d5], %r6;
  atom.global.add.f32 %f13, [%d5], 0f00000000;
  atom.global.add.noftz.f16 %h4, [%d5], %h0;
  atom.global.cas.b32 %r8, [%d5], 0, 0;
  membar.gl;
  ret;
}
)";

// A module for tests that only pass it on: they need no header of the IR, and a change of one compiles none
// of them again.
class BuiltKernel {
 public:
  BuiltKernel(ir::Module module);
  operator const ir::Module&() const { return *module_; }
  const ir::Module& module() const { return *module_; }

 private:
  std::shared_ptr<const ir::Module> module_;
};

BuiltKernel BuildKernel(const std::string& ptx, const std::string& kernel);
BuiltKernel BuildKernel(const std::string& ptx, const std::string& kernel,
                        const lowering::BuildOptions& options);

}  // namespace ptx2cpu::llvm_test
