// Products of bits and of f64: 16 rows at once.
#include "runtime/abi/matrix.h"
#include "runtime/warp/matrix_vectors.h"

namespace ptx2cpu::rt::matrix {
namespace {

constexpr int kColumns = 8;

struct Shape {
  bool sixteen_rows;
  int depth;
  explicit Shape(uint32_t form)
      : sixteen_rows((form & PTX2CPU_MATRIX_SIXTEEN_ROWS) != 0),
        depth(1 << (form >> PTX2CPU_MATRIX_DEPTH_SHIFT & 15)) {}
  int registers_of_rows() const { return sixteen_rows ? 2 : 1; }
};

// Words q of rows of A; the second eight rows are the first again where there are only eight.
template <int q>
inline U32x16 RowsOf(const uint32_t* a, int tile, const Shape& shape) {
  const int step = shape.registers_of_rows();
  const uint32_t* first = a + tile * step * 32;
  return Column<q>(first, first + (step - 1) * 32);
}

inline void LoadSums(const uint32_t* c, const Shape& shape, I32x16* sums) {
  const int second = shape.sixteen_rows ? 64 : 0;
  ForQuarters([&]<int q>() {
    sums[2 * q] = Bits<I32x16>(Column<q>(c, c + second));
    sums[2 * q + 1] = Bits<I32x16>(Column<q>(c + 32, c + second + 32));
  });
}
inline void StoreSums(uint32_t* d, const Shape& shape, const I32x16* sums) {
  for (int p = 0; p < 2; ++p) {
    auto column = [&](int q) { return Bits<U32x16>(sums[2 * q + p]); };
    StoreLanes<0>(d + 32 * p, column(0), column(1), column(2), column(3));
    if (shape.sixteen_rows) StoreLanes<1>(d + 64 + 32 * p, column(0), column(1), column(2), column(3));
  }
}

inline U32x16 CountOnes(U32x16 x) {
  x -= x >> 1 & 0x55555555;
  x = (x & 0x33333333) + (x >> 2 & 0x33333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f;
  return x * 0x01010101 >> 24;
}

}  // namespace
}  // namespace ptx2cpu::rt::matrix

using namespace ptx2cpu::rt::matrix;

extern "C" {

void ptx2cpu_matrix_bits(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c,
                         const uint32_t*, uint32_t form) {
  const Shape shape(form);
  const bool is_xor = (form & PTX2CPU_MATRIX_XOR) != 0;
  I32x16 sums[kColumns];
  LoadSums(c, shape, sums);
  for (int tile = 0; tile < shape.depth / 128; ++tile) {
    ForQuarters([&]<int q>() {
      const U32x16 words_a = RowsOf<q>(a, tile, shape);
      const U32x8 words_b = Column<q>(b + tile * 32);
      for (int j = 0; j < kColumns; ++j) {
        const U32x16 other = U32x16{} + words_b[j];
        const U32x16 count = CountOnes(is_xor ? words_a ^ other : words_a & other);
        sums[j] = Bits<I32x16>(Bits<U32x16>(sums[j]) + count);
      }
    });
  }
  StoreSums(d, shape, sums);
}

// A chain of fused multiply-adds from c, in the order of k.
void ptx2cpu_matrix_f64(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c, const uint32_t*,
                        uint32_t form) {
  const Shape shape(form);
  const auto *from_a = reinterpret_cast<const double*>(a), *from_b = reinterpret_cast<const double*>(b),
             *from_c = reinterpret_cast<const double*>(c);
  auto* to = reinterpret_cast<double*>(d);
  const int halves = shape.registers_of_rows();
  F64x8 sums[2][kColumns];
  for (int half = 0; half < halves; ++half)
    for (int j = 0; j < kColumns; ++j)
      for (int row = 0; row < 8; ++row)
        sums[half][j][row] = from_c[(half * 2 + j % 2) * 32 + row * 4 + j / 2];
  for (int k = 0; k < shape.depth; ++k) {
    const int tile = k / 4, q = k % 4;
    for (int half = 0; half < halves; ++half) {
      F64x8 of_a;
      for (int row = 0; row < 8; ++row) of_a[row] = from_a[(tile * halves + half) * 32 + row * 4 + q];
      for (int j = 0; j < kColumns; ++j)
        sums[half][j] =
            __builtin_elementwise_fma(of_a, F64x8{} + from_b[tile * 32 + j * 4 + q], sums[half][j]);
    }
  }
  for (int half = 0; half < halves; ++half)
    for (int j = 0; j < kColumns; ++j)
      for (int row = 0; row < 8; ++row) to[(half * 2 + j % 2) * 32 + row * 4 + j / 2] = sums[half][j][row];
}

}  // extern "C"
