// How the texts of the shapes are written.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "tools/bench/shapes.h"

namespace ptx2cpu::bench {

std::span<const GrowthShape> FurtherShapes();     // those of further_shapes.cpp
std::span<const GrowthShape> CollectiveShapes();  // those of collective_shapes.cpp

inline constexpr std::string_view kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";

// %v: data that differ per thread, %u: the same in all; the result is stored so that nothing is dead.
inline constexpr std::string_view kBegin =
    ".visible .entry k(.param .u64 out, .param .u32 u)\n{\n"
    ".reg .pred %p, %q; .reg .b32 %r<10>, %v, %u, %t; .reg .b64 %a, %o, %f;\n"
    "ld.param.u64 %o, [out];\nld.param.u32 %u, [u];\nmov.u32 %t, %tid.x;\n"
    "mul.wide.u32 %a, %t, 4;\nadd.s64 %a, %o, %a;\nld.global.u32 %v, [%a];\n";
inline constexpr std::string_view kEnd = "st.global.u32 [%a], %v;\nret;\n}\n";

template <typename Line>
std::string Repeat(uint32_t n, const Line& line) {
  std::string text;
  for (uint32_t i = 0; i < n; ++i) line(std::back_inserter(text), i);
  return text;
}

inline std::string Kernel(const std::string& body, const std::string& before = {}) {
  return std::string(kHead) + before + std::string(kBegin) + body + std::string(kEnd);
}

// `body` n times in a row; {0} is the number.
template <uint32_t kPrime = 1>
std::string Row(uint32_t n, std::string_view body, const std::string& before = {}) {
  return Kernel(Repeat(n, [&](auto out, uint32_t i) { fmt::format_to(out, fmt::runtime(body), i * kPrime); }),
                before);
}

}  // namespace ptx2cpu::bench
