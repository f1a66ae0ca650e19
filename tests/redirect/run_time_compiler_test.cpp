// Programs that compile with NVRTC or link with nvJitLink while they run, under `ptx2cpu exec`. Both are
// substitutes.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/cuda/redirect/compiler_options.h"

namespace {

using ptx2cpu::redirect::AskingForPtx;

const std::string kBuild = PTX2CPU_BINARY_DIR;
const std::string kExec = kBuild + "/bin/ptx2cpu exec -- ";
const std::string kFirst = kBuild + "/lib/libredirect_first_compiler.so",
                  kSecond = kBuild + "/lib/libredirect_second_compiler.so";

// Both outputs, and the exit code where it is not 0.
std::string OutputOf(const std::string& command) {
  std::FILE* pipe = popen(("timeout 60 " + command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  char buffer[4096];
  while (const size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  const int status = pclose(pipe);
  if (status != 0)
    text += "exit " + std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  return text;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The changed options in one line; "unchanged" where there is nothing to change.
std::string Changed(const std::vector<const char*>& options) {
  const auto changed = AskingForPtx(options);
  if (!changed) return "unchanged";
  std::string line;
  for (const char* word : changed->Pointers()) line += (line.empty() ? "" : " ") + std::string(word);
  return line;
}

}  // namespace

TEST_CASE("run-time compiler: options that ask for machine code") {
  CHECK(Changed({"-arch=sm_90"}) == "-arch=compute_90");
  CHECK(Changed({"-G", "--gpu-architecture=sm_100f", "-DX=sm_1"}) ==
        "-G --gpu-architecture=compute_100f -DX=sm_1");
  CHECK(Changed({"-arch", "sm_90a"}) == "-arch compute_90a");
  CHECK(Changed({"--gpu-architecture", "sm_75", "-lineinfo"}) == "--gpu-architecture compute_75 -lineinfo");
  CHECK(Changed({" -arch=sm_90 "}) == "-arch=compute_90");
  CHECK(Changed({"-arch=compute_75", "-arch=sm_90"}) == "-arch=compute_75 -arch=compute_90");
}

TEST_CASE("run-time compiler: options that do not") {
  CHECK(Changed({}) == "unchanged");
  CHECK(Changed({"-arch=compute_90"}) == "unchanged");
  CHECK(Changed({"-arch=sm_90", "-arch=compute_75"}) == "unchanged");  // the last one counts
  CHECK(Changed({"-arch"}) == "unchanged");
  CHECK(Changed({"-architecture=sm_90", "-D", "sm_90"}) == "unchanged");
  CHECK(Changed({"-arch=sm_90", "-dlto"}) == "unchanged");
  CHECK(Changed({"--dlink-time-opt", "-arch=sm_90"}) == "unchanged");
  CHECK(Changed({"-arch=sm_90", "--optix-ir"}) == "unchanged");
  CHECK(Changed({"-arch=sm_90", nullptr}) == "unchanged");
}

TEST_CASE("run-time compiler: alone the program gets machine code") {
  const std::string output = OutputOf("env LD_LIBRARY_PATH=" + kBuild + "/lib/ptx2cpu " + kBuild +
                                      "/bin/redirect_compiles_now -arch=sm_90");
  INFO(output);
  CHECK(Contains(output, "first: -arch=sm_90\n64 bytes\n"));
  CHECK(Contains(output, "result 209\n"));
  CHECK(Contains(output, "run the program with 'ptx2cpu exec'"));
}

TEST_CASE("run-time compiler: a program that is linked to it") {
  for (const char* binding : {"now", "lazy"}) {
    const std::string output =
        OutputOf(kExec + kBuild + "/bin/redirect_compiles_" + binding + " -G --gpu-architecture=sm_90");
    INFO(binding << ": " << output);
    CHECK(Contains(output, "first: -G --gpu-architecture=compute_90\n"));
    CHECK(Contains(output, "answer 42\nresult 0\n"));
    CHECK_FALSE(Contains(output, "exit"));
  }
}

TEST_CASE("run-time compiler: programs compiled for other results get what the compiler has") {
  const std::string program = kExec + kBuild + "/bin/redirect_compiles_now ";
  CHECK(OutputOf(program + "-arch=compute_90") == "first: -arch=compute_90\n0 bytes\nresult 0\n");
  CHECK(OutputOf(program + "-dlto -arch=sm_90") == "first: -dlto -arch=sm_90\n0 bytes\nresult 0\n");
}

TEST_CASE("run-time compiler: a program that opens it, and two of them") {
  const std::string output = OutputOf(kExec + kBuild + "/bin/redirect_opens_compiler " + kFirst + " " +
                                      kSecond + " " + kFirst + " -- -arch sm_80");
  INFO(output);
  const std::string ran = " -arch compute_80\n", size = " bytes\nanswer 42\nresult 0\n";
  size_t at = 0;
  for (const char* name : {"first:", "second:", "first:"}) {
    at = output.find(name + ran, at);
    REQUIRE(at != std::string::npos);
    at = output.find(size, at);
    REQUIRE(at != std::string::npos);
  }
  CHECK_FALSE(Contains(output, "exit"));
}

TEST_CASE("run-time compiler: one that comes and goes") {
  std::string libraries = kFirst;
  for (int i = 0; i < 20; ++i) libraries += " " + kSecond + " " + kFirst;  // the second is closed each time
  const std::string output =
      OutputOf(kExec + kBuild + "/bin/redirect_opens_compiler " + libraries + " -- -arch=sm_80");
  INFO(output);
  size_t answers = 0;
  for (size_t at = output.find("answer 42\n"); at != std::string::npos;
       at = output.find("answer 42\n", at + 1))
    ++answers;
  CHECK(answers == 41);
  CHECK_FALSE(Contains(output, "exit"));
}

TEST_CASE("run-time compiler: the trace reports that it makes PTX") {
  const std::string output =
      OutputOf(kBuild + "/bin/ptx2cpu exec --trace -- " + kBuild + "/bin/redirect_compiles_now -arch=sm_90");
  INFO(output);
  CHECK(Contains(output, "makes PTX instead of machine code"));
}

TEST_CASE("run-time linker: options") {
  const auto changed = [](const std::vector<const char*>& options) {
    const auto linking = ptx2cpu::redirect::LinkingToPtx(options);
    std::string line = !linking ? "its own" : linking->lto ? "LTO" : "PTX";
    for (const char* word : linking ? linking->list.Pointers() : std::vector<const char*>())
      line += " " + std::string(word);
    return line;
  };
  CHECK(changed({"-arch=sm_90"}) == "PTX -arch=sm_90");
  CHECK(changed({"-lto", "-arch=sm_90"}) == "LTO -lto -arch=sm_90 -ptx");
  CHECK(changed({"-lto", "-ptx", "-arch=sm_90"}) == "its own");
}

TEST_CASE("run-time linker: PTX is kept from it and linked by the driver") {
  const std::string program = "cd " + kBuild + " && " + kExec + kBuild + "/bin/redirect_links ";
  CHECK(OutputOf("sh -c '" + program + "ptx -arch=sm_90'") == "link: -arch=sm_90\nanswer 43\nresult 0\n");
  CHECK(OutputOf("sh -c '" + program + "file -arch=sm_90 -O3'") ==
        "link: -arch=sm_90 -O3\nanswer 43\nresult 0\n");
  // Also where LTO IR could have come.
  CHECK(OutputOf("sh -c '" + program + "ptx -lto -arch=sm_90'") ==
        "link: -lto -arch=sm_90 -ptx\nanswer 43\nresult 0\n");
}

TEST_CASE("run-time linker: of LTO IR it makes PTX") {
  const std::string output = OutputOf(kExec + kBuild + "/bin/redirect_links lto -lto -arch=sm_90");
  CHECK(output ==
        "link: -lto -arch=sm_90 -ptx\nlinker reads intermediate of type 3\nlinker links\nanswer 42\nresult "
        "0\n");
}

TEST_CASE("run-time linker: who asks it for PTX gets its answers") {
  const std::string output = OutputOf(kExec + kBuild + "/bin/redirect_links lto -lto -ptx");
  INFO(output);
  CHECK(Contains(output, "linker links\n"));
  CHECK(Contains(output, "exit 13"));  // no machine code, as the substitute reports it
}

TEST_CASE("run-time linker: alone the program gets machine code") {
  const std::string output = OutputOf("env LD_LIBRARY_PATH=" + kBuild + "/lib/ptx2cpu " + kBuild +
                                      "/bin/redirect_links ptx -arch=sm_90");
  INFO(output);
  CHECK(Contains(output, "linker reads caller of type 2\n"));
  CHECK(Contains(output, "result 209\n"));
}
