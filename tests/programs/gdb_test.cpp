// exec --gdb: breakpoints by source line in device code, backtraces, and the functions of tools/gdb.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

using Catch::Matchers::Contains;

#if defined(__x86_64__)
namespace {

const std::string kTool = PTX2CPU_BINARY_DIR "/bin/ptx2cpu",
                  kPrograms = std::string(PTX2CPU_SOURCE_DIR) + "/tests/programs/bin/";

// What gdb prints for these commands, on both streams.
std::string Debug(const std::string& program, const std::string& commands, const std::string& options = "") {
  const std::string line = "printf '" + commands + "' | timeout 200 " + kTool + " exec --threads 1 " +
                           options + " --gdb -- " + kPrograms + program + " 2>&1";
  std::string text;
  std::FILE* pipe = popen(line.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  while (const size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  pclose(pipe);
  return text;
}

bool HasDebugger() {
  if (std::system("gdb -q -batch -ex 'python 1' > /dev/null 2>&1") == 0) return true;
  WARN("no gdb with Python: nothing is tested");
  return false;
}

}  // namespace

TEST_CASE("gdb: a breakpoint by source line stops in device code, and the backtrace has source and PTX") {
  if (!HasDebugger()) return;
  const std::string text =
      Debug("symbols",
            "break symbols.cu:14\\nrun\\nbacktrace 3\\nptx2cpu\\nprint $ptx2cpu_threads() + 1000\\n"
            "delete\\ncontinue\\nprint $ptx2cpu_block()\\nquit\\n");
  INFO(text);
  CHECK_THAT(text, Contains("(symbols.cu:14) pending"));
  CHECK_THAT(text, Contains("symbols.cu:14\n") && Contains("#0  symbols.cu () at ") && Contains("#1  "));
  CHECK_THAT(text, Contains(".ptx:"));
  CHECK_THAT(text, Contains("block (0,0,0) of grid ("));
  CHECK_THAT(text, Contains("exited normally"));
}

// A frame of source is the first; the kernel's frame, with its registers, is above it.
TEST_CASE("gdb: registers of the thread that runs have their PTX names") {
  if (!HasDebugger()) return;
  const std::string text =
      Debug("symbols",
            "break symbols.cu:14\\nrun\\nup\\ninfo locals\\ncontinue\\nup\\ninfo locals\\nkill\\nquit\\n",
            "--exec=lanes --opt 0");
  INFO(text);
  CHECK_THAT(text, Contains("%r2 = 1000\n"));  // the parameter n
  CHECK_THAT(text, Contains("%r4 = 128\n"));   // threads of a block
  CHECK_THAT(text, Contains("%p1 = 0 "));
}

TEST_CASE("gdb: a breakpoint with a condition on the block") {
  if (!HasDebugger()) return;
  const std::string text =
      Debug("streams", "break streams.cu:9 if $ptx2cpu_block() == 2\\nrun\\nptx2cpu\\nkill\\nquit\\n");
  INFO(text);
  CHECK_THAT(text, Contains("block (2,0,0) of grid ("));
}
#endif
