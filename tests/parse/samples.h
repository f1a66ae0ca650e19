// PTX of our own that uses every construct the parser knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ptx2cpu::ptx::tests {

inline constexpr std::string_view kModern = R"ptx(

.version 8.5
.target sm_90a, debug
.address_size 64
.file 1 "/src/kernel.cu"
.file 2 "inline.h", 1339013327, 64118
.pragma "module_wide";

.extern .func (.param .b32 func_retval0) vprintf(.param .b64 a, .param .b64 b);
.extern .shared .align 16 .b8 dynamic[];
.visible .const .align 4 .u32 table[8] = {1, 0x2, 03, 0b100, -5, 6U};
.visible .global .attribute(.managed) .align 8 .b8 message[6] = {104, 101, 108, 108, 111};
.global .align 8 .u64 pointers[3] = {generic(message), generic(message)+4, message};
.global .align 1 .b8 bytes[4] = {0xFF(message), 0xFF00(message+2), 0xFF0000(generic(message)+8), 0xFF(0x1234)};
.global .f32 kernel[][3] = {{.05, .1, 0f3F800000}, {-1.5e-3, 0d3FF0000000000000, 1.}};
.weak .global .v4 .f32 weak_vector;
.common .global .b32 shared_by_files;
.global .samplerref sampler = {addr_mode_0 = clamp_to_border, filter_mode = nearest};
.global .texref texture;

.visible .func (.param .b32 func_retval0) twice(.param .b32 x) .noreturn
;
.func helper(.reg .b32 a, .reg .f64 b) .abi_preserve 8 .abi_preserve_control 2
{
	mov.b32 a, a;
	ret;
}
.visible .func alias_of_helper(.reg .b32 a, .reg .f64 b);
.alias alias_of_helper, helper;

.visible .entry kernel_one(
	.param .u64 .ptr .global .align 16 out,
	.param .u32 .ptr.const.align 8 in,
	.param .align 8 .b8 structure[24],
	.param .u32 n
)
.maxntid 256, 2
.minnctapersm 2
.maxnreg 64
.reqnctapercluster 2, 1, 1
.explicitcluster
.pragma "nounroll";
{
	.local .align 16 .b8 	__local_depot0[32];
	.reg .b64 	%SP, %SPL;
	.reg .pred 	%p<4>;
	.reg .b16 %rs<3>;
	.reg .b32 	%r<20>;
	.reg .f32 %f<9>;
	.reg .b64 	%rd<9>;
	.reg .v2 .f32 %vec;
	.shared .align 4 .f32 tile[16][17];
	.loc	1 7 3
$L__begin:
	mov.u64 	%SPL, __local_depot0;
	ld.param.u64 	%rd1, [out];
	ld.param.u32 	%r1, [structure+8];
	mov.u32 	%r2, %tid.x;
	mov.u32 %r3, WARP_SZ;
	mad.lo.s32 	%r4, %r2, 4, -%r3;
	setp.lt.and.s32 	%p1|%p2, %r4, 0x10, !%p3;
	@!%p1 bra.uni 	$L__done;
	.loc	1 9 5, function_name $L__info_string0+16, inlined_at 1 21 3
	{
	.reg .b32 	%r5_tmp, %r1;
	mov.b32 %r1, {%rs1, %rs2};
	shfl.sync.bfly.b32 	%r5_tmp|%p3, %r2, 16, 31, -1;
	{
		.reg .pred %p1;
AGAIN:
		@%p1 bra AGAIN;
	}
	}
	{
AGAIN:
	bra AGAIN;
	}
	ld.global.nc.L2::128B.v4.f32 	{%f1, %f2, %f3, _}, [%rd1+-16];
	ld.shared::cta.f32 %f4, [tile+4*(3-1)];
	st.global .f32 [%rd1 - 8], %f4;
	tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [texture, sampler, {%f5, %f6}];
	cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd2, {%r2, %r3}], [%r4];
	mov.f32 %f5, 0f3f800000;
	mov.f32 %f6, -0F7f800000;
	mov.f32 %f7, 1.5;
	mov.b64 %rd3, tile;
	mov.u32 %r6, table[3];
	ld.const.u32 %r7, table[%r6];
	ld.global.b32 %r8, [%rd1].unified;
	vadd.s32.u32.s32 %r9, %r8.b0, -%r7.h1;
	mov.f32 %f8, %vec.y;
	mov.u32 %r10, (1 << 4) | 3;
	mov.u32 %r11, 5 > 3 ? 7 : 8;
	mov.b64 %rd4, (.u64)-1;
	prototype_0: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b8 _[12]) .noreturn .abi_preserve 4;
	targets: .branchtargets $L__begin, $L__done;
	calls: .calltargets helper, twice;
	brx.idx %r1, targets;
	{ // callseq 0
	.reg .b32 temp_param_reg;
	.param .b64 param0;
	st.param.b64 	[param0+0], %rd1;
	.param .b32 retval0;
	call.uni (retval0), vprintf, (param0, param0);
	ld.param.b32 	%r12, [retval0+0];
	call (retval0), %rd1, (param0), prototype_0;
	call alias_of_helper, (%r1, 0d4000000000000000);
	call.uni helper, ();
	} /* a
	comment */
	barrier.sync 0, \
	   128;
$L__done: ret;
}

.section .debug_str
{
$L__info_string0:
.b8 95 // _ } {
.b8 90
}
	.section	.debug_loc	{	}
)ptx";

inline constexpr std::string_view kOld = R"ptx(	.version 1.4
	.target sm_10, map_f64_to_f32
	// compiled long ago
@@DWARF .section .debug_pubnames, "", @progbits
	.tex .u32 image;
	.const[2] .b32 banked[4];
	.entry scale (
		.param .u32 __cudaparm_scale_p,
		.param .f32 __cudaparm_scale_factor)
	{
	.reg .u16 %rh<4>;
	.reg .u32 %r<8>;
	.reg .f32 %f<5>;
	.loc	14	2	0
$LBB1_scale:
	mov.u16 	%rh1, %ctaid.x;     	//
	mul.wide.u16 	%r1, %rh1, %rh2; 	//
	ld.param.u32 	%r2, [__cudaparm_scale_p];
	ld.global.f32 	%f1, [%r2+0];
	tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4},[image,{%r1,%r1,%r1,%r1}];
	exit;
$LDWend_scale:
	} // scale
)ptx";

inline constexpr std::string_view kOldest = R"ptx(	.version 1.3
	.target sm_13
	.const[0] .f32 factors[2] = {1.0, 2.0};
	.reg .u32 %calls, %more<3>;
	.reg .v4 .f32 %color;
	.local .b32 kept[4];
@@DWARF .byte 0x2b, 0x00
	.func (.reg .f32 %low, .reg .f32 %high) split (.reg .f32 %both)
	.func unused (.reg .f32 %a)

	.file	14	"shade.cu"
	.func (.reg .f32 %low, .reg .f32 %high) split (.reg .f32 %both)
	{
	mov.f32 %low, %both;
	mov.f32 %high, %both;
	ret;
	}
	.entry shade
	.maxntid 16,16,1 .maxnctapersm 4
	{
	.reg .f32 %f<4>;
	.param .u64 where;
	.reg .u64 %rd<2>;
	.param .f32 factor;
	ld.param.u64 %rd1, [where];
	ld.const[0].f32 %f1, [factors+4];
	call.uni (%f2, %f3), split, (%f1);
	ld.param.f32 %color.w, [factor];
	mov.v4.f32 %color, {%f1, %f2, %f3, %color.w};
	st.global.v4.f32 [%rd1], %color;
	mov.u32 %more2, %calls;
	st.local.u32 [kept+4], %more2;
	exit;
	}
)ptx";

inline std::vector<std::string> Samples() {
  return {std::string(kModern), std::string(kOld), std::string(kOldest)};
}

}  // namespace ptx2cpu::ptx::tests
