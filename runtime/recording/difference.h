// Differences between two contents of the same memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace ptx2cpu::rt::recording {

struct Difference {
  uint64_t offset = 0;  // of the first byte that differs
  uint64_t words = 0;   // aligned words of 4 bytes that differ
};

// Compares contents of the same length. Nothing: they are equal.
std::optional<Difference> Compare(std::span<const std::byte> expected, std::span<const std::byte> actual);

// The element with the byte at `offset`, as i32, f32 and f64, with the distance of each; one per line,
// indented. "  f32 1.5, now 1.25: off by 0.25 (2097152 units in the last place)".
std::string DescribeElement(std::span<const std::byte> expected, std::span<const std::byte> actual,
                            uint64_t offset);

}  // namespace ptx2cpu::rt::recording
