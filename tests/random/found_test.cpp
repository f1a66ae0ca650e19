// Kernels of found/ that were once wrong, each reduced from a random one: by machine code of every form,
// general and for the blocks' own shape, against the interpreter.
//
//   PTX2CPU_RANDOM_FILE=PATH   this kernel only
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "tests/random/engines.h"

using namespace ptx2cpu;
using namespace ptx2cpu::random_test;

namespace {

std::vector<std::filesystem::path> Files() {
  if (const char* path = std::getenv("PTX2CPU_RANDOM_FILE")) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(PTX2CPU_SOURCE_DIR "/tests/random/found"))
    files.push_back(entry.path());
  return files;
}

std::vector<Engine> AllForms() {
  std::vector<Engine> engines{InterpretAfter(""), InterpretForBlock(), Compiled(0),
                              Compiled(3),        CompiledForBlock(0), CompiledForBlock(3)};
  for (const harness::VectorForm& form : harness::kVectorForms) {
    for (const int optimisation : {0, 1}) {
      engines.push_back(Compiled(optimisation, lowering::Tier::kAuto, form));
      engines.push_back(CompiledForBlock(optimisation, form));
    }
  }
  return engines;
}

}  // namespace

TEST_CASE("kernels that random seeds found give the same in every form") {
  for (const auto& path : Files()) {
    INFO(path.string());
    const auto file = rt::ReadVectorFile(path);
    REQUIRE(file);
    const auto ptx = lowering::PtxModule::Parse(file->text, path.filename().string());
    REQUIRE(ptx);
    for (const rt::VectorRun& run : file->runs) {
      const auto expected = InterpretAfter("ir").run(*ptx, run);
      REQUIRE(expected);
      for (const Engine& engine : AllForms()) {
        const Comparison comparison = Compare(engine, *ptx, run, *expected);
        INFO(comparison.what);
        CHECK(comparison.verdict == Verdict::kSame);
      }
    }
  }
}
