// Arrays larger than the caches: rows are read in the order of memory, what is only written is written past
// the caches, and results are those of threads one by one.
#include <catch2/catch.hpp>
#include <optional>
#include <sstream>

#include "tests/llvm/jit_run.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::llvm_test;

namespace {

std::string CodeOf(const std::string& ptx, lowering::Jit::Stage stage,
                   const std::string& target = "x86-64-v4", const std::string& omit = "") {
  auto jit = lowering::Jit::Create(
      {.entry_points = EntryPoints(), .target = *lowering::ResolveTarget(target), .omit = omit});
  REQUIRE(jit);
  auto text = (*jit)->Explain(BuildKernel(ptx, "k"), "k", stage);
  REQUIRE(text);
  return *text;
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// out[i] = 3 * in[i / 64] + i for i < n; `end` after it.
std::string Scaled(const std::string& end, const std::string& to = "%out") {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p<4>; .reg .b32 %i, %n, %v, %a<4>; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %a0, %ctaid.x;
  mov.u32 %a1, %ntid.x;
  mov.u32 %a2, %tid.x;
  mad.lo.u32 %i, %a0, %a1, %a2;
  setp.ge.u32 %p0, %i, %n;
  @%p0 bra DONE;
  shr.u32 %a3, %i, 6;
  mul.wide.u32 %at, %a3, 4;
  add.s64 %at, %in, %at;
  ld.global.u32 %v, [%at];
  mad.lo.u32 %v, %v, 3, %i;
  mul.wide.u32 %at, %i, 4;
  add.s64 %at, )" +
         to + R"(, %at;
  st.global.u32 [%at], %v;
)" + end +
         R"(
DONE:
  ret;
}
)";
}

// out[i] = in[i] + 1 for i < n, in steps of the grid.
std::string AddedInTrips() {
  return kHead + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout, .param .u32 pn)
{
  .reg .pred %p<4>; .reg .b32 %i, %n, %v, %step, %a<4>; .reg .b64 %in, %out, %at, %to;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  ld.param.u32 %n, [pn];
  mov.u32 %a0, %ctaid.x;
  mov.u32 %a1, %ntid.x;
  mov.u32 %a2, %tid.x;
  mov.u32 %a3, %nctaid.x;
  mad.lo.u32 %i, %a0, %a1, %a2;
  mul.lo.u32 %step, %a1, %a3;
  setp.ge.u32 %p0, %i, %n;
  @%p0 bra DONE;
AGAIN:
  mul.wide.u32 %at, %i, 4;
  add.s64 %to, %out, %at;
  add.s64 %at, %in, %at;
  ld.global.u32 %v, [%at];
  add.u32 %v, %v, 1;
  st.global.u32 [%to], %v;
  add.u32 %i, %i, %step;
  setp.lt.u32 %p0, %i, %n;
  @%p0 bra AGAIN;
DONE:
  ret;
}
)";
}

// The sum of a thread's four elements, a row apart each, and its neighbour's; the second row is read first.
std::string RowSums(uint32_t threads) {
  const std::string row = std::to_string(4 * threads);
  std::string text = kHead + ".visible .entry k(.param .u64 pin, .param .u64 pout)\n.reqntid " +
                     std::to_string(threads) + R"(
{
  .reg .b32 %i, %first, %v, %o, %a<4>; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %a0, %ctaid.x;
  mov.u32 %a1, %ntid.x;
  mov.u32 %a2, %tid.x;
  mul.lo.u32 %first, %a0, %a1;
  add.u32 %i, %first, %a2;
  mad.lo.u32 %first, %first, 4, %a2;
  mul.wide.u32 %at, %first, 4;
  add.s64 %in, %in, %at;
  mul.wide.u32 %at, %i, 4;
  add.s64 %out, %out, %at;
  ld.global.u32 %v, [%in+)" +
                     row + "];\n";
  for (const uint32_t k : {0u, 2u, 3u})
    text +=
        "  ld.global.u32 %o, [%in+" + std::to_string(4 * threads * k) + "];\n  mad.lo.u32 %v, %v, 5, %o;\n";
  return text +
         "  shfl.sync.down.b32 %o, %v, 1, 31, 0xffffffff;\n  mad.lo.u32 %v, %o, 3, %v;\n"
         "  st.global.u32 [%out], %v;\n  ret;\n}\n";
}

// Adds a word to each element of the `trips` rows of a block.
std::string AddToRows(uint32_t trips, uint32_t threads) {
  return kHead + ".visible .entry k(.param .u64 pin, .param .u64 pout)\n.reqntid " + std::to_string(threads) +
         R"(
{
  .reg .pred %p; .reg .b32 %i, %n, %v, %w, %block; .reg .b64 %in, %out, %at;
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %block, %ctaid.x;
  mul.wide.u32 %at, %block, 4;
  add.s64 %in, %in, %at;
  ld.global.u32 %w, [%in];
  mul.lo.u32 %n, %block, )" +
         std::to_string(trips * threads) + R"(;
  mul.wide.u32 %at, %n, 4;
  add.s64 %out, %out, %at;
  mov.u32 %i, %tid.x;
ROWS:
  mul.wide.u32 %at, %i, 4;
  add.s64 %at, %out, %at;
  ld.global.u32 %v, [%at];
  add.u32 %v, %v, %w;
  st.global.u32 [%at], %v;
  add.u32 %i, %i, )" +
         std::to_string(threads) + ";\n  setp.lt.u32 %p, %i, " + std::to_string(trips * threads) +
         ";\n  @%p bra ROWS;\n  ret;\n}\n";
}

// Offsets of the stores of whole registers to memory other than the stack, in the order of the code.
std::vector<int> StoresIn(const std::string& assembly) {
  std::vector<int> offsets;
  std::istringstream lines(assembly);
  for (std::string line; std::getline(lines, line);) {
    const size_t from = line.find_first_of('%'), comma = line.find(", ", from), base = line.find("(%", comma);
    if (!line.starts_with("\tvmov") || base == line.npos) continue;
    const std::string whole = line.substr(from, 2), offset = line.substr(comma + 2, base - comma - 2);
    const std::string pointer = line.substr(base + 2, 3);
    const bool is_number = offset.find_first_not_of("-0123456789") == offset.npos;
    if ((whole == "%y" || whole == "%z") && is_number && pointer != "rsp" && pointer != "rbp")
      offsets.push_back(offset.empty() ? 0 : std::stoi(offset));
  }
  return offsets;
}

struct Sizes {
  uint32_t grid = 1, block = 1;
  size_t in = 1, out = 1;  // words
};

std::vector<uint32_t> Run(const std::string& ptx, const lowering::JitOptions& options, const Sizes& sizes,
                          std::optional<uint32_t> n) {
  const SharedKernel kernel = CompileText(ptx, options);
  harness::KernelCall call{{sizes.grid, 1, 1}, {sizes.block, 1, 1}, 0, {}, {}, {}};
  for (const size_t words : {sizes.in, sizes.out}) {
    call.arguments.push_back(MixedWords(words));
  }
  if (n) call.arguments.push_back(*rt::ParseSpec("u32:" + std::to_string(*n)));
  RunOrFail(*kernel, call);
  std::vector<uint32_t> out(sizes.out);
  std::memcpy(out.data(), call.arguments[1].data.data(), 4 * out.size());
  return out;
}

}  // namespace

TEST_CASE("stores of what is only written may go past the caches", "[streams]") {
  const auto stage = lowering::Jit::Stage::kOptimized;
  CHECK(Has(CodeOf(Scaled(""), stage), "!nontemporal"));
  const char* kept[] = {
      "  ld.global.u32 %v, [%out];\n  st.global.u32 [%out], %v;\n",  // the array is read
      "  fence.acq_rel.gpu;\n",                                      // others may wait for the stores
      "  red.global.add.u32 [%in], 1;\n",
  };
  for (const char* end : kept) CHECK_FALSE(Has(CodeOf(Scaled(end), stage), "!nontemporal"));
  CHECK_FALSE(Has(CodeOf(Scaled("", "%in"), stage), "!nontemporal"));
}

TEST_CASE("a large array that is only written", "[streams]") {
  const uint32_t n = (8 << 20) + 77;
  const Sizes sizes{.grid = n / 256 + 1, .block = 256, .in = n / 64 + 2, .out = n};
  const std::vector<uint32_t> out = Run(Scaled(""), {}, sizes, n);
  size_t wrong = 0;
  for (uint32_t i = 0; i < n; ++i) wrong += out[i] != 3 * ((i / 64 + 1) * 2654435761u) + i;
  CHECK(wrong == 0);
}

TEST_CASE("few threads that store a large array in many trips", "[streams]") {
  const std::string code = CodeOf(AddedInTrips(), lowering::Jit::Stage::kLlvm);
  CHECK(Has(code, "!nontemporal"));
  CHECK(Has(code, "udiv i32 %"));  // how many
  const uint32_t n = (8 << 20) + 77;
  const std::vector<uint32_t> out = Run(AddedInTrips(), {}, {.grid = 16, .block = 256, .in = n, .out = n}, n);
  size_t wrong = 0;
  for (uint32_t i = 0; i < n; ++i) wrong += out[i] != (i + 1) * 2654435761u + 1;
  CHECK(wrong == 0);
}

TEST_CASE("rows of a block are one stream of memory", "[streams]") {
  const std::string keeps_order = "asm sideeffect \"\", \"~{memory}\"";
  for (const char* target : {"x86-64-v4", "x86-64-v3"}) {
    INFO(target);
    CHECK(Has(CodeOf(RowSums(256), lowering::Jit::Stage::kLlvm, target), keeps_order));
    CHECK_FALSE(Has(CodeOf(RowSums(1024), lowering::Jit::Stage::kLlvm, target), keeps_order));
  }
  for (const uint32_t threads : {64u, 128u, 256u, 512u}) {
    const Sizes sizes{.grid = 3, .block = threads, .in = size_t{12} * threads, .out = size_t{3} * threads};
    const std::vector<uint32_t> plain = Run(RowSums(threads), {.lane_width = 1}, sizes, {});
    for (const char* target : {"native", "x86-64-v3"}) {
      INFO(threads << " threads, " << target);
      CHECK(Run(RowSums(threads), {.target = *lowering::ResolveTarget(target)}, sizes, {}) == plain);
    }
  }
}

TEST_CASE("stores of several registers go upwards", "[streams]") {
  for (const char* target : {"x86-64-v4", "x86-64-v3"}) {
    INFO(target);
    for (const std::string& ptx : {Scaled(""), AddToRows(4, 256), RowSums(256)}) {
      const std::vector<int> offsets = StoresIn(CodeOf(ptx, lowering::Jit::Stage::kAssembly, target));
      REQUIRE(offsets.size() > 1);
      const int lowest = std::ranges::min(offsets);  // where the store begins, and one in another branch
      CHECK(offsets[0] == lowest);
      for (size_t n = 1; n < offsets.size(); ++n)
        CHECK((offsets[n] > offsets[n - 1] || offsets[n] == lowest));
    }
  }
}

TEST_CASE("trips over rows of a block walk through memory once", "[streams][long]") {
  const std::vector<int> offsets =
      StoresIn(CodeOf(AddToRows(4, 256), lowering::Jit::Stage::kAssembly, "x86-64-v4"));
  CHECK(std::ranges::is_sorted(offsets));
  for (const uint32_t threads : {32u, 64u, 96u, 128u, 256u, 512u, 1024u}) {
    for (const uint32_t trips : {1u, 2u, 4u, 7u}) {
      const Sizes sizes{.grid = 3, .block = threads, .in = 3, .out = size_t{3} * trips * threads};
      const std::string ptx = AddToRows(trips, threads);
      const std::vector<uint32_t> plain = Run(ptx, {.lane_width = 1}, sizes, {});
      for (const char* target : {"native", "x86-64-v3"}) {
        INFO(threads << " threads, " << trips << " trips, " << target);
        CHECK(Run(ptx, {.target = *lowering::ResolveTarget(target)}, sizes, {}) == plain);
      }
    }
  }
}

// Intel's processors of some years hold gathers back until such stores have arrived.
TEST_CASE("stores of a kernel that gathers go through the caches", "[streams]") {
  std::string looked_up = Scaled("");
  const std::string index = "  shr.u32 %a3, %i, 6;\n";
  looked_up.replace(looked_up.find(index), index.size(),
                    "  mul.wide.u32 %at, %i, 4;\n  add.s64 %at, %in, %at;\n  ld.global.u32 %a3, [%at];\n"
                    "  and.b32 %a3, %a3, 1023;\n");
  const auto stage = lowering::Jit::Stage::kOptimized;
  for (const std::string target : {"x86-64-v3", "x86-64-v4"}) {
    INFO(target);
    CHECK(Has(CodeOf(looked_up, stage, target), "llvm.masked.gather"));
    CHECK_FALSE(Has(CodeOf(looked_up, stage, target), "!nontemporal"));
    CHECK(Has(CodeOf(looked_up, stage, target, "cache-stores-beside-gathers"), "!nontemporal"));
    CHECK(Has(CodeOf(Scaled(""), stage, target), "!nontemporal"));
  }
}
