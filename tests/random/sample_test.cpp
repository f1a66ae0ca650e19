// The checked-in sample by every engine: against what the interpreter gave when it was made, and what a GPU
// gave.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/random/engines.h"

using namespace ptx2cpu;
using namespace ptx2cpu::random_test;

namespace {

constexpr bool kAllowRefused = false;  // whether the compiler may refuse a legal kernel

std::vector<std::filesystem::path> SampleFiles() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(PTX2CPU_SOURCE_DIR) /
                                                               "tests/random/sample")) {
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Buffers ExpectedOf(const rt::VectorRun& run) {
  Buffers buffers(run.specs.size());
  for (const auto& [argument, bytes] : run.expected) buffers[argument] = bytes;
  return buffers;
}

// Every `stride`-th kernel of each file.
void CheckSample(const Engine& engine, size_t stride) {
  size_t same = 0, refused = 0, number = 0;
  for (const auto& path : SampleFiles()) {
    const auto file = rt::ReadVectorFile(path);
    REQUIRE(file);
    const auto ptx = lowering::PtxModule::Parse(file->text, path.filename());
    REQUIRE(ptx);
    for (const rt::VectorRun& run : file->runs) {
      if (number++ % stride != 0) continue;
      const Comparison comparison = Compare(engine, *ptx, run, ExpectedOf(run));
      same += comparison.verdict == Verdict::kSame;
      refused += comparison.verdict == Verdict::kRefused;
      const bool good =
          comparison.verdict == Verdict::kSame || (kAllowRefused && comparison.verdict == Verdict::kRefused);
      if (!good) FAIL_CHECK(run.kernel << ": " << comparison.what);
    }
  }
  WARN(engine.name << ": the same " << same << ", refused " << refused);
  CHECK(same * 2 > number / stride);
}

}  // namespace

TEST_CASE("random sample: a GPU gave what the interpreter gives") {
  size_t kernels = 0, recorded = 0;
  for (const auto& path : SampleFiles()) {
    const auto file = rt::ReadVectorFile(path);
    REQUIRE(file);
    const auto record = rt::ReadVectorRecord(path);
    REQUIRE(record);
    for (const rt::VectorRun& run : file->runs) {
      ++kernels;
      bool complete = record->has_value();
      for (const auto& [argument, bytes] : run.expected) {
        const std::vector<std::byte>* gave = *record ? (*record)->Find(run, argument) : nullptr;
        complete &= gave != nullptr;
        if (gave != nullptr && *gave != bytes) {
          FAIL_CHECK(run.kernel << ", argument " << argument << ": "
                                << *rt::FindVectorDifference({}, *rt::FindScalarType("u32"), bytes, *gave));
        }
      }
      recorded += complete;
    }
  }
  WARN(recorded << " of " << kernels << " kernels are recorded");
  CHECK(kernels >= 320);
}

TEST_CASE("random sample in the interpreter, as translated and after the pipeline") {
  const size_t stride = std::getenv("PTX2CPU_FULL_TESTS") != nullptr ? 1 : 3;
  CheckSample(InterpretAfter("ir", {.slice = 11, .backwards = true}), stride);
  CheckSample(InterpretAfter(""), stride);
}

TEST_CASE("random sample as machine code") {
  const size_t stride = std::getenv("PTX2CPU_FULL_TESTS") != nullptr ? 1 : 6;
  CheckSample(Compiled(1), stride);
}
