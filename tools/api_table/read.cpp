#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>

#include "tools/api_table/api_table.h"

namespace ptx2cpu::api_table {

namespace {

constexpr int kOpen = 1 << 30;
constexpr int kFirstWith64 = 12;  // the version that introduced functions with 64-bit sizes

// What a type letter of a name means.
struct Letter {
  std::string_view letter, type, real;
};
constexpr Letter kLetters[] = {
    {"S", "float", "float"},
    {"D", "double", "double"},
    {"C", "cuComplex", "float"},
    {"Z", "cuDoubleComplex", "double"},
    {"H", "__half", "float"},
    {"s", "float", "float"},
    {"d", "double", "double"},
    {"c", "cuComplex", "float"},
    {"z", "cuDoubleComplex", "double"},
    {"Sc", "cuComplex", "float"},
    {"Dz", "cuDoubleComplex", "double"},
    {"Cs", "cuComplex", "float"},
    {"Zd", "cuDoubleComplex", "double"},
    // Systems of the first type that are solved with factors of the second one.
    {"ZZ", "cuDoubleComplex", "double"},
    {"ZC", "cuDoubleComplex", "double"},
    {"ZK", "cuDoubleComplex", "double"},
    {"ZE", "cuDoubleComplex", "double"},
    {"ZY", "cuDoubleComplex", "double"},
    {"CC", "cuComplex", "float"},
    {"CK", "cuComplex", "float"},
    {"CE", "cuComplex", "float"},
    {"CY", "cuComplex", "float"},
    {"DD", "double", "double"},
    {"DS", "double", "double"},
    {"DH", "double", "double"},
    {"DB", "double", "double"},
    {"DX", "double", "double"},
    {"SS", "float", "float"},
    {"SH", "float", "float"},
    {"SB", "float", "float"},
    {"SX", "float", "float"},
};

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return std::string(text);
}

struct Place {
  const std::string& file;
  int line;
};

std::unexpected<Error> Wrong(const Place& place, std::string message) {
  return Fail(ErrorCode::kSyntax, place.file + ":" + std::to_string(place.line) + ": " + std::move(message));
}

Status ReadState(const std::string& word, const Place& place, Function& function) {
  if (word == "implemented") {
    function.state = State::kImplemented;
  } else if (word == "implemented:reports") {
    function.state = State::kReports;
  } else if (word == "ignored") {
    function.state = State::kIgnored;
  } else if (word.starts_with("family:") && word.size() > 7) {
    function.state = State::kFamily;
    function.family = word.substr(7);
  } else if (word.starts_with("refused:") && word.size() > 8) {
    function.state = State::kRefused;
    function.code = word.substr(8);
  } else {
    return Wrong(
        place,
        "'" + word +
            "' is not a state: implemented, implemented:reports, family:NAME, refused:CODE or ignored");
  }
  return {};
}

Status ReadVersions(const std::string& word, const Place& place, Function& function) {
  size_t used = 0;
  if (word.empty() || std::isdigit(static_cast<unsigned char>(word[0])) == 0) {
    return Wrong(place, "'" + word + "' is not a version: 3020, 11-, 12 or 11-12");
  }
  function.first = std::stoi(word, &used);
  if (used == word.size()) {
    function.last = function.first;
  } else if (word[used] == '-') {
    function.last = used + 1 == word.size() ? kOpen : std::stoi(word.substr(used + 1));
  } else {
    return Wrong(place, "'" + word + "' is not a version");
  }
  return {};
}

// The parameters between the outer parentheses.
Status ReadParameters(std::string_view list, const Place& place, Function& function) {
  std::vector<std::string> pieces(1);
  int depth = 0;
  for (const char c : list) {
    if (c == '(' || c == '<') ++depth;
    if (c == ')' || c == '>') --depth;
    if (c == ',' && depth == 0) {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  if (pieces.size() == 1 && (Trim(pieces[0]).empty() || Trim(pieces[0]) == "void")) return {};
  for (const std::string& piece : pieces) {
    const std::string text = Trim(piece.substr(0, piece.find('=')));
    size_t end = text.find('[');
    if (const size_t star = text.find("(*"); star != std::string::npos)
      end = text.find(')', star);  // pointer to a function
    if (end == std::string::npos) end = text.size();
    while (end > 0 && !IsWord(text[end - 1])) --end;
    size_t begin = end;
    while (begin > 0 && IsWord(text[begin - 1])) --begin;
    if (begin == 0 || begin == end) return Wrong(place, "parameter '" + text + "' has no name");
    function.parameters.push_back({text, text.substr(begin, end - begin)});
  }
  return {};
}

// Replaces the words of a declaration that are names in `words`.
std::string Substitute(std::string_view text,
                       const std::vector<std::pair<std::string_view, std::string_view>>& words) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && IsWord(text[end])) ++end;
    if (end == at) {
      out += text[at++];
      continue;
    }
    const std::string_view word = text.substr(at, end - at);
    const auto found = std::ranges::find(words, word, [](const auto& pair) { return pair.first; });
    out += found == words.end() ? word : found->second;
    at = end;
  }
  return out;
}

Status ReadDeclaration(const std::string& declaration, const Place& place, Function& function) {
  const size_t open = declaration.find('('), close = declaration.rfind(')');
  if (open == std::string::npos || close != declaration.size() - 1)
    return Wrong(place, "a declaration ends in ')': " + declaration);
  size_t begin = open;
  while (begin > 0 && IsWord(declaration[begin - 1])) --begin;
  function.name = declaration.substr(begin, open - begin);
  function.result = Trim(declaration.substr(0, begin));
  if (function.name.empty() || function.result.empty())
    return Wrong(place, "no result type or name in: " + declaration);
  return ReadParameters(std::string_view(declaration).substr(open + 1, close - open - 1), place, function);
}

// The declarations that a row means, each with the type of its letter; without letters, one and no type.
Result<std::vector<std::pair<std::string, std::string_view>>> Expand(const std::string& declaration,
                                                                     const Place& place) {
  const size_t open = declaration.find('['), close = declaration.find(']');
  if (open == std::string::npos || open > declaration.find('(')) return {{{declaration, {}}}};
  std::vector<std::pair<std::string, std::string_view>> all;
  std::istringstream letters(declaration.substr(open + 1, close - open - 1));
  for (std::string letter; std::getline(letters, letter, '|');) {
    const auto found = std::ranges::find(kLetters, letter, &Letter::letter);
    if (found == std::end(kLetters)) return Wrong(place, "'" + letter + "' is not a type letter");
    const std::string name = declaration.substr(0, open) + letter + declaration.substr(close + 1);
    all.emplace_back(Substitute(name, {{"T", found->type}, {"R", found->real}}), found->type);
  }
  return all;
}

Status ReadLine(const std::string& line, const Place& place, std::vector<Function>& functions) {
  std::istringstream in(line);
  std::string state, versions, variant, declaration;
  in >> state >> versions >> variant;
  std::getline(in, declaration);
  Function row;
  row.line = place.line;
  TRY_STATUS(ReadState(state, place, row));
  TRY_STATUS(ReadVersions(versions, place, row));
  const bool with64 = variant == "64";
  if (variant == "ptsz" || variant == "ptds") {
    row.variant = variant;
  } else if (variant != "-" && !with64) {
    return Wrong(place, "'" + variant + "' is not a variant: -, 64, ptsz or ptds");
  }
  for (const auto& [text, type] : TRY(Expand(Trim(declaration), place))) {
    Function function = row;
    if (!type.empty() && !function.family.empty()) function.family += "<" + std::string(type) + ">";
    Function wide = function;
    TRY_STATUS(ReadDeclaration(Substitute(text, {{"Int", "int"}}), place, function));
    functions.push_back(std::move(function));
    if (!with64) continue;
    TRY_STATUS(ReadDeclaration(Substitute(text, {{"Int", "int64_t"}}), place, wide));
    wide.name += "_64";
    wide.first = std::max(wide.first, kFirstWith64);
    functions.push_back(std::move(wide));
  }
  return {};
}

}  // namespace

std::string Function::BaseName() const {
  const size_t at = name.rfind("_v");
  if (at == std::string::npos || at + 2 >= name.size()) return name;
  for (size_t i = at + 2; i < name.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(name[i])) == 0) return name;
  }
  return name.substr(0, at);
}

std::string Function::ParameterList() const {
  std::string text;
  for (const Parameter& parameter : parameters) text += (text.empty() ? "" : ", ") + parameter.declaration;
  return text;
}

std::string Function::ArgumentList() const {
  std::string text;
  for (const Parameter& parameter : parameters) text += (text.empty() ? "" : ", ") + parameter.name;
  return text;
}

Result<Table> Read(const std::string& file) {
  std::ifstream in(file);
  if (!in) return Fail(ErrorCode::kFile, "cannot read " + file);
  Table table{file, {}};
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    const Place place{file, ++number};
    const std::string text = Trim(line.substr(0, line.find('#')));
    if (text.empty()) continue;
    std::vector<Function> functions;
    TRY_STATUS(ReadLine(text, place, functions));
    for (Function& function : functions) {
      for (const Function& other : table.functions) {
        if (other.name == function.name && other.first <= function.last && function.first <= other.last) {
          return Wrong(place, function.name + " is in line " + std::to_string(other.line) + " already");
        }
      }
      table.functions.push_back(std::move(function));
    }
  }
  return table;
}

}  // namespace ptx2cpu::api_table
