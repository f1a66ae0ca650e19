// Which kernels compute what depends on the order of their blocks (PTX2CPU_KERNEL_ORDER_MATTERS).
#include "lowering/llvm/module/order_matters.h"

#include <catch2/catch.hpp>
#include <string>

#include "lowering/compile.h"
#include "lowering/llvm/module/kernel_layout.h"
#include "runtime/abi/block_order.h"

using namespace ptx2cpu;

namespace {

bool OrderMatters(const std::string& body, const std::string& before = "") {
  const std::string text =
      ".version 8.6\n.target sm_90\n.address_size 64\n" + before +
      ".visible .entry k(.param .u64 p)\n{ .reg .b64 %p, %d; .reg .b32 %r, %s; .reg .f32 %f;"
      " .shared .align 4 .b8 words[64]; ld.param.u64 %p, [p]; mov.u32 %r, 1; mov.f32 %f, 0f3F800000; " +
      body + " ret; }\n";
  const auto ptx = lowering::PtxModule::Parse(text, "k.ptx");
  if (!ptx) FAIL(ptx.error().Render());
  const auto module = ptx->Build("k");
  if (!module) FAIL(module.error().Render());
  const auto layout = lowering::LayoutOf(*module, module->functions[0]);
  if (!layout) FAIL(layout.error().Render());
  return (layout->flags & PTX2CPU_KERNEL_ORDER_MATTERS) != 0;
}

}  // namespace

TEST_CASE("order matters: atomics on global memory that round, exchange or whose result is used") {
  CHECK(OrderMatters("red.global.add.f32 [%p], %f;"));
  CHECK(OrderMatters("red.add.f32 [%p], %f;"));
  CHECK(OrderMatters("red.global.add.noftz.f16x2 [%p], %r;"));
  CHECK(OrderMatters("atom.global.exch.b32 %s, [%p], %r;"));
  CHECK(OrderMatters("atom.global.inc.u32 %s, [%p], %r;"));
  CHECK(OrderMatters("atom.global.cas.b32 %s, [%p], %r, %r;"));
  CHECK(OrderMatters("atom.global.add.u32 %s, [%p], %r; st.global.u32 [%p+4], %s;"));
  CHECK(OrderMatters("ld.volatile.global.u32 %s, [%p]; st.global.u32 [%p+4], %s;"));
  CHECK(OrderMatters("ld.acquire.gpu.global.u32 %s, [%p]; st.global.u32 [%p+4], %s;"));
  CHECK(OrderMatters("mov.u32 %s, words; red.shared::cluster.add.f32 [%s], %f;"));
}

TEST_CASE("order matters: not to what gives the same in any order") {
  CHECK_FALSE(OrderMatters("st.global.f32 [%p], %f;"));
  CHECK_FALSE(OrderMatters("red.global.add.u32 [%p], %r;"));
  CHECK_FALSE(OrderMatters("red.global.max.s32 [%p], %r; red.global.or.b32 [%p+8], %r;"));
  CHECK_FALSE(OrderMatters("atom.global.add.u32 %s, [%p], %r;"));
  CHECK_FALSE(OrderMatters("mov.u32 %s, words; red.shared.add.f32 [%s], %f;"));
  CHECK_FALSE(OrderMatters("ld.volatile.shared.u32 %s, [words]; st.global.u32 [%p], %s;"));
}

TEST_CASE("order matters: also in a function that the kernel calls") {
  const std::string function =
      ".func sum(.param .b64 at)\n{ .reg .b64 %a; ld.param.b64 %a, [at]; red.global.add.f64 [%a], "
      "0d3FF0000000000000; "
      "ret; }\n";
  CHECK(OrderMatters("{ .param .b64 at; st.param.b64 [at], %p; call sum, (at); }", function));
  CHECK_FALSE(OrderMatters("", function));
}
