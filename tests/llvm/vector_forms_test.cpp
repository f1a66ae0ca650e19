// The form of single operations as vectors: results alone do not show that a kernel has lost it.
#include "tests/llvm/vector_forms.h"

#include <catch2/catch.hpp>

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;
<<<<<<< HEAD
using namespace ptx2cpu::llvm_test::forms;
=======

namespace {

// A kernel (in: u64, out: u64) whose threads have %i, their number, and %v, their word of in.
std::string Kernel(const std::string& body) {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout)
{
  .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %i, %n, %v, %a<8>; .reg .f32 %f<8>; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %at, %i, 4;
  add.s64 %in, %in, %at;
  add.s64 %at, %out, %at;
  ld.global.u32 %v, [%in];
)" + body +
         R"(
  st.global.u32 [%at], %v;
  ret;
}
)";
}

// Optimised LLVM IR.
std::string CodeOf(const std::string& ptx, const std::string& target = "x86-64-v4") {
  // Gathers stay what they are.
  auto jit = lowering::Jit::Create({.entry_points = EntryPoints(),
                                    .target = *lowering::ResolveTarget(target),
                                    .omit = "gathers-by-loads"});
  REQUIRE(jit);
  auto text = (*jit)->Explain(BuildKernel(ptx, "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(text);
  return *text;
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// 100 rounds, and something in each.
std::string Rounds(const std::string& round) {
  return Kernel("  mov.u32 %n, 0;\nagain:\n" + round +
                "  add.u32 %n, %n, 1;\n  setp.lt.u32 %p0, %n, 100;\n  @%p0 bra again;\n");
}

const std::string kMix = "  shf.l.wrap.b32 %a0, %v, %v, 7;\n  xor.b32 %v, %a0, %n;\n";
std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("a loop with an atomic in a rare arm is a loop over vectors", "[forms]") {
  const std::string found =
      "  setp.ne.u32 %p1, %v, 12345;\n  @%p1 bra other;\n  atom.global.add.u32 %a1, [%out], 1;\nother:\n";
  CHECK(Has(CodeOf(Rounds(Repeated(kMix, 8) + found)), "xor <32 x i32>"));
}

TEST_CASE("a loop over the grid's words that works lane by lane prefetches later trips", "[forms]") {
  // Blocks of 64 count the low bits of words in shared memory.
  const std::string tally = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
.reqntid 64
{
  .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %d<8>;
  .shared .align 4 .b8 counts[256];
  ld.param.u64 %d0, [pin];
  ld.param.u64 %d1, [pout];
  ld.param.u32 %r0, [pn];
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, counts;
  add.s32 %r4, %r3, %r2;
  mov.u32 %r5, 0;
  st.shared.u32 [%r4], %r5;
  bar.sync 0;
  mov.u32 %r6, %ctaid.x;
  mov.u32 %r7, %ntid.x;
  mad.lo.s32 %r8, %r6, %r7, %r1;
  mov.u32 %r9, %nctaid.x;
  mul.lo.s32 %r9, %r9, %r7;
  setp.ge.u32 %p0, %r8, %r0;
  @%p0 bra JOIN;
AGAIN:
  mul.wide.u32 %d2, %r8, 4;
  add.s64 %d3, %d0, %d2;
  ld.global.u32 %r10, [%d3];
  and.b32 %r11, %r10, 63;
  shl.b32 %r12, %r11, 2;
  add.s32 %r12, %r3, %r12;
  atom.shared.add.u32 %r13, [%r12], 1;
  add.s32 %r8, %r8, %r9;
  setp.lt.u32 %p1, %r8, %r0;
  @%p1 bra AGAIN;
JOIN:
  bar.sync 0;
  ld.shared.u32 %r14, [%r4];
  mul.wide.u32 %d4, %r1, 4;
  add.s64 %d5, %d1, %d4;
  red.global.add.u32 [%d5], %r14;
  ret;
}
)";
  CHECK(Has(CodeOf(tally), "llvm.prefetch"));
  std::string sums = tally;  // words one after the other, without atomics in the loop
  sums.replace(sums.find("  atom.shared.add.u32 %r13, [%r12], 1;"), 38, "  add.u32 %r5, %r5, %r12;");
  sums.replace(sums.find("%nctaid.x"), 9, "1");
  CHECK_FALSE(Has(CodeOf(sums), "llvm.prefetch"));
}

TEST_CASE("a loop that strides by the grid prefetches later trips as far as there are any", "[forms]") {
  // The sum of every nth word, by counter or by pointer, which begins at the thread's own.
  auto sum = [](const std::string& stride, bool by_pointer) {
    return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p; .reg .b32 %i, %n, %step, %v, %sum, %a<4>; .reg .b64 %in, %out, %at, %bytes;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %a0, %ctaid.x;
  mov.u32 %a1, %ntid.x;
  mov.u32 %a2, %tid.x;
  mad.lo.u32 %i, %a0, %a1, %a2;
  mov.u32 %step, )" +
           stride + R"(;
  mul.lo.u32 %step, %step, %a1;
  mov.u32 %sum, 0;
  mul.wide.u32 %at, %i, 4;
  add.s64 %out, %out, %at;
  add.s64 %at, %in, %at;
  mul.wide.u32 %bytes, %step, 4;
  setp.ge.u32 %p, %i, %n;
  @%p bra DONE;
AGAIN:
)" +
           (by_pointer
                ? "  ld.global.u32 %v, [%at];\n  add.s64 %at, %at, %bytes;\n"
                : "  mul.wide.u32 %at, %i, 4;\n  add.s64 %at, %in, %at;\n  ld.global.u32 %v, [%at];\n") +
           R"(  add.u32 %sum, %sum, %v;
  add.u32 %i, %i, %step;
  setp.lt.u32 %p, %i, %n;
  @%p bra AGAIN;
DONE:
  st.global.u32 [%out], %sum;
  ret;
}
)";
  };
  CHECK(Has(CodeOf(sum("%nctaid.x", false)), "llvm.prefetch"));
  CHECK(Has(CodeOf(sum("%nctaid.x", true)), "llvm.prefetch"));
  CHECK_FALSE(Has(CodeOf(sum("1", false)), "llvm.prefetch"));  // by the block: in the order of memory
}

TEST_CASE("a block that reads rows of a matrix in each trip prefetches those of the next one", "[forms]") {
  // Blocks of 32 x 8 sum up words of a column of tiles, which lie `stride` words apart.
  auto tiles = [](const std::string& stride, const std::string& shape) {
    return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
.reqntid )" +
           shape +
           R"(
{
  .reg .pred %p; .reg .b32 %n, %k, %x, %y, %row, %at, %mine, %other, %v, %sum; .reg .b64 %in, %out, %d;
  .shared .align 4 .b8 tile[1024];
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %x, %tid.x;
  mov.u32 %y, %tid.y;
  shl.b32 %at, %y, 5;
  add.u32 %at, %at, %x;
  shl.b32 %at, %at, 2;
  mov.u32 %mine, tile;
  add.u32 %mine, %mine, %at;
  shl.b32 %other, %x, 2;
  add.u32 %other, %other, 128;
  mov.u32 %v, tile;
  add.u32 %other, %other, %v;
  mov.u32 %sum, 0;
  mov.u32 %k, 0;
AGAIN:
  add.u32 %row, %k, %y;
  mad.lo.u32 %row, %row, )" +
           stride + R"(, %x;
  mul.wide.u32 %d, %row, 4;
  add.u64 %d, %d, %in;
  ld.global.u32 %v, [%d];
  st.shared.u32 [%mine], %v;
  bar.sync 0;
  ld.shared.u32 %v, [%other];
  add.u32 %sum, %sum, %v;
  bar.sync 0;
  add.u32 %k, %k, 8;
  setp.lt.u32 %p, %k, %n;
  @%p bra AGAIN;
  cvt.u64.u32 %d, %at;
  add.u64 %d, %d, %out;
  st.global.u32 [%d], %sum;
  ret;
}
)";
  };
  CHECK(Has(CodeOf(tiles("%n", "32, 8")), "llvm.prefetch"));
  CHECK(Has(CodeOf(tiles("4096", "32, 8")), "llvm.prefetch"));
  CHECK_FALSE(Has(CodeOf(tiles("%n", "32")), "llvm.prefetch"));  // one row
}

TEST_CASE("a loop that mostly consists of atomics is a loop over lanes", "[forms]") {
  const std::string count =
      "  and.b32 %v, %v, 60;\n  cvt.u64.u32 %in, %v;\n  add.s64 %in, %in, %out;\n"
      "  atom.global.add.u32 %v, [%in], 1;\n";
  CHECK_FALSE(Has(CodeOf(Rounds(count)), "and <32 x i32>"));
}
>>>>>>> dd1a0b27 (Lanes at constant distances are read by addresses of their own; tests that look for gathers keep them)

TEST_CASE("a long body of a loop is a body of vectors", "[forms]") {
  CHECK(Has(CodeOf(Rounds(Repeated(kMix, 1000))), "xor <32 x i32>"));
}

TEST_CASE("a local array is vectors where the index is one in all lanes", "[forms]") {
  std::string text =
      Rounds(Repeated(kMix, 4) +
             "  and.b32 %a2, %n, 31;\n  mul.wide.u32 %in, %a2, 4;\n  mov.u64 %out, frame;\n"
             "  add.s64 %in, %in, %out;\n  st.local.u32 [%in], %v;\n  ld.local.u32 %v, [%in+64];\n");
  text.insert(text.find("{\n") + 2, "  .local .align 4 .b8 frame[192];\n");
  const std::string code = CodeOf(text);
  CHECK(Has(code, "xor <32 x i32>"));
  CHECK(Has(code, "load <32 x i32>"));
}

TEST_CASE("bytes of a local array are parts of words that lanes gather", "[forms]") {
  std::string text = Rounds(
      Repeated(kMix, 4) +
      "  and.b32 %a2, %v, 63;\n  cvt.u64.u32 %in, %a2;\n  mov.u64 %out, frame;\n  add.s64 %in, %in, %out;\n"
      "  ld.local.u8 %a1, [%in];\n  xor.b32 %v, %v, %a1;\n  st.local.u8 [%in], %v;\n"
      "  st.local.u64 [frame+8], %at;\n");
  text.insert(text.find("{\n") + 2, "  .local .align 8 .b8 frame[64];\n");
  const std::string code = CodeOf(text);
  CHECK(Has(code, "llvm.masked.gather"));
  CHECK(Has(code, "llvm.masked.scatter"));
  CHECK_FALSE(Has(code, "each_lane"));
}

TEST_CASE("narrow elements at own addresses are parts of gathered words", "[forms]") {
  for (const char* load : {"ld.global.u8 %a1, [%in];", "ld.global.s16 %a1, [%in];",
                           "ld.global.v4.u8 {%a1, %a2, %h0, %h1}, [%in];"}) {
    INFO(load);
    const std::string code = CodeOf(Rounds(Repeated(kMix, 4) +
                                           "  and.b32 %a2, %v, 252;\n  cvt.u64.u32 %in, %a2;\n"
                                           "  add.s64 %in, %in, %out;\n  " +
                                           load + "\n  xor.b32 %v, %v, %a1;\n"));
    CHECK(Has(code, "llvm.masked.gather"));
    CHECK_FALSE(Has(code, "each_lane"));
  }
}

TEST_CASE("the first lanes of each warp are a mask, not lanes one by one, without AVX-512 too", "[forms]") {
  const std::string first =
      "  and.b32 %a0, %i, 31;\n  mov.u32 %v, 0;\n  setp.gt.u32 %p0, %a0, 11;\n  @%p0 bra over;\n"
      "  mul.wide.u32 %in, %a0, 4;\n  add.s64 %in, %in, %out;\n  ld.global.u32 %v, [%in];\nover:\n"
      "  shfl.sync.bfly.b32 %v, %v, 8, 31, -1;\n";
  std::string text = Kernel(first);
  text.insert(text.find("{\n"), ".reqntid 256\n");
  const std::string code = CodeOf(text, "x86-64-v3");
  CHECK(Has(code, "llvm.masked.load"));
  CHECK_FALSE(Has(code, "part_of_step"));
}

TEST_CASE("approximate functions are straight code on vectors", "[forms]") {
  for (const char* function : {"sin.approx.f32", "cos.approx.f32", "lg2.approx.f32", "ex2.approx.f32",
                               "tanh.approx.f32", "rcp.approx.f32", "rsqrt.approx.f32", "sqrt.rn.f32"}) {
    INFO(function);
    const std::string code =
        CodeOf(Rounds("  mov.b32 %f0, %v;\n  " + std::string(function) + " %f0, %f0;\n  mov.b32 %v, %f0;\n"));
    const size_t loop = code.find("lanes_loop");
    REQUIRE(loop != std::string::npos);
    const std::string body = code.substr(loop, code.find("lanes_left", loop) - loop);
    CHECK(Has(body, "<32 x float>"));
    CHECK_FALSE(Has(body, "extractelement"));
    CHECK_FALSE(Has(body, "each_lane"));
    CHECK_FALSE(Has(body, "x double> %wide.load"));
  }
}

TEST_CASE("16-bit floats are computed in f32 on vectors", "[forms]") {
  for (const char* type : {"f16", "bf16"}) {
    for (const char* operation : {"fma.rn", "mul.rn", "add.rn"}) {
      const bool three = operation[0] == 'f';
      INFO(operation << "." << type);
      std::string text = Rounds("  cvt.u16.u32 %h0, %v;\n  " + std::string(operation) + "." + type +
                                " %h0, %h0, %h0" + (three ? ", %h0" : "") + ";\n  cvt.u32.u16 %v, %h0;\n");
      text.replace(text.find("sm_80"), 5, "sm_90");
      text.replace(text.find(".version 8.0"), 12, ".version 8.6");
      CHECK_FALSE(Has(CodeOf(text), "x double>"));
    }
  }
}

TEST_CASE("a read of linear memory by texture is a load", "[forms]") {
  const std::string fetch = "  tex.1d.v4.s32.s32 {%v, %a1, %a2, %a3}, [%out, {%i}];\n";
  const std::string code = CodeOf(Kernel(fetch));
  CHECK(Has(code, "call <32 x i32> @llvm.masked.load.v32i32"));
  CHECK(Has(code, "call <32 x i32> @llvm.masked.gather.v32i32"));
}

TEST_CASE("machines without masks of every kind access memory in whole steps", "[forms]") {
  struct Machine {
    const char *target, *step, *one_register;
  };
  for (const auto& [target, step, one_register] :
       {Machine{"x86-64-v3", "<16 x i32>", "<8 x i32>"}, {"x86-64-v2", "<8 x i32>", "<4 x i32>"}}) {
    const std::string code = CodeOf(Kernel(""), target);
    INFO(target);
    CHECK(Has(code, std::string("load ") + step));
    // A step's registers, one after the other (optimize/order_stores.h).
    const std::string store = std::string("store ") + one_register;
    const size_t first = code.find(store);
    REQUIRE(first != std::string::npos);
    CHECK(code.find(store, first + 1) != std::string::npos);
    CHECK_FALSE(Has(code, "llvm.masked"));
  }
}

TEST_CASE("a gather of some lanes is a gather where the machine has no masks for it", "[forms]") {
  const std::string body =
      "  and.b32 %n, %v, 255;\n  and.b32 %a0, %i, 3;\n  setp.eq.u32 %p1, %a0, 0;\n  @%p1 bra done;\n"
      "  mul.wide.u32 %in, %n, 4;\n  add.s64 %in, %in, %out;\n  ld.global.u32 %a1, [%in+64];\n" +
      Repeated(kMix, 20) + "  add.u32 %v, %v, %a1;\ndone:\n";
  const std::string code = CodeOf(Kernel(body), "x86-64-v3");
  CHECK(Has(code, "xor <16 x i32>"));
  CHECK_FALSE(Has(code, "each_lane"));
}

TEST_CASE("clamped and chosen indices are vectors where no lane is at the edge", "[forms]") {
  // v = in[max(0, i - 1)] + in[min(i + 1, n - 1)] + in[i > 0 ? i - 1 : i]
  const std::string code = CodeOf(Kernel(R"(
  ld.param.u64 %in, [pin];
  mov.u32 %n, %nctaid.x;
  sub.s32 %a0, %i, 1;
  max.s32 %a0, %a0, 0;
  mul.wide.s32 %at, %a0, 4;
  add.s64 %at, %at, %in;
  ld.global.u32 %a1, [%at];
  add.s32 %a0, %i, 1;
  sub.s32 %a2, %n, 1;
  min.s32 %a0, %a0, %a2;
  mul.wide.s32 %at, %a0, 4;
  add.s64 %at, %at, %in;
  ld.global.u32 %a3, [%at];
  setp.gt.s32 %p1, %i, 0;
  sub.s32 %a0, %i, 1;
  selp.b32 %a0, %a0, %i, %p1;
  mul.wide.s32 %at, %a0, 4;
  add.s64 %at, %at, %in;
  ld.global.u32 %a4, [%at];
  add.u32 %v, %a1, %a3;
  add.u32 %v, %v, %a4;
  mul.wide.u32 %at, %i, 4;
  add.s64 %at, %at, %out;
)"));
  size_t loads = 0, likely = 0;
  for (size_t at = code.find("@llvm.masked.load"); at != std::string::npos;
       at = code.find("@llvm.masked.load", at + 1))
    ++loads;
  for (size_t at = code.find("br i1 "); at != std::string::npos; at = code.find("br i1 ", at + 1))
    likely += code.substr(at, code.find('\n', at) - at).find("!prof") != std::string::npos;
  CHECK(loads >= 4);
  CHECK(likely >= 3);
  CHECK_FALSE(Has(code, "icmp ne <32 x i64>"));  // no comparison of all addresses
}

TEST_CASE("directed rounding is one operation where instructions name their rounding", "[forms]") {
  for (const char* operation :
       {"add.rm.f32 %f1, %f0, %f0", "mul.rz.f32 %f1, %f0, %f0", "fma.rp.f32 %f1, %f0, %f0, %f0",
        "div.rm.f32 %f1, %f0, %f0", "sqrt.rz.f32 %f1, %f0"}) {
    const std::string body = std::string("  mov.b32 %f0, %v;\n  ") + operation + ";\n  mov.b32 %v, %f1;\n";
    INFO(operation);
    CHECK(Has(CodeOf(Kernel(body)), "@llvm.x86.avx512."));
    CHECK_FALSE(Has(CodeOf(Kernel(body)), "double"));
    CHECK(Has(CodeOf(Kernel(body), "x86-64-v3"), "double"));
  }
}

TEST_CASE("exponentials split their argument in f32", "[forms]") {
  const std::string code =
      CodeOf(Kernel("  mov.b32 %f0, %v;\n  fma.rn.sat.f32 %f0, %f0, 0f3BBB989D, 0f3F000000;\n"
                    "  fma.rm.f32 %f0, %f0, 0f437C0000, 0f4B400001;\n  mov.b32 %v, %f0;\n"),
             "x86-64-v3");
  CHECK_FALSE(Has(code, "llvm.smin"));  // saturation: two comparisons of floats
  CHECK_FALSE(Has(code, "double"));
}

TEST_CASE("a store under a mask needs no vector of addresses", "[forms]") {
  const std::string code = CodeOf(Kernel("  setp.gt.u32 %p1, %v, 99;\n  @%p1 ret;\n  add.u32 %v, %v, 1;\n"));
  CHECK(Has(code, "llvm.masked.store"));
  CHECK_FALSE(Has(code, "<32 x i64>"));
}

TEST_CASE("the greater of two floats is one comparison and corrections", "[forms]") {
  for (const char* operation : {"max.f32", "min.f32"}) {
    const std::string kernel = Kernel("  mov.b32 %f0, %v;\n  mov.b32 %f1, %i;\n  " + std::string(operation) +
                                      " %f0, %f0, %f1;\n  mov.b32 %v, %f0;\n");
    const std::string code = CodeOf(kernel, "x86-64-v3");
    CHECK(Count(code, "fcmp") == 8);  // the greater, equal, and two for NaN; on vectors and for one thread
    CHECK_FALSE(Has(code, "imum"));
    // One instruction where the processor has it, and a test of its result for NaN.
    const std::string range = CodeOf(kernel, "x86-64-v4");
    CHECK(Has(range, "@llvm.x86.avx512.mask.range.ps"));
    CHECK(Count(range, "fcmp") == 5);
  }
}
