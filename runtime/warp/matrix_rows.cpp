// Registers of fragments from rows in memory.
#include <stdint.h>

#include "runtime/abi/matrix.h"
#include "runtime/warp/matrix_vectors.h"

extern "C" {
#define MATRIX(name, parameters, meaning) void name parameters;
#include "runtime/warp/matrix.def"
#undef MATRIX
}

namespace {

using ptx2cpu::rt::matrix::LoadVector;
using Elements = uint16_t __attribute__((vector_size(128)));

// The transpose of eight rows of eight elements.
inline Elements Transposed(Elements m) {
  return __builtin_shufflevector(m, m, 0, 8, 16, 24, 32, 40, 48, 56, 1, 9, 17, 25, 33, 41, 49, 57, 2, 10, 18,
                                 26, 34, 42, 50, 58, 3, 11, 19, 27, 35, 43, 51, 59, 4, 12, 20, 28, 36, 44, 52,
                                 60, 5, 13, 21, 29, 37, 45, 53, 61, 6, 14, 22, 30, 38, 46, 54, 62, 7, 15, 23,
                                 31, 39, 47, 55, 63);
}

// Put together in registers: a store of whole vectors can be forwarded to the product that loads them.
inline Elements EightRows(const void* const* rows) {
  using Row = uint16_t __attribute__((vector_size(16)));
  using Two = uint16_t __attribute__((vector_size(32)));
  using Four = uint16_t __attribute__((vector_size(64)));
  auto two = [&](int n) -> Two {
    return __builtin_shufflevector(LoadVector<Row>(rows[n]), LoadVector<Row>(rows[n + 1]), 0, 1, 2, 3, 4, 5,
                                   6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  };
  auto four = [&](int n) -> Four {
    return __builtin_shufflevector(two(n), two(n + 2), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
  };
  const struct {
    Four low, high;
  } matrix = {four(0), four(4)};
  return ptx2cpu::rt::matrix::Bits<Elements>(matrix);
}

}  // namespace

void ptx2cpu_matrix_load(uint32_t* d, const void* const* rows, uint32_t form) {
  constexpr uint32_t kRows = 8;
  for (uint32_t n = 0; n < (form & PTX2CPU_MATRIX_COUNT); ++n, d += 32, rows += kRows) {
    Elements matrix = EightRows(rows);
    if ((form & PTX2CPU_MATRIX_TRANSPOSED) != 0) matrix = Transposed(matrix);
    __builtin_memcpy(d, &matrix, sizeof(matrix));
  }
}
