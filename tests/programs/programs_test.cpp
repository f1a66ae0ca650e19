// Unmodified CUDA programs, run by `ptx2cpu exec`: they print what they printed on a GPU (expected/*.txt,
// from an H200).
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/scratch_folder.h"

namespace fs = std::filesystem;

namespace {

const std::string kBuilt = PTX2CPU_BINARY_DIR, kSource = std::string(PTX2CPU_SOURCE_DIR) + "/tests/programs";

struct Outcome {
  int code = -1;
  std::string text, errors;
};

std::string ReadFile(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

Outcome Run(const std::string& options, const std::string& program) {
  static int number = 0;
  const fs::path errors = fs::temp_directory_path() / ("ptx2cpu_program_" + std::to_string(getpid()) + "_" +
                                                       std::to_string(number++) + ".err");
  const std::string command =
      "timeout 240 " + kBuilt + "/bin/ptx2cpu exec " + options + " -- " + program + " 2>" + errors.string();
  Outcome outcome;
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  while (const size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) outcome.text.append(buffer, got);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.errors = ReadFile(errors);
  fs::remove(errors);
  return outcome;
}

void SameAsOnGpu(const std::string& program, const std::string& expected, const std::string& options = "") {
  const Outcome outcome = Run(options, program);
  INFO(outcome.errors);
  CHECK(outcome.text == ReadFile(kSource + "/expected/" + expected + ".txt"));
  CHECK(outcome.code == 0);
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string kBin = kSource + "/bin/", kHere = kBuilt + "/programs/";

}  // namespace

TEST_CASE("driver api: a program that opens libcuda.so.1") {
  SameAsOnGpu(kHere + "program_driver_api", "driver_api");
}

#if defined(__x86_64__)
TEST_CASE("program: symbols") { SameAsOnGpu(kBin + "symbols", "symbols"); }
TEST_CASE("program: streams") { SameAsOnGpu(kBin + "streams", "streams"); }
TEST_CASE("program: streams, one worker") { SameAsOnGpu(kBin + "streams", "streams", "--threads 1"); }
TEST_CASE("program: graphs") { SameAsOnGpu(kBin + "graphs", "graphs"); }
TEST_CASE("program: memory") { SameAsOnGpu(kBin + "memory", "memory"); }
TEST_CASE("program: textures") { SameAsOnGpu(kBin + "textures", "textures"); }
TEST_CASE("program: cooperative launch") { SameAsOnGpu(kBin + "cooperative", "cooperative"); }
// All workers look back at each other, more of them than processors. A status that comes with the value of
// before (torn accesses) is too rare to be seen here: tests/llvm/torn_test.cpp finds it.
TEST_CASE("program: scan, selection and sort that look back at other blocks") {
  SameAsOnGpu(kBin + "look_back", "look_back");
  SameAsOnGpu(kBin + "look_back", "look_back", "--threads 8");
}
TEST_CASE("program: linked device code") { SameAsOnGpu(kBin + "linked", "linked"); }
TEST_CASE("program: device services") { SameAsOnGpu(kBin + "device_services", "device_services"); }
TEST_CASE("program: errors of calls and launches") { SameAsOnGpu(kBin + "errors", "errors"); }

TEST_CASE("program: faults are CUDA errors and name their place") {
  SameAsOnGpu(kBin + "errors null", "errors_null");
  SameAsOnGpu(kBin + "errors trap", "errors_trap");
  SameAsOnGpu(kBin + "errors misaligned", "errors_misaligned");
  SameAsOnGpu(kBin + "errors misaligned", "errors_misaligned", "--check-alignment");
  const Outcome outcome = Run("", kBin + "errors null");
  INFO(outcome.errors);
  CHECK(Contains(outcome.errors, "Write"));
  CHECK(Contains(outcome.errors, "block (0,0,0)"));
  CHECK(Contains(outcome.errors, ": st.global.u32"));
  CHECK(Contains(outcome.errors, "errors.cu:"));
}

TEST_CASE("program: a device works again after a reset") {
  SameAsOnGpu(kBin + "errors reset", "errors_reset");
}

TEST_CASE("program: a device assertion") {
  const Outcome outcome = Run("", kBin + "device_services assert");
  INFO(outcome.text);
  CHECK(outcome.text == ReadFile(kSource + "/expected/device_services_assert.txt"));
  CHECK(Contains(outcome.errors,
                 "device_services.cu:39: void Assert(int): block: [0,0,0], thread: [30,0,0] Assertion "
                 "`static_cast<int>(threadIdx.x) < limit` failed."));
  CHECK(Contains(outcome.errors, "thread: [31,0,0]"));
}

TEST_CASE("program: several devices") {
  const Outcome outcome = Run("--devices 3 --trace", kBin + "symbols");
  CHECK(outcome.text == ReadFile(kSource + "/expected/symbols.txt"));
  CHECK(Contains(outcome.errors, "cudaMemcpyToSymbol("));
}

TEST_CASE("program: a timeline is written") {
  const fs::path file =
      fs::temp_directory_path() / ("ptx2cpu_timeline_" + std::to_string(getpid()) + ".json");
  SameAsOnGpu(kBin + "streams", "streams", "--timeline " + file.string());
  const std::string text = ReadFile(file);
  fs::remove(file);
  CHECK(Contains(text, "\"traceEvents\""));
  CHECK(Contains(text, "cudaStreamSynchronize"));
  CHECK(Contains(text, "Add"));
  CHECK(Contains(text, "\"name\":\"worker "));
}

TEST_CASE("program: environment of a device") {
  const Outcome none = Run("", "env CUDA_VISIBLE_DEVICES= " + kBin + "symbols");
  CHECK(none.code != 0);
  CHECK(Contains(none.text, "cudaErrorNoDevice"));
  const Outcome blocking =
      Run("", "env CUDA_LAUNCH_BLOCKING=1 CUDA_MODULE_LOADING=EAGER " + kBin + "symbols");
  CHECK(blocking.text == ReadFile(kSource + "/expected/symbols.txt"));
}
#endif

#ifdef PTX2CPU_TOOLKIT_PROGRAMS
TEST_CASE("toolkit program: static runtime") {
  SameAsOnGpu(kHere + "static_symbols", "symbols");
  SameAsOnGpu(kHere + "static_streams", "streams");
  SameAsOnGpu(kHere + "static_errors", "errors");
  SameAsOnGpu(kHere + "static_linked", "linked");
}
TEST_CASE("toolkit program: Thrust") { SameAsOnGpu(kHere + "thrust", "thrust"); }
TEST_CASE("toolkit program: dynamic parallelism") {
  SameAsOnGpu(kHere + "dynamic_parallelism", "dynamic_parallelism");
}
TEST_CASE("toolkit program: per-thread default streams") {
  SameAsOnGpu(kHere + "per_thread_streams", "per_thread_streams");
}
#endif

TEST_CASE(
    "programs: exec --save-ptx saves registered fat binaries, used or not, and what child processes load") {
  const ptx2cpu::test::ScratchFolder scratch;
  const std::string folder = scratch.path().string();
  const Outcome outcome =
      Run("--save-ptx " + folder + "/ptx", "sh -c '" + kBin + "symbols; " + kBin + "linked'");
  INFO(outcome.errors);
  CHECK(outcome.code == 0);
  const std::string index = ReadFile(folder + "/ptx/index.tsv");
  size_t files = 0, lines = 0;
  for (const auto& entry : fs::directory_iterator(folder + "/ptx")) {
    if (entry.path().extension() != ".ptx") continue;
    ++files;
    CHECK(Contains(ReadFile(entry.path()), ".version"));
    CHECK(Contains(index, entry.path().filename().string() + "\t__cudaRegisterFatBinary\t"));
  }
  std::istringstream in(index);
  for (std::string line; std::getline(in, line);)
    lines += Contains(line, "\t__cudaRegisterFatBinary\t") ? 1 : 0;
  INFO(index);
  CHECK(files >= 3);  // symbols, and the two sources of linked
  CHECK(lines >= files);
}
