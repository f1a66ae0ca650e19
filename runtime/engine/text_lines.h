// Source lines and header of a PTX text, read without a parser.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ptx2cpu::rt {

std::string_view LineOf(std::string_view text, uint32_t line);  // counted from 1; empty where there is none

struct SourceLine {
  std::string file;
  uint32_t line = 0;
};
// The .loc that holds for a line: the last one before it in the same function.
std::optional<SourceLine> SourceLineAt(std::string_view text, uint32_t line);

uint32_t VersionOf(std::string_view text);  // .version 9.0: 90; 0 where there is none
uint32_t TargetOf(std::string_view text);   // .target sm_90a: 90

}  // namespace ptx2cpu::rt
