#include "tools/record/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <sstream>

#include "tools/record/small_float.h"

namespace ptx2cpu::rt {
namespace {

uint64_t LoadBits(const ScalarType& type, const std::byte* at) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, type.size);
  return bits;
}

double LoadFloat(const ScalarType& type, uint64_t bits) {
  if (type.size == 8) return std::bit_cast<double>(bits);
  if (type.size == 4) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  return DecodeSmallFloat(static_cast<uint32_t>(bits),
                          type.exponent_bits == kHalf.exponent_bits ? kHalf : kBfloat16);
}

// Floats in the order of their values: neighbours differ by one, both zeros are 0.
int64_t Rank(const ScalarType& type, uint64_t bits) {
  const uint64_t sign = uint64_t{1} << (type.size * 8 - 1);
  const auto magnitude = static_cast<int64_t>(bits & (sign - 1));
  return bits & sign ? -magnitude : magnitude;
}

bool Fits(const Expectation& expectation, const ScalarType& type, const std::byte* actual,
          const std::byte* expected) {
  const uint64_t a = LoadBits(type, actual), b = LoadBits(type, expected);
  if (a == b) return true;
  if (expectation.rule == CompareRule::kBits || type.kind != ScalarKind::kFloat) return false;
  const double x = LoadFloat(type, a), y = LoadFloat(type, b);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  if (expectation.rule == CompareRule::kAbs) return std::fabs(x - y) <= expectation.tolerance;
  return std::fabs(static_cast<double>(Rank(type, a)) - static_cast<double>(Rank(type, b))) <=
         expectation.tolerance;
}

}  // namespace

std::optional<std::string> FindDifference(const Expectation& expectation, const ScalarType& type,
                                          const std::vector<std::byte>& actual,
                                          const std::vector<std::byte>& expected) {
  if (actual.size() != expected.size()) {
    return std::to_string(actual.size()) + " bytes, expected " + std::to_string(expected.size());
  }
  size_t wrong = 0;
  std::string first;
  for (size_t at = 0; at + type.size <= actual.size(); at += type.size) {
    if (Fits(expectation, type, actual.data() + at, expected.data() + at)) continue;
    if (wrong++ != 0) continue;
    first = "element " + std::to_string(at / type.size) + " is " + FormatValue(type, actual.data() + at) +
            " " + FormatValue(type, actual.data() + at, true) + ", expected " +
            FormatValue(type, expected.data() + at) + " " + FormatValue(type, expected.data() + at, true);
  }
  if (wrong == 0) return std::nullopt;
  return std::to_string(wrong) + " of " + std::to_string(actual.size() / type.size) + " differ; " + first;
}

std::optional<std::string> FindStdoutDifference(StdoutRule rule, const std::string& actual,
                                                const std::string& expected) {
  const auto lines = [rule](const std::string& text) {
    std::vector<std::string> result;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) result.push_back(line);
    if (rule == StdoutRule::kAnyOrder) std::sort(result.begin(), result.end());
    return result;
  };
  const std::vector<std::string> a = lines(actual), b = lines(expected);
  const size_t count = std::min(a.size(), b.size());
  for (size_t i = 0; i < count; ++i)
    if (a[i] != b[i]) return "printed '" + a[i] + "', expected '" + b[i] + "'";
  if (a.size() != b.size()) {
    return "printed " + std::to_string(a.size()) + " lines, expected " + std::to_string(b.size());
  }
  return std::nullopt;
}

}  // namespace ptx2cpu::rt
