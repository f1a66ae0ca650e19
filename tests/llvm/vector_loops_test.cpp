// The form of loops over threads as vectors: results alone do not show that a kernel has lost it.
#include <catch2/catch.hpp>

#include "tests/llvm/vector_forms.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;
using namespace ptx2cpu::llvm_test::forms;

namespace {

// The number of rounds is the thread's word, the same in all threads; `body` has one population count.
std::string RoundsAtRunTime(const std::string& body) {
  return Kernel("  ld.global.nc.u32 %a7, [%out];\n  mov.u32 %n, 0;\nagain:\n" + body +
                "  popc.b32 %a1, %v;\n  add.u32 %v, %a1, %n;\n"
                "  add.u32 %n, %n, 1;\n  setp.lt.u32 %p0, %n, %a7;\n  @%p0 bra again;\n");
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

TEST_CASE("lanes that part at a bound run one by one, whole steps do not pay for them", "[forms]") {
  const std::string code =
      CodeOf(Kernel("  mov.u32 %n, %ctaid.x;\n  add.u32 %n, %n, %i;\n  mov.u32 %a0, %nctaid.x;\n"
                    "  setp.ge.u32 %p0, %n, %a0;\n  @%p0 ret;\n  add.u32 %v, %v, 1;\n"),
             "x86-64-v3");
  CHECK(Has(code, "load <16 x i32>"));
  CHECK(Has(code, "store <8 x i32>"));
  CHECK_FALSE(Has(code, "llvm.masked"));
}

TEST_CASE("trips that all lanes take have no masks where the machine lacks some", "[forms]") {
  // A row of a sparse matrix: from and to loaded numbers, which differ from warp to warp.
  const std::string row =
      "  shr.u32 %n, %i, 5;\n  mul.wide.u32 %in, %n, 4;\n  add.s64 %out, %out, %in;\n"
      "  ld.global.u32 %n, [%out];\n  ld.global.u32 %a1, [%out+4];\n  add.u32 %n, %n, %i;\n"
      "  setp.ge.u32 %p0, %n, %a1;\n  @%p0 bra done;\nagain:\n"
      "  mul.wide.u32 %in, %n, 4;\n  add.s64 %in, %in, %out;\n  ld.global.u32 %a0, [%in+64];\n"
      "  mad.lo.u32 %v, %v, %a0, %a0;\n  add.u32 %n, %n, 32;\n  setp.lt.u32 %p0, %n, %a1;\n  @%p0 bra "
      "again;\ndone:\n";
  const std::string code = CodeOf(Kernel(row), "x86-64-v3");
  const size_t loop = code.find("trips_ended");
  REQUIRE(loop != std::string::npos);
  CHECK(Has(code.substr(loop), "load <16 x i32>"));
  CHECK(Has(code, "llvm.masked.load"));  // the rest of the trips
}

TEST_CASE("threads of a flat kernel that end before a barrier leave the others vectors", "[forms]") {
  const std::string body =
      "  mov.u32 %a1, %nctaid.x;\n  setp.ge.u32 %p1, %i, %a1;\n  @%p1 ret;\n  bar.sync 0;\n"
      "  mov.u32 %n, 0;\nagain:\n" +
      Repeated(kMix, 4) + "  add.u32 %n, %n, 1;\n  setp.lt.u32 %p0, %n, 100;\n  @%p0 bra again;\n";
  CHECK(Has(CodeOf(Kernel(body)), "xor <32 x i32>"));
}

TEST_CASE("the unroller repeats short loops with trips of run time, and no long ones") {
  const std::string count = "i32 @llvm.ctpop.i32(i32 %";  // not its declaration
  const size_t once = Count(CodeOf(RoundsAtRunTime(Repeated(kMix, 20))), count);
  CHECK(once > 0);
  CHECK(Count(CodeOf(RoundsAtRunTime("")), count) >= 2 * once);
}

TEST_CASE("a loop that lanes enter where words are equal is a loop over lanes", "[forms]") {
  // if (v == n) for (k = a; k < b; ++k) if (out[in[k]] == ~0) out[in[k]] = n;
  auto search = [](const std::string& condition) {
    return Kernel("  mov.u32 %n, %nctaid.x;\n  setp." + condition + ".u32 %p1, %v, %n;\n  @%p1 bra done;\n" +
                  R"(  ld.global.u32 %a0, [%in+4];
  ld.global.u32 %a1, [%in+8];
  setp.ge.u32 %p2, %a0, %a1;
  @%p2 bra done;
again:
  mul.wide.u32 %at, %a0, 4;
  add.s64 %at, %at, %in;
  ld.global.u32 %a2, [%at];
  mul.wide.u32 %at, %a2, 4;
  add.s64 %at, %at, %out;
  ld.global.u32 %a3, [%at];
  setp.ne.u32 %p3, %a3, 4294967295;
  @%p3 bra next;
  st.global.u32 [%at], %n;
next:
  add.u32 %a0, %a0, 1;
  setp.lt.u32 %p2, %a0, %a1;
  @%p2 bra again;
done:
  mul.wide.u32 %at, %i, 4;
  add.s64 %at, %at, %out;
)");
  };
  for (const char* target : {"x86-64-v4", "x86-64-v3"}) {
    INFO(target);
    CHECK_FALSE(Has(CodeOf(search("ne"), target), "lanes_loop"));
  }
  CHECK(Has(CodeOf(search("gt")), "lanes_loop"));
}

TEST_CASE("a loop of the whole block that loads and sums is one over vectors of many threads", "[forms]") {
  std::string sum =
      "  mov.u32 %n, %i;\n  mov.u32 %a0, 0;\n  ld.param.u64 %in, [pin];\nagain:\n"
      "  mul.wide.u32 %out, %n, 4;\n  add.s64 %out, %in, %out;\n  ld.global.u32 %a1, [%out];\n"
      "  add.u32 %a0, %a0, %a1;\n  add.u32 %n, %n, 256;\n  setp.lt.u32 %p0, %n, %a2;\n"
      "  @%p0 bra again;\n  mov.u32 %v, %a0;\n";
  std::string text = Kernel("  mov.u32 %a2, %nctaid.x;\n" + sum);
  text.insert(text.find("{\n"), ".reqntid 256\n");
  const std::string vector = "<256 x i32>";  // on AVX2 more than the registers hold
  for (const auto& [target, part] :
       {std::pair("x86-64-v4", "load <16 x i32>"), {"x86-64-v3", "load <8 x i32>"}}) {
    INFO(target);
    const std::string code = CodeOf(text, target);
    const size_t loop = code.find("whole_trips");
    REQUIRE(loop != std::string::npos);
    CHECK(Has(code, part));  // registers of it in the order of memory
    CHECK(Has(code, "add " + vector));
  }
}

TEST_CASE("rows of threads that mostly access what lies side by side are vectors of four registers",
          "[forms]") {
  auto of_row = [](const std::string& threads, const std::string& body, const char* target = "x86-64-v4") {
    std::string text = Kernel(body);
    text.insert(text.find("{\n"), ".reqntid " + threads + "\n");
    return CodeOf(text, target);
  };
  const std::string scaled = "  mul.lo.u32 %v, %v, 12345;\n";
  CHECK(Has(of_row("128", scaled), "mul <64 x i32>"));
  CHECK_FALSE(Has(of_row("96", scaled), "mul <64 x i32>"));
  CHECK(Has(of_row("128", scaled, "x86-64-v3"), "mul <32 x i32>"));
  CHECK_FALSE(Has(of_row("48", scaled, "x86-64-v3"), "mul <32 x i32>"));
  const std::string far_apart =
      "  mul.wide.u32 %in, %v, 4;\n  add.s64 %in, %in, %out;\n  ld.global.u32 %v, [%in];\n";
  CHECK_FALSE(Has(of_row("128", far_apart + scaled), "mul <64 x i32>"));
  CHECK_FALSE(Has(of_row("128", Repeated(kMix, 60)), "xor <64 x i32>"));
}
