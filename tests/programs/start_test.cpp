// A process loads the translator, which has LLVM, when the first kernel must be compiled, and not before: not
// for `exec` of a program without kernels, and not where the cache has all of them. The loader reports each
// object that it loads (LD_DEBUG=files) to a file for each process.
#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/cache/scratch.h"

namespace fs = std::filesystem;
using ptx2cpu::cache_test::Scratch;

namespace {

const std::string kTool = PTX2CPU_BINARY_DIR "/bin/ptx2cpu";

struct Run {
  double milliseconds = 0;  // of processors
  std::string loaded;       // the loader's reports, of all processes
};

double ProcessorMilliseconds() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto of = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

Run RunOf(const Scratch& scratch, const std::string& command, bool reports = true) {
  const fs::path folder = scratch / "reports";
  fs::remove_all(folder);
  fs::create_directory(folder);
  const std::string environment =
      "CUDA_CACHE_DISABLE=0 CUDA_CACHE_PATH=" + (scratch / "cache").string() +
      // Better code, which the background makes of what runs for long, may be for a later process to make.
      " PTX2CPU_PROGRESS=0 PTX2CPU_QUICK=0 PTX2CPU_SPECIALISE=0 ";
  const std::string debug = reports ? "LD_DEBUG=files LD_DEBUG_OUTPUT=" + (folder / "of").string() + " " : "";
  const double before = ProcessorMilliseconds();
  const int status = std::system(("env " + environment + debug + command + " >/dev/null").c_str());
  Run run;
  run.milliseconds = ProcessorMilliseconds() - before;
  CHECK(status == 0);
  for (const auto& report : fs::directory_iterator(folder)) {
    std::ostringstream text;
    text << std::ifstream(report.path()).rdbuf();
    run.loaded += text.str();
  }
  return run;
}

bool Loads(const Run& run, const char* object) { return run.loaded.find(object) != std::string::npos; }

double FastestOf(const Scratch& scratch, const std::string& command) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) best = std::min(best, RunOf(scratch, command, false).milliseconds);
  return best;
}

// `user`: an object that the process loads in any case.
void CompilesOnce(const std::string& program, const char* user) {
  const Scratch scratch;
  const Run cold = RunOf(scratch, program), warm = RunOf(scratch, program);
  INFO(program);
  CHECK(Loads(cold, "libptx2cpu_translator.so"));
  CHECK(Loads(warm, user));
  CHECK_FALSE(Loads(warm, "libptx2cpu_translator.so"));
  CHECK_FALSE(Loads(warm, "libLLVM"));
  WARN(program << ": " << FastestOf(scratch, program) << " ms of processor time with a warm cache");
}

}  // namespace

TEST_CASE("start: exec of a program without kernels loads no compiler") {
  const Scratch scratch;
  const Run run = RunOf(scratch, kTool + " exec -- /bin/true");
  CHECK(Loads(run, "libptx2cpu_redirect.so"));
  for (const char* object : {"libLLVM", "libptx2cpu_translator", "libptx2cpu_verbs", "libptx2cpu_driver",
                             "libopenblas", "libfftw3", "libantlr4"})
    CHECK_FALSE(Loads(run, object));
  WARN("exec -- /bin/true: " << FastestOf(scratch, kTool + " exec -- /bin/true")
                             << " ms of processor time; /bin/true alone: " << FastestOf(scratch, "/bin/true")
                             << " ms");
}

#if defined(__x86_64__)
TEST_CASE("start: kernels and variables of the runtime API come from the cache") {
  for (const char* program : {"symbols", "streams", "memory", "textures"})
    CompilesOnce(kTool + " exec -- " PTX2CPU_SOURCE_DIR "/tests/programs/bin/" + program,
                 "libptx2cpu_driver.so");
}

TEST_CASE("start: the tool runs a kept kernel without a compiler") {
  CompilesOnce(
      kTool + " run " PTX2CPU_SOURCE_DIR
              "/corpus/bin/run_vectors --kernel saxpy --grid 1 --block 8 --arg f32:2 --arg 'in:f32:[1,2]' "
              "--arg 'inout:f32:[10,10]' --arg u32:2",
      "libfmt");
}
#endif
