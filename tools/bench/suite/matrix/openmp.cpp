// Products of matrices of narrow elements: C = A B^T.
#include "tools/bench/suite/openmp.h"

#include <cstring>
#include <vector>

namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD {

namespace {

float Half(uint16_t bits) {
  const uint32_t word = bits == 0 ? 0 : (uint32_t{bits} << 13) + (112u << 23);
  float value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}
float Upper(uint16_t bits) {
  const uint32_t word = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

// Elements are widened to `Wide` once; panels of rows of B are packed by k, so that the inner loop walks
// memory in order, and the sums of some rows of a panel stay in registers. Sides are multiples of a panel.
template <typename Wide, typename Sum, typename Narrow, typename Widen>
void Product(const Narrow* a, const Narrow* b, Sum* c, uint32_t n, Widen widen) {
  constexpr uint32_t kPanel = 64, kRows = 4;
  std::vector<Wide> wide(size_t{n} * n);
#pragma omp parallel
  {
    std::vector<Wide> panel(size_t{n} * kPanel);
#pragma omp for
    for (uint32_t row = 0; row < n; ++row) {
      for (uint32_t k = 0; k < n; ++k) wide[size_t{row} * n + k] = widen(a[size_t{row} * n + k]);
    }
#pragma omp for
    for (uint32_t column = 0; column < n; column += kPanel) {
      for (uint32_t j = 0; j < kPanel; ++j) {
        for (uint32_t k = 0; k < n; ++k) panel[k * kPanel + j] = widen(b[size_t{column + j} * n + k]);
      }
      for (uint32_t row = 0; row < n; row += kRows) {
        Sum sums[kRows][kPanel] = {};
        for (uint32_t k = 0; k < n; ++k) {
          const Wide* from = &panel[k * kPanel];
          for (uint32_t r = 0; r < kRows; ++r) {
            const Sum factor = wide[size_t{row + r} * n + k];
#pragma omp simd
            for (uint32_t j = 0; j < kPanel; ++j) sums[r][j] += factor * from[j];
          }
        }
        for (uint32_t r = 0; r < kRows; ++r) {
          for (uint32_t j = 0; j < kPanel; ++j) c[size_t{row + r} * n + column + j] = sums[r][j];
        }
      }
    }
  }
}

}  // namespace

void MmaF16(const Data& data) {
  Product<float>(data.Get<const uint16_t*>(0), data.Get<const uint16_t*>(1), data.Get<float*>(2),
                 data.Get<uint32_t>(3), Half);
}
void MmaBf16(const Data& data) {
  Product<float>(data.Get<const uint16_t*>(0), data.Get<const uint16_t*>(1), data.Get<float*>(2),
                 data.Get<uint32_t>(3), Upper);
}
void MmaTf32(const Data& data) {
  Product<float>(data.Get<const float*>(0), data.Get<const float*>(1), data.Get<float*>(2),
                 data.Get<uint32_t>(3), [](float value) { return value; });
}
void ChainedF16(const Data& data) { MmaF16(data); }
void ChainedBf16(const Data& data) { MmaBf16(data); }
void ChainedTf32(const Data& data) { MmaTf32(data); }
void MmaS8(const Data& data) {
  Product<int16_t>(data.Get<const int8_t*>(0), data.Get<const int8_t*>(1), data.Get<int32_t*>(2),
                   data.Get<uint32_t>(3), [](int8_t value) { return int16_t{value}; });
}

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
