// Kernels that launch kernels: the calls that nvcc -rdc writes, child grids, tail launches, errors.
#include "run_program.h"

namespace ptx2cpu::api_test {
namespace {

const std::string kDeclarations = R"(
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);
.extern .func (.param .b32 r) __cudaCDP2GetLastError();
.extern .func (.param .b32 r) __cudaCDP2MemsetAsync(.param .b64 p, .param .b32 v, .param .b64 n, .param .b64 s);
)";

// launch(kernel, blocks, threads, shared, stream, p, n) -> error: a child with parameters (u64 p, u32 n).
const std::string kLaunch = R"(
.func (.param .b32 error) launch(.param .b64 kernel, .param .b32 blocks, .param .b32 threads, .param .b64 stream, .param .b64 p, .param .b32 n) {
  .reg .b64 %d<8>; .reg .b32 %r<8>; .reg .pred %q;
  ld.param.b64 %d0, [kernel]; ld.param.b32 %r0, [blocks]; ld.param.b32 %r1, [threads];
  ld.param.b64 %d1, [stream]; ld.param.b64 %d2, [p]; ld.param.b32 %r2, [n];
  mov.u32 %r4, 999;
  { .param .b64 f; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s; .param .b64 r;
    st.param.b64 [f], %d0;
    st.param.b32 [g], %r0; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;
    st.param.b32 [b], %r1; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;
    st.param.b32 [s], 0;
    call (r), __cudaCDP2GetParameterBufferV2, (f, g, b, s);
    ld.param.b64 %d3, [r]; }
  setp.eq.u64 %q, %d3, 0;
  @%q bra END;
  st.u64 [%d3], %d2;
  st.u32 [%d3+8], %r2;
  { .param .b64 a; .param .b64 s; .param .b32 r; st.param.b64 [a], %d3; st.param.b64 [s], %d1;
    call (r), __cudaCDP2LaunchDeviceV2, (a, s); ld.param.b32 %r4, [r]; }
END:
  st.param.b32 [error], %r4;
  ret;
}
)";

std::string CallLaunch(const std::string& kernel, int blocks, const std::string& threads, int stream,
                       const std::string& n) {
  return "{ mov.u64 %d9, " + kernel +
         "; .param .b64 k; .param .b32 b; .param .b32 t; .param .b64 s; .param .b64 q; .param .b32 n; .param "
         ".b32 e;\n"
         "st.param.b64 [k], %d9; st.param.b32 [b], " +
         std::to_string(blocks) + "; st.param.b32 [t], " + threads + "; st.param.b64 [s], " +
         std::to_string(stream) + "; st.param.b64 [q], %d0; st.param.b32 [n], " + n +
         ";\ncall (e), launch, (k, b, t, s, q, n); ld.param.b32 %r9, [e]; }\n";
}

// A kernel of (u64 p, u32 n) with %d0 = p, %r0 = n, %r1 = tid.
std::string Kernel2(const std::string& name, const std::string& body) {
  return ".visible .entry " + name +
         "(.param .u64 p, .param .u32 n) {\n.reg .b64 %d<10>; .reg .b32 %r<10>; .reg .pred %q<4>;\n"
         "ld.param.u64 %d0, [p]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x;\n" +
         body + "ret;\n}\n";
}

std::vector<uint32_t> Run(const Program& program, const std::string& kernel, uint32_t n, Shape shape = {}) {
  std::vector<uint32_t> words(64);
  const Status status = Get(program, kernel).Launch(shape, words.data(), n);
  if (!status) FAIL(status.error().Render());
  return words;
}

// p[tid] += n
const std::string kAdd =
    Kernel2("add", "mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %d1, %d0; red.global.add.u32 [%d1], %r0;\n");
// p[i] = p[i] * n + 1: shows in which order such kernels ran
const std::string kMulAdd = Kernel2("mul_add",
                                    "mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %d1, %d0; ld.global.u32 %r2, "
                                    "[%d1]; mad.lo.u32 %r2, %r2, %r0, 1; st.global.u32 [%d1], %r2;\n");

TEST_CASE("children run when their parent has ended, in the order of launches; tail launches last", "[cdp]") {
  const std::string parent =
      Kernel2("parent", CallLaunch("mul_add", 1, "4", 3, "100") + CallLaunch("mul_add", 1, "4", 0, "3") +
                            CallLaunch("mul_add", 1, "4", 4, "7") + "st.global.u32 [%d0], 5;\n");
  const Program program = Linked({kDeclarations + kLaunch + parent + kMulAdd});
  const auto words = Run(program, "parent", 0);
  CHECK(words[0] == ((5 * 3 + 1) * 7 + 1) * 100 + 1);
  CHECK(words[1] == ((0 * 3 + 1) * 7 + 1) * 100 + 1);
}

TEST_CASE("a child's parameters are checked for alignment as a parent's are", "[cdp]") {
  const Program program = Linked({kDeclarations + kLaunch +
                                  Kernel2("parent", "cvt.u64.u32 %d1, %r0; add.u64 %d0, %d0, %d1;\n" +
                                                        CallLaunch("mul_add", 1, "4", 0, "3")) +
                                  kMulAdd});
  CHECK(Run(program, "parent", 4)[1] == 1);
  alignas(64) uint32_t words[64] = {};
  const Status odd = Get(program, "parent").Launch({}, &words[0], 2u);
  REQUIRE_FALSE(odd);
  CHECK_THAT(odd.error().Render(), Catch::Contains("misaligned") && Catch::Contains("ld.global.u32 %r2"));
}

TEST_CASE("a kernel of another module is launched by each thread of a grid", "[cdp]") {
  const Program program =
      Linked({kDeclarations + kLaunch + ".extern .entry add(.param .u64 p, .param .u32 n);\n" +
                  Kernel2("parent", CallLaunch("add", 2, "32", 0, "%r0")),
              kAdd});
  const auto words = Run(program, "parent", 3, {.grid = {4}, .block = {8}});
  for (int i = 0; i < 32; ++i) CHECK(words[static_cast<size_t>(i)] == 4 * 8 * 2 * 3);
}

TEST_CASE("grids launch themselves to some depth, and tail launches take their parents' places", "[cdp]") {
  // Counts in p[0] and launches itself with n - 1 while n is not zero.
  const auto again = [](const std::string& name, int stream) {
    return Kernel2(
        name, "red.global.add.u32 [%d0], 1; setp.eq.u32 %q0, %r0, 0; @%q0 bra END; sub.u32 %r0, %r0, 1;\n" +
                  CallLaunch(name, 1, "1", stream, "%r0") + "st.global.u32 [%d0+4], %r9;\nEND:\n");
  };
  const Program program = Linked({kDeclarations + kLaunch + again("nest", 0) + again("chain", 3)});
  CHECK(Run(program, "nest", 20)[0] == 21);
  CHECK(Run(program, "chain", 5000)[0] == 5001);
  const auto deep = Run(program, "nest", 100);
  CHECK(deep[0] == 24);
  CHECK(deep[1] == 65);  // cudaErrorLaunchMaxDepthExceeded, seen by the deepest one
}

TEST_CASE("an impossible child is an error number, a faulting one ends the launch", "[cdp]") {
  const std::string parent =
      Kernel2("parent", CallLaunch("add", 1, "%r0", 0, "1") + "st.global.u32 [%d0], %r9;\n");
  const std::string bad = Kernel2("bad", "trap;\n") + Kernel2("calls_bad", CallLaunch("bad", 1, "1", 0, "1"));
  const Program program = Linked({kDeclarations + kLaunch + parent + kAdd + bad});
  CHECK(Run(program, "parent", 2000)[0] == 9);  // cudaErrorInvalidConfiguration
  CHECK(Run(program, "parent", 1)[0] == 1);     // 0 of the parent, then one more
  uint32_t word = 0;
  const Status status = Get(program, "calls_bad").Launch({}, &word, uint32_t{0});
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().Render(), Catch::Contains("'bad'") && Catch::Contains("trap"));
}

TEST_CASE("fills are in the order of launches", "[cdp]") {
  const std::string fill =
      "{ .param .b64 a; .param .b32 v; .param .b64 n; .param .b64 s; .param .b32 r; st.param.b64 [a], %d0; "
      "st.param.b32 [v], 2;\n"
      "st.param.b64 [n], 16; st.param.b64 [s], 0; call (r), __cudaCDP2MemsetAsync, (a, v, n, s); }\n";
  const Program program = Linked(
      {kDeclarations + kLaunch +
       Kernel2("parent", CallLaunch("add", 1, "8", 0, "5") + fill + CallLaunch("add", 1, "8", 0, "1")) +
       kAdd});
  const auto words = Run(program, "parent", 0);
  CHECK(words[0] == 0x02020203);
  CHECK(words[7] == 6);
}

}  // namespace
}  // namespace ptx2cpu::api_test
