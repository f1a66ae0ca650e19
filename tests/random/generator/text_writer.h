// The text of a kernel's body, statement by statement, with registers numbered as they are needed.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace ptx2cpu::random_kernels {

class TextWriter {
 protected:
  template <typename... Words>
  void Line(fmt::format_string<Words...> format, Words&&... words) {
    body_ += "  " + fmt::format(format, std::forward<Words>(words)...) + ";\n";
  }
  void Label(const std::string& label) { body_ += label + ":\n"; }
  std::string Reg() { return fmt::format("%r{}", regs_++); }              // b32
  std::string Predicate() { return fmt::format("%p{}", predicates_++); }  // pred
  std::string Wide() { return fmt::format("%d{}", wides_++); }            // b64
  // An instruction that writes the register.
  template <typename... Words>
  std::string Into(std::string result, std::string_view opcode, Words&&... words) {
    std::string list;
    ((list += fmt::format(", {}", words)), ...);
    Line("{} {}{}", opcode, result, list);
    return result;
  }
  template <typename... Words>
  std::string Compute(std::string_view opcode, Words&&... words) {
    return Into(Reg(), opcode, std::forward<Words>(words)...);
  }

  std::string body_;
  uint32_t regs_ = 0, predicates_ = 0, wides_ = 0, labels_ = 0;
};

}  // namespace ptx2cpu::random_kernels
