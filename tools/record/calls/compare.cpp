#include "tools/record/calls/compare.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace ptx2cpu::calls {

namespace {

using Numbers = std::vector<double>;

Numbers Decode(const ElementType& type, const std::vector<std::byte>& bytes) {
  Numbers numbers;
  for (size_t at = 0; at < bytes.size(); at += type.bytes) numbers.push_back(ReadComponent(type, &bytes[at]));
  return numbers;
}

// Multiplies each column of `ours` by the number of absolute value 1 that brings it closest to that of
// `theirs`.
void AlignColumns(int components, size_t column, Numbers& ours, const Numbers& theirs) {
  const auto step = static_cast<size_t>(components);
  auto element = [&](const Numbers& from, size_t i) {
    return std::complex<double>(from[i * step], components == 2 ? from[i * step + 1] : 0);
  };
  for (size_t begin = 0; begin < ours.size() / step; begin += column) {
    const size_t end = std::min(begin + column, ours.size() / step);
    std::complex<double> product = 0;
    for (size_t i = begin; i < end; ++i) product += element(theirs, i) * std::conj(element(ours, i));
    if (std::abs(product) == 0) continue;
    for (size_t i = begin; i < end; ++i) {
      const std::complex<double> turned = element(ours, i) * product / std::abs(product);
      ours[i * step] = turned.real();
      if (components == 2) ours[i * step + 1] = turned.imag();
    }
  }
}

bool IsSame(double ours, double theirs, double bound) {
  if (std::isnan(theirs)) return std::isnan(ours);
  return ours == theirs || std::abs(ours - theirs) <= bound;
}

}  // namespace

std::string Difference(const ElementType& type, const std::string& bound, const std::vector<std::byte>& ours,
                       const std::vector<std::byte>& theirs) {
  if (bound == "any") return "";
  if (bound.starts_with("rows:")) {
    // Rows beyond the matrix are not compared.
    const size_t rows = std::stoul(bound.substr(5)), ld = std::stoul(bound.substr(bound.find(':', 5) + 1));
    const size_t bytes = type.bytes * static_cast<size_t>(type.components);
    std::vector<std::byte> cleared = ours, expected = theirs;
    for (size_t i = 0; i < ours.size() / bytes; ++i) {
      if (i % ld < rows) continue;
      std::fill_n(&cleared[i * bytes], bytes, std::byte{});
      std::fill_n(&expected[i * bytes], bytes, std::byte{});
    }
    return Difference(type, bound.substr(bound.find(':', bound.find(':', 5) + 1) + 1), cleared, expected);
  }
  Numbers our_numbers = Decode(type, ours);
  const Numbers their_numbers = Decode(type, theirs);
  double epsilons = 0;
  if (bound.starts_with("phase:")) {
    const size_t colon = bound.rfind(':');
    AlignColumns(type.components, std::stoul(bound.substr(6)), our_numbers, their_numbers);
    epsilons = std::stod(bound.substr(colon + 1));
  } else if (bound != "exact") {
    epsilons = std::stod(bound);
  }
  double largest = 0;
  for (const double number : their_numbers)
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  const double allowed = epsilons * type.epsilon * largest;
  std::string text;
  int wrong = 0;
  double worst = 0;
  for (size_t i = 0; i < their_numbers.size(); ++i) {
    if (IsSame(our_numbers[i], their_numbers[i], allowed)) continue;
    worst = std::max(worst, std::abs(our_numbers[i] - their_numbers[i]));
    if (wrong++ < 3)
      text += " [" + std::to_string(i) + "] " + std::to_string(our_numbers[i]) + ", recorded " +
              std::to_string(their_numbers[i]);
  }
  if (wrong == 0) return "";
  if (type.is_float)
    text += "; off by " + std::to_string(worst / (type.epsilon * (largest > 0 ? largest : 1))) + " epsilons";
  return std::to_string(wrong) + " of " + std::to_string(their_numbers.size()) + ":" + text;
}

}  // namespace ptx2cpu::calls
