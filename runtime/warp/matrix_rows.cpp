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

using Elements = uint16_t __attribute__((vector_size(128)));

// Of eight rows of eight elements.
inline Elements Transposed(Elements m) {
  return __builtin_shufflevector(m, m, 0, 8, 16, 24, 32, 40, 48, 56, 1, 9, 17, 25, 33, 41, 49, 57, 2, 10, 18,
                                 26, 34, 42, 50, 58, 3, 11, 19, 27, 35, 43, 51, 59, 4, 12, 20, 28, 36, 44, 52,
                                 60, 5, 13, 21, 29, 37, 45, 53, 61, 6, 14, 22, 30, 38, 46, 54, 62, 7, 15, 23,
                                 31, 39, 47, 55, 63);
}

}  // namespace

void ptx2cpu_matrix_load(uint32_t* d, const void* const* rows, uint32_t form) {
  constexpr uint32_t kRows = 8, kRowBytes = 16;
  for (uint32_t n = 0; n < (form & PTX2CPU_MATRIX_COUNT); ++n, d += 32, rows += kRows) {
    for (uint32_t row = 0; row < kRows; ++row) __builtin_memcpy(d + row * 4, rows[row], kRowBytes);
    if ((form & PTX2CPU_MATRIX_TRANSPOSED) == 0) continue;
    const Elements turned = Transposed(ptx2cpu::rt::matrix::LoadVector<Elements>(d));
    __builtin_memcpy(d, &turned, sizeof(turned));
  }
}
