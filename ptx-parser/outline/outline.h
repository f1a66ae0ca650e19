// The parts of a PTX module without parsing it: directives, variables, functions, and which of them a kernel
// needs. A text of forty megabytes is walked in a fraction of the time its parser takes; then only what one
// kernel needs is parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ptx2cpu::ptx {

struct OutlineItem {
  enum class Kind : uint8_t { kDirective, kSection, kVariable, kFunction, kPrototype };
  Kind kind = Kind::kDirective;
  bool is_entry = false;
  bool may_hold_variables = false;  // a function whose body may declare .global or .const variables
  uint32_t line = 1, column = 1;    // of its first byte
  std::string_view text;
  std::vector<std::string_view> names;  // what it declares; of an .alias both names
};

class Outline {
 public:
  // `text` must outlive it. Nothing if the text is not made of such parts: then only a parser can report what
  // is wrong.
  static std::optional<Outline> Of(std::string_view text);

  const std::vector<OutlineItem>& items() const { return items_; }
  bool HasKernel(std::string_view name) const { return KernelItem(name).has_value(); }

  // Numbers of the items that the kernel needs, in order: directives, itself, and every item of a name that
  // is in one that is needed; all items if one of these calls through a register, because any function
  // whose address somebody takes may be meant. May be more than is really needed, never less. Empty where
  // there is no such kernel.
  std::vector<uint32_t> Reach(std::string_view kernel) const;
  // The same of all variables.
  std::vector<uint32_t> ReachOfVariables() const;
  // A text of these items alone, each on its own line and column.
  std::string TextOf(const std::vector<uint32_t>& items) const;

 private:
  std::optional<uint32_t> KernelItem(std::string_view name) const;
  std::vector<uint32_t> Close(std::vector<uint32_t> roots) const;
  std::vector<OutlineItem> items_;
  std::unordered_map<std::string_view, std::vector<uint32_t>> by_name_;
};

}  // namespace ptx2cpu::ptx
