// Calls that the compiler of the PTX has inlined, from the text's .loc lines.
#include "lowering/llvm/module/inlined_calls.h"

#include <catch2/catch.hpp>

using ptx2cpu::lowering::InlinedCalls;

namespace {

constexpr const char* kText = R"(
.visible .entry k()
{
	.loc	1 7 0
	mov.u32 	%r1, %tid.x;
	.loc	1 8 3
	.loc	1 4 3, function_name $L__info_string0, inlined_at 1 8 3
	.loc	2 2 29, function_name $L__info_string1, inlined_at 1 4 3
	shl.b32 	%r2, %r1, 1;
	add.s32 	%r3, %r2, 1;
	.loc	1 5 3, function_name $L__info_string0, inlined_at 1 8 3
	mul.lo.s32 	%r4, %r3, %r3;
	.loc	1 8 3
	ret;
}
	.file	1 "k.cu"
	.section	.debug_str
	{
$L__info_string0:
.b8 95,90,53,111,117,116,101,114,105,0
$L__info_string1:
.b8 95,90,78,49,97,53,116,119,105,99,101
.b8 69,105,0
	}
)";

}  // namespace

TEST_CASE("inlined calls: each line has the innermost call, and calls have their callers") {
  const InlinedCalls calls = InlinedCalls::Read(kText);
  for (const uint32_t line : {1u, 5u, 6u, 14u, 15u, 1000u}) CHECK(calls.At(line) == 0);
  const uint32_t outer = calls.At(12), twice = calls.At(9);
  REQUIRE((outer != 0 && twice != 0));
  CHECK(calls.At(10) == twice);
  CHECK((calls[outer].function == "outer" && calls[outer].file == 1 && calls[outer].line == 8));
  CHECK(calls[outer].caller == 0);
  CHECK((calls[twice].function == "a::twice" && calls[twice].file == 1 && calls[twice].line == 4));
  CHECK(calls[twice].caller == outer);
}

TEST_CASE("inlined calls: what a text lacks or has in another form is left out") {
  CHECK(InlinedCalls::Read("").At(1) == 0);
  for (const char* line :
       {".loc 1 2 3, function_name $X, inlined_at 1 4 3", ".loc 1 2, function_name $L, inlined_at 1 4 3",
        ".loc 1 2 3, function_name $L, inlined_at 1", ".loc 1 2 3, function_name", ".loc",
        ".loc 1 2 3, inlined_at 1 2 3"}) {
    INFO(line);
    CHECK(InlinedCalls::Read(std::string(line) + "\n.section .debug_str\n{\n$L:\n.b8 95\n}\n").At(1) == 0);
  }
  const InlinedCalls plain = InlinedCalls::Read(
      ".loc 1 2 3, function_name $L, inlined_at 1 4 3\n.section .debug_str\n{\n$L:\n.b8 102,0\n}");
  REQUIRE(plain.At(1) != 0);
  CHECK(plain[plain.At(1)].function == "f");
}
