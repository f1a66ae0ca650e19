// Records of four words, one of each thread after the other's.
#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

constexpr uint32_t kThreads = 160;

// Thread i < n: its four words of `in`, in reverse, plus their place in the record, to those of `out`.
const std::string kReverses = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p; .reg .b32 %i, %n, %h<4>; .reg .b64 %in, %out;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %i, %tid.x;
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
  mad.wide.u32 %in, %i, 16, %in;
  mad.wide.u32 %out, %i, 16, %out;
  ld.global.v4.u32 {%h0, %h1, %h2, %h3}, [%in];
  add.u32 %h1, %h1, 1;
  add.u32 %h2, %h2, 2;
  add.u32 %h3, %h3, 3;
  st.global.v4.u32 [%out], {%h3, %h2, %h1, %h0};
done:
  ret;
}
)";

// Thread i < n: its eight words of `in`, in reverse, plus their place in the row, to those of `out`.
const std::string kReversesEight = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p; .reg .b32 %i, %n, %h<8>; .reg .b64 %in, %out;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %i, %tid.x;
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
  mad.wide.u32 %in, %i, 32, %in;
  mad.wide.u32 %out, %i, 32, %out;
  ld.global.v4.u32 {%h0, %h1, %h2, %h3}, [%in];
  ld.global.v2.u32 {%h4, %h5}, [%in+16];
  ld.global.u32 %h6, [%in+24];
  ld.global.u32 %h7, [%in+28];
  add.u32 %h1, %h1, 1;
  add.u32 %h2, %h2, 2;
  add.u32 %h3, %h3, 3;
  add.u32 %h4, %h4, 4;
  add.u32 %h5, %h5, 5;
  add.u32 %h6, %h6, 6;
  add.u32 %h7, %h7, 7;
  st.global.v2.u32 [%out], {%h7, %h6};
  st.global.u32 [%out+8], %h5;
  st.global.u32 [%out+12], %h4;
  st.global.v4.u32 [%out+16], {%h3, %h2, %h1, %h0};
done:
  ret;
}
)";

// A sum of each thread's records, from trip to trip those of the next row of threads.
const std::string kSums = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
.reqntid 256
{
  .reg .pred %p; .reg .b32 %i, %n, %step; .reg .f32 %h<4>, %sum; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %i, %tid.x;
  mov.f32 %sum, 0f00000000;
  mov.u32 %step, %nctaid.x;
  shl.b32 %step, %step, 8;
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
again:
  mad.wide.u32 %at, %i, 16, %in;
  ld.global.v4.f32 {%h0, %h1, %h2, %h3}, [%at];
  add.f32 %h0, %h0, %h1;
  add.f32 %h0, %h0, %h2;
  add.f32 %h0, %h0, %h3;
  add.f32 %sum, %sum, %h0;
  add.u32 %i, %i, %step;
  setp.lt.u32 %p, %i, %n;
  @%p bra again;
done:
  mov.u32 %i, %tid.x;
  mad.wide.u32 %out, %i, 4, %out;
  st.global.f32 [%out], %sum;
  ret;
}
)";

// Thread i < n: twice its four words, plus `in`'s first word, and no less than 9, to those of `out`.
const std::string kAlike = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p; .reg .b32 %i, %n, %first, %h<4>; .reg .b64 %in, %out;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  ld.global.nc.u32 %first, [%in];
  mov.u32 %i, %tid.x;
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
  mad.wide.u32 %in, %i, 16, %in;
  mad.wide.u32 %out, %i, 16, %out;
  ld.global.v4.u32 {%h0, %h1, %h2, %h3}, [%in];
  mad.lo.u32 %h0, %h0, 2, %first;
  mad.lo.u32 %h1, %h1, 2, %first;
  mad.lo.u32 %h2, %h2, 2, %first;
  mad.lo.u32 %h3, %h3, 2, %first;
  max.u32 %h0, %h0, 9;
  max.u32 %h1, %h1, 9;
  max.u32 %h2, %h2, 9;
  max.u32 %h3, %h3, 9;
  st.global.v4.u32 [%out], {%h0, %h1, %h2, %h3};
done:
  ret;
}
)";

// Thread i < n: its four words times 5 plus the trip's number; the number of trips is the last octal digit
// of the fourth word of `in`.
const std::string kCarries = kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p; .reg .b32 %i, %n, %trip, %trips, %h<4>; .reg .b64 %in, %out;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  ld.global.nc.u32 %trips, [%in + 12];
  and.b32 %trips, %trips, 7;
  mov.u32 %trip, 0;
  mov.u32 %i, %tid.x;
  setp.ge.u32 %p, %i, %n;
  @%p bra done;
  mad.wide.u32 %in, %i, 16, %in;
  mad.wide.u32 %out, %i, 16, %out;
  ld.global.v4.u32 {%h0, %h1, %h2, %h3}, [%in];
again:
  setp.ge.u32 %p, %trip, %trips;
  @%p bra after;
  mad.lo.u32 %h0, %h0, 5, %trip;
  mad.lo.u32 %h1, %h1, 5, %trip;
  mad.lo.u32 %h2, %h2, 5, %trip;
  mad.lo.u32 %h3, %h3, 5, %trip;
  add.u32 %trip, %trip, 1;
  bra again;
after:
  st.global.v4.u32 [%out], {%h0, %h1, %h2, %h3};
done:
  ret;
}
)";

uint32_t Reversed(const std::vector<uint32_t>& in, uint32_t at) {
  return in[at / 4 * 4 + 3 - at % 4] + 3 - at % 4;
}
uint32_t ReversedEight(const std::vector<uint32_t>& in, uint32_t at) {
  return in[at / 8 * 8 + 7 - at % 8] + 7 - at % 8;
}
uint32_t Alike(const std::vector<uint32_t>& in, uint32_t at) { return std::max(in[at] * 2 + in[0], 9u); }

uint32_t Carried(const std::vector<uint32_t>& in, uint32_t at) {
  uint32_t word = in[at];
  for (uint32_t trip = 0; trip < in[3] % 8; ++trip) word = word * 5 + trip;
  return word;
}

using Word = uint32_t (*)(const std::vector<uint32_t>& in, uint32_t at);

void CheckRun(const ptx2cpu_kernel& kernel, uint32_t n, Word word, uint32_t words = 4) {
  std::vector<uint32_t> in(size_t{words} * kThreads), out(in.size(), 7);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint32_t>(i * 2654435761u);
  std::vector<uint32_t> expected = out;
  for (uint32_t i = 0; i < words * n; ++i) expected[i] = word(in, i);
  struct {
    const uint32_t* in;
    uint32_t* out;
    uint32_t n;
  } params{in.data(), out.data(), n};
  const auto error = rt::Launch(kernel, {{1, 1, 1}, {kThreads, 1, 1}, 0},
                                std::as_bytes(std::span(&params, 1)).first(20), {.max_workers = 1});
  if (error) FAIL(error->message);
  CHECK(out == expected);
}

lowering::JitOptions Options(const std::string& target, uint32_t width) {
  return {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .lane_width = width};
}

size_t CountOf(const std::string& text, std::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("records of four words are divided, made and computed", "[records][long]") {
  for (const auto& [text, word] :
       {std::pair(kReverses, &Reversed), std::pair(kAlike, &Alike), std::pair(kCarries, &Carried)}) {
    const BuiltKernel module = BuildKernel(text, "k");
    for (const uint32_t width : {1u, 8u, 16u, 32u, 64u}) {
      for (const std::string target : {"native", "x86-64-v3"}) {
        INFO("width " << width << ", " << target);
        auto jit = lowering::Jit::Create(Options(target, width));
        REQUIRE(jit);
        auto compiled = (*jit)->Add(module);
        if (!compiled) FAIL(compiled.error().Render());
        for (const uint32_t n : {0u, 1u, 33u, 128u, 160u}) CheckRun(*compiled->kernel, n, word);
      }
    }
  }
}

TEST_CASE("eight words that a thread has in a row are divided and made", "[records]") {
  test::Sample sample(5);
  const BuiltKernel module = BuildKernel(kReversesEight, "k");
  for (const uint32_t width : {1u, 4u, 8u, 16u, 32u, 64u}) {
    for (const std::string target : {"native", "x86-64-v4", "x86-64-v3", "x86-64-v2"}) {
      if (sample.Skips()) continue;
      INFO("width " << width << ", " << target);
      auto jit = lowering::Jit::Create(Options(target, width));
      REQUIRE(jit);
      auto compiled = (*jit)->Add(module);
      if (!compiled) FAIL(compiled.error().Render());
      for (const uint32_t n : {0u, 1u, 33u, 128u, 160u}) CheckRun(*compiled->kernel, n, &ReversedEight, 8);
    }
  }
  auto jit = lowering::Jit::Create(Options("x86-64-v4", 16));
  REQUIRE(jit);
  auto text = (*jit)->Explain(module, "k", lowering::Jit::Stage::kAssembly);
  REQUIRE(text);
  CHECK(CountOf(*text, "gather") + CountOf(*text, "scatter") == 0);
}

TEST_CASE("records whose elements are computed alike need no permutations", "[records]") {
  auto jit = lowering::Jit::Create(Options("x86-64-v4", 16));
  REQUIRE(jit);
  auto text = (*jit)->Explain(BuildKernel(kAlike, "k"), "k", lowering::Jit::Stage::kAssembly);
  REQUIRE(text);
  // What is left makes masks of records from those of lanes; divided and made, they would take 16 more.
  CHECK(CountOf(*text, "vpermt2") + CountOf(*text, "vpermi2") + CountOf(*text, "vshuf") < 16);
}

TEST_CASE("a loop that carries the elements of a record makes no record in each trip", "[records]") {
  auto jit = lowering::Jit::Create(Options("x86-64-v4", 16));
  REQUIRE(jit);
  auto text = (*jit)->Explain(BuildKernel(kCarries, "k"), "k", lowering::Jit::Stage::kAssembly);
  REQUIRE(text);
  const size_t begins = text->find("vpslld");
  REQUIRE(begins != std::string::npos);
  const std::string loop = text->substr(begins, text->find("\tj", begins) - begins);
  CHECK(CountOf(loop, "vpaddd") >= 4);
  CHECK(CountOf(loop, "vperm") == 0);
}

TEST_CASE("two steps of permutations divide records", "[records]") {
  auto jit = lowering::Jit::Create(Options("x86-64-v4", 16));
  REQUIRE(jit);
  auto text = (*jit)->Explain(BuildKernel(kReverses, "k"), "k", lowering::Jit::Stage::kAssembly);
  REQUIRE(text);
  // Reading 16 records takes eight, writing them eight; the masked steps of the last ones have them again.
  CHECK(CountOf(*text, "vperm") + CountOf(*text, "vshuf") + CountOf(*text, "vinsert") <= 2 * 16);
}

TEST_CASE("sums of records stay in registers", "[records]") {
  auto jit = lowering::Jit::Create(Options("x86-64-v4", 0));
  REQUIRE(jit);
  auto text = (*jit)->Explain(BuildKernel(kSums, "k"), "k", lowering::Jit::Stage::kAssembly);
  REQUIRE(text);
  CHECK(CountOf(*text, "-byte Spill") < 16);
}
