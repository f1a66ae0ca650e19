// What our driver answers to core_questions.h, line by line what an H200's driver answered
// (core_answers.txt).
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace {

// Where we differ, and why.
const std::map<std::string, std::string> kDifferences = {
    {"proc: version -1", "0 0 2"},  // no function is that old
    {"limit 6", "0 0"},             // no cache to set aside
    // A library with nothing in it is refused when it is loaded, not when it is used.
    {"library garbage", "200"},
    // Kernels and functions are interchangeable, as programs use them.
    {"attribute by kernel as function", "0"},
    // What is undefined is found when a kernel that uses it is compiled.
    {"link complete unresolved", "0"},
    // A fault ends one context, not the process: another context works, and a primary one does after a reset.
    {"traps: create after", "0"},
    {"traps: synchronize in another", "0"},
    {"traps: retain after reset", "0"},
    {"traps: synchronize after reset", "0"},
    {"traps: load after reset", "0"},
    {"reads_null: create after", "0"},
    {"reads_null: synchronize in another", "0"},
    {"reads_null: retain after reset", "0"},
    {"reads_null: synchronize after reset", "0"},
    {"reads_null: load after reset", "0"},
};

std::string Ask(const std::string& group) {
  std::string text;
  std::FILE* const pipe = popen(
      (std::string(PTX2CPU_BINARY_DIR) + "/bin/driver_core_asker " + group + " 2>/dev/null").c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, count);
  CHECK(pclose(pipe) == 0);
  return text;
}

std::map<std::string, std::string> Expected() {
  std::map<std::string, std::string> groups;
  std::ifstream in(std::string(PTX2CPU_SOURCE_DIR) + "/tests/driver/core_answers.txt");
  std::string group;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) continue;
    if (line.starts_with("[")) {
      group = line.substr(1, line.size() - 2);
      continue;
    }
    const size_t colon = line.rfind(": ");
    const auto difference = kDifferences.find(line.substr(0, colon));
    groups[group] +=
        difference == kDifferences.end() ? line + "\n" : difference->first + ": " + difference->second + "\n";
  }
  return groups;
}

}  // namespace

TEST_CASE(
    "the driver answers as a GPU's driver does: initialisation, devices, contexts, modules, launches, "
    "faults") {
  const auto groups = Expected();
  REQUIRE(groups.size() == 14);
  for (const auto& [group, answers] : groups) {
    INFO(group);
    CHECK(Ask(group) == answers);
  }
}
