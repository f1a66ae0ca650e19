// Vectors of 16 elements, one for each row of a product, and how fragments become such vectors and back. The
// compiler's own vectors: this is compiled once for every machine, and legal for each when a kernel is.
#pragma once

#include <stdint.h>

// For what takes sums by reference: they stay in registers.
#define PTX2CPU_INLINE __attribute__((always_inline))

namespace ptx2cpu::rt::matrix {

using U32x8 = uint32_t __attribute__((vector_size(32)));
using U32x16 = uint32_t __attribute__((vector_size(64)));
using I32x16 = int32_t __attribute__((vector_size(64)));
using F32x8 = float __attribute__((vector_size(32)));
using F32x16 = float __attribute__((vector_size(64)));
using F64x8 = double __attribute__((vector_size(64)));
using F64x16 = double __attribute__((vector_size(128)));
using U64x16 = uint64_t __attribute__((vector_size(128)));
using I64x16 = int64_t __attribute__((vector_size(128)));

using U16x32 = uint16_t __attribute__((vector_size(64)));
using I16x32 = int16_t __attribute__((vector_size(64)));
using I8x64 = int8_t __attribute__((vector_size(64)));

using I16x16 = int16_t __attribute__((vector_size(32)));

template <typename To, typename From>
inline To Bits(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &value, sizeof(to));
  return to;
}
template <typename V>
inline V LoadVector(const void* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}
template <typename V>
inline V Choose(I32x16 mask, V yes, V no) {  // mask: all ones or zeros
  return Bits<V>((Bits<I32x16>(yes) & mask) | (Bits<I32x16>(no) & ~mask));
}

// Lane 4 r + q of a register for the rows r.
template <int q>
inline U32x8 Column(const uint32_t* lanes) {
  const auto low = LoadVector<U32x16>(lanes), high = LoadVector<U32x16>(lanes + 16);
  return __builtin_shufflevector(low, high, q, q + 4, q + 8, q + 12, q + 16, q + 20, q + 24, q + 28);
}
// The same for 16 rows, of which the second eight are in another register.
template <int q>
inline U32x16 Column(const uint32_t* first, const uint32_t* second) {
  return __builtin_shufflevector(Column<q>(first), Column<q>(second), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
                                 12, 13, 14, 15);
}
// `visit` for q = 0, 1, 2, 3, as template<int>.
template <typename Visit>
PTX2CPU_INLINE inline void ForQuarters(Visit visit) {
  visit.template operator()<0>();
  visit.template operator()<1>();
  visit.template operator()<2>();
  visit.template operator()<3>();
}

// The reverse of Column: rows 8 h to 8 h + 7 of the columns 0 to 3, as a register of 32 lanes.
template <int h>
inline void StoreLanes(uint32_t* lanes, U32x16 c0, U32x16 c1, U32x16 c2, U32x16 c3) {
  constexpr int o = 8 * h;
  const U32x16 low = __builtin_shufflevector(c0, c1, o, o + 16, o + 1, o + 17, o + 2, o + 18, o + 3, o + 19,
                                             o + 4, o + 20, o + 5, o + 21, o + 6, o + 22, o + 7, o + 23);
  const U32x16 high = __builtin_shufflevector(c2, c3, o, o + 16, o + 1, o + 17, o + 2, o + 18, o + 3, o + 19,
                                              o + 4, o + 20, o + 5, o + 21, o + 6, o + 22, o + 7, o + 23);
  const U32x16 first =
      __builtin_shufflevector(low, high, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23);
  const U32x16 second =
      __builtin_shufflevector(low, high, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31);
  __builtin_memcpy(lanes, &first, 64);
  __builtin_memcpy(lanes + 16, &second, 64);
}

}  // namespace ptx2cpu::rt::matrix
