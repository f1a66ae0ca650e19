// Each kind of finding as users meet it: text, exit code, JSON and SARIF, suppressions; and nothing of it for
// the mended kernel. Findings of the host's calls are in tests/driver/checked_memory_test.cpp.
#include <boost/property_tree/json_parser.hpp>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/run_shell.h"
#include "tests/scratch_folder.h"

using namespace ptx2cpu;
using Catch::Matchers::Contains;
using Tree = boost::property_tree::ptree;

namespace {

// A planted fault of tests/check/kernels, and how it is launched.
struct Row {
  std::string error, kinds, file, kernel, launch;
};

const std::string kKernels = PTX2CPU_SOURCE_DIR "/tests/check/kernels/";

test::Outcome Run(const Row& row, const std::string& which, const std::string& options) {
  return test::RunShell(PTX2CPU_BINARY_DIR "/bin/ptx2cpu run " + kKernels + row.file + " --kernel " + which +
                            row.kernel + " " + row.launch + " --check=" + row.kinds + " " + options,
                        100);
}

Tree Read(const std::string& file) {
  Tree tree;
  boost::property_tree::read_json(file, tree);
  return tree;
}

void CheckJson(const Row& row, const std::string& file) {
  const Tree findings = Read(file).get_child("findings");
  REQUIRE(!findings.empty());
  const Tree& finding = findings.front().second;
  CHECK(finding.get<std::string>("error") == row.error);
  CHECK(finding.get<std::string>("kernel") == "faulty_" + row.kernel);
  CHECK(finding.get<int>("count") >= 1);
  CHECK(finding.get<int>("by.ptx_line") > 6);
  CHECK(finding.get_child("by.block").size() == 3);
  // The thread of a deadlock is not one.
  CHECK(finding.get_child("by").count("thread") == (row.error == "fault" ? 0 : 1));
  const bool has_two_sides = row.error == "race" || row.error == "different-barriers";
  CHECK(finding.count("after_by") == (has_two_sides ? 1 : 0));
  // The access may end the launch. A race may be seen at both of its places.
  for (const auto& [_, other] : findings)
    CHECK((other.get<std::string>("error") == row.error || other.get<std::string>("error") == "fault"));
}

void CheckSarif(const Row& row, const std::string& file) {
  const Tree tree = Read(file);
  const Tree& results = tree.get_child("runs").front().second.get_child("results");
  REQUIRE(!results.empty());
  const Tree& result = results.front().second;
  CHECK(result.get<std::string>("ruleId") == row.error);
  const Tree& place = result.get_child("locations").front().second.get_child("physicalLocation");
  CHECK_THAT(place.get<std::string>("artifactLocation.uri"), Contains(row.file));
  CHECK(place.get<int>("region.startLine") > 6);
}

const Row kRows[] = {
    {"out-of-bounds", "memory", "bytes.ptx", "global_byte", "--block 33 --shared 40 --arg out:u8:61"},
    {"misaligned", "memory", "alignment.ptx", "global_word", "--block 33 --shared 64 --arg out:u8:512"},
    {"use-after-free", "memory", "heap.ptx", "used_after_free", "--block 33 --arg out:u8:256"},
    {"bad-free", "memory", "heap.ptx", "freed_twice", "--block 33 --arg out:u8:256"},
    {"fault", "sync", "masks.ptx", "other_arm_waits_at_a_barrier", "--block 97 --arg out:u8:256"},
    {"race", "race", "shared_races.ptx", "write_then_read", "--block 64 --arg out:u8:256"},
    {"missing-threads", "sync", "barriers.ptx", "half_a_warp", "--block 97 --arg out:u8:256"},
    {"different-barriers", "sync", "barriers.ptx", "two_places", "--block 97 --arg out:u8:256"},
    {"not-a-member", "sync", "masks.ptx", "barrier_of_other_lanes", "--block 97 --arg out:u8:256"},
    {"uninitialised", "init", "unwritten.ptx", "shared_byte", "--block 33 --shared 64 --arg out:u8:512"},
};

}  // namespace

TEST_CASE("findings: exec --json replaces their text") {
  const std::string exec = PTX2CPU_BINARY_DIR "/bin/ptx2cpu exec ";
  const test::Outcome outcome = test::RunShell(exec + "--check=race --json --print-environment", 100);
  INFO(outcome.text);
  CHECK_THAT(outcome.text, Contains("PTX2CPU_CHECK='race'") && Contains("PTX2CPU_CHECK_JSON='1'"));
  CHECK_THAT(test::RunShell(exec + "--json -- /bin/true", 100).text,
             Contains("--json needs --profile or --check"));
  // The kernel's buffers are on standard output.
  const test::Outcome run =
      test::RunShell("sh -c 'env PTX2CPU_CHECK_JSON=1 " PTX2CPU_BINARY_DIR "/bin/ptx2cpu run " + kKernels +
                         "shared_races.ptx --kernel faulty_write_then_read --block 64 "
                         "--arg out:u8:256 --check=race 2>&1 >/dev/null'",
                     100);
  INFO(run.text);
  std::istringstream text(run.text);
  Tree tree;
  REQUIRE_NOTHROW(boost::property_tree::read_json(text, tree));
  CHECK(tree.get_child("findings").front().second.get<std::string>("error") == "race");
}

TEST_CASE("findings: text, exit code, report files and suppressions of each kind", "[tool]") {
  const test::ScratchFolder folder;
  const std::string json = folder / "found.json", sarif = folder / "found.sarif", list = folder / "known";
  for (const Row& row : kRows) {
    const test::Outcome found = Run(row, "faulty_", "--error-exitcode 9 --check-report " + json);
    INFO(row.error << "\n" << found.text);
    CHECK(found.code == 9);
    CHECK_THAT(found.text,
               Contains("ptx2cpu: check: " + row.error + ": ") &&
                   Contains(", kernel 'faulty_" + row.kernel + "'\n    ") && Contains(row.file + ":") &&
                   Contains(row.error == "fault" ? ", by a thread of block (" : ", by thread (") &&
                   Contains(" errors, found "));
    CheckJson(row, json);
    if (row.error == "bad-free")
      CHECK_THAT(found.text, Contains(" 1 errors, found") && !Contains("check: fault"));
    CHECK(Run(row, "faulty_", "--error-exitcode 9 --check-report " + sarif).code == 9);
    CheckSarif(row, sarif);
    std::ofstream(list) << "# what is known\n" << row.error << " *_" << row.kernel << "  # here\nfault *\n";
    const std::string suppress = "--error-exitcode 9 --check-suppress " + list;
    const test::Outcome known = Run(row, "faulty_", suppress);
    INFO(known.text);
    CHECK(known.code != 9);
    CHECK_THAT(known.text, !Contains("check: " + row.error + ":") && Contains("ptx2cpu: check: 0 errors"));
    std::ofstream(list) << row.error << " another_kernel\n* *_" << row.kernel << " 1\n";
    CHECK(Run(row, "faulty_", suppress).code == 9);
    const test::Outcome mended = Run(row, "mended_", "--error-exitcode 9");
    INFO(mended.text);
    CHECK(mended.code == 0);
    CHECK_THAT(mended.text, Contains("ptx2cpu: check: 0 errors, found 0 times; 0 suppressed"));
  }
}
