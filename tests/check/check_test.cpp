// Planted faults and their mended twins (kernels/*.ptx): each fault is found at a line that its text marks,
// and nothing else is, in every tier and at every width.
#include <catch2/catch.hpp>
#include <string>

#include "tests/check/planted.h"

using namespace ptx2cpu;

namespace {

// How the kernels run. `least`: of all faults, how many this form takes at least (percent): tiers of regions
// do not take kernels whose lanes or warps must suspend, or that wait for other threads.
struct Form {
  const char* exec;
  unsigned width, opt_level, least;
  bool is_forced = false;
};

// The faults of the kernels that the form takes, of all.
struct Count {
  size_t faulty = 0, all = 0;
};

Count RunAll(const Form& form) {
  Count count;
  for (const test::PlantedFile& file : test::PlantedFiles()) {
    LoadOptions options;
    options.exec = form.exec;
    options.width = form.width;
    options.opt_level = form.opt_level;
    const Result<Program> program = Program::FromPtx(file.text, file.name, options);
    REQUIRE(program);
    for (const test::Planted& planted : file.kernels) {
      count.all += planted.faulty;
      const Result<Kernel> kernel = program->Get(planted.name);
      // Other tiers take every kernel.
      if (!kernel && form.least == 100) FAIL_CHECK(kernel.error().Render());
      if (!kernel && kernel.error().code != ErrorCode::kUnsupported) FAIL_CHECK(kernel.error().Render());
      if (!kernel || (form.is_forced && planted.waits)) continue;
      const test::PlantedRun run = test::RunPlanted(*program, *kernel, planted);
      if (form.is_forced && run.IsRefused()) continue;
      test::CompareWithMarks(planted, run);
      count.faulty += planted.faulty;
    }
  }
  return count;
}

void Test(const Form& form) {
  CAPTURE(form.exec, form.width, form.opt_level);
  const Count count = RunAll(form);
  CHECK(count.all >= 95);
  CHECK(count.faulty * 100 >= count.all * form.least);
}

}  // namespace

// Cases of their own, so that they run side by side.
TEST_CASE("planted faults are found, and nothing in their mended twins") { Test({"auto", 0, 3, 100}); }
TEST_CASE("planted faults: lanes (T3)") { Test({"lanes", 0, 1, 100}); }
TEST_CASE("planted faults: lanes (T3), not optimised") { Test({"lanes", 0, 0, 100}); }
TEST_CASE("planted faults: flat (T0)") { Test({"flat", 0, 1, 50, true}); }
TEST_CASE("planted faults: flat (T0), one lane at a time") { Test({"flat", 1, 1, 50, true}); }
TEST_CASE("planted faults: warps and lanes (T1)") { Test({"warp", 0, 1, 50, true}); }
TEST_CASE("planted faults: warps and lanes (T1), one lane at a time") { Test({"warp", 1, 1, 50, true}); }
TEST_CASE("planted faults: resumable warps (T2)") { Test({"resumable", 0, 1, 50, true}); }
TEST_CASE("planted faults: resumable warps (T2), vectors of 8") { Test({"resumable", 8, 1, 50, true}); }
TEST_CASE("planted faults: one lane at a time") { Test({"auto", 1, 1, 100}); }
TEST_CASE("planted faults: vectors of 8") { Test({"auto", 8, 1, 100}); }
TEST_CASE("planted faults: vectors of 16") { Test({"auto", 16, 1, 100}); }
TEST_CASE("planted faults: vectors of 32") { Test({"auto", 32, 1, 100}); }
TEST_CASE("planted faults: vectors of 64") { Test({"auto", 64, 1, 100}); }
