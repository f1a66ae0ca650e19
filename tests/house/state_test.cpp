// State that outlives a call: the table of runtime/README.md names every thread-local and every object with
// static storage that may change, with its reason, and nothing else.
#include <catch2/catch.hpp>
#include <cctype>
#include <regex>
#include <set>
#include <string>

#include "tests/house/tree.h"

using namespace ptx2cpu::house_test;

namespace {

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
  for (const fs::path& path : ProductSources()) {
    const bool is_source = path.extension() == ".cpp";
    if (*path.begin() == "tools" || (!is_source && path.extension() != ".h")) continue;
    const std::string file = path.generic_string() + " ";
    for (std::string line : Lines(path)) {
      line = line.substr(0, line.find("//"));
      line.erase(line.find_last_not_of(" ") + 1);
      const bool outside =
          !line.empty() && (std::isalpha(static_cast<unsigned char>(line[0])) || line[0] == '_');
      const bool has_value = line.contains('=') || line.contains('{');
      std::smatch match;
      if ((line.contains("thread_local") && std::regex_search(line, match, thread)) ||
          (line.contains("static ") && std::regex_search(line, match, local)) ||
          (outside && has_value &&
           (std::regex_search(line, match, called) || std::regex_search(line, match, structure))))
        found.insert(file + match[1].str());
      // In a header, without `inline`, it is a declaration of a function by its type.
      const bool defines = outside && line.ends_with(';') && (is_source || line.starts_with("inline "));
      if (defines && std::regex_search(line, match, global)) {
        found.insert(file + match[1].str());
        const std::string rest = match[2];
        for (std::sregex_iterator it(rest.begin(), rest.end(), another), end; it != end; ++it)
          found.insert(file + (*it)[1].str());
      }
    }
  }
  return found;
}

// Rows "| `file` | `variable`, `variable` | reason |"; files of runtime/ are named from there.
std::set<std::string> InTable() {
  const std::regex row("^\\| `([\\w/.-]+\\.(?:cpp|h))` \\| ([^|]+) \\| ([^|]+) \\|$"), name("`(\\w+)`");
  std::set<std::string> named;
  bool state = false;
  for (const std::string& line : Lines("runtime/README.md")) {
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
