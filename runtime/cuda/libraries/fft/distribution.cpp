#include "runtime/cuda/libraries/fft/distribution.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

namespace ptx2cpu::cufft {

using libraries::FftKind;
using libraries::FftPrecision;

namespace {

// Calls piece(device, offset in the part, offset in the whole, bytes) for what is adjacent in both.
template <typename Piece>
void ForPieces(const Division& division, int64_t devices, const Piece& piece) {
  for (int64_t device = 0; device < devices; ++device) {
    const Division::Range range = division.Of(device, devices);
    const int64_t chunk = division.ChunkOf(range, devices);
    const size_t bytes = static_cast<size_t>(chunk * division.inner) * division.element;
    size_t in_part = 0;
    for (int64_t begin = range.begin; begin < range.end; begin += chunk) {
      for (int64_t row = 0; row < division.outer; ++row) {
        const int64_t index = (row * division.divided + begin) * division.inner;
        piece(static_cast<size_t>(device), in_part, static_cast<size_t>(index) * division.element, bytes);
        in_part += bytes;
      }
    }
  }
}

}  // namespace

Division::Range Division::Of(int64_t device, int64_t devices) const {
  const int64_t each = divided / devices, more = divided % devices;
  const int64_t begin = device * each + std::min(device, more);
  return {begin, begin + each + (device < more)};
}
int64_t Division::ChunkOf(Range range, int64_t devices) const {
  const int64_t all = range.end - range.begin;
  return of_line && outer >= 4 * devices ? all / 4 : all;
}
size_t Division::Bytes(int64_t device, int64_t devices) const {
  const auto [begin, end] = Of(device, devices);
  return static_cast<size_t>(outer * (end - begin) * inner) * element;
}

bool IsShuffled(cufftXtSubFormat format) {
  return format == CUFFT_XT_FORMAT_OUTPUT || format == CUFFT_XT_FORMAT_INPLACE_SHUFFLED ||
         format == CUFFT_XT_FORMAT_1D_INPUT_SHUFFLED;
}

Division DivisionOf(const Shape& shape, cufftXtSubFormat format, Side side) {
  const FftKind kind = KindOf(shape.type);
  const size_t real_bytes = PrecisionOf(shape.type) == FftPrecision::kSingle ? sizeof(float) : sizeof(double);
  std::vector<int64_t> sizes = shape.sizes;
  // Only separate arrays have lines of real numbers without padding.
  const bool separate = format == CUFFT_XT_FORMAT_INPUT || format == CUFFT_XT_FORMAT_OUTPUT;
  const bool real_side = kind == (side == Side::kInput ? FftKind::kRealToComplex : FftKind::kComplexToReal);
  const bool real = separate && real_side && shape.batch > 1;
  if (kind != FftKind::kComplex && !real) sizes.back() = sizes.back() / 2 + 1;
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  const size_t element = real ? real_bytes : 2 * real_bytes;
  if (shape.batch > 1) return {1, shape.batch, count, element};
  if (!IsShuffled(format)) return {1, sizes[0], count / sizes[0], element};
  if (sizes.size() == 1) {
    const auto [first, second] = FactorsOf(sizes[0]);
    return {second, first, 1, element, true};
  }
  return {sizes[0], sizes[1], count / sizes[0] / sizes[1], element};
}

namespace {

// The exponent of the first factor of 2^6, 2^7 ... 2^26, which is also a power of 2.
constexpr int kFirstFactor[] = {4, 4, 5, 6, 6, 7, 8, 8, 9, 10, 10, 11, 12, 12, 12, 12, 13, 14, 16, 16, 17};
constexpr int kSmallestLine = 6, kLargestLine = kSmallestLine + static_cast<int>(std::size(kFirstFactor)) - 1;

}  // namespace

Factors FactorsOf(int64_t size) {
  const int power = std::countr_zero(static_cast<uint64_t>(size));
  const int64_t first = int64_t{1} << kFirstFactor[power - kSmallestLine];
  return {first, size / first};
}

bool IsDividedLine(int64_t size, int64_t devices) {
  const auto bits = static_cast<uint64_t>(size);
  if (!std::has_single_bit(bits) || !std::has_single_bit(static_cast<uint64_t>(devices))) return false;
  const int power = std::countr_zero(bits);
  return power >= kSmallestLine && power <= kLargestLine && (size != 64 || devices != 8);
}

void Gather(const Division& division, const std::vector<void*>& parts, void* whole) {
  ForPieces(division, static_cast<int64_t>(parts.size()),
            [&](size_t device, size_t in_part, size_t in_whole, size_t bytes) {
              std::memcpy(static_cast<std::byte*>(whole) + in_whole,
                          static_cast<const std::byte*>(parts[device]) + in_part, bytes);
            });
}
void Scatter(const Division& division, const void* whole, const std::vector<void*>& parts) {
  ForPieces(division, static_cast<int64_t>(parts.size()),
            [&](size_t device, size_t in_part, size_t in_whole, size_t bytes) {
              std::memcpy(static_cast<std::byte*>(parts[device]) + in_part,
                          static_cast<const std::byte*>(whole) + in_whole, bytes);
            });
}

}  // namespace ptx2cpu::cufft
