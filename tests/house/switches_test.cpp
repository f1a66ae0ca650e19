// A row that is added to a table must not meet a switch that answers for it in silence: switches over opcodes
// and special registers have no `default:`, so that the compiler names the case that is missing. What asks
// about a few opcodes alone is a condition, and a property of all of them a column.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = PTX2CPU_SOURCE_DIR;

std::string ReadFile(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// From the bracket at `open` to its partner, both included.
std::string_view Bracketed(std::string_view text, size_t open) {
  const char opening = text[open], closing = opening == '(' ? ')' : '}';
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += text[i] == opening ? 1 : text[i] == closing ? -1 : 0;
    if (depth == 0) return text.substr(open, i - open + 1);
  }
  return text.substr(open);
}

// Lines at which a switch over opcodes or special registers has a default.
std::vector<size_t> DefaultedSwitches(const std::string& source) {
  static const std::regex word("\\bswitch \\("), rows("case (\\w+::)*(Opcode|Special)::k"),
      fallback("\\bdefault:");
  std::vector<size_t> lines;
  for (std::sregex_iterator it(source.begin(), source.end(), word), end; it != end; ++it) {
    const std::string_view text = source;
    const auto at = static_cast<size_t>(it->position());
    const size_t subject = text.find('(', at),
                 body = text.find('{', subject + Bracketed(text, subject).size());
    const std::string cases(Bracketed(text, body));
    if (std::regex_search(cases, rows) && std::regex_search(cases, fallback))
      lines.push_back(
          static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n')) + 1);
  }
  return lines;
}

}  // namespace

TEST_CASE("the search for defaulted switches finds them") {
  CHECK(DefaultedSwitches("\nswitch (f(x)) {\n case ir::Opcode::kAdd: { g(); }\n default: h();\n}") ==
        std::vector<size_t>{2});
  CHECK(DefaultedSwitches("switch (s) {\n case Special::kTidX: return 1;\n}").empty());
  CHECK(DefaultedSwitches("switch (s) {\n case Space::kShared: return 1;\n default: return 0;\n}").empty());
}

TEST_CASE("no switch over opcodes or special registers has a default") {
  size_t sources = 0;
  for (const char* top : {"ir", "analysis", "ptx-parser", "lowering", "runtime", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      ++sources;
      for (size_t line : DefaultedSwitches(ReadFile(entry.path())))
        FAIL_CHECK(fs::relative(entry.path(), kRoot).generic_string() << ':' << line);
    }
  }
  CHECK(sources > 100);
}
