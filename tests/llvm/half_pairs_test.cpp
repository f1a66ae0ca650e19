// f16x2 and bf16x2 as vectors of twice as many lanes: what the interpreter computes, and without words that
// are taken apart.
#include <catch2/catch.hpp>
#include <random>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

// %r is computed from the words %x, %y, %z. The bits of NaN are not compared; f: f16, b: bf16, w: a word of
// bits.
struct Form {
  char type;
  const char* code;
};
constexpr Form kForms[] = {
    {'f', "fma.rn.f16x2 %r, %x, %y, %z;"},
    {'f', "fma.rn.ftz.f16x2 %r, %x, %y, %z;"},
    {'f', "fma.rn.sat.f16x2 %r, %x, %y, %z;"},
    {'f', "fma.rn.ftz.relu.f16x2 %r, %x, %y, %z;"},
    {'f', "add.f16x2 %r, %x, %y;"},
    {'f', "sub.ftz.sat.f16x2 %r, %x, %y;"},
    {'f', "mul.f16x2 %r, %x, %y;"},
    {'f', "mul.ftz.f16x2 %r, %x, %x;"},
    {'f', "max.f16x2 %r, %x, %y;"},
    {'f', "min.NaN.f16x2 %r, %x, %y;"},
    {'f', "max.ftz.xorsign.abs.f16x2 %r, %x, %y;"},
    {'f', "neg.f16x2 %r, %x;"},
    {'f', "abs.f16x2 %r, %x; fma.rn.f16x2 %r, %r, %y, %x;"},
    {'b', "fma.rn.bf16x2 %r, %x, %y, %z;"},
    {'b', "add.bf16x2 %r, %x, %y; max.bf16x2 %r, %r, %z;"},
    {'b', "neg.bf16x2 %r, %x; mul.bf16x2 %r, %r, %y;"},
    {'w', "set.gt.f16x2.f16x2 %r, %x, %y;"},
    {'w', "set.leu.u32.f16x2 %r, %x, %y;"},
    {'f', "set.ge.ftz.f16x2.f16x2 %r, %x, %y; fma.rn.f16x2 %r, %r, %x, %z;"},
    {'w', "setp.lt.f16x2 %p|%q, %x, %y; selp.b32 %r, %x, %y, %p; selp.b32 %r, %r, %z, %q;"},
    {'w', "setp.gt.f16x2 %p|%q, %x, %y; and.pred %p, %p, %q; selp.b32 %r, %x, %y, %p;"},
    // To f32 and back, with arithmetic in between that is the same for both, or is not.
    {'f',
     "mov.b32 {%l, %h}, %x; cvt.f32.f16 %a, %l; cvt.f32.f16 %b, %h; mul.f32 %a, %a, 0f3E800000; "
     "mul.f32 %b, %b, 0f3E800000; cvt.rn.f16x2.f32 %r, %b, %a;"},
    {'f',
     "mov.b32 {%l, %h}, %x; cvt.f32.f16 %a, %l; cvt.f32.f16 %b, %h; add.f32 %a, %a, 0f3F800000; "
     "mul.f32 %b, %b, %a; cvt.rn.f16x2.f32 %r, %b, %a;"},
    {'f', "mov.b32 %a, %x; mov.b32 %b, %y; cvt.rn.f16x2.f32 %r, %a, %b;"},
    {'f', "mov.b32 %a, %x; mov.b32 %b, %y; cvt.rn.relu.f16x2.f32 %r, %a, %b;"},
    {'b', "mov.b32 %a, %x; mov.b32 %b, %y; cvt.rn.bf16x2.f32 %r, %a, %b;"},
    // Roundings to integers, and factors that are 0 or 1.
    {'f', "mov.b32 {%l, %h}, %x; cvt.rzi.f16.f16 %l, %l; cvt.rni.f16.f16 %h, %h; mov.b32 %r, {%l, %h};"},
    {'f', "mov.b32 {%l, %h}, %x; cvt.rni.f16.f16 %l, %l; cvt.rni.f16.f16 %h, %h; mov.b32 %r, {%l, %h};"},
    {'w', "mov.b32 {%l, %h}, %x; cvt.rni.s32.f16 %r, %l; cvt.rzi.u32.f16 %i, %h; add.u32 %r, %r, %i;"},
    {'w', "mov.b32 {%l, %h}, %x; cvt.rzi.s16.f16 %l, %l; cvt.rmi.u16.f16 %h, %h; mov.b32 %r, {%l, %h};"},
    {'f', "set.eq.f16x2.f16x2 %r, %x, %y; mov.b32 %i, 0x94000001; fma.rn.f16x2 %r, %r, %i, %z;"},
    {'f',
     "mov.b32 {%l, %h}, %x; mov.b32 {%k, %g}, %y; set.lt.f16.f16 %k, %l, %k; fma.rn.f16 %l, %k, %h, %l; "
     "set.gt.f16.f16 %g, %l, %g; fma.rn.ftz.f16 %h, %l, %g, %h; mov.b32 %r, {%l, %h};"},
    {'b', "set.lt.bf16x2.bf16x2 %r, %x, %y; fma.rn.bf16x2 %r, %r, %z, %y;"},
    // Halves that change places, are one for both, are read alone, or come from different words.
    {'f', "add.f16x2 %r, %x, %y; mov.b32 {%l, %h}, %r; mov.b32 %r, {%h, %l}; add.f16x2 %r, %r, %z;"},
    {'f', "mov.b32 {%l, %h}, %x; mov.b32 %x, {%h, %h}; fma.rn.f16x2 %r, %x, %y, %z;"},
    {'f', "mul.f16x2 %r, %x, %y; mov.b32 {%l, %h}, %r; add.f16 %l, %l, %h; mov.b32 %r, {%l, %h};"},
    {'f',
     "mov.b32 {%l, %h}, %x; mov.b32 {%k, %g}, %y; add.f16 %l, %l, %k; add.f16 %h, %h, %l; mov.b32 %r, {%l, "
     "%h};"},
    {'f',
     "mov.b32 {%l, %h}, %x; mov.b32 {%k, %g}, %y; add.f16 %h, %h, %g; add.f16 %l, %l, %k; mov.b32 %r, {%l, "
     "%h};"},
    {'f',
     "mov.b32 {%l, %h}, %x; mov.b32 {%k, %g}, %y; mul.f16 %l, %l, %l; mul.f16 %h, %h, %g; mov.b32 %r, {%l, "
     "%h};"},
    {'f',
     "mov.b32 %r, 0x3C003800; fma.rn.f16x2 %r, %r, %x, %y; mov.b32 %y, 0x34003A00; fma.rn.f16x2 %r, %r, %x, "
     "%y;"},
    {'f', "mov.b32 %r, 0x3C003800; ex2.approx.f16x2 %r, %r; fma.rn.f16x2 %r, %r, %x, %y;"},
    // The high half is one for all threads of the block, and is read so too.
    {'w',
     "mov.u32 %i, %ctaid.x; cvt.rn.f32.u32 %b, %i; and.b32 %x, %x, 0xFF; cvt.rn.f32.u32 %a, %x; "
     "cvt.rn.f16.f32 %l, %a; cvt.rn.f16.f32 %h, %b; mov.b32 %r, {%l, %h}; add.f16 %g, %h, %h; "
     "cvt.rzi.u32.f16 %i, %g; add.u32 %r, %r, %i; setp.gt.f16 %p, %h, %g; "
     "@%p add.u32 %r, %r, 5;"},
};
constexpr size_t kCount = std::size(kForms);

// Thread i: x, y, z = words[i ..]; its results are kCount words.
std::string KernelOf(std::span<const Form> forms) {
  std::string text = R"(.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 pin, .param .u64 pout) {
  .reg .pred %p, %q; .reg .b64 %in, %out; .reg .b32 %x, %y, %z, %i, %r; .reg .f32 %a, %b; .reg .b16 %l, %h, %k, %g;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %x, %ctaid.x;
  mov.u32 %y, %ntid.x;
  mov.u32 %i, %tid.x;
  mad.lo.u32 %i, %x, %y, %i;
  mad.wide.u32 %in, %i, 4, %in;
  mad.wide.u32 %out, %i, )" +
                     std::to_string(4 * forms.size()) + ", %out;\n";
  for (size_t n = 0; n < forms.size(); ++n) {
    text += "  ld.global.b32 %x, [%in];\n  ld.global.b32 %y, [%in+4];\n  ld.global.b32 %z, [%in+8];\n  ";
    text += std::string(forms[n].code) + "\n  st.global.b32 [%out+" + std::to_string(4 * n) + "], %r;\n";
  }
  return text + "  ret;\n}\n";
}

// Any bits, and numbers of f16 near each other.
std::vector<uint32_t> Words() {
  std::mt19937 random(7);
  std::vector<uint32_t> words = {0, 0x80008000, 0x7C00FC00, 0x7E00FE01, 0x00010400, 0x3C003C01, 0xBC003C00};
  while (words.size() < 2048) words.push_back(random());
  const auto near = [&] { return (random() & 0x83FF) | (13 + random() % 5) << 10; };
  while (words.size() < 4098) words.push_back(near() | near() << 16);
  return words;
}

std::vector<uint32_t> Results(const std::vector<uint32_t>& words,
                              const std::function<Status(harness::KernelCall&)>& run) {
  const auto threads = static_cast<uint32_t>(words.size() - 2);
  harness::KernelCall call{{threads / 64, 1, 1}, {64, 1, 1}, 0, {}, {}, {}};
  for (size_t size : {words.size(), threads * kCount}) {
    auto parsed = rt::ParseSpec("inout:u32:[0]");
    REQUIRE(parsed);
    parsed->data.resize(4 * size);
    call.arguments.push_back(std::move(*parsed));
  }
  std::memcpy(call.arguments[0].data.data(), words.data(), 4 * words.size());
  const Status status = run(call);
  if (!status) FAIL(status.error().Render());
  std::vector<uint32_t> results(threads * kCount);
  std::memcpy(results.data(), call.arguments[1].data.data(), 4 * results.size());
  return results;
}

bool AreEqual(char type, uint32_t a, uint32_t b) {
  if (type == 'w' || a == b) return a == b;
  const uint32_t infinity = type == 'f' ? 0x7C00 : 0x7F80;
  for (int shift : {0, 16}) {
    const uint32_t x = a >> shift & 0xFFFF, y = b >> shift & 0xFFFF;
    if (x != y && ((x & 0x7FFF) <= infinity || (y & 0x7FFF) <= infinity)) return false;
  }
  return true;
}

std::string Optimized(const Form& form, uint32_t width) {
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v4"), .lane_width = width});
  REQUIRE(jit);
  const auto code =
      (*jit)->Explain(BuildKernel(KernelOf({&form, 1}), "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(code);
  return *code;
}

}  // namespace

TEST_CASE("pairs of halves are computed as the interpreter computes them", "[half_pairs][long]") {
  const std::vector<uint32_t> words = Words();
  const BuiltKernel module = BuildKernel(KernelOf(kForms), "k");
  const std::vector<uint32_t> expected =
      Results(words, [&](harness::KernelCall& call) { return harness::RunInterpreter(module, call); });
  for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
    for (const uint32_t width : {1u, 8u, 16u, 32u}) {
      auto kernel =
          JitKernel::Create(module, {.target = *lowering::ResolveTarget(target), .lane_width = width});
      if (!kernel) FAIL(kernel.error().Render());
      const std::vector<uint32_t> found =
          Results(words, [&](harness::KernelCall& call) { return (*kernel)->Run(call); });
      for (size_t n = 0; n < expected.size(); ++n) {
        if (AreEqual(kForms[n % kCount].type, found[n], expected[n])) continue;
        FAIL(target << ", width " << width << ": " << kForms[n % kCount].code << " of " << std::hex
                    << words[n / kCount] << ", " << words[n / kCount + 1] << ", " << words[n / kCount + 2]
                    << ": " << found[n] << ", not " << expected[n]);
      }
    }
  }
}

TEST_CASE("words of two halves that are computed alike are not taken apart", "[half_pairs]") {
  const Form chain = {'f', "fma.rn.f16x2 %r, %x, %y, %z; mul.f16x2 %r, %r, %x; max.f16x2 %r, %r, %z;"};
  const Form through_f32 = {
      'f',
      "mov.b32 {%l, %h}, %x; cvt.f32.f16 %a, %l; cvt.f32.f16 %b, %h; mul.f32 %a, %a, 0f3E800000; "
      "mul.f32 %b, %b, 0f3E800000; cvt.rn.f16x2.f32 %r, %b, %a;"};
  const Form chosen = {'f', "set.gt.f16x2.f16x2 %r, %x, %y; fma.rn.f16x2 %r, %r, %x, %z;"};
  for (const Form& form : {chain, through_f32, chosen}) {
    INFO(form.code);
    const std::string code = Optimized(form, 16);
    CHECK(code.find("<16 x i16>") == std::string::npos);
    CHECK(code.find("to <32 x half>") != std::string::npos);
  }
}

TEST_CASE("of 16-bit floats, roundings to integers are those of vectors of f32", "[half_pairs]") {
  const Form forms[] = {
      {'f', "mov.b32 {%l, %h}, %x; cvt.rni.f16.f16 %l, %l; cvt.rni.f16.f16 %h, %h; mov.b32 %r, {%l, %h};"},
      {'w', "mov.b32 {%l, %h}, %x; cvt.rzi.s32.f16 %r, %l;"}};
  for (const Form& form : forms) {
    INFO(form.code);
    const std::string code = Optimized(form, 16);
    CHECK(code.find("llvm.roundeven.v16f16") == std::string::npos);
    CHECK(code.find("fptosi <16 x half>") == std::string::npos);
  }
}

TEST_CASE("a multiply-add of halves with a factor of 0 or 1 is rounded once more only", "[half_pairs]") {
  const std::string code =
      Optimized({'f', "set.eq.f16x2.f16x2 %r, %x, %y; fma.rn.f16x2 %r, %r, %x, %z;"}, 16);
  CHECK(code.find("llvm.x86.avx512.vfmadd.ps.512") == std::string::npos);
  CHECK(code.find("llvm.fma.v") != std::string::npos);
}

TEST_CASE("comparisons of 16-bit floats are those of vectors of f32", "[half_pairs]") {
  const Form one = {'w', "setp.lt.f16x2 %p|%q, %x, %y; selp.b32 %r, %x, %y, %p; selp.b32 %r, %r, %z, %q;"};
  const Form alone = {
      'w', "mov.b32 {%l, %h}, %x; mov.b32 {%k, %g}, %y; setp.lt.f16 %p, %l, %k; selp.b32 %r, %x, %y, %p;"};
  for (const Form& form : {one, alone}) {
    INFO(form.code);
    const std::string code = Optimized(form, 16);
    CHECK(code.find("fcmp olt <16 x float>") != std::string::npos);
    CHECK(code.find("fcmp olt <16 x half>") == std::string::npos);
    CHECK(code.find("fcmp olt <32 x half>") == std::string::npos);
  }
}
