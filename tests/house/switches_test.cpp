// An enumerator that is added must not meet a switch that answers for it in silence: switches over our enums,
// those of runtime/abi and of the PTX scanner among them, have no `default:`, so that the compiler names the
// case that is missing; a number of an ABI becomes its enum first. What asks about a few of many enumerators
// is a condition, and a property of all of them a column of their table.
//
// A default is right where no list can be complete: over numbers and characters, and over the enums of CUDA's
// APIs, which are numbers that an application passes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "tests/house/tree.h"

using namespace ptx2cpu::house_test;

namespace {

// How enumerators of APIs begin: CUDA's, its libraries', and those of ELF.
constexpr std::string_view kApis[] = {"CU_", "CUDA_", "cuda", "CUDNN_", "CURAND_", "DT_"};

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

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// Where the word is in code, as a word of its own.
std::vector<size_t> PlacesOf(std::string_view word, std::string_view code) {
  std::vector<size_t> places;
  for (size_t at = code.find(word); at != code.npos; at = code.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !IsWordCharacter(code[at - 1])) && (end == code.size() || !IsWordCharacter(code[end])))
      places.push_back(at);
  }
  return places;
}

// The label of a case without its scopes; none where it is a literal, which Code has blanked, or a number.
std::string_view LabelAt(std::string_view code, size_t place) {
  const std::string_view rest = code.substr(place + std::string_view("case").size());
  size_t end = 0, begin = 0;
  for (; end < rest.size() && (rest[end] != ':' || rest.substr(end).starts_with("::")); ++end) {
    if (rest.substr(end).starts_with("::")) begin = ++end + 1;
  }
  while (begin < end && IsSpace(rest[begin])) ++begin;
  while (begin < end && IsSpace(rest[end - 1])) --end;
  const bool is_number =
      begin < end && (std::isdigit(static_cast<unsigned char>(rest[begin])) != 0 || rest[begin] == '-');
  return is_number ? std::string_view{} : rest.substr(begin, end - begin);
}

bool IsOfApi(std::string_view label) {
  return std::ranges::any_of(kApis, [&](std::string_view prefix) { return label.starts_with(prefix); });
}

bool HasDefault(std::string_view body) {
  return std::ranges::any_of(PlacesOf("default", body), [&](size_t place) {
    size_t after = place + std::string_view("default").size();
    while (after < body.size() && IsSpace(body[after])) ++after;
    return after < body.size() && body[after] == ':';
  });
}

// Lines at which a switch over an enum of ours has a default of its own, not one of a switch inside it.
std::vector<size_t> DefaultedSwitches(const std::string& source) {
  if (!source.contains("default")) return {};
  const std::string code = Code(source);
  const std::vector<Switch> switches = SwitchesIn(code);
  std::vector<size_t> lines;
  for (const Switch& one : switches) {
    std::string own = code.substr(one.body, one.end - one.body);
    for (const Switch& other : switches) {
      if (other.start > one.start && other.end <= one.end)
        Blank(own, other.start - one.body, other.end - one.body);
    }
    if (!HasDefault(own)) continue;
    const bool is_ours = std::ranges::any_of(PlacesOf("case", own), [&](size_t place) {
      const std::string_view label = LabelAt(own, place);
      return !label.empty() && !IsOfApi(label);
    });
    const auto here = code.begin() + static_cast<ptrdiff_t>(one.start);
    if (is_ours) lines.push_back(static_cast<size_t>(std::count(code.begin(), here, '\n')) + 1);
  }
  return lines;
}

}  // namespace

TEST_CASE("the search for defaulted switches finds them") {
  const auto lines = [&](const std::string& source) { return DefaultedSwitches(source); };
  using Lines = std::vector<size_t>;
  CHECK(lines("\nswitch (f(x)) {\n case ir::Opcode::kAdd: { g(); }\n default: h();\n}") == Lines{2});
  CHECK(lines("switch (s) {\n case Special::kTidX: return 1;\n}").empty());
  CHECK(lines("switch (s) {\n case Space::kShared: return 1;\n default: return 0;\n}") == Lines{1});
  CHECK(lines("switch (s) {\n case PTX2CPU_SPACE_SHARED: return 1;\n default: return 0;\n}") == Lines{1});
  CHECK(lines("switch (s) {\n case cuda::CU_LIMIT_STACK_SIZE: return 1;\n default: return 0;\n}").empty());
  CHECK(lines("switch (s) {\n case 'x':\n case 0x1f: return 1;\n default: return 0;\n}").empty());
  CHECK(lines("using enum ir::Space;\nswitch (s) {\n case kShared: return 1;\n default: return 0;\n}") ==
        Lines{2});
  CHECK(lines("switch (n) {\n case kCount: return 1;\n default: return 0;\n}") == Lines{1});
}

TEST_CASE("the search for defaulted switches takes nested switches on their own") {
  const std::string over_space = "switch (s) { case Space::kShared: ", over_number = "switch (n) { case 1: ";
  const std::string fallback = " default: f(); }";
  CHECK(DefaultedSwitches(over_space + over_number + fallback + " }").empty());
  CHECK(DefaultedSwitches(over_number + "\n" + over_space + " }" + fallback).empty());
  CHECK(DefaultedSwitches(over_number + "\n" + over_space + fallback + fallback) == std::vector<size_t>{2});
  CHECK(DefaultedSwitches(over_space + "\n" + over_number + " }" + fallback) == std::vector<size_t>{1});
}

TEST_CASE("the search for defaulted switches reads code, not literals or comments") {
  const std::string head = "switch (s) { case Space::kShared: ", tail = " }";
  for (const char* text : {"f(\"default:\");", "// default:\n", "/* default: */", "f(R\"(\" default:)\");"})
    CHECK(DefaultedSwitches(head + text + tail).empty());
  // Brackets in text end no body, and quotes between digits start none.
  for (const char* text : {"f(\"}\");", "f('}');", "// }\n", "f(R\"x(})\" })x\");", "f(1'000, '\\'');"})
    CHECK(DefaultedSwitches(head + text + " default: f();" + tail) == std::vector<size_t>{1});
  CHECK(DefaultedSwitches("// " + head + "default:" + tail).empty());
}

TEST_CASE("no switch over an enum of ours has a default") {
  size_t looked_at = 0;
  for (const fs::path& file : Sources()) {
    for (size_t line : DefaultedSwitches(TextOf(file))) FAIL_CHECK(file.generic_string() << ':' << line);
    ++looked_at;
  }
  CHECK(looked_at > 1000);
}
