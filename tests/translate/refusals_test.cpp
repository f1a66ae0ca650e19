// What ptxas 13.0 refuses is refused, and its legal neighbours are translated.
#include "tests/translate/run_ptx.h"

namespace ptx2cpu::ptx::test {
namespace {

TEST_CASE("operands that ptxas refuses are refused, also where nothing would be done with them") {
  constexpr const char* kBodies[] = {
      "cp.async.bulk.prefetch.tensor.1d.L2.global %rd1;",
      "cp.async.bulk.prefetch.tensor.1d.L2.global [%rd1, %r1];",
      "cp.async.bulk.prefetch.tensor.1d.L2.global [%rd1, {%r1, %r2}];",
      "cp.async.bulk.prefetch.tensor.1d.L2.global [%rd1, {%r1}], %rd2;",
      "cp.async.bulk.prefetch.tensor.1d.L2.global.L2::cache_hint [%rd1, {%r1}];",
      "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%rd1, {%r1, %r2, %r3}];",
      "stackrestore.u64 16;",
      "alloca.u64 %rd2, %rd1, 3;",
      "setp.lt.ftz.bf16 %p1, %h1, %h2;",
      "mov.b64 {%r1, %r2}, {%r3, %r4};",
      // Constants of an instruction's own.
      "cp.async.ca.shared.global [%r1], [%rd1], 0;",
      "cp.async.cg.shared.global [%r1], [%rd1], 8;",
      "cp.async.ca.shared.global [%r1], [%rd1], 8, 9;",
      "cp.async.bulk.prefetch.L2.global [%rd1], 24;",
      "discard.global.L2 [%rd1], 64;",
      "bar.sync 16;",
      "bar.sync 0, 33;",
      "bfe.u32 %r1, %r2, 256, 1;",
      "setmaxnreg.inc.sync.aligned.u32 16;",
      "setmaxnreg.inc.sync.aligned.u32 28;",
      "pmevent 16;",
      // Floats where bits of another size, or none, are meant.
      "mov.b32 %r1, 1.5;",
      "mov.b64 %rd1, 0f3F800000;",
      "brev.b32 %r1, 0d3FF0000000000000;",
      "add.rn.f16 %h1, %h1, 0f3F800000;",
      // A cache policy and the word for it.
      "ld.global.L2::cache_hint.u32 %r1, [%rd1];",
      "ld.global.u32 %r1, [%rd1], %rd2;",
      "red.global.add.L2::cache_hint.u32 [%rd1], %r1;",
      // Spaces.
      "ld.global.u32 %r1, [16];",
      "ld.u32 %r1, [from];",
      "prefetch.L1 [from];",
      "tcgen05.shift.cta_group::1.down [%rd1];",
      "isspacep.shared %p1, %f1;",
      "{ .param .b32 x; ld.local.u32 %r1, [x]; }",
      "{ .param .b32 x; ld.global.u32 %r1, [x]; }",
      ".local .b64 l; red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.u32 [%rd1], %r1, [l];",
      "createpolicy.range.L2::evict_last.b64 %rd2, [from], 64, 64;",
      "st.async.release.cta.global.u32 [%rd1], %r1;",
      // Parts of sources and destinations.
      "vadd2.u32.u32.u32 %r1, %r1.h0, %r1, %r1;",
      "vadd2.u32.u32.u32 %r1.h01, %r1, %r1, %r1;",
      "vadd2.u32.u32.u32 %r1.h32, %r1, %r1, %r1;",
      "vadd2.u32.u32.u32 %r1, %r1.b3210, %r1, %r1;",
      "vadd4.u32.u32.u32 %r1, %r1.b210, %r1, %r1;",
      "vadd4.u32.u32.u32 %r1.h0, %r1, %r1, %r1;",
      "vadd.u32.u32.u32 %r1, %r1.b10, %r1;",
      "mov.b32 %r1, %r1.h10;",
      // Orders that an instruction does not have.
      "fence.sc.sync_restrict::shared::cta.cluster;",
      "red.acquire.gpu.global.add.u32 [%rd1], 1;",
      "prefetch.global.L2::evict_first [%rd1];",
  };
  for (const char* body : kBodies) {
    INFO(body);
    CHECK(TranslateError(Kernel(body, ".const .u32 from[2];\n")).code == ErrorCode::kSyntax);
  }
  for (const char* body :
       {"mov.b32 %r1, 0f3F800000;", "mov.b64 %rd1, 1.5;", "ld.u32 %r1, [to];", "bar.sync 15, 64;",
        "ld.global.L2::cache_hint.u32 %r1, [%rd1], %rd2;", "prefetch.L2::evict_last [%rd1];",
        "cp.async.ca.shared.global [%r1], [%rd1], 8, 0;", "ld.local.u32 %r1, [16];",
        "fence.release.sync_restrict::shared::cta.cluster;"}) {
    INFO(body);
    const auto module = Parse(Kernel(body, ".global .u32 to[2];\n"), "test.ptx");
    REQUIRE(module);
    CHECK(Translate(*module, "k"));
  }
}

TEST_CASE("only vmad has sources with a sign") {
  for (const char* body : {"vadd.u32.u32.u32 %r1, -%r1, %r1;", "vmin.s32.s32.s32 %r1, %r1, -%r1.h0;",
                           "vsub2.s32.s32.s32 %r1, -%r1, %r1, %r1;"}) {
    INFO(body);
    CHECK(TranslateError(Kernel(body)).code == ErrorCode::kUnsupported);
  }
  const auto module = Parse(Kernel("vmad.s32.s32.s32 %r1, -%r1, %r1, %r1;"), "test.ptx");
  REQUIRE(module);
  CHECK(Translate(*module, "k"));
}

TEST_CASE("parameters of a kernel have 32,764 bytes together") {
  const std::string head = ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k(.param .b8 a[";
  for (const size_t bytes : {32764, 32765}) {
    const auto module = Parse(head + std::to_string(bytes) + "]) { ret; }\n", "test.ptx");
    REQUIRE(module);
    CHECK(Translate(*module, "k").has_value() == (bytes == 32764));
  }
}

}  // namespace
}  // namespace ptx2cpu::ptx::test
