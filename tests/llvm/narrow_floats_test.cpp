// Conversions to and from small floats as vectors: what the interpreter computes, on both sides of each code
// and of each tie.
#include <catch2/catch.hpp>
#include <random>

#include "ir/float_format.h"
#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;
using ir::NarrowFormat;

namespace {

constexpr const char* kConversions[] = {
    "cvt.rn.tf32.f32 %r, %a;",
    "cvt.rz.tf32.f32 %r, %a;",
    "cvt.rna.tf32.f32 %r, %a;",
    "cvt.rna.satfinite.tf32.f32 %r, %a;",
    "cvt.rn.satfinite.relu.tf32.f32 %r, %a;",
    "cvt.rz.relu.tf32.f32 %r, %a;",
    "cvt.rn.satfinite.e4m3x2.f32 %h, %a, %b; cvt.u32.u16 %r, %h;",
    "cvt.rn.satfinite.relu.e5m2x2.f32 %h, %a, %b; cvt.u32.u16 %r, %h;",
    "cvt.rn.satfinite.e5m2x2.f32 %h, %a, %b; cvt.u32.u16 %r, %h;",
    "cvt.rn.satfinite.e2m3x2.f32 %h, %a, %b; cvt.u32.u16 %r, %h;",
    "cvt.rn.satfinite.e3m2x2.f32 %h, %a, %b; cvt.u32.u16 %r, %h;",
    "cvt.rn.satfinite.e2m1x2.f32 %c, %a, %b; cvt.u32.u8 %r, %c;",
    "cvt.rz.satfinite.ue8m0x2.f32 %h, %a, %b; cvt.u32.u16 %r, %h;",
    "cvt.rp.ue8m0x2.f32 %h, %a, %b; cvt.u32.u16 %r, %h;",
    "cvt.rs.satfinite.e4m3x4.f32 %r, {%a, %b, %b, %a}, %i;",
    "cvt.rs.relu.satfinite.e5m2x4.f32 %r, {%a, %b, %b, %a}, %i;",
    "cvt.rs.satfinite.e3m2x4.f32 %r, {%a, %b, %b, %a}, %i;",
    "cvt.rs.satfinite.e2m1x4.f32 %h, {%a, %b, %b, %a}, %i; cvt.u32.u16 %r, %h;",
    "cvt.rn.f16x2.e4m3x2 %r, %low;",
    "cvt.rn.f16x2.e5m2x2 %r, %low;",
    "cvt.rn.relu.f16x2.e2m3x2 %r, %low;",
    "cvt.rn.f16x2.e3m2x2 %r, %low;",
    "mov.b16 {%c, %c1}, %low; cvt.rn.f16x2.e2m1x2 %r, %c;",
    "cvt.rn.bf16x2.ue8m0x2 %r, %low;",
    // The bits of NaN are not defined.
    "cvt.rn.f16.f32 %h, %a; cvt.u32.u16 %r, %h; testp.notanumber.f32 %p, %a; @%p mov.u32 %r, 0;",
    "cvt.rz.f16.f32 %h, %a; cvt.u32.u16 %r, %h; testp.notanumber.f32 %p, %a; @%p mov.u32 %r, 0;",
    "cvt.f32.f16 %a, %low; mov.b32 %r, %a; testp.notanumber.f32 %p, %a; @%p mov.u32 %r, 0;",
};
constexpr size_t kForms = std::size(kConversions);

// Thread i converts a = words[i], b = words[i + 1] (also as bits), low = half of a; its results are kForms
// words apart.
std::string Kernel() {
  std::string text = R"(.version 8.8
.target sm_103a
.address_size 64
.visible .entry k(.param .u64 pin, .param .u64 pout) {
  .reg .pred %p; .reg .b64 %in, %out; .reg .b32 %x, %y, %i, %r; .reg .f32 %a, %b; .reg .b16 %h, %low; .reg .b8 %c, %c1;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %x, %ctaid.x;
  mov.u32 %y, %ntid.x;
  mov.u32 %i, %tid.x;
  mad.lo.u32 %i, %x, %y, %i;
  mad.wide.u32 %in, %i, 4, %in;
  mad.wide.u32 %out, %i, )" +
                     std::to_string(4 * kForms) + R"(, %out;
)";
  for (size_t form = 0; form < kForms; ++form) {
    text +=
        "  ld.global.b32 %x, [%in];\n  ld.global.b32 %i, [%in+4];\n  mov.b32 %a, %x;\n  mov.b32 %b, %i;\n"
        "  cvt.u16.u32 %low, %x;\n  ";
    text +=
        std::string(kConversions[form]) + "\n  st.global.u32 [%out+" + std::to_string(4 * form) + "], %r;\n";
  }
  return text + "  ret;\n}\n";
}

// Each finite code of the format, what lies between two, and their neighbours, with both signs.
void AddNeighbours(const ir::FloatFormat& format, std::vector<uint32_t>& words) {
  for (uint64_t code = 0; code <= format.largest; ++code) {
    const double fraction = static_cast<double>(code & ((1u << format.fraction_bits) - 1));
    const int field = static_cast<int>(code >> format.fraction_bits);
    const double significand = field == 0 ? fraction : fraction + (1 << format.fraction_bits);
    const int exponent = std::max(field, 1) - format.bias - format.fraction_bits;
    for (double between : {0.0, 0.25, 0.5}) {
      const auto value = static_cast<float>(std::ldexp(significand + between, exponent));
      for (uint32_t step : {~0u, 0u, 1u}) {
        const uint32_t bits = std::bit_cast<uint32_t>(value) + step;
        words.insert(words.end(), {bits, bits ^ 0x80000000});
      }
    }
  }
}

std::vector<uint32_t> Inputs() {
  std::vector<uint32_t> words = {0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7F800001, 0x7F7FFFFF,
                                 0x00000001, 0x80000001, 0x00400000, 0x00400001, 0x003FFFFF, 0x7F7FE000};
  for (auto format : {NarrowFormat::kE4M3, NarrowFormat::kE5M2, NarrowFormat::kE2M3, NarrowFormat::kE3M2,
                      NarrowFormat::kE2M1})
    AddNeighbours(ir::FormatOf(format), words);
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) words.push_back(random());
  for (int i = 0; i < 2000; ++i) words.push_back((random() & 0x807FFFFF) | (90 + random() % 70) << 23);
  words.push_back(0);
  return words;
}

std::vector<uint32_t> Results(const std::vector<uint32_t>& words,
                              const std::function<Status(harness::KernelCall&)>& run) {
  const auto threads = static_cast<uint32_t>(words.size() - 1);
  harness::KernelCall call{{threads / 64, 1, 1}, {64, 1, 1}, 0, {}, {}, {}};
  for (size_t size : {words.size(), threads / 64 * 64 * kForms}) {
    auto parsed = rt::ParseSpec("inout:u32:[0]");
    REQUIRE(parsed);
    parsed->data.resize(4 * size);
    call.arguments.push_back(std::move(*parsed));
  }
  std::memcpy(call.arguments[0].data.data(), words.data(), 4 * words.size());
  const Status status = run(call);
  if (!status) FAIL(status.error().Render());
  std::vector<uint32_t> results(threads / 64 * 64 * kForms);
  std::memcpy(results.data(), call.arguments[1].data.data(), 4 * results.size());
  return results;
}

}  // namespace

TEST_CASE("small floats are coded as the interpreter codes them, by vectors of any machine",
          "[narrow_floats][long]") {
  const std::vector<uint32_t> words = Inputs();
  const BuiltKernel module = BuildKernel(Kernel(), "k");
  const std::vector<uint32_t> expected =
      Results(words, [&](harness::KernelCall& call) { return harness::RunInterpreter(module, call); });
  for (const char* target : {"native", "x86-64-v3", "x86-64-v2"}) {
    for (unsigned width : {1u, 16u}) {
      auto kernel =
          JitKernel::Create(module, {.target = *lowering::ResolveTarget(target), .lane_width = width});
      if (!kernel) FAIL(kernel.error().Render());
      const std::vector<uint32_t> found =
          Results(words, [&](harness::KernelCall& call) { return (*kernel)->Run(call); });
      for (size_t n = 0; n < expected.size(); ++n) {
        if (found[n] == expected[n]) continue;
        FAIL(target << ", width " << width << ": " << kConversions[n % kForms] << " of " << std::hex
                    << words[n / kForms] << ", " << words[n / kForms + 1] << ": " << found[n] << ", not "
                    << expected[n]);
      }
    }
  }
}

TEST_CASE("small floats are coded without a loop over lanes", "[narrow_floats]") {
  auto jit =
      lowering::Jit::Create({.entry_points = EntryPoints(), .target = *lowering::ResolveTarget("x86-64-v3")});
  REQUIRE(jit);
  const auto code = (*jit)->Explain(BuildKernel(Kernel(), "k"), "k", lowering::Jit::Stage::kLlvm);
  REQUIRE(code);
  CHECK(code->find("extractelement <8 x i32>") == std::string::npos);
  CHECK(code->find("extractelement <16 x i32>") == std::string::npos);
}
