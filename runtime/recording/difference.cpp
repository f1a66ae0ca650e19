#include "runtime/recording/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace ptx2cpu::rt::recording {

namespace {

constexpr size_t kWord = 4;

template <typename T>
T At(std::span<const std::byte> bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Encodings in the order of the numbers, so that neighbours differ by one; both zeros are one place.
template <typename Int, typename Float>
Int PlaceOf(Float value) {
  const Int bits = std::bit_cast<Int>(value);
  constexpr Int kSign = Int{1} << (8 * sizeof(Int) - 1);
  return (bits & kSign) != 0 ? kSign - (bits & ~kSign) : kSign + bits;
}

template <typename Float, typename Int>
void DescribeFloat(const char* type, std::span<const std::byte> expected, std::span<const std::byte> actual,
                   uint64_t offset, std::string& text) {
  const uint64_t begin = offset / sizeof(Float) * sizeof(Float);
  if (begin + sizeof(Float) > expected.size()) return;
  const auto a = At<Float>(expected, begin), b = At<Float>(actual, begin);
  text += fmt::format("    {} {}, now {}", type, a, b);
  if (std::isfinite(a) && std::isfinite(b)) {
    const auto from = PlaceOf<Int>(a), to = PlaceOf<Int>(b);
    text += fmt::format(": off by {} ({} units in the last place)", b - a, from < to ? to - from : from - to);
  }
  text += '\n';
}

}  // namespace

std::optional<Difference> Compare(std::span<const std::byte> expected, std::span<const std::byte> actual) {
  if (expected.empty() || std::memcmp(expected.data(), actual.data(), expected.size()) == 0)
    return std::nullopt;
  Difference difference;
  difference.offset = static_cast<uint64_t>(std::ranges::mismatch(expected, actual).in1 - expected.begin());
  for (size_t at = 0; at < expected.size(); at += kWord) {
    const size_t bytes = std::min(kWord, expected.size() - at);
    difference.words += std::memcmp(expected.data() + at, actual.data() + at, bytes) != 0 ? 1 : 0;
  }
  return difference;
}

std::string DescribeElement(std::span<const std::byte> expected, std::span<const std::byte> actual,
                            uint64_t offset) {
  const uint64_t begin = offset / kWord * kWord;
  if (begin + kWord > expected.size()) {
    return fmt::format("    byte {}, now {}\n", std::to_integer<unsigned>(expected[offset]),
                       std::to_integer<unsigned>(actual[offset]));
  }
  const auto a = At<int32_t>(expected, begin), b = At<int32_t>(actual, begin);
  std::string text = fmt::format("    i32 {}, now {}: off by {}\n", a, b, int64_t{b} - a);
  DescribeFloat<float, uint32_t>("f32", expected, actual, offset, text);
  DescribeFloat<double, uint64_t>("f64", expected, actual, offset, text);
  return text;
}

}  // namespace ptx2cpu::rt::recording
