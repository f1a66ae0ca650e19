// Programs whose loops GCC offloads to PTX: 42 texts with a runtime of their own, function pointers and a
// scheduler, linked by cuLinkAddData. Where GCC's offloading compiler is installed (Debian:
// gcc-12-offload-nvptx, gfortran-12), each is built, run without kept kernels and compared with what the
// host computes; a region reports whether it has run on the host.
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "tests/run_shell.h"
#include "tests/scratch_folder.h"

using ptx2cpu::test::RunShell;
using ptx2cpu::test::ScratchFolder;

#if defined(__x86_64__)
namespace {

const std::string kTool = PTX2CPU_BINARY_DIR "/bin/ptx2cpu",
                  kSources = std::string(PTX2CPU_SOURCE_DIR) + "/tests/programs/sources/offload/";
constexpr double kMaxSeconds = 10;  // of processors, with all compiling
constexpr int kTries = 3;           // machines are busy
constexpr int kMoreRuns = 10;       // with kept kernels: teams meet in other ways

struct Program {
  const char* compiler;
  const char* options;
  const char* source;
  const char* expected;
};
constexpr Program kPrograms[] = {
    {"gcc-12", "-fopenmp", "openmp.c", "host 0 sum 166666500 largest 999\n"},
    {"gcc-12", "-fopenmp", "tasks.c", "host 0 tasks 204 teams 3\n"},
    {"gcc-12", "-fopenmp", "teams.c", "host 0 critical 4800 of 4800 tickets 3000 4498500 sum 2249250.0\n"},
    {"gcc-12", "-fopenacc", "openacc.c", "host 0 sum 69616 last 31\n"},
    {"gfortran-12", "-fopenmp", "openmp.f90", "host F total 2668667000.\n"},
};

// GCC would call ptxas, which no longer takes the architecture that it names, if it found one.
constexpr const char* kPath = "env PATH=/usr/bin:/bin ";

bool IsInstalled(const std::string& compiler) {
  const auto passes = RunShell(kPath + compiler + " -print-file-name=accel/nvptx-none/mkoffload", 20);
  if (passes.code == 0 && passes.text.starts_with("/")) return true;
  WARN(compiler << " does not offload to nvptx: nothing is tested");
  return false;
}

double ProcessorSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

}  // namespace

TEST_CASE("programs that GCC offloads compute what the host does, cold within ten seconds") {
  for (const Program& program : kPrograms) {
    if (!IsInstalled(program.compiler)) continue;
    INFO(program.source);
    const ScratchFolder scratch;
    const std::string binary = scratch / "program";
    const auto built = RunShell(kPath + std::string(program.compiler) + " -O2 -foffload=nvptx-none " +
                                    program.options + " " + kSources + program.source + " -o " + binary,
                                120);
    INFO(built.text);
    REQUIRE(built.code == 0);
    double seconds = kMaxSeconds;
    for (int n = 0; n < kTries && seconds >= kMaxSeconds; ++n) {
      const double before = ProcessorSeconds();
      const auto run =
          RunShell("env CUDA_CACHE_PATH=" + (scratch / "cache" + std::to_string(n)) +
                       " CUDA_CACHE_DISABLE=0 PTX2CPU_PROGRESS=0 " + kTool + " exec -- " + binary,
                   200);
      seconds = ProcessorSeconds() - before;
      CHECK(run.code == 0);
      CHECK(run.text == program.expected);
      if (run.text != program.expected) break;
    }
    CHECK(seconds < kMaxSeconds);
    for (int n = 0; n < kMoreRuns; ++n) {
      const auto run =
          RunShell("env CUDA_CACHE_PATH=" + (scratch / "cache0") +
                       " CUDA_CACHE_DISABLE=0 PTX2CPU_PROGRESS=0 " + kTool + " exec -- " + binary,
                   200);
      CHECK(run.text == program.expected);
    }
  }
}
#endif
