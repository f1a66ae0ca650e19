#include "runtime/cuda/redirect/compiler_options.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ptx2cpu::redirect {

namespace {

constexpr std::string_view kReal = "sm_", kVirtual = "compute_";
constexpr std::array<std::string_view, 2> kArchitecture = {"-arch", "--gpu-architecture"};
// Options of compilations whose result is neither PTX nor machine code.
constexpr std::array<std::string_view, 4> kOtherResult = {"-dlto", "--dlink-time-opt", "-optix-ir",
                                                          "--optix-ir"};

// NVRTC does not mind spaces around an option.
std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Where option i names an architecture: its value, there or in the next word.
struct Architecture {
  size_t word;
  std::string before;  // the text of the word in front of the value
  std::string value;
};
std::optional<Architecture> ArchitectureAt(const OptionList& options, size_t i) {
  const std::string_view word = Trim(options[i]);
  for (const std::string_view name : kArchitecture) {
    if (!word.starts_with(name)) continue;
    const std::string_view rest = word.substr(name.size());
    if (rest.starts_with('=')) return Architecture{i, std::string(name) + '=', std::string(rest.substr(1))};
    if (rest.empty() && i + 1 < options.size())
      return Architecture{i + 1, "", std::string(Trim(options[i + 1]))};
  }
  return std::nullopt;
}

}  // namespace

OptionList::OptionList(std::span<const char* const> options) {
  for (const char* const option : options) words_.emplace_back(option == nullptr ? "" : option);
}

std::vector<const char*> OptionList::Pointers() const {
  std::vector<const char*> pointers;
  for (const std::string& word : words_) pointers.push_back(word.c_str());
  return pointers;
}

std::optional<OptionList> AskingForPtx(std::span<const char* const> options) {
  if (std::find(options.begin(), options.end(), nullptr) != options.end())
    return std::nullopt;  // the compiler's to judge
  OptionList list(options);
  bool real = false;  // of the last one, which counts
  for (size_t i = 0; i < list.size(); ++i) {
    if (std::find(kOtherResult.begin(), kOtherResult.end(), Trim(list[i])) != kOtherResult.end())
      return std::nullopt;
    const auto found = ArchitectureAt(list, i);
    if (!found) continue;
    real = found->value.starts_with(kReal);
    if (real)
      list.Set(found->word, found->before + std::string(kVirtual) + found->value.substr(kReal.size()));
    i = found->word;
  }
  return real ? std::optional(std::move(list)) : std::nullopt;
}

// nvJitLink makes PTX of LTO IR alone.
std::optional<LinkOptions> LinkingToPtx(std::span<const char* const> options) {
  LinkOptions changed{.list = OptionList(options)};
  for (size_t i = 0; i < changed.list.size(); ++i) {
    if (changed.list[i] == "-ptx") return std::nullopt;
    changed.lto |= changed.list[i] == "-lto";
  }
  if (changed.lto) changed.list.Add("-ptx");
  return changed;
}

}  // namespace ptx2cpu::redirect
