// Every opcode that random sequences are made of: ptxas takes it, where a toolkit is installed, and it gives
// the same by the interpreter and as machine code.
//
//   PTX2CPU_FULL_TESTS   all opcodes; else each eighth
#include "tests/ptxas.h"
#include "tests/random/campaign.h"
#include "tests/random/sequences/tree.h"
#include "tests/scratch_folder.h"

using namespace ptx2cpu;
using namespace ptx2cpu::random_test;
namespace rs = ptx2cpu::random_sequences;

namespace {

// Kernels of so many opcodes.
std::vector<rs::Tree> EachOpcode(size_t in_kernel) {
  const size_t stride = std::getenv("PTX2CPU_FULL_TESTS") != nullptr ? 1 : 8;
  const uint64_t seed = NumberOf("PTX2CPU_RANDOM_SEED", 1);
  std::vector<rs::Template> older, newer;
  size_t number = seed;
  rs::VisitTemplates([&](std::string_view, const rs::Template& opcode) {
    if (number++ % stride == 0) (opcode.newer ? newer : older).push_back(opcode);
  });
  std::vector<rs::Tree> trees;
  for (const auto& opcodes : {older, newer}) {
    for (auto at = opcodes.begin(); at != opcodes.end();) {
      const auto end = at + std::min(opcodes.end() - at, static_cast<ptrdiff_t>(in_kernel));
      trees.push_back(rs::GrowEach(seed + trees.size(), {at, end}));
      at = end;
    }
  }
  return trees;
}

}  // namespace

TEST_CASE("ptxas takes every opcode of random sequences") {
  const std::string ptxas = test::FindPtxas();
  if (ptxas.empty()) {
    WARN("no ptxas here: not asked");
    return;
  }
  const test::ScratchFolder scratch;
  std::vector<std::string> files;
  for (const rs::Tree& tree : EachOpcode(100)) {
    files.push_back(scratch / std::to_string(tree.seed) + ".ptx");
    std::ofstream(files.back()) << rs::WriteModule(tree);
  }
  for (const test::PtxasAnswer& answer : test::AskPtxas(ptxas, files)) {
    if (!answer.refusal.empty() && !answer.is_newer) FAIL_CHECK(answer.refusal);
  }
  CHECK(!files.empty());
}

TEST_CASE("every opcode of random sequences gives the same as machine code") {
  std::vector<rs::Tree> trees = EachOpcode(50);
  size_t number = 0;
  for (const rs::Tree& tree : trees) {
    const std::string text = rs::WriteModule(tree);
    const auto run = RunOf(text);
    const auto ptx = lowering::PtxModule::Parse(text, "opcodes.ptx");
    REQUIRE(run);
    if (!ptx) FAIL_CHECK(ptx.error().Render());
    if (!ptx) continue;
    const auto expected = InterpretAfter("ir").run(*ptx, *run);
    if (!expected) FAIL_CHECK(expected.error().Render());
    if (!expected) continue;
    const harness::VectorForm form = harness::kVectorForms[number++ % harness::kVectorForms.size()];
    const Comparison comparison = Compare(Compiled(0, lowering::Tier::kAuto, form), *ptx, *run, *expected);
    if (comparison.verdict != Verdict::kSame) FAIL_CHECK(comparison.what << "\n" << text);
  }
  CHECK(number == trees.size());
}
