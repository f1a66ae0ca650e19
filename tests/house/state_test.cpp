// What outlives a call: every thread-local and every object with static storage that may change is named,
// with its reason, in the table of runtime/README.md, and the table names nothing else.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = PTX2CPU_SOURCE_DIR;

// "file variable" of each.
std::set<std::string> InSources() {
  const std::regex thread("\\bthread_local\\b[^=;{]*?(\\w+)\\s*(?:=|\\{|;)");
  const std::regex local("^\\s+static\\s+(?!const\\b|constexpr\\b)[^()]*?(\\w+)\\s*(?:=|\\{|;)");
  const std::regex global(
      "^(?:std::atomic<.*>|std::mutex|std::once_flag|bool|int|unsigned|size_t|pid_t|u?int\\d+_t)"
      "\\s+(\\w+)\\s*(?:=|\\{|;)");
  std::set<std::string> found;
  for (const char* top : {"ir", "analysis", "ptx-parser", "lowering", "runtime"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      const std::string extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".h") continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        line = line.substr(0, line.find("//"));
        std::smatch match;
        if (std::regex_search(line, match, thread) || std::regex_search(line, match, local) ||
            std::regex_search(line, match, global))
          found.insert(fs::relative(entry.path(), kRoot).generic_string() + " " + match[1].str());
      }
    }
  }
  return found;
}

// Rows "| `file` | `variable`, `variable` | reason |"; files of runtime/ are named from there.
std::set<std::string> InTable() {
  const std::regex row("^\\| `([\\w/.]+\\.(?:cpp|h))` \\| ([^|]+) \\| ([^|]+) \\|$"), name("`(\\w+)`");
  std::ifstream in(kRoot / "runtime/README.md");
  std::set<std::string> named;
  bool state = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) state = line == "## State";
    std::smatch match;
    if (!state || !std::regex_match(line, match, row)) continue;
    const std::string file = match[1], variables = match[2];
    const std::string path = fs::exists(kRoot / "runtime" / file) ? "runtime/" + file : file;
    for (std::sregex_iterator it(variables.begin(), variables.end(), name), end; it != end; ++it)
      named.insert(path + " " + (*it)[1].str());
  }
  return named;
}

}  // namespace

TEST_CASE("state that outlives a call is in the table of runtime/README.md") {
  const std::set<std::string> sources = InSources(), table = InTable();
  REQUIRE(sources.size() > 20);
  for (const std::string& one : sources) {
    INFO(one << ": give it a row with its reason, or better an owner");
    CHECK(table.contains(one));
  }
  for (const std::string& one : table) {
    INFO(one << " is in the table and not in the tree");
    CHECK(sources.contains(one));
  }
}
