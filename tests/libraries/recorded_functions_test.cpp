// Every function that a library has is in a script of calls (calls/*.calls), and every script has a record
// from a GPU; those that do not are in calls/unrecorded.txt: no more and no less.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/libraries/dropin.h"
#include "tests/run_shell.h"
#include "tools/api_table/api_table.h"

using namespace ptx2cpu;

namespace {

const std::string kSourceFolder = PTX2CPU_SOURCE_DIR "/",
                  kScriptsFolder = kSourceFolder + "tests/libraries/calls/",
                  kRecorder = PTX2CPU_BINARY_DIR "/bin/record_calls ";

struct Unrecorded {
  std::set<std::string> scripts, functions;
};
Unrecorded ReadUnrecorded() {
  Unrecorded unrecorded;
  std::ifstream in(kScriptsFolder + "unrecorded.txt");
  REQUIRE(in);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("script ")) {
      unrecorded.scripts.insert(line.substr(7));
    } else {
      unrecorded.functions.insert(line);
    }
  }
  return unrecorded;
}

std::vector<std::string> ScriptNames() {
  std::vector<std::string> names;
  for (const auto& each : std::filesystem::directory_iterator(kScriptsFolder))
    if (each.path().extension() == ".calls" && each.path().stem() != "types")
      names.push_back(each.path().stem());
  return names;
}

std::vector<std::string> LinesOfText(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The libraries that programs link: not the driver and the runtime, whose records are others.
std::vector<std::string> LibraryTables() {
  std::vector<std::string> files;
#define TABLE(space, file, header, folder, success, title) files.emplace_back(file);
#include "tools/api_table/libraries.def"
  std::erase_if(files, [](const std::string& file) { return !file.starts_with("runtime/cuda/libraries/"); });
  return files;
}

}  // namespace

TEST_CASE("recorded calls: each function of each library is called") {
  std::set<std::string> called;
  for (const std::string& script : ScriptNames()) {
    const test::Outcome outcome =
        test::RunShell(kRecorder + kScriptsFolder + script + ".calls --names", 60, test::Streams::kOutput);
    REQUIRE(outcome.code == 0);
    for (const std::string& name : LinesOfText(outcome.text)) called.insert(name);
  }
  const Unrecorded unrecorded = ReadUnrecorded();
  for (const std::string& file : LibraryTables()) {
    const auto table = api_table::Read(kSourceFolder + file);
    REQUIRE(table);
    for (const api_table::Function& function : table->functions) {
      // What is refused or ignored has no answer of its own.
      if (function.state == api_table::State::kRefused || function.state == api_table::State::kIgnored)
        continue;
      INFO(function.name << ": in a script of tests/libraries/calls, or in unrecorded.txt with the reason");
      CHECK(called.contains(function.name) != unrecorded.functions.contains(function.name));
    }
  }
}

TEST_CASE("recorded calls: each script has a record") {
  const Unrecorded unrecorded = ReadUnrecorded();
  for (const std::string& script : ScriptNames()) {
    INFO(script);
    const bool is_recorded = std::filesystem::exists(kScriptsFolder + script + ".gpu");
    CHECK(is_recorded != unrecorded.scripts.contains(script));
  }
}
