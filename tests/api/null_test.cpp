// Accesses to address 0 that are known when a kernel is compiled: faults where they are reached, and nothing
// else.
#include "run_program.h"

namespace ptx2cpu::api_test {
namespace {

// k(p): does `access` if p[0] != 0; then p[1] = 7.
std::string Touching(const std::string& access) {
  return R"(
.visible .entry k(.param .u64 p) {
  .reg .b64 %d<4>; .reg .b32 %r<4>; .reg .pred %q;
  ld.param.u64 %d0, [p]; mov.u64 %d1, 0; ld.global.u32 %r0, [%d0]; setp.eq.u32 %q, %r0, 0;
  @%q bra DONE;
)" + access +
         "\nDONE:\n  st.global.u32 [%d0+4], 7;\n  ret;\n}\n";
}

TEST_CASE("an access to address 0 is a fault where it is reached", "[null]") {
  for (const char* access :
       {"  st.global.u32 [%d1], %r0;", "  st.u32 [%d1+8], %r0;",
        "  ld.global.u32 %r1, [%d1]; st.global.u32 [%d0+8], %r1;", "  red.global.add.u32 [%d1], 1;",
        "  ld.global.v2.u32 {%r1, %r2}, [%d1]; st.global.u32 [%d1], %r2;"}) {
    for (const char* exec : {"auto", "lanes"}) {
      INFO(access << " " << exec);
      LoadOptions options;
      options.exec = exec;
      const Kernel kernel = Get(Linked({Touching(access)}, options), "k");
      uint32_t words[3] = {};
      uint32_t* const memory = words;
      CHECK(kernel.Launch({.block = {32}}, memory));
      CHECK(words[1] == 7);
      words[0] = 1, words[1] = 0;
      const Status status = kernel.Launch({.block = {32}}, memory);
      REQUIRE_FALSE(status);
      CHECK_THAT(status.error().Render(),
                 Catch::Contains("bad address 0x") && Catch::Contains("part0.ptx:9"));
      CHECK(words[1] == 0);
    }
  }
}

}  // namespace
}  // namespace ptx2cpu::api_test
