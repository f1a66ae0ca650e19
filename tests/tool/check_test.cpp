// ptx2cpu check: which kernels run, exactly or approximately, what is refused, and the libraries that a
// program needs.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "tests/tool/run_tool.h"

using namespace ptx2cpu::tool_test;
using Catch::Matchers::Contains;

TEST_CASE("check reports kernels that are exact, approximate and refused") {
  Scratch scratch;
  const std::string exact = ".visible .entry exact() { ret; }\n";
  const std::string approximate =
      ".visible .entry sine(.param .f32 x) { .reg .f32 %x; .reg .b64 %p; ld.param.f32 %x, [x]; "
      "sin.approx.f32 %x, %x; "
      "mov.b64 %p, 0; st.global.f32 [%p], %x; ret; }\n";
  const std::string refused =
      ".visible .entry refused()\n{\n  .reg .pred %p; .reg .b64 %a; istypep.samplerref %p, %a;\n  ret;\n}\n";
  const std::string good = scratch.Write("good.ptx", kHead + exact + approximate);
  Output output = Run(scratch, "check " + good);
  INFO(output.out << output.err);
  CHECK(output.code == 0);
  CHECK_THAT(output.out, Contains("2 kernels, 0 refused") && Contains("exact exact") &&
                             Contains("approximate sine: sin"));
  const std::string bad =
      scratch.Write("bad.ptx", ".version 8.6\n.target sm_100a\n.address_size 64\n" + exact + refused);
  output = Run(scratch, "check --json " + bad);
  INFO(output.out << output.err);
  CHECK(output.code == 7);
  CHECK_THAT(output.out, Contains("\"state\": \"exact\"") && Contains("\"state\": \"refused\"") &&
                             Contains("\"line\": 7") && Contains("istypep"));
}

TEST_CASE("check reports instructions that no GPU has recorded") {
  Scratch scratch;
  const std::string file = scratch.Write(
      "tensor.ptx",
      ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n  .reg .b32 %t;\n"
      "  mov.b32 %t, 0;\n  tcgen05.shift.cta_group::1.down [%t];\n  ret;\n}\n");
  const Output output = Run(scratch, "check " + file);
  INFO(output.out << output.err);
  CHECK(output.code == 0);
  CHECK_THAT(output.out, Contains("functional k: tcgen05, tcgen05.cp"));
}

TEST_CASE("check names the libraries that a program needs") {
  Scratch scratch;
  const Output output = Run(scratch, "check " + std::string(PTX2CPU_SOURCE_DIR) + "/corpus/bin/run_vectors");
  INFO(output.out << output.err);
  CHECK(output.code == 0);
  CHECK_THAT(output.out,
             Contains("library libcudart.so.13: ptx2cpu") && Contains("library libc.so.6: found"));
}

TEST_CASE("check names the libraries of a program without kernels") {
  Scratch scratch;
  const Output output = Run(scratch, "check /proc/self/exe");
  INFO(output.out << output.err);
  CHECK(output.code == 0);
  CHECK_THAT(output.out, Contains("0 kernels, 0 refused") && Contains("library libc.so.6: found"));
}
