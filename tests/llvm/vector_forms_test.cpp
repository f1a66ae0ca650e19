// The form of single operations as vectors: results alone do not show that a kernel has lost it.
#include "tests/llvm/vector_forms.h"

#include <catch2/catch.hpp>

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;
using namespace ptx2cpu::llvm_test::forms;

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
