// Addresses of local memory that were widened from 32 bits.
#include "analysis/memory/narrow_locals.h"

#include <catch2/catch.hpp>

#include "ir/text/text.h"

using namespace ptx2cpu;

namespace {

// Whether that is so of %a, at which the body stores.
bool IsNarrow(const std::string& body) {
  const std::string text = R"(module "m" ptx 8.0 sm 80
kernel @k (p: i64 @0) phase simt local_bytes 64 {
  local @l size 64 align 16 offset 0
^b0:
  %pb = param_base
  %wide = load i64 param %pb
  %tid = special i32 tid.x
  %zero = const i32 0x0
  %sixteen = const i64 0x10
  %odd = icmp i32 ne %tid, %zero
  %l = symbol local @l
  %narrow = zext i64 from i32 %tid
)" + body + "  store i32 local %a, %zero\n  ret\n}\n";
  const auto module = ir::Parse(text, "test.ir");
  if (!module) FAIL(module.error().Render());
  return analysis::HasNarrowLocalAddresses(*module);
}

}  // namespace

TEST_CASE("addresses that are sums are as wide as their widest part", "[narrow]") {
  CHECK(IsNarrow("  %a = add i64 %narrow, %sixteen\n"));
  CHECK_FALSE(IsNarrow("  %a = add i64 %l, %narrow\n"));
  CHECK_FALSE(IsNarrow("  %a = add i64 %wide, %narrow\n"));
  CHECK(IsNarrow("  %a = select i64 %odd, %narrow, %l\n"));
  CHECK_FALSE(IsNarrow("  %s = mul i64 %narrow, %sixteen\n  %a = add i64 %l, %s\n"));
}

TEST_CASE("other operations on an address keep its width", "[narrow]") {
  CHECK(IsNarrow("  %a = xor i64 %narrow, %sixteen\n"));
  CHECK(IsNarrow("  %a = min_u i64 %sixteen, %narrow\n"));
  CHECK(IsNarrow("  %g = to_generic local %narrow\n  %a = from_generic local %g\n"));
  CHECK_FALSE(IsNarrow("  %a = xor i64 %l, %sixteen\n"));
  CHECK_FALSE(IsNarrow("  %a = from_generic local %wide\n"));
}
