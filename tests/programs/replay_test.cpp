// exec --record on whole programs, and their launches replayed: bit for bit what was recorded, in every
// engine.
#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/run_shell.h"
#include "tests/scratch_folder.h"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using ptx2cpu::test::Outcome;
using ptx2cpu::test::RunShell;

#if defined(__x86_64__)
namespace {

const std::string kTool = PTX2CPU_BINARY_DIR "/bin/ptx2cpu ",
                  kPrograms = std::string(PTX2CPU_SOURCE_DIR) + "/tests/programs/bin/";

Outcome Run(const std::string& arguments) { return RunShell(kTool + arguments, 240); }

void Record(const std::string& program, const std::string& folder, const std::string& options = "") {
  const Outcome outcome = Run("exec " + options + " --record " + folder + " -- " + kPrograms + program);
  INFO(outcome.text);
  REQUIRE(outcome.code == 0);
  CHECK(outcome.text.find("recording ends") == std::string::npos);
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

void ReplaysAlike(const std::string& program, size_t least_launches) {
  const ptx2cpu::test::ScratchFolder folder;
  Record(program, folder / "r");
  for (const char* engine :
       {"", " --interpret", " --exec=lanes --opt 0", " --exec=warp --width 4 --threads 1"}) {
    const Outcome outcome = Run("replay " + folder / "r" + engine);
    INFO(program << engine << "\n" << outcome.text);
    CHECK(outcome.code == 0);
    CHECK(Count(outcome.text, "launch ") >= least_launches);
    CHECK(Count(outcome.text, ": same\n") == Count(outcome.text, "launch "));
  }
}

}  // namespace

TEST_CASE("replay: launches of whole programs give the recorded bits in every engine") {
  ReplaysAlike("symbols", 4);
  ReplaysAlike("textures", 4);
  ReplaysAlike("linked", 2);  // with addresses of functions in a table
}

TEST_CASE("replay: one launch, as a benchmark, under checks; a recording may begin late") {
  const ptx2cpu::test::ScratchFolder folder;
  Record("symbols", folder / "r", "--record-launches 1-2");
  const Outcome all = Run("replay " + folder / "r");
  INFO(all.text);
  CHECK(Count(all.text, "launch ") == 2);
  CHECK_THAT(all.text, Contains("launch 1: ") && Contains("launch 2: ") && Contains("<<<("));
  const Outcome one = Run("replay " + folder / "r --launch 2 --check=memory,race");
  CHECK(one.code == 0);
  CHECK(Count(one.text, ": same\n") == 1);
  const Outcome bench = Run("replay " + folder / "r --bench --repeat 3");
  CHECK(bench.code == 0);
  CHECK(Count(bench.text, " ms of 3 runs\n") == 2);
  CHECK(Run("replay " + folder / "r --launch 7").code == 8);
  CHECK(Run("replay " + folder / "nothing").code == 3);
  CHECK(Run("exec --record " + folder / "n --record-launches 5- -- true").code == 2);
  CHECK(Run("exec --record " + folder / "r -- true").code == 3);  // not into an older recording
}

TEST_CASE("replay: what a changed kernel computes differs, and the element is named") {
  const ptx2cpu::test::ScratchFolder folder;
  Record("symbols", folder / "r", "--record-outputs");
  const std::string file = folder / "r/process_0/0.0.ptx";
  std::string text;
  {
    std::ostringstream read;
    read << std::ifstream(file).rdbuf();
    text = read.str();
  }
  const size_t at = text.find("fma.rn.f32");
  REQUIRE(at != std::string::npos);
  std::ofstream(file) << text.replace(at, 10, "fma.rn.sat.f32");
  const Outcome outcome = Run("replay " + folder / "r");
  INFO(outcome.text);
  CHECK(outcome.code == 1);
  CHECK_THAT(outcome.text, Contains(": differs\n") && Contains("f32 ") &&
                               Contains("units in the last place") &&
                               Contains("launches differ from the recording"));
}

TEST_CASE("replay: launches that use blocks of device malloc; those that leave others are not repeated") {
  const ptx2cpu::test::ScratchFolder folder;
  Record("device_heap", folder / "r");
  for (const char* engine : {"", " --exec=lanes --opt 0", " --interpret", " --check=memory,race"}) {
    const Outcome outcome = Run("replay " + folder / "r" + engine);
    INFO(engine << "\n" << outcome.text);
    CHECK(outcome.code == 0);
    CHECK(Count(outcome.text, ": not repeated: it leaves other blocks of device malloc than it found") == 2);
    CHECK(Count(outcome.text, ": same\n") == 2);
  }
  const Outcome one = Run("replay " + folder / "r --launch 0");
  INFO(one.text);
  CHECK(one.code == 7);
  CHECK_THAT(one.text, Contains("launch 0: ") && Contains("no launch of the recording can be repeated"));
}

TEST_CASE("compare: two runs of a program are alike, at other addresses") {
  const ptx2cpu::test::ScratchFolder folder;
  for (const char* program : {"symbols", "textures", "memory"}) {
    Record(program, folder / (std::string(program) + "_a"));
    Record(program, folder / (std::string(program) + "_b"), "--threads 1");
    const Outcome outcome =
        Run("compare " + folder / (std::string(program) + "_a ") + folder / (std::string(program) + "_b"));
    INFO(program << "\n" << outcome.text);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.text, Contains("are alike"));
  }
  const Outcome other = Run("compare " + folder / "symbols_a " + folder / "textures_a");
  CHECK(other.code == 1);
  CHECK_THAT(other.text, Contains("launch 0: is ") && Contains("in the other"));
}

TEST_CASE("replay: other orders of threads show where a barrier is missing; the mended program is the same") {
  const ptx2cpu::test::ScratchFolder folder;
  const std::string orders = "exec --order=random:5 --orders 3 ";
  const Outcome faulty =
      Run(orders + "--error-exitcode 9 --record " + folder / "r -- " + kPrograms + "orders");
  INFO(faulty.text);
  CHECK(faulty.code == 9);
  CHECK_THAT(faulty.text, Contains("done\n") && Contains("launch 0: ") && Contains("launch 1: ") &&
                              Contains(": depends on the order (random:5)\n") && Contains("device memory") &&
                              Contains("2 of 2 launches depend on the order"));
  const std::string replay = "replay " + folder / "r --order random:5 --orders 3";
  const Outcome once = Run(replay), again = Run(replay);
  CHECK(once.code == 1);
  CHECK(once.text == again.text);
  CHECK(faulty.text.find(once.text) != std::string::npos);
  const Outcome mended = Run(orders + "--error-exitcode 9 -- " + kPrograms + "orders mended");
  INFO(mended.text);
  CHECK(mended.code == 0);
  CHECK(Count(mended.text, "the same in 3 other orders\n") == 2);
}

TEST_CASE("replay: launches of whole programs are the same in other orders") {
  for (const auto& [program, launches] : {std::pair{"symbols", 4}, {"textures", 4}, {"linked", 2}}) {
    const Outcome outcome = Run(std::string("exec --order random:1 --orders 2 -- ") + kPrograms + program);
    INFO(program << "\n" << outcome.text);
    CHECK(outcome.code == 0);
    CHECK(Count(outcome.text, "the same in 2 other orders\n") >= static_cast<size_t>(launches));
    CHECK(Count(outcome.text, "depends on the order") == 0);
  }
}

TEST_CASE("run --order: one kernel in other orders; options that contradict it") {
  const std::string file = std::string(PTX2CPU_SOURCE_DIR) + "/tests/check/orders/threads.ptx",
                    run = "run '" + file + "' --grid 4 --block 64 --arg out:u32:1024 ";
  const Outcome faulty = Run(run + "--kernel faulty_count --order random:1");
  INFO(faulty.text);
  CHECK(faulty.code == 1);
  CHECK_THAT(faulty.text, Contains("kernel 'faulty_count' depends on the order (random:1)") &&
                              Contains("buffer 0 of 4096 bytes, + 0:\n    i32 "));
  CHECK(Run(run + "--kernel mended_count --order random:1").code == 0);
  for (const char* wrong :
       {"--order random", "--order random:1x", "--orders 3", "--order random:1 --orders 0",
        "--order random:1 --check=race", "--order random:1 --interpret"})
    CHECK(Run(run + "--kernel mended_count " + wrong).code == 2);
}
#endif
