#include "tools/ptx2cpu/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ptx2cpu::tool {

namespace {

Result<const Option*> Find(std::span<const Option> options, std::string_view word) {
  for (const Option& option : options) {
    if (word == option.LongName() || (!option.ShortName().empty() && word == option.ShortName()))
      return &option;
  }
  Error error{ErrorCode::kUsage, fmt::format("unknown option '{}'", word)};
  for (const Option& option : options) {
    if (option.LongName().substr(0, 4) == word.substr(0, 4))
      error.hint = fmt::format("did you mean {}?", option.LongName());
  }
  return Fail(std::move(error));
}

}  // namespace

std::optional<std::string> Arguments::Value(std::string_view option) const {
  for (auto it = options_.rbegin(); it != options_.rend(); ++it) {
    if (it->first == option) return it->second;
  }
  return std::nullopt;
}

std::vector<std::string> Arguments::Values(std::string_view option) const {
  std::vector<std::string> values;
  for (const auto& [name, value] : options_) {
    if (name == option) values.push_back(value);
  }
  return values;
}

Result<std::string> Arguments::OnlyFile() const {
  if (plain_.size() == 1) return plain_[0];
  return Fail(ErrorCode::kUsage,
              plain_.empty() ? "which FILE?" : fmt::format("expected one FILE, got '{}' as well", plain_[1]));
}

Result<uint64_t> Arguments::Number(std::string_view option, uint64_t otherwise, uint64_t most) const {
  const std::optional<std::string> text = Value(option);
  if (!text) return otherwise;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size() || value > most) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} takes a number from 0 to {}, not '{}'", option, most, *text));
  }
  return value;
}

Result<Arguments> Arguments::Parse(std::span<const Option> options, std::span<const char* const> words,
                                   Words form) {
  Arguments arguments;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (form == Words::kCommandFollows && (word == "--" || word.empty() || word[0] != '-')) {
      for (size_t rest = word == "--" ? i + 1 : i; rest < words.size(); ++rest)
        arguments.plain_.emplace_back(words[rest]);
      break;
    }
    if (word.size() < 2 || word[0] != '-') {
      arguments.plain_.emplace_back(word);
      continue;
    }
    std::optional<std::string> value;
    if (const size_t equals = word.find('='); word.starts_with("--") && equals != std::string_view::npos) {
      value = std::string(word.substr(equals + 1));
      word = word.substr(0, equals);
    }
    const Option* option = TRY(Find(options, word));
    if (option->value.empty()) {
      if (value) return Fail(ErrorCode::kUsage, fmt::format("{} takes no value", word));
      value = "";
    } else if (!value) {
      if (i + 1 == words.size())
        return Fail(ErrorCode::kUsage, fmt::format("{} needs {}", word, option->value));
      value = words[++i];
    }
    if (!option->repeats && arguments.Has(option->LongName())) {
      return Fail(ErrorCode::kUsage, fmt::format("{} is given twice", option->LongName()));
    }
    arguments.options_.emplace_back(option->LongName(), *value);
  }
  return arguments;
}

}  // namespace ptx2cpu::tool
