// Sparse matrices and graphs.
#include "tools/bench/suite/openmp.h"

namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD {

void Spmv(const Data& data) {
  const auto *offsets = data.Get<const uint32_t*>(0), *columns = data.Get<const uint32_t*>(1);
  const auto *values = data.Get<const float*>(2), *x = data.Get<const float*>(3);
  auto* y = data.Get<float*>(4);
  const auto rows = data.Get<uint32_t>(5);
#pragma omp parallel for
  for (uint32_t row = 0; row < rows; ++row) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint32_t k = offsets[row]; k < offsets[row + 1]; ++k) sum += values[k] * x[columns[k]];
    y[row] = sum;
  }
}

}  // namespace ptx2cpu::suite::PTX2CPU_SUITE_BUILD
