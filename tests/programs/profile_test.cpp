// exec --profile on a whole program: the figures, the page, and that it is written however the program ends;
// what perf reads.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/run_shell.h"
#include "tests/scratch_folder.h"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using ptx2cpu::test::Outcome;
using ptx2cpu::test::RunShell;

#if defined(__x86_64__)
namespace {

const std::string kTool = PTX2CPU_BINARY_DIR "/bin/ptx2cpu ",
                  kProgram = std::string(PTX2CPU_SOURCE_DIR) + "/tests/programs/bin/profiled ";

using Folder = ptx2cpu::test::ScratchFolder;

Outcome Run(const std::string& command) { return RunShell(command, 400); }

std::string Contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The number of a key in the object of a kernel, whose mangled name contains `kernel`.
double Figure(const std::string& json, const std::string& kernel, const std::string& key) {
  const std::regex name("\"name\": \"[^\"]*" + kernel);
  std::smatch match;
  INFO(kernel << " " << key);
  REQUIRE(std::regex_search(json, match, name));
  const size_t at = json.find("\"" + key + "\": ", static_cast<size_t>(match.position()));
  REQUIRE(at != std::string::npos);
  return std::strtod(json.c_str() + at + key.size() + 4, nullptr);
}

// Whether each element that is opened is closed, in order: the page is XML after its first line.
void CheckElements(const std::string& page) {
  std::vector<std::string> open;
  for (size_t at = page.find('\n'); (at = page.find('<', at)) != std::string::npos; ++at) {
    const size_t end = page.find('>', at);
    REQUIRE(end != std::string::npos);
    const std::string tag = page.substr(at + 1, end - at - 1);
    const std::string name =
        tag.substr(tag[0] == '/' ? 1 : 0, tag.find_first_of(" >", 1) - (tag[0] == '/' ? 1 : 0));
    if (tag[0] == '/') {
      REQUIRE_FALSE(open.empty());
      CHECK(open.back() == name.substr(0, open.back().size()));
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  CHECK(open.empty());
}

bool Has(const std::string& program) {
  return std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
}

// The 64th place of a thread of `follow` is not read: no value is taken from there.
constexpr double kCount = 1 << 20, kFollowers = 1 << 16;

}  // namespace

TEST_CASE("profile: calls, bytes and operations of known kernels, in a small page without resources") {
  const Folder folder;
  const Outcome outcome =
      Run(kTool + "exec --profile " + (folder / "report.html") + " --json -- " + kProgram + "10000");
  INFO(outcome.text);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.text, Contains("sum 64, count 10000"));
  const std::string json = Contents(folder / "report.json"), page = Contents(folder / "report.html");
  CHECK(Figure(json, "scale_and_add", "launches") == 8);
  CHECK(Figure(json, "scale_and_add", "threads") == 8 * kCount);
  CHECK(Figure(json, "scale_and_add", "bytes_read") == 8 * 8 * kCount);
  CHECK(Figure(json, "scale_and_add", "bytes_written") == 8 * 4 * kCount);
  CHECK(Figure(json, "scale_and_add", "float_operations") == 8 * 2 * kCount);
  CHECK(Figure(json, "follow", "launches") == 4);
  CHECK(Figure(json, "follow", "bytes_read") == 4 * (64 + 63) * 4 * kFollowers);
  CHECK(Figure(json, "follow", "float_operations") == 4 * 64 * kFollowers);
  // 512 x 512 threads; the blocks that are counted and those that are not may have different axes.
  CHECK(Figure(json, "down", "launches") == 6);
  CHECK(Figure(json, "down", "bytes_read") == 6 * 4 * 512 * 512);
  CHECK(Figure(json, "down", "bytes_written") == 6 * 4 * 512 * 512);
  CHECK(Figure(json, "touch", "launches") == 10000);
  CHECK(Figure(json, "touch", "bytes_written") == 4 * 10000);
  CHECK(Figure(json, "follow", "samples") > 0);
  CHECK(page.size() < 400'000);
  CheckElements(page);
  CHECK_THAT(page, Contains("follow(float*, float const*, int const*, int)") && Contains("profiled.cu:") &&
                       Contains("Gathers and scatters") && Contains("class='blocks'") &&
                       Contains("class='timeline'") && Contains("exit code 0") &&
                       Contains("cudaLaunchKernel"));
  CHECK_THAT(page, !Contains("<script") && !Contains("src=") && !Contains("<link"));
  for (const std::string browser : {"chromium", "google-chrome"}) {
    if (!Has(browser)) continue;
    const Outcome opened =
        Run(browser + " --headless --no-sandbox --disable-gpu --dump-dom file://" + (folder / "report.html"));
    CHECK_THAT(opened.text, Contains("Profile of") && Contains("scale_and_add"));
  }
}

TEST_CASE("profile: the page is there after _exit and after a crash, and the tool ends as the program") {
  const Folder folder;
  const std::string command = kTool + "exec --profile " + (folder / "report.html") + " -- " + kProgram;
  CHECK(Run(command + "10 exit").code == 3);
  CHECK_THAT(Contents(folder / "report.html"), Contains("exit code 3") && Contains("touch(int*)"));
  fs::remove(folder / "report.html");
  CHECK(Run("sh -c 'ulimit -c 0; " + command + "10 crash'").code == 128 + 11);
  CHECK_THAT(Contents(folder / "report.html"), Contains("signal 11") && Contains("touch(int*)"));
  CHECK_FALSE(fs::exists(folder / "report.json"));
  CHECK(Run("sh -c 'ulimit -c 0; " + command + "10 raise'").code == 128 + 11);
}

TEST_CASE("profile: a page that cannot be written is an error, and the program ran") {
  const Outcome outcome = Run(kTool + "exec --profile /nonexistent/report.html -- " + kProgram + "10");
  CHECK_THAT(outcome.text, Contains("count 10") && Contains("/nonexistent/report.html"));
  CHECK(Run(kTool + "exec --json -- " + kProgram).code != 0);
}

TEST_CASE("perf: the dump has a record for each code, with its lines and bytes") {
  const Folder folder;
  const Outcome outcome =
      Run(kTool + "exec --perf-map --perf-dump " + folder.path().string() + " -- " + kProgram + "10");
  INFO(outcome.text);
  REQUIRE(outcome.code == 0);
  std::string dump, process;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    std::smatch match;
    const std::string name = entry.path().filename();
    if (std::regex_match(name, match, std::regex("jit-([0-9]+)\\.dump")))
      dump = Contents(entry.path()), process = match[1];
  }
  REQUIRE(dump.size() > 40);
  const auto word = [&](size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, dump.data() + at, sizeof value);
    return value;
  };
  CHECK(word(0) == 0x4a695444);
  size_t loads = 0, lines = 0;
  std::string names;
  for (size_t at = word(8); at + 16 <= dump.size(); at += word(at + 4)) {
    REQUIRE(word(at + 4) >= 16);
    loads += word(at) == 0, lines += word(at) == 2;
    if (word(at) == 0) names += dump.c_str() + at + 16 + 40 + std::string(" ");
  }
  CHECK(loads >= 3);
  CHECK(lines == loads);
  CHECK_THAT(names, Contains("scale_and_add") && Contains("follow") && Contains("touch"));
  CHECK_THAT(dump, Contains("profiled.cu"));
  const fs::path map = "/tmp/perf-" + process + ".map";
  CHECK_THAT(Contents(map), Contains("scale_and_add"));
  fs::remove(map);
}
#endif
