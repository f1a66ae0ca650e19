// Instructions of the table under a guard that fails, in the entry block and with registers that nothing
// writes: in every engine, the instructions before and after them are executed. Instructions that only
// compute also run without a guard.
//
//   PTX2CPU_RANDOM_SEED=N, _COUNT=N   of the programs (1, 700)
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "ptx-parser/match/table.h"
#include "tests/random/campaign.h"
#include "tools/ptxas_agreement/programs.h"

using namespace ptx2cpu;
using namespace ptx2cpu::random_test;
namespace pa = ptx2cpu::agreement;

namespace {

constexpr size_t kInstructions = 8;  // of one kernel, each between two stores

std::string Text(const std::vector<pa::Program>& programs, bool guarded) {
  std::string body =
      ".reg .b64 %at; .reg .b32 %n; .reg .pred %never; ld.param.u64 %at, [p0]; ld.global.u32 %n, [%at]; "
      "setp.gt.u32 %never, %n, 100; st.global.u32 [%at], 7;\n";
  std::string zeros;
  for (size_t i = 0; i < programs.size(); ++i) {
    body += (guarded ? "@%never " : "") + programs[i].instruction + "\n";
    body += "st.global.u32 [%at+" + std::to_string(4 * i + 4) + "], " + std::to_string(i + 11) + ";\n";
    zeros += ",0";
  }
  return pa::HeadFor("sm_90") + pa::KernelOf({"", body}, "k") +
         "// run: k block=1 compare=bits inout:u32:[5" + zeros + "]\n";
}

// Whether the rest of a kernel can follow the instruction, whatever unwritten registers hold.
bool OnlyComputes(const pa::Program& program) {
  if (program.instruction.find('[') != std::string::npos) return false;
  for (const ptx::Row& row : ptx::Rows()) {
    if (row.name != program.row) continue;
    for (const std::string_view family :
         {"extended_precision", "float_arithmetic", "half", "integer_arithmetic", "logic_shift", "convert",
          "convert_narrow", "compare_select", "video"})
      if (row.family == family) return true;
  }
  return false;
}

std::vector<pa::Program> Accepted(uint64_t seed, size_t count) {
  std::vector<pa::Program> accepted;
  for (pa::Program& program : pa::MakePrograms(seed, count))
    if (pa::Ask(program).accepted) accepted.push_back(std::move(program));
  return accepted;
}

struct Tally {
  size_t kernels = 0, refused = 0;
  void Compare(const std::vector<pa::Program>& programs, bool guarded) {
    const std::string text = Text(programs, guarded);
    INFO(text);
    const auto run = RunOf(text);
    REQUIRE(run);
    const auto ptx = lowering::PtxModule::Parse(text, "guarded.ptx");
    REQUIRE(ptx);
    const auto expected = InterpretAfter("ir").run(*ptx, *run);
    if (!expected) FAIL_CHECK(expected.error().Render());
    if (!expected) return;
    for (size_t i = 0; i <= programs.size(); ++i) {
      uint32_t word;
      std::memcpy(&word, (*expected)[0].data() + 4 * i, 4);
      CHECK(word == (i == 0 ? 7 : i + 10));
    }
    ++kernels;
    for (const Engine& engine : {InterpretAfter(""), Compiled(0), Compiled(2), CompiledForBlock(2)}) {
      const Comparison comparison = random_test::Compare(engine, *ptx, *run, *expected);
      if (comparison.verdict == Verdict::kRefused) {
        ++refused;
        WARN(comparison.what);
        continue;
      }
      INFO(comparison.what);
      CHECK(comparison.verdict == Verdict::kSame);
    }
  }
};

}  // namespace

TEST_CASE("instructions whose guard fails, and those of unwritten registers, leave what is around them") {
  const uint64_t seed = NumberOf("PTX2CPU_RANDOM_SEED", 1), count = NumberOf("PTX2CPU_RANDOM_COUNT", 700);
  Tally tally;
  std::vector<pa::Program> guarded, computing;
  for (pa::Program& program : Accepted(seed, count)) {
    if (OnlyComputes(program)) computing.push_back(program);
    if (computing.size() == kInstructions) tally.Compare(std::exchange(computing, {}), false);
    guarded.push_back(std::move(program));
    if (guarded.size() == kInstructions) tally.Compare(std::exchange(guarded, {}), true);
  }
  WARN(tally.kernels << " kernels, refused by an engine: " << tally.refused);
}
