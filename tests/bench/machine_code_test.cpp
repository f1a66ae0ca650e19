// The machine code of loops on which the benchmark's times depend, for processors with AVX-512.
#include <catch2/catch.hpp>
#include <regex>

#include "lowering/compile.h"
#include "lowering/llvm/output/object.h"
#include "ptx-parser/fatbin/fatbin.h"
#include "runtime/engine/images.h"

using namespace ptx2cpu;

namespace {

// The assembly of a kernel of the suite, for blocks of one shape.
std::string AssemblyOf(const std::string& family, const std::string& kernel, analysis::LaunchShape block,
                       const std::string& machine = "x86-64-v4") {
  const std::string file = PTX2CPU_SUITE_DIR "/bin/" + family + ".fatbin";
  const auto extraction = ptx::ExtractFile(file);
  REQUIRE(extraction);
  const auto images = ptx::PtxImages(*extraction);
  REQUIRE(images);
  const auto ptx = lowering::PtxModule::Parse(images->front().text, file);
  REQUIRE(ptx);
  lowering::BuildOptions options;
  options.pipeline.passes.launch = block;
  const auto module = ptx->Build(kernel, options);
  REQUIRE(module);
  const ir::Module* kernels[] = {&*module};
  const auto target = lowering::ResolveTarget(machine);
  REQUIRE(target);
  auto text = lowering::CompileFile(kernels, lowering::FileKind::kAssembly, {.target = *target});
  if (!text) FAIL(text.error().Render());
  return *text;
}

ptrdiff_t Count(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), expression), {});
}

}  // namespace

TEST_CASE("parts of vectors that share broadcasts read them one after the other") {
  const std::string text = AssemblyOf("learn", "attention", {64, 1, 1});
  CHECK(Count(text, "vbroadcastss\t[^\n]*\n") >= 64);
  // A broadcast that is stored within the next instructions: for the other part of the vector.
  CHECK(
      Count(text,
            "vbroadcastss\t[^\n]*, (%zmm[0-9]+)\n([^\n]*\n)?([^\n]*\n)?\tvmov[au]ps\t\\1, [0-9]*\\(%rsp\\)") <
      8);
}

TEST_CASE("rows of tiled products take turns operation by operation") {
  const std::string text = AssemblyOf("dense", "sgemm", {16, 16, 1});
  // Four sums, one after the other, of which each has another row's factor.
  const std::string row =
      "\tvfmadd231ps\t[^\n]*\\{1to16\\}, (%zmm[0-9]+), %zmm[0-9]+\n(?:[^\n\t]*\n|\t\\.[^\n]*\n)*";
  const std::string same = "\tvfmadd231ps\t[^\n]*\\{1to16\\}, \\1, %zmm[0-9]+\n(?:[^\n\t]*\n|\t\\.[^\n]*\n)*";
  CHECK(Count(text, row + same + same + same) >= 12);
}

TEST_CASE("sums of warps are stored together") {
  const std::string text = AssemblyOf("reduce", "sum_grid_stride", {256, 1, 1});
  CHECK(Count(text, "\tvmovss\t%xmm[0-9]+, (4|8|12|16|20|24|28)\\(%r") == 0);
}

TEST_CASE("trees of a block's warps share vectors") {
  // Each of eight trees had its own vectors: 89 additions.
  CHECK(Count(AssemblyOf("reduce", "reduce_shuffle", {256, 1, 1}), "\tvph?addd\t[^\n]*mm") < 75);
  // Sums were elements of other vectors before they were stored.
  CHECK(Count(AssemblyOf("reduce", "reduce_shuffle", {256, 1, 1}, "x86-64-v3"), "\tvp(extr|insr)d\t") == 0);
}

TEST_CASE("elements of 64 bits are permuted whole") {
  CHECK(Count(AssemblyOf("sparse", "cg_update", {256, 1, 1}), "\tv(pmovqd|psrlq)\t") == 0);
}

TEST_CASE("blocks that read a page each prefetch that of the next one") {
  CHECK(Count(AssemblyOf("reduce", "scan_blocks", {256, 1, 1}), "\tprefetcht1\t") >= 4);
  CHECK(Count(AssemblyOf("reduce", "reduce_shuffle", {256, 1, 1}), "\tprefetcht1\t") >= 4);
  // A kilobyte of each array: processors read ahead of most blocks.
  CHECK(Count(AssemblyOf("math", "black_scholes", {256, 1, 1}), "\tprefetcht1\t") == 0);
}

TEST_CASE("blocks that read a tile prefetch that of the next one") {
  for (const auto& [family, kernel, block] :
       {std::tuple("stencil", "stencil_5", analysis::LaunchShape{64, 16, 1}),
        {"stream", "transpose", analysis::LaunchShape{32, 8, 1}}})
    CHECK(Count(AssemblyOf(family, kernel, block), "\tprefetcht0\t") >= 4);
}

TEST_CASE("what each warp adds up of the block's words is computed for one thread") {
  const std::string rows = AssemblyOf("learn", "layer_norm", {256, 1, 1});
  CHECK(Count(rows, "\tvdivps\t") == 0);              // the mean
  CHECK(Count(rows, "\tvpsrld\t\\$1, %[xyz]") <= 1);  // the start of 1 / sqrt
  CHECK(Count(AssemblyOf("learn", "softmax", {256, 1, 1}), "\tvdivps\t") == 0);
}

TEST_CASE("a sum reads its row upwards in memory") {
  const std::string text = AssemblyOf("learn", "layer_norm", {256, 1, 1});
  REQUIRE(text.find("\tvaddps\t960(") != std::string::npos);
  CHECK(text.find("\tvaddps\t64(") < text.find("\tvaddps\t960("));
}

TEST_CASE("powers of two are scaled by one operation") {
  const std::string text = AssemblyOf("learn", "softmax", {256, 1, 1});
  CHECK(Count(text, "\tvscalefps\t[^\n]*%zmm") >= 4);
}

TEST_CASE("of a sum that one lane stores no other lane's part is computed, though lanes may have ended") {
  const std::string text = AssemblyOf("sparse", "spmv", {256, 1, 1});
  CHECK(Count(text, "\tvperm(t2)?p[sd]\t[^\n]*%zmm") == 0);
}

TEST_CASE("bytes that choose words one by one are loaded by eight") {
  for (const char* kernel : {"histogram_shared", "histogram_global"}) {
    INFO(kernel);
    const std::string text = AssemblyOf("histogram", kernel, {256, 1, 1});
    // Each loop by eight has two for what is left; atomics have a loop with locks and one without.
    const std::string address = "-?[0-9]*\\(%r[a-z0-9]+,%r[a-z0-9]+(,8)?\\)";
    const ptrdiff_t words = Count(text, "\tmovq\t" + address + ", %r[^\n]*\n(\t\\.loc[^\n]*\n)*\tmovzbl\t%");
    CHECK(words >= 1);
    CHECK(Count(text, "\tmovzbl\t" + address) <= 2 * words);
  }
}
