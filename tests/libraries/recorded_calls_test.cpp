// The calls of calls/*.calls beside their records from a GPU (calls/*.gpu). What differs is in
// calls/differences.txt, with the reason: no more and no less.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/libraries/dropin.h"
#include "tests/run_shell.h"

using namespace ptx2cpu;

namespace {

const std::string kFolder = PTX2CPU_SOURCE_DIR "/tests/libraries/calls/";

// A difference without the numbers of ours, which may vary: "GROUP:LINE: CALL".
std::string PlaceOf(const std::string& difference) {
  const size_t comma = difference.find(", recorded");
  const std::string place = difference.substr(0, comma);
  const size_t last = place.rfind(' ');
  return place.find(" after ") == std::string::npos ? place.substr(0, last) : place;
}

std::set<std::string> Expected(const std::string& script) {
  std::set<std::string> places;
  std::ifstream in(kFolder + "differences.txt");
  REQUIRE(in);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(script + " ")) places.insert(line.substr(script.size() + 1));
  return places;
}

std::set<std::string> Found(const std::string& script) {
  const std::string base = kFolder + script;
  // MTGP32 is refused, with or without a CUDA toolkit's table; curand_mtgp_test has its record.
  const test::Outcome outcome = test::RunShell("env PTX2CPU_MTGP32=/none LD_LIBRARY_PATH=" PTX2CPU_BINARY_DIR
                                               "/lib/ptx2cpu " PTX2CPU_BINARY_DIR "/bin/record_calls " +
                                                   base + ".calls --against " + base + ".gpu",
                                               300, test::Streams::kOutput);
  REQUIRE(outcome.code <= 1);
  std::set<std::string> places;
  std::istringstream lines(outcome.text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    REQUIRE(line.find("record again") == std::string::npos);
    places.insert(PlaceOf(line));
  }
  return places;
}

// What no GPU has recorded runs: each function is there, and no group ends early.
void CheckRuns(const std::string& script) {
  const test::Outcome outcome = test::RunShell("env LD_LIBRARY_PATH=" PTX2CPU_BINARY_DIR
                                               "/lib/ptx2cpu " PTX2CPU_BINARY_DIR "/bin/record_calls " +
                                                   kFolder + script + ".calls",
                                               300, test::Streams::kOutput);
  CHECK(outcome.code == 0);
  std::istringstream lines(outcome.text);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK((" " + line + " ").find(" missing ") == std::string::npos);
  }
}

void CheckScript(const std::string& script) {
  if (!std::filesystem::exists(kFolder + script + ".gpu")) return CheckRuns(script);
  const std::set<std::string> expected = Expected(script), found = Found(script);
  for (const std::string& place : found) {
    INFO("not as recorded: " << script << " " << place);
    CHECK(expected.contains(place));
  }
  for (const std::string& place : expected) {
    INFO("as recorded now; take it out of differences.txt: " << script << " " << place);
    CHECK(found.contains(place));
  }
}

}  // namespace

TEST_CASE("recorded calls: cublas level 1") { CheckScript("cublas_level1"); }
TEST_CASE("recorded calls: cublas level 2") { CheckScript("cublas_level2"); }
TEST_CASE("recorded calls: cublas level 3") { CheckScript("cublas_level3"); }
TEST_CASE("recorded calls: cublas with types") { CheckScript("cublas_typed"); }
TEST_CASE("recorded calls: cublaslt") { CheckScript("cublaslt"); }
TEST_CASE("recorded calls: cufft") { CheckScript("cufft"); }
TEST_CASE("recorded calls: curand") { CheckScript("curand"); }
TEST_CASE("recorded calls: cusparse") { CheckScript("cusparse"); }
TEST_CASE("recorded calls: cusolver") { CheckScript("cusolver"); }
TEST_CASE("recorded calls: cusparse with blocks") { CheckScript("cusparse_blocks"); }
TEST_CASE("recorded calls: cusolver for systems") { CheckScript("cusolver_systems"); }
TEST_CASE("recorded calls: cusolverMg") { CheckScript("cusolver_mg"); }
TEST_CASE("recorded calls: cudnn") { CheckScript("cudnn"); }
TEST_CASE("recorded calls: cudnn for sequences") { CheckScript("cudnn_sequences"); }
TEST_CASE("recorded calls: cusolver for factors") { CheckScript("cusolver_factors"); }
TEST_CASE("recorded calls: cudnn in other forms") { CheckScript("cudnn_forms"); }
TEST_CASE("recorded calls: cudnn, normalisation and sampling") { CheckScript("cudnn_sampling"); }
TEST_CASE("recorded calls: cusolver and cublas, what few call") { CheckScript("cusolver_rest"); }
TEST_CASE("recorded calls: cublas with 64-bit sizes") { CheckScript("cublas_wide"); }
TEST_CASE("recorded calls: cublas without handles") { CheckScript("cublas_legacy"); }
TEST_CASE("recorded calls: cublas, matrices of the host, settings") { CheckScript("cublas_rest"); }
TEST_CASE("recorded calls: cublaslt, descriptors and algorithms") { CheckScript("cublaslt_rest"); }
TEST_CASE("recorded calls: cufft, sizes and descriptors") { CheckScript("cufft_rest"); }
TEST_CASE("recorded calls: cusparse, views and steps") { CheckScript("cusparse_views"); }
TEST_CASE("recorded calls: cusparse, what few call") { CheckScript("cusparse_rest"); }
TEST_CASE("recorded calls: cusolver, precisions, ranges, batches") { CheckScript("cusolver_more"); }
TEST_CASE("recorded calls: cusolverMg, eigenvalues and inverses") { CheckScript("cusolver_mg_rest"); }
TEST_CASE("recorded calls: cudnn, answers, attention, trials") { CheckScript("cudnn_rest"); }
TEST_CASE("recorded calls: cudnn, graphs") { CheckScript("cudnn_graph"); }
TEST_CASE("recorded calls: cufft, policies and sizes") { CheckScript("cufft_areas"); }
TEST_CASE("recorded calls: cusparse, missing blocks, algorithms") { CheckScript("cusparse_padding"); }
TEST_CASE("recorded calls: cusolver, inverses, wrong arguments") { CheckScript("cusolver_checks"); }
TEST_CASE("recorded calls: cudnn, attention as programs call it") { CheckScript("cudnn_attention"); }
TEST_CASE("recorded calls: cudnn, attention in training") { CheckScript("cudnn_training"); }
TEST_CASE("recorded calls: nccl of one rank") { CheckScript("nccl"); }
TEST_CASE("recorded calls: nvml") { CheckScript("nvml"); }
