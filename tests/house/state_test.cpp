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
  const std::regex thread("\\bthread_local\\b[^=;{]*?(\\w+)(?:\\[[^\\]]*\\])*\\s*(?:=|\\{|;)");
  const std::regex local(
      "^\\s+static\\s+(?!const\\b|constexpr\\b)[^()]*?(\\w+)(?:\\[[^\\]]*\\])*\\s*(?:=|\\{|;)");
  // A definition outside of functions: a type that is not constant, names, first values.
  const std::regex global(
      "^(?!const\\b|constexpr|using|namespace|extern|typedef|__extension__|return|struct|class|enum|union|"
      "template|friend|"
      "inline const|inline void\\* const|static const|thread_local)(?:[A-Za-z_][\\w:]*(?:<[^;=]*>)?[ *&]+)+"
      "(\\w+)(?:\\[[^\\]]*(?:\\([^)]*\\))?\\])?((?:\\s*(?:=|,|\\{)[^()]*)?);$");
  // The same with a call for its first value, where the type shows that it is no function.
  const std::regex called("^(?:std::atomic<.*>|bool|int|unsigned|size_t)\\s+(\\w+)\\s*(?:=|\\{)");
  // Structures that debuggers find by name.
  const std::regex structure("^(?:__attribute__\\(\\(.*\\)\\) )?[A-Za-z_]\\w* (\\w+) = \\{");
  const std::regex another(", (\\w+)(?= =|\\{|;|,|$)");
  std::set<std::string> found;
  for (const char* top : {"ir", "analysis", "ptx-parser", "lowering", "runtime"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      const std::string extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".h") continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        line = line.substr(0, line.find("//"));
        std::smatch match;
        const std::string file = fs::relative(entry.path(), kRoot).generic_string();
        line.erase(line.find_last_not_of(" ") + 1);
        if ((line.contains("thread_local") && std::regex_search(line, match, thread)) ||
            (line.contains("static") && std::regex_search(line, match, local)) ||
            (!line.starts_with(' ') &&
             (std::regex_search(line, match, called) || std::regex_search(line, match, structure)))) {
          found.insert(file + " " + match[1].str());
        }
        // In a header, without `inline`, it is a declaration of a function by its type.
        const bool defines =
            line.ends_with(';') && line[0] != ' ' && (extension == ".cpp" || line.starts_with("inline "));
        if (defines && std::regex_search(line, match, global)) {
          found.insert(file + " " + match[1].str());
          const std::string rest = match[2];
          for (std::sregex_iterator it(rest.begin(), rest.end(), another), end; it != end; ++it)
            found.insert(file + " " + (*it)[1].str());
        }
      }
    }
  }
  return found;
}

// Rows "| `file` | `variable`, `variable` | reason |"; files of runtime/ are named from there.
std::set<std::string> InTable() {
  const std::regex row("^\\| `([\\w/.-]+\\.(?:cpp|h))` \\| ([^|]+) \\| ([^|]+) \\|$"), name("`(\\w+)`");
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
