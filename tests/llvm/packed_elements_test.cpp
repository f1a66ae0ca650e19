// Several narrow elements of each lane that are one word, or half of one.
#include <catch2/catch.hpp>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 96;

struct Elements {
  int bytes;  // of one
  int count;
};

// Thread i < n: its elements of `in`, in reverse, plus 1, to those of `out`; their sum as f32 to sum[i].
std::string KernelOf(const Elements& elements) {
  const std::string type = elements.bytes == 1 ? "u8" : "u16",
                    form = ".global.v" + std::to_string(elements.count) + "." + type;
  std::string to, from, body;
  for (int k = 0; k < elements.count; ++k) {
    const std::string number = std::to_string(k), last = std::to_string(elements.count - 1 - k);
    to += (k == 0 ? "%h" : ", %h") + number;
    from += (k == 0 ? "%h" : ", %h") + last;
    body += "  cvt.rn.f32.u16 %g, %h" + number + ";\n  add.f32 %f, %f, %g;\n";
    body += "  add.u16 %h" + number + ", %h" + number + ", 1;\n";
  }
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 psum, .param .u32 pn)
{
  .reg .pred %p; .reg .b16 %h<4>; .reg .b32 %i, %n; .reg .f32 %f, %g; .reg .b64 %in, %out, %sum;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u64 %sum, [psum];
  ld.param.u32 %n, [pn];
  mov.u32 %i, %tid.x;
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
  mad.wide.u32 %in, %i, )" +
         std::to_string(elements.bytes * elements.count) + ", %in;\n  mad.wide.u32 %out, %i, " +
         std::to_string(elements.bytes * elements.count) +
         ", %out;\n  mad.wide.u32 %sum, %i, 4, %sum;\n  mov.f32 %f, 0f00000000;\n  ld" + form + " {" + to +
         "}, [%in];\n" + body + "  st" + form + " [%out], {" + from +
         "};\n  st.global.f32 [%sum], %f;\ndone:\n  ret;\n}\n";
}

void CheckRun(const ptx2cpu_kernel& kernel, const Elements& elements, uint32_t n) {
  const auto bytes = static_cast<size_t>(elements.bytes), count = static_cast<size_t>(elements.count);
  std::vector<uint8_t> in(kThreads * bytes * count), out(in.size(), 7);
  std::vector<float> sum(kThreads), expected_sum(kThreads);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(i * i * 3 % 256);
  std::vector<uint8_t> expected = out;
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < count; ++k) {
      uint16_t element = 0;
      std::memcpy(&element, &in[(i * count + k) * bytes], bytes);
      expected_sum[i] += static_cast<float>(element);
      ++element;
      std::memcpy(&expected[(i * count + count - 1 - k) * bytes], &element, bytes);
    }
  }
  struct {
    const uint8_t* in;
    uint8_t* out;
    float* sum;
    uint32_t n;
  } params{in.data(), out.data(), sum.data(), n};
  const auto error = rt::Launch(kernel, {{1, 1, 1}, {kThreads, 1, 1}, 0},
                                std::as_bytes(std::span(&params, 1)).first(28), {.max_workers = 1});
  if (error) FAIL(error->message);
  CHECK(out == expected);
  CHECK(sum == expected_sum);
}

lowering::JitOptions Options(const std::string& target, uint32_t width) {
  return {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width};
}

}  // namespace

TEST_CASE("narrow elements side by side are read and written as words", "[packed]") {
  for (const Elements elements : {Elements{1, 2}, Elements{1, 4}, Elements{2, 2}, Elements{2, 4}}) {
    INFO(elements.count << " elements of " << elements.bytes << " bytes");
    const BuiltKernel module = BuildKernel(KernelOf(elements), "k");
    for (const uint32_t width : {1u, 8u, 32u}) {
      for (const std::string target : {"native", "x86-64-v3", "x86-64-v2"}) {
        INFO("width " << width << ", " << target);
        auto jit = lowering::Jit::Create(Options(target, width));
        REQUIRE(jit);
        auto compiled = (*jit)->Add(module);
        if (!compiled) FAIL(compiled.error().Render());
        for (const uint32_t n : {0u, 1u, 33u, 96u}) CheckRun(*compiled->kernel, elements, n);
      }
    }
  }
}

TEST_CASE("four bytes of each lane are divided by shifts", "[packed]") {
  auto jit = lowering::Jit::Create(Options("x86-64-v4", 16));
  REQUIRE(jit);
  auto text = (*jit)->Explain(BuildKernel(KernelOf({1, 4}), "k"), "k", lowering::Jit::Stage::kOptimized);
  REQUIRE(text);
  CHECK(text->find("shufflevector <64 x i8>") == std::string::npos);
  CHECK(text->find("<16 x i1> %") != std::string::npos);
  CHECK(text->find("<64 x i1>") == std::string::npos);
}
