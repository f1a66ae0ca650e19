// Programs that hold a CUDA runtime of their own, run by `ptx2cpu exec`. The programs are made here:
// tests/redirect.
#include <signal.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "tests/run_shell.h"

using ptx2cpu::test::Outcome;
using ptx2cpu::test::RunShell;

namespace {

const std::string kBin = std::string(PTX2CPU_BINARY_DIR) + "/bin/";
const std::string kLib = std::string(PTX2CPU_BINARY_DIR) + "/lib/";

Outcome Run(const std::string& command) { return RunShell(command, 60); }

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Under exec, the program runs to its end with our library and nothing of the other one runs.
void CheckUsesOurs(const std::string& program, const std::string& version) {
  const Outcome outcome = Run(kBin + "ptx2cpu exec -- " + kBin + program);
  INFO(outcome.text);
  CHECK(outcome.code == 0);
  CHECK(Contains(outcome.text, version));
  CHECK(Contains(outcome.text, "done"));
  CHECK_FALSE(Contains(outcome.text, "ran "));
}

}  // namespace

TEST_CASE("redirect: alone the program runs its own runtime") {
  const Outcome outcome = Run(kBin + "redirect_program_13");
  CHECK(outcome.code == 3);
  CHECK(Contains(outcome.text, "ran a constructor"));
}

TEST_CASE("redirect: none of the program's runtime runs") {
  const Outcome outcome = Run(kBin + "ptx2cpu exec -- " + kBin + "redirect_program_13");
  INFO(outcome.text);
  CHECK(outcome.code == 0);
  CHECK(Contains(outcome.text, "done"));
  CHECK_FALSE(Contains(outcome.text, "ran "));
}

TEST_CASE("redirect: the version is that of the program's functions") {
  const Outcome newer = Run(kBin + "ptx2cpu exec -- " + kBin + "redirect_program_13"),
                older = Run(kBin + "ptx2cpu exec -- " + kBin + "redirect_program_12");
  INFO(newer.text << older.text);
  CHECK(Contains(newer.text, "runtime 13"));
  CHECK(Contains(older.text, "runtime 12"));
  CHECK(older.code == 0);
}

TEST_CASE("redirect: a function inside the runtime that is reached after all ends the program") {
  const Outcome outcome = Run(kBin + "ptx2cpu exec -- " + kBin + "redirect_program_13 inner");
  INFO(outcome.text);
  CHECK(outcome.code == 128 + SIGABRT);
  CHECK(Contains(outcome.text, "is not redirected"));
  CHECK_FALSE(Contains(outcome.text, "ran "));
}

TEST_CASE("redirect: a stripped program gets a message and does not run") {
  const Outcome outcome = Run(kBin + "ptx2cpu exec -- " + kBin + "redirect_program_stripped");
  INFO(outcome.text);
  CHECK(outcome.code == 126);
  CHECK(Contains(outcome.text, "stripped"));
  CHECK(Contains(outcome.text, "-cudart shared"));
  CHECK_FALSE(Contains(outcome.text, "ran "));
}

TEST_CASE("redirect: the trace lists what was redirected") {
  const Outcome outcome = Run(kBin + "ptx2cpu exec --trace -- " + kBin + "redirect_program_13");
  INFO(outcome.text);
  CHECK(Contains(outcome.text, "functions of its CUDA runtime redirect to libcudart.so.13"));
  CHECK(Contains(outcome.text, "cudaMalloc(devPtr="));
}

TEST_CASE("redirect: a program with a runtime and no device code") {
  const Outcome outcome = Run(kBin + "ptx2cpu exec -- " + kBin + "redirect_program_host_only");
  INFO(outcome.text);
  CHECK(outcome.code == 0);
  CHECK(Contains(outcome.text, "runtime 13"));
  CHECK_FALSE(Contains(outcome.text, "ran "));
}

TEST_CASE("redirect: a library that is opened later alone runs its own runtime") {
  const Outcome outcome = Run(kBin + "redirect_opener " + kLib + "libredirect_library.so");
  INFO(outcome.text);
  CHECK(outcome.code == 3);
  CHECK(Contains(outcome.text, "ran a constructor"));
}

TEST_CASE("redirect: a library that is opened later, before its constructors, each time") {
  const Outcome outcome =
      Run(kBin + "ptx2cpu exec -- " + kBin + "redirect_opener " + kLib + "libredirect_library.so");
  INFO(outcome.text);
  CHECK(outcome.code == 0);
  CHECK(Contains(outcome.text, "runtime 12"));
  CHECK(Contains(outcome.text, "opened twice"));
  CHECK_FALSE(Contains(outcome.text, "ran "));
}

#ifdef PTX2CPU_NVCC
TEST_CASE("redirect: a library of nvcc's with the static runtime, opened twice") {
  const Outcome outcome =
      Run(kBin + "ptx2cpu exec -- " + kBin + "redirect_opener " + kLib + "libredirect_nvcc_library.so");
  INFO(outcome.text);
  CHECK(outcome.code == 0);
  CHECK(outcome.text == "sum 19900 threads 256\nsum 19900 threads 256\nopened twice\n");
}
#endif

TEST_CASE("redirect: a stripped library that is opened later gets a warning") {
  const Outcome outcome =
      Run(kBin + "ptx2cpu exec -- " + kBin + "redirect_opener " + kLib + "libredirect_library_stripped.so");
  INFO(outcome.text);
  CHECK(Contains(outcome.text, "contains a stripped CUDA runtime of its own"));
  CHECK(Contains(outcome.text, "ran a constructor"));  // nothing of ours in its way
}

TEST_CASE("redirect: a runtime that a program finds by DT_RPATH") {
  const Outcome alone = Run("env LD_LIBRARY_PATH=" + kLib + "ptx2cpu " + kBin + "redirect_rpath");
  INFO(alone.text);
  CHECK(Contains(alone.text, "ran a constructor"));
  CheckUsesOurs("redirect_rpath", "runtime 12");
}

TEST_CASE("redirect: a runtime that a program opens by its path") {
  CheckUsesOurs("redirect_by_path " + kLib + "redirect_foreign/libcudart.so.12", "runtime 12");
}

TEST_CASE("redirect: a library of NVIDIA's in a folder that DT_RPATH names") {
  const Outcome alone = Run("env LD_LIBRARY_PATH=" + kLib + "ptx2cpu " + kBin + "redirect_library_rpath");
  INFO(alone.text);
  CHECK(Contains(alone.text, "ran a constructor"));
  CheckUsesOurs("redirect_library_rpath", "major 13");
}

TEST_CASE("redirect: our own library opened by its path stays as it is") {
  const Outcome outcome =
      Run(kBin + "ptx2cpu exec --trace -- " + kBin + "redirect_by_path " + kLib + "ptx2cpu/libcudart.so.13");
  INFO(outcome.text);
  CHECK_FALSE(Contains(outcome.text, "functions of its CUDA runtime redirect to"));
  CHECK(Contains(outcome.text, "runtime 13"));
  CHECK(outcome.code == 0);
}

TEST_CASE("redirect: programs without CUDA are left alone") {
  const Outcome outcome = Run(kBin + "ptx2cpu exec -- sh -c 'echo $((1 + 2)); exit 7'");
  INFO(outcome.text);
  CHECK(outcome.code == 7);
  CHECK(outcome.text == "3\n");
}

TEST_CASE("exec: a program that is not there is an error of ours") {
  const Outcome outcome = Run(kBin + "ptx2cpu exec -- /nowhere/program");
  CHECK(outcome.code == 3);
  CHECK(Contains(outcome.text, "no program '/nowhere/program'"));
}

TEST_CASE("exec: options after the program are the program's") {
  const Outcome outcome =
      Run(kBin + "ptx2cpu exec --threads 3 sh -c 'echo $PTX2CPU_THREADS \"$1\"' sh --threads");
  INFO(outcome.text);
  CHECK(outcome.text == "3 --threads\n");
}
