// Verbs that need a folder between programs leave nothing in it.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/run_shell.h"
#include "tests/scratch_folder.h"

TEST_CASE("no temporary folder remains, also of a program that cannot start") {
  const ptx2cpu::test::ScratchFolder folder, report;
  const auto run = [&](const std::string& verb) {
    return ptx2cpu::test::RunShell("TMPDIR=" + (folder / "") + " " PTX2CPU_BINARY_DIR "/bin/ptx2cpu " + verb,
                                   100);
  };
  CHECK(run("exec --order=random:1 -- /nonexistent/program").code != 0);
  CHECK(run("exec --profile " + (report / "page.html") + " -- /nonexistent/program").code != 0);
  run("cfg " PTX2CPU_SOURCE_DIR
      "/tests/check/kernels/constants.ptx --kernel mended_index_past_a_constant --format svg");
  CHECK(std::filesystem::is_empty(folder / ""));
}
