#include "runtime/cuda/libraries/blas/gemm.h"

namespace ptx2cpu::cublas {

Cut CutOf(int64_t m, int64_t n, double work) {
  const auto parts = static_cast<int64_t>(
      std::min(static_cast<double>(libraries::Threads()), std::max(1.0, work / kProductGrain)));
  Cut best{1, 1};
  double least = -1;
  for (int64_t rows = 1; rows <= parts; ++rows) {
    if (parts % rows != 0) continue;
    const int64_t columns = parts / rows;
    const double reads = static_cast<double>(m) / static_cast<double>(rows) +
                         static_cast<double>(n) / static_cast<double>(columns);
    if (least < 0 || reads < least) least = reads, best = {rows, columns};
  }
  return best;
}

}  // namespace ptx2cpu::cublas
