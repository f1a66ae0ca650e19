// The kernels of the suite keep the vectors that they have: tests/bench/lanes.tsv holds what the report
// states of each for processors with AVX-512. A kernel may become better; PTX2CPU_WRITE_LANES=1 writes the
// file anew.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "lowering/compile.h"
#include "lowering/llvm/output/jit.h"
#include "ptx-parser/fatbin/fatbin.h"
#include "runtime/engine/images.h"
#include "runtime/entry/entry_point_list.h"

using namespace ptx2cpu;

namespace {

constexpr const char* kFile = PTX2CPU_SOURCE_DIR "/tests/bench/lanes.tsv";
constexpr const char* kHeader = "kernel\tloops\tscalar\twidth\tgathers\ttested\tone_by_one";

struct Summary {
  uint32_t loops = 0;       // over threads
  uint32_t scalar = 0;      // of them without vectors
  uint32_t width = 0;       // of the narrowest vectors; 0: there are none
  uint32_t gathers = 0;     // and scatters
  uint32_t tested = 0;      // accesses that are consecutive if a test finds them so
  uint32_t one_by_one = 0;  // operations of a thread at a time within vectors
};

Summary Summarise(const lowering::LaneReport& report) {
  Summary sum;
  for (const lowering::LaneReport::Loop& loop : report.loops) {
    ++sum.loops;
    if (loop.width == 1) {
      ++sum.scalar;
      continue;
    }
    sum.width = sum.width == 0 ? loop.width : std::min(sum.width, loop.width);
    sum.gathers += loop.loads.gathers + loop.stores.gathers;
    sum.tested += loop.loads.tested + loop.stores.tested;
    sum.one_by_one += loop.loads.one_by_one + loop.stores.one_by_one + loop.others_one_by_one;
  }
  return sum;
}

using Summaries = std::map<std::string, Summary>;

void Add(const std::string& file, const lowering::Jit& jit, Summaries& all) {
  const auto extraction = ptx::ExtractFile(file);
  REQUIRE(extraction);
  const auto images = ptx::PtxImages(*extraction);
  REQUIRE(images);
  for (const ptx::PtxImage& image : *images) {
    const auto module = lowering::PtxModule::Parse(image.text, file);
    REQUIRE(module);
    for (const std::string& kernel : image.kernels) {
      INFO(file << ": " << kernel);
      const auto built = module->Build(kernel);
      REQUIRE(built);
      const auto report = jit.ReportLanes(*built, kernel);
      REQUIRE(report);
      all[kernel] = Summarise(*report);
    }
  }
}

Summaries Measured() {
  const auto target = lowering::ResolveTarget("x86-64-v4");
  REQUIRE(target);
  const auto jit = lowering::Jit::Create({.entry_points = rt::EntryPoints(), .target = *target});
  REQUIRE(jit);
  Summaries all;
  for (const auto& entry : std::filesystem::directory_iterator(PTX2CPU_SUITE_DIR "/bin")) {
    if (entry.path().extension() == ".fatbin") Add(entry.path(), **jit, all);
  }
  return all;
}

Summaries Expected() {
  Summaries all;
  std::ifstream file(kFile);
  std::string line;
  std::getline(file, line);
  REQUIRE(line == kHeader);
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string kernel;
    Summary sum;
    words >> kernel >> sum.loops >> sum.scalar >> sum.width >> sum.gathers >> sum.tested >> sum.one_by_one;
    REQUIRE(words);
    all[kernel] = sum;
  }
  return all;
}

void Write(const Summaries& all) {
  std::ofstream file(kFile);
  file << kHeader << "\n";
  for (const auto& [kernel, sum] : all) {
    file << kernel;
    for (const uint32_t number : {sum.loops, sum.scalar, sum.width, sum.gathers, sum.tested, sum.one_by_one})
      file << "\t" << number;
    file << "\n";
  }
}

}  // namespace

TEST_CASE("kernels of the suite keep their vectors") {
  const Summaries measured = Measured();
  if (std::getenv("PTX2CPU_WRITE_LANES") != nullptr) Write(measured);
  const Summaries expected = Expected();
  for (const auto& [kernel, now] : measured) {
    INFO(kernel << ": see `ptx2cpu explain --kernel`; better values are welcome, PTX2CPU_WRITE_LANES=1");
    const auto found = expected.find(kernel);
    REQUIRE(found != expected.end());
    const Summary& before = found->second;
    CHECK(now.scalar <= before.scalar);
    CHECK(now.width >= before.width);
    CHECK(now.gathers <= before.gathers);
    CHECK(now.tested <= before.tested);
    CHECK(now.one_by_one <= before.one_by_one);
  }
  CHECK(measured.size() == expected.size());
}
