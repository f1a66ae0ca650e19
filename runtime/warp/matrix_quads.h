// Fragments in the lanes where a warp has them, four rows in a vector: each row is a quad of lanes.
//
// Of an accumulator, lane q of a quad has the columns 2 q and 2 q + 1, in register 0 and 1. So a step of a
// product takes one word of each row of A, spread over its quad, and for each register the same word of four
// columns of B, which all quads have alike.
#pragma once

#include <stddef.h>

#include "runtime/abi/matrix.h"
#include "runtime/warp/matrix_vectors.h"

namespace ptx2cpu::rt::matrix {

constexpr int kQuads = 4;      // words of a row in a register
constexpr int kRegister = 32;  // words
constexpr int kFourRows = 16;  // words
constexpr int kGroups = 4;     // of four rows, of A and accumulators
constexpr int kParities = 2;   // of columns: registers of an accumulator for eight rows

// The rows of a product, in groups of four: of these many at once.
#if defined(__AVX512F__)
constexpr int kGroupsAtOnce = 4;
#else
constexpr int kGroupsAtOnce = 1;
#endif

// Word q of each row in all lanes of its quad.
template <int q, typename V>
inline V Spread(V rows) {
  return __builtin_shufflevector(rows, rows, q, q, q, q, q + 4, q + 4, q + 4, q + 4, q + 8, q + 8, q + 8,
                                 q + 8, q + 12, q + 12, q + 12, q + 12);
}

// Four words, for all quads.
template <typename V>
inline V ForQuads(const uint32_t* words) {
  using Four = uint32_t __attribute__((vector_size(16)));
  const Four four = LoadVector<Four>(words);
  return Bits<V>(__builtin_shufflevector(four, four, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3));
}

// One register of B by columns: words[q][p] are word q of the columns p, p + 2, p + 4 and p + 6.
struct alignas(64) Columns {
  uint32_t words[kQuads][kParities][kQuads];

  void Put(U32x16 low, U32x16 high) {
    const U32x16 first =
        __builtin_shufflevector(low, high, 0, 8, 16, 24, 4, 12, 20, 28, 1, 9, 17, 25, 5, 13, 21, 29);
    const U32x16 second =
        __builtin_shufflevector(low, high, 2, 10, 18, 26, 6, 14, 22, 30, 3, 11, 19, 27, 7, 15, 23, 31);
    __builtin_memcpy(words, &first, sizeof(first));
    __builtin_memcpy(words[2], &second, sizeof(second));
  }
  template <typename V>
  V Get(int q, int p) const {
    return ForQuads<V>(words[q][p]);
  }
};
// Words of rows 4 g to 4 g + 3 of a register, of four words a row.
inline U32x16 Group(const uint32_t* registers, int number, int g, uint32_t stride = kRegister) {
  return LoadVector<U32x16>(registers + number * static_cast<size_t>(stride) + g * kFourRows);
}
inline void PutGroup(uint32_t* registers, int number, int g, U32x16 words, uint32_t stride = kRegister) {
  __builtin_memcpy(registers + number * static_cast<size_t>(stride) + g * kFourRows, &words, sizeof(words));
}

}  // namespace ptx2cpu::rt::matrix
