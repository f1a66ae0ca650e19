// PTX texts that grow in one direction, as generated programs and attackers write them. Each text is legal
// and meaningful; its length is proportional to `n`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ptx2cpu::bench {

struct GrowthShape {
  std::string_view name;
  std::string_view what;            // of which there are n
  std::string (*text)(uint32_t n);  // kernels: "k", or "k0" to "k<n-1>"
  uint32_t first;                   // the smallest n worth measuring
};
std::span<const GrowthShape> GrowthShapes();

}  // namespace ptx2cpu::bench
