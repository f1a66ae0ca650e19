// An enumerator that is added must not meet a switch that answers for it in silence: switches over our enums
// have no `default:`, so that the compiler names the case that is missing. What asks about a few of many
// enumerators is a condition, and a property of all of them a column of their table.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
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

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Where the literal or comment that starts at `at` ends; `at` itself where none starts. A quote after a digit
// or letter separates digits.
size_t EndOfText(std::string_view source, size_t at) {
  const auto after = [&](std::string_view mark, size_t from) {
    const size_t found = source.find(mark, from);
    return found == source.npos ? source.size() : found + mark.size();
  };
  const std::string_view rest = source.substr(at);
  const bool in_word = at > 0 && IsWordCharacter(source[at - 1]);
  if (rest.starts_with("//")) return std::min(source.find('\n', at), source.size());
  if (rest.starts_with("/*")) return after("*/", at + 2);
  if (rest.starts_with("R\"") && !in_word) {
    const size_t open = source.find('(', at);
    if (open == source.npos) return source.size();
    return after(')' + std::string(source.substr(at + 2, open - at - 2)) + '"', open);
  }
  if (rest.empty() || (rest[0] != '"' && (rest[0] != '\'' || in_word))) return at;
  size_t end = at + 1;
  while (end < source.size() && source[end] != rest[0] && source[end] != '\n')
    end += source[end] == '\\' ? 2 : 1;
  return std::min(end + 1, source.size());
}

void Blank(std::string& text, size_t from, size_t to) {
  for (size_t i = from; i < to; ++i)
    if (text[i] != '\n') text[i] = ' ';
}

// The source with spaces in place of literals and comments, so that brackets and words in it are code.
std::string Code(const std::string& source) {
  std::string code = source;
  for (size_t at = 0; at < source.size();) {
    const size_t end = EndOfText(source, at);
    Blank(code, at, end);
    at = std::max(end, at + 1);
  }
  return code;
}

struct Switch {
  size_t start, body, end;
};

std::vector<Switch> SwitchesIn(std::string_view code) {
  static constexpr std::string_view kWord = "switch (";
  std::vector<Switch> found;
  for (size_t at = code.find(kWord); at != code.npos; at = code.find(kWord, at + 1)) {
    const size_t subject = at + kWord.size() - 1;
    const size_t body = code.find('{', subject + Bracketed(code, subject).size());
    if (body != code.npos) found.push_back({at, body, body + Bracketed(code, body).size()});
  }
  return found;
}

using Names = std::set<std::string, std::less<>>;

Names EnumsIn(const std::string& code) {
  static const std::regex word("\\benum class (\\w+)");
  Names names;
  for (std::sregex_iterator it(code.begin(), code.end(), word), end; it != end; ++it) names.insert((*it)[1]);
  return names;
}

// Whether a case of the switch is an enumerator of one of the enums; after `using enum`, the bare name is
// one.
bool IsOver(const std::string& cases, const Names& enums, bool has_bare_names) {
  static const std::regex label("\\bcase\\s+((\\w+::)*(\\w+)::)?(k\\w+)\\s*:");
  for (std::sregex_iterator it(cases.begin(), cases.end(), label), end; it != end; ++it)
    if ((*it)[3].matched ? enums.contains((*it)[3].str()) : has_bare_names) return true;
  return false;
}

// Lines at which a switch over one of the enums has a default of its own, not one of a switch inside it.
std::vector<size_t> DefaultedSwitches(const std::string& source, const Names& enums) {
  static const std::regex fallback("\\bdefault\\s*:"), use("\\busing enum (\\w+::)*(\\w+)");
  const std::string code = Code(source);
  bool has_bare_names = false;
  for (std::sregex_iterator it(code.begin(), code.end(), use), end; it != end; ++it)
    has_bare_names |= enums.contains((*it)[2].str());
  const std::vector<Switch> switches = SwitchesIn(code);
  std::vector<size_t> lines;
  for (const Switch& one : switches) {
    std::string own = code.substr(0, one.end);
    for (const Switch& other : switches)
      if (other.start > one.start && other.end <= one.end) Blank(own, other.start, other.end);
    own.erase(0, one.body);
    if (std::regex_search(own, fallback) && IsOver(own, enums, has_bare_names)) {
      const auto here = code.begin() + static_cast<ptrdiff_t>(one.start);
      lines.push_back(static_cast<size_t>(std::count(code.begin(), here, '\n')) + 1);
    }
  }
  return lines;
}

}  // namespace

TEST_CASE("the search for defaulted switches finds them") {
  const Names enums = {"Opcode", "Special", "Space"};
  const auto lines = [&](const std::string& source) { return DefaultedSwitches(source, enums); };
  using Lines = std::vector<size_t>;
  CHECK(lines("\nswitch (f(x)) {\n case ir::Opcode::kAdd: { g(); }\n default: h();\n}") == Lines{2});
  CHECK(lines("switch (s) {\n case Special::kTidX: return 1;\n}").empty());
  CHECK(lines("switch (s) {\n case Space::kShared: return 1;\n default: return 0;\n}") == Lines{1});
  CHECK(lines("switch (s) {\n case cuda::Other::kShared: return 1;\n default: return 0;\n}").empty());
  CHECK(lines("using enum ir::Space;\nswitch (s) {\n case kShared: return 1;\n default: return 0;\n}") ==
        Lines{2});
  CHECK(lines("switch (n) {\n case kCount: return 1;\n default: return 0;\n}").empty());
}

TEST_CASE("the search for defaulted switches takes nested switches on their own") {
  const Names enums = {"Space"};
  const std::string over_space = "switch (s) { case Space::kShared: ", over_number = "switch (n) { case 1: ";
  const std::string fallback = " default: f(); }";
  CHECK(DefaultedSwitches(over_space + over_number + fallback + " }", enums).empty());
  CHECK(DefaultedSwitches(over_number + "\n" + over_space + " }" + fallback, enums).empty());
  CHECK(DefaultedSwitches(over_number + "\n" + over_space + fallback + fallback, enums) ==
        std::vector<size_t>{2});
  CHECK(DefaultedSwitches(over_space + "\n" + over_number + " }" + fallback, enums) ==
        std::vector<size_t>{1});
}

TEST_CASE("the search for defaulted switches reads code, not literals or comments") {
  const Names enums = {"Space"};
  const std::string head = "switch (s) { case Space::kShared: ", tail = " }";
  for (const char* text : {"f(\"default:\");", "// default:\n", "/* default: */", "f(R\"(\" default:)\");"})
    CHECK(DefaultedSwitches(head + text + tail, enums).empty());
  // Brackets in text end no body, and quotes between digits start none.
  for (const char* text : {"f(\"}\");", "f('}');", "// }\n", "f(R\"x(})\" })x\");", "f(1'000, '\\'');"})
    CHECK(DefaultedSwitches(head + text + " default: f();" + tail, enums) == std::vector<size_t>{1});
  CHECK(DefaultedSwitches("// " + head + "default:" + tail, enums).empty());
}

TEST_CASE("no switch over an enum of ours has a default") {
  std::vector<fs::path> files;
  Names enums;
  for (const char* top : {"ir", "analysis", "ptx-parser", "lowering", "runtime", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      files.push_back(entry.path());
      enums.merge(EnumsIn(Code(ReadFile(entry.path()))));
    }
  }
  for (const fs::path& file : files)
    for (size_t line : DefaultedSwitches(ReadFile(file), enums))
      FAIL_CHECK(fs::relative(file, kRoot).generic_string() << ':' << line);
  CHECK(files.size() > 100);
  CHECK(enums.size() > 50);
}
