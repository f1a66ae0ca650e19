#include <charconv>

#include "ptx-parser/fatbin/fatbin.h"

namespace ptx2cpu::ptx {
namespace {

// Splits an option string into words; blanks inside double quotes do not separate words.
std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  for (char c : text) {
    if (c == '"') quoted = !quoted;
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\0';
    if (!blank || quoted) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

std::optional<uint32_t> Number(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// An option with its value, however the two were joined: "--fmad false", "--fmad=false", "-O3".
struct Option {
  std::string name;   // without leading dashes
  std::string value;  // empty where none
};

// True where the option was understood; a known option with a strange value is not.
bool Apply(const Option& option, JitOptions& out) {
  const auto& [name, value] = option;
  if (name == "fmad") {
    if (value != "true" && value != "false") return false;
    out.fmad = value == "true";
  } else if (name == "compile-only" || name == "c") {
    out.compile_only = true;
  } else if (name == "g" || name == "device-debug") {
    out.debug = true;
  } else if (name == "generate-line-info" || name == "lineinfo") {
    out.generate_line_info = true;
  } else if (name == "maxrregcount") {
    out.maxrregcount = Number(value);
    return out.maxrregcount.has_value();
  } else if (name == "O" || name == "opt-level") {
    out.opt_level = Number(value);
    return out.opt_level.has_value();
  } else {
    return false;
  }
  return true;
}

}  // namespace

JitOptions ParseJitOptions(std::string_view text) {
  JitOptions out;
  const std::vector<std::string> words = Words(text);
  for (size_t i = 0; i < words.size(); ++i) {
    std::string verbatim = words[i];
    const size_t dashes = verbatim.find_first_not_of('-');
    Option option{dashes == std::string::npos ? "" : verbatim.substr(dashes), ""};
    if (const size_t equals = option.name.find('='); equals != std::string::npos) {
      option.value = option.name.substr(equals + 1);
      option.name.resize(equals);
    } else if (option.name.size() == 2 && option.name[0] == 'O') {
      option = {"O", option.name.substr(1)};
    } else if (i + 1 < words.size() && !words[i + 1].starts_with('-')) {
      option.value = words[++i];
      verbatim += ' ' + option.value;
    }
    if (!Apply(option, out)) out.unknown.push_back(std::move(verbatim));
  }
  return out;
}

}  // namespace ptx2cpu::ptx
