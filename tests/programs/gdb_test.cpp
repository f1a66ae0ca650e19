// exec --gdb: breakpoints by source line in device code, backtraces, and the functions of tools/gdb.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "tests/scratch_folder.h"

using Catch::Matchers::Contains;

#if defined(__x86_64__)
namespace {

const std::string kTool = PTX2CPU_BINARY_DIR "/bin/ptx2cpu",
                  kPrograms = std::string(PTX2CPU_SOURCE_DIR) + "/tests/programs/bin/";

std::string ReadAll(const std::string& line) {
  std::string text;
  std::FILE* pipe = popen(line.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  while (const size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  pclose(pipe);
  return text;
}

// What gdb prints for these commands, on both streams.
std::string Debug(const std::string& program, const std::string& commands, const std::string& options = "") {
  return ReadAll("printf '" + commands + "' | timeout 200 " + kTool + " exec --threads 1 " + options +
                 " --gdb -- " + kPrograms + program + " 2>&1");
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

TEST_CASE("gdb: code for one thread at a time has a current thread, warp and lane") {
  if (!HasDebugger()) return;
  const std::string text = Debug("symbols",
                                 "break symbols.cu:14 if $ptx2cpu_thread() == 37\\nrun\\nptx2cpu\\n"
                                 "print $ptx2cpu_lane() + 1000\\nup\\nprint $ptx2cpu_warp() + 2000\\n"
                                 "print $ptx2cpu_thread(1) + 3000\\nkill\\nquit\\n",
                                 "--exec=lanes --opt 0");
  INFO(text);
  CHECK_THAT(text, Contains("block (0,0,0) of grid (8,1,1), blocks of (128,1,1) threads\n"
                            "thread (37,0,0), warp 1, lane 5\n"));
  CHECK_THAT(text, Contains(" = 1005\n") && Contains(" = 2001\n") && Contains(" = 3000\n"));
  const std::string vectors =
      Debug("symbols", "break symbols.cu:14\\nrun\\nprint $ptx2cpu_thread()\\nkill\\nquit\\n");
  CHECK_THAT(vectors, Contains("no current thread here: this code runs several threads at once"));
}

TEST_CASE("gdb: a backtrace leads through inlined device functions, and threads print in order") {
  if (!HasDebugger()) return;
  const std::string text = Debug("inlined",
                                 "break inlined.cu:9 if $ptx2cpu_thread() == 2\\nrun\\nbacktrace 4\\n"
                                 "delete\\ncontinue\\nquit\\n",
                                 "--exec=lanes --opt 0");
  INFO(text);
  const char* const frames[] = {"#0  shapes::Twice<int> () at ",
                                "inlined.cu:9\n",
                                "#1  shapes::Area () at ",
                                "inlined.cu:12\n",
                                "#2  inlined.cu () at ",
                                "inlined.cu:18\n",
                                "#3  ",
                                ".ptx:",
                                "thread 0: 1\nthread 1: 9\nthread 2: 25\nthread 3: 49\n",
                                "exited normally"};
  size_t at = 0;
  for (const char* frame : frames) {
    INFO(frame);
    at = text.find(frame, at);
    REQUIRE(at != std::string::npos);
  }
}

// tools/gdb/README.md has a configuration for VS Code, which starts gdb and sets these variables in it.
TEST_CASE("gdb: a front end needs only the variables that --print-environment prints") {
  if (!HasDebugger()) return;
  const std::string variables =
      ReadAll(kTool + " exec --gdb --exec=lanes --opt 0 --threads 1 --print-environment -- true");
  std::string commands =
      "-ex 'source " PTX2CPU_BINARY_DIR "/lib/ptx2cpu/ptx2cpu-gdb.py' -ex 'set breakpoint pending on'";
  std::ostringstream page;
  page << std::ifstream(PTX2CPU_SOURCE_DIR "/tools/gdb/README.md").rdbuf();
  const std::regex line("([A-Z0-9_]+)='([^'\n]*)'\n");
  size_t count = 0;
  for (std::sregex_iterator each(variables.begin(), variables.end(), line), end; each != end;
       ++each, ++count) {
    const std::string name = (*each)[1], value = (*each)[2];
    commands += " -ex 'set env " + name + " " + value + "'";
    const bool is_folder = value.find('/') != std::string::npos;
    CHECK_THAT(page.str(), Contains("{\"name\": \"" + name + "\", \"value\": \"" +
                                    (is_folder ? "/usr/lib/" : value + "\"}")));
  }
  CHECK(count == 6);
  const std::string text =
      ReadAll("timeout 200 gdb -q -batch " + commands +
              " -ex 'break symbols.cu:14 if $ptx2cpu_thread() == 37' -ex run -ex ptx2cpu --args " +
              kPrograms + "symbols 2>&1");
  INFO(text);
  CHECK_THAT(text, Contains("thread (37,0,0), warp 1, lane 5\n"));
}

// The cache has code of `down` with x and y exchanged then, as runs without a debugger compile it.
TEST_CASE("gdb: blocks are the program's, also where code without a debugger has x and y exchanged") {
  if (!HasDebugger()) return;
  const ptx2cpu::test::ScratchFolder folder;
  const std::string cache = "env CUDA_CACHE_DISABLE=0 CUDA_CACHE_PATH=" + (folder / "cache") + " ";
  ReadAll(cache + kTool + " exec -- " + kPrograms + "profiled 1 2>&1");
  const std::string text = ReadAll(
      "printf 'break profiled.cu:31 if $ptx2cpu_block() == 3 && $ptx2cpu_block(1) == 1\\nrun\\nptx2cpu\\n"
      "kill\\nquit\\n' | " +
      cache + "timeout 200 " + kTool + " exec --threads 1 --gdb -- " + kPrograms + "profiled 1 2>&1");
  INFO(text);
  CHECK_THAT(text, Contains("block (3,1,0) of grid (32,64,1), blocks of (16,8,1) threads"));
}

TEST_CASE("gdb: a breakpoint with a condition on the block") {
  if (!HasDebugger()) return;
  const std::string text =
      Debug("streams", "break streams.cu:9 if $ptx2cpu_block() == 2\\nrun\\nptx2cpu\\nkill\\nquit\\n");
  INFO(text);
  CHECK_THAT(text, Contains("block (2,0,0) of grid ("));
}
#endif
