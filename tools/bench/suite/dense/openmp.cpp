// Dense matrices.
#include "tools/bench/suite/openmp.h"

#include <vector>

namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD {

namespace {

// Panels of columns are packed, so that the inner loop walks memory in order. The sums of some rows of a
// panel stay in registers. Sides are multiples of a panel.
template <typename T>
void Product(const T* a, const T* b, T* c, uint32_t n) {
  constexpr uint32_t kPanel = 256 / sizeof(T), kRows = 4;
#pragma omp parallel
  {
    std::vector<T> panel(size_t{n} * kPanel);
#pragma omp for
    for (uint32_t column = 0; column < n; column += kPanel) {
      for (uint32_t k = 0; k < n; ++k) {
        for (uint32_t j = 0; j < kPanel; ++j) panel[k * kPanel + j] = b[k * n + column + j];
      }
      for (uint32_t row = 0; row < n; row += kRows) {
        T sums[kRows][kPanel] = {};
        for (uint32_t k = 0; k < n; ++k) {
          const T* from = &panel[k * kPanel];
          for (uint32_t r = 0; r < kRows; ++r) {
            const T factor = a[(row + r) * n + k];
#pragma omp simd
            for (uint32_t j = 0; j < kPanel; ++j) sums[r][j] += factor * from[j];
          }
        }
        for (uint32_t r = 0; r < kRows; ++r) {
          for (uint32_t j = 0; j < kPanel; ++j) c[(row + r) * n + column + j] = sums[r][j];
        }
      }
    }
  }
}

}  // namespace

void Sgemm(const Data& data) {
  Product(data.Get<const float*>(0), data.Get<const float*>(1), data.Get<float*>(2), data.Get<uint32_t>(3));
}

void Dgemm(const Data& data) {
  Product(data.Get<const double*>(0), data.Get<const double*>(1), data.Get<double*>(2),
          data.Get<uint32_t>(3));
}

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
