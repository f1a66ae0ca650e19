#include "lowering/llvm/module/inlined_calls.h"

#include <llvm/Demangle/Demangle.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>

namespace ptx2cpu::lowering {

namespace {

using SourcePlace = std::array<uint32_t, 3>;  // file, line, column

// Reads the words of a line one after the other; commas and spaces separate them.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  std::string_view Next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r,"), rest_.size()));
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" \t\r,"));
    rest_.remove_prefix(word.size());
    return word;
  }
  std::optional<uint32_t> Number() {
    const std::string_view word = Next();
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
    return value;
  }
  std::optional<SourcePlace> Place() {
    SourcePlace site;
    for (uint32_t& part : site) {
      const std::optional<uint32_t> number = Number();
      if (!number) return std::nullopt;
      part = *number;
    }
    return site;
  }

 private:
  std::string_view rest_;
};

// "Sum" of "_Z3SumIiEiT_", with the names of its scopes.
std::string NameOf(const std::string& mangled) {
  llvm::ItaniumPartialDemangler demangler;
  if (demangler.partialDemangle(mangled.c_str())) return mangled;
  char* const name = demangler.getFunctionName(nullptr, nullptr);
  if (name == nullptr) return mangled;
  std::string result = name;
  std::free(name);
  return result;
}

template <typename Use>
void ForEachLine(std::string_view text, const Use& use) {
  for (uint32_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    use(number, text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

// Labels of zero-terminated names in section .debug_str, whose bytes are numbers.
std::map<std::string_view, std::string> NamesOf(std::string_view text) {
  std::map<std::string_view, std::string> names;
  const size_t section = text.find(".debug_str");
  if (section == std::string_view::npos) return names;
  std::string* name = nullptr;
  ForEachLine(text.substr(section), [&](uint32_t, std::string_view line) {
    Words words(line);
    const std::string_view first = words.Next();
    if (first.ends_with(':')) {
      name = &names[first.substr(0, first.size() - 1)];
    } else if (first == ".b8" && name != nullptr) {
      while (const auto byte = words.Number()) {
        if (*byte != 0) name->push_back(static_cast<char>(*byte));
      }
    }
  });
  for (auto& [label, each] : names) each = NameOf(each);
  return names;
}

}  // namespace

InlinedCalls InlinedCalls::Read(std::string_view text) {
  InlinedCalls result;
  if (text.find("inlined_at") == std::string_view::npos) return result;
  const auto names = NamesOf(text);
  std::map<SourcePlace, uint32_t> known;  // the call that inlined the code of a place that was named last
  std::map<std::pair<SourcePlace, std::string_view>, uint32_t> numbers;
  ForEachLine(text, [&](uint32_t number, std::string_view line) {
    Words words(line);
    if (words.Next() != ".loc") return;
    const std::optional<SourcePlace> site = words.Place();
    if (!site) return;
    uint32_t call = 0;
    if (words.Next() == "function_name") {
      const std::string_view label = words.Next();
      const auto name = names.find(label.substr(0, label.find('+')));
      const bool inlined = words.Next() == "inlined_at";
      const std::optional<SourcePlace> at = inlined ? words.Place() : std::nullopt;
      if (name != names.end() && at) {
        const auto caller = known.find(*at);
        const Call made{name->second, (*at)[0], (*at)[1], caller == known.end() ? 0 : caller->second};
        uint32_t& numbered = numbers[{*at, name->first}];
        if (numbered == 0 || result[numbered].caller != made.caller) {
          result.calls_.push_back(made);
          numbered = static_cast<uint32_t>(result.calls_.size());
        }
        call = numbered;
      }
    }
    known[*site] = call;
    if (result.from_.empty() || result.from_.back().second != call) result.from_.push_back({number, call});
  });
  return result;
}

uint32_t InlinedCalls::At(uint32_t ptx_line) const {
  const auto next = std::ranges::upper_bound(from_, ptx_line, {}, &std::pair<uint32_t, uint32_t>::first);
  return next == from_.begin() ? 0 : std::prev(next)->second;
}

}  // namespace ptx2cpu::lowering
