// Chains of products of bytes: sums of 16 rows by up to 16 columns (two products side by side), whose steps
// are added up in registers before the accumulators are touched. A step is 64 bytes of k, a tile of A and one
// of B, each of 16 rows of 64 bytes; a row of B has four bytes of each column.
//
// The columns of a tile are those of two products, of each the even and then the odd ones, as registers of
// accumulators have them. Elements of 4 bits become bytes.
//
// With AMX a step is an instruction, where the system lets the process use it; else it is 256 of VNNI, of
// which each takes unsigned bytes and signed ones. So, where A and B are of one kind, A is of the other,
// by 128 more or less, and what all products of a column are too much is taken off.
#include <immintrin.h>

#include "runtime/abi/matrix.h"
#include "runtime/warp/matrix_quads.h"

extern "C" {
#define MATRIX(name, parameters, meaning) void name parameters;
#include "runtime/warp/matrix.def"
#undef MATRIX
}

namespace ptx2cpu::rt::matrix {
namespace {

using U8x64 = uint8_t __attribute__((vector_size(64)));

constexpr int kRows = 16, kWords = 16;  // of a tile
constexpr uint32_t kHighBits = 0x80808080;

struct alignas(64) Tile {
  uint32_t words[kRows][kWords];
};
static_assert(sizeof(Tile) == PTX2CPU_MATRIX_TILE_BYTES);

// -- fragments into tiles --

// 16 bytes of k as they are; 32 elements of 4 bits as two times 16, those in the low halves of bytes first.
constexpr uint32_t kFirstOfFour = PTX2CPU_MATRIX_S4;
inline U32x16 BytesOf(U32x16 word, uint32_t element, int plane) {
  if (element < kFirstOfFour) return word;
  const auto nibbles = Bits<U8x64>((plane == 0 ? word : word >> 4) & 0x0f0f0f0f);
  return Bits<U32x16>(element == PTX2CPU_MATRIX_S4 ? (nibbles ^ 8) - 8 : nibbles);
}

// The number of chunks of 16 bytes of k that a fragment has.
inline int ChunksOf(uint32_t form) { return (1 << (form >> PTX2CPU_MATRIX_DEPTH_SHIFT & 15)) / 16; }

// 16 bytes of each of four rows of a tile, and the 16 after them.
inline void PutRows(uint32_t* row, U32x16 low, U32x16 high, bool has_high) {
  const U32x16 both[] = {
      __builtin_shufflevector(low, high, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23),
      __builtin_shufflevector(low, high, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31)};
  for (int n = 0; n < 4; ++n) {
    const char* from = reinterpret_cast<const char*>(&both[n / 2]) + n % 2 * 32;
    if (has_high)
      __builtin_memcpy(row + n * kWords, from, 32);
    else
      __builtin_memcpy(row + n * kWords, from, 16);
  }
}

// -- sums --

// As the emitter writes them.
struct TileRow {
  const Tile* a;
  uint32_t *first, *second;
};

struct Sums {
  Tile tile;

  // To the accumulators of two products (of the second: null for none): registers of eight rows, even and odd
  // columns.
  void AddTo(uint32_t* first, uint32_t* second, uint32_t stride) const {
    for (int g = 0; g < kGroups; ++g) {
      const U32x16 rows[] = {Row(4 * g), Row(4 * g + 1), Row(4 * g + 2), Row(4 * g + 3)};
      const U32x16 of_first[] = {Halves<0>(rows[0], rows[1]), Halves<0>(rows[2], rows[3])};
      Add(first, g, Quads<0>(of_first[0], of_first[1]), Quads<1>(of_first[0], of_first[1]), stride);
      if (second == nullptr) continue;
      const U32x16 of_second[] = {Halves<1>(rows[0], rows[1]), Halves<1>(rows[2], rows[3])};
      Add(second, g, Quads<0>(of_second[0], of_second[1]), Quads<1>(of_second[0], of_second[1]), stride);
    }
  }

 private:
  U32x16 Row(int row) const { return LoadVector<U32x16>(tile.words[row]); }
  // The first or second half of each, and of each half its first or second quad.
  template <int h>
  static U32x16 Halves(U32x16 a, U32x16 b) {
    constexpr int o = 8 * h;
    return __builtin_shufflevector(a, b, o, o + 1, o + 2, o + 3, o + 4, o + 5, o + 6, o + 7, o + 16, o + 17,
                                   o + 18, o + 19, o + 20, o + 21, o + 22, o + 23);
  }
  template <int p>
  static U32x16 Quads(U32x16 a, U32x16 b) {
    constexpr int o = 4 * p;
    return __builtin_shufflevector(a, b, o, o + 1, o + 2, o + 3, o + 8, o + 9, o + 10, o + 11, o + 16, o + 17,
                                   o + 18, o + 19, o + 24, o + 25, o + 26, o + 27);
  }
  static void Add(uint32_t* d, int g, U32x16 even, U32x16 odd, uint32_t stride) {
    for (int p = 0; p < kParities; ++p) {
      const int place = g / 2 * kParities + p;
      PutGroup(d, place, g % 2, Group(d, place, g % 2, stride) + (p == 0 ? even : odd), stride);
    }
  }
};

template <bool signed_a, bool signed_b>
inline __m512i Dot(__m512i sum, __m512i a, __m512i b) {
  constexpr bool a_is_unsigned = signed_b;  // after a change of kind
  return a_is_unsigned ? _mm512_dpbusd_epi32(sum, a, b) : _mm512_dpbusd_epi32(sum, b, a);
}

template <bool signed_a, bool signed_b>
inline void MultiplyByVectors(Sums& sums, const Tile* a, const Tile* b, uint32_t count) {
  constexpr bool kChanges = signed_a == signed_b;
  __m512i of_rows[kRows], too_much{};
  for (__m512i& row : of_rows) row = __m512i{};
  const __m512i high_bits = _mm512_set1_epi32(static_cast<int>(kHighBits));
#pragma clang loop unroll(disable)
  for (uint32_t n = 0; n < count; ++n) {
    Tile changed;
    const Tile& of_b = b[n];
    for (int row = 0; row < kRows; ++row) {
      const __m512i words = _mm512_load_si512(a[n].words[row]);
      _mm512_store_si512(changed.words[row], kChanges ? _mm512_xor_si512(words, high_bits) : words);
    }
#pragma clang loop unroll(disable)
    for (int k = 0; k < kWords; ++k) {
      const __m512i columns = _mm512_load_si512(of_b.words[k]);
      if constexpr (kChanges) too_much = Dot<signed_a, signed_b>(too_much, high_bits, columns);
      for (int row = 0; row < kRows; ++row)
        of_rows[row] = Dot<signed_a, signed_b>(
            of_rows[row], _mm512_set1_epi32(static_cast<int>(changed.words[row][k])), columns);
    }
  }
  for (int row = 0; row < kRows; ++row)
    _mm512_store_si512(sums.tile.words[row], _mm512_sub_epi32(of_rows[row], too_much));
}

#if defined(__AMX_INT8__)

// As LDTILECFG has it: all tiles have 16 rows of 64 bytes.
struct Configuration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
  Configuration() {
    for (int n = 0; n < 8; ++n) {
      row_bytes[n] = kWords * sizeof(uint32_t);
      rows[n] = kRows;
    }
  }
};

constexpr int kPitch = kWords * sizeof(uint32_t);

template <bool signed_a, bool signed_b, int sums, int of_a>
inline void Step() {
  if constexpr (signed_a && signed_b) _tile_dpbssd(sums, of_a, 6);
  if constexpr (signed_a && !signed_b) _tile_dpbsud(sums, of_a, 6);
  if constexpr (!signed_a && signed_b) _tile_dpbusd(sums, of_a, 6);
  if constexpr (!signed_a && !signed_b) _tile_dpbuud(sums, of_a, 6);
}

// Computes `rows` rows of tiles at once, whose loads, products and stores overlap.
template <bool signed_a, bool signed_b, int rows>
inline void MultiplyByTiles(Sums* sums, const TileRow* of, const Tile* b, uint32_t count) {
  static_assert(rows == 1 || rows == 4);
  _tile_zero(0);
  if constexpr (rows == 4) {
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
#pragma clang loop unroll(disable)
  for (uint32_t n = 0; n < count; ++n) {
    _tile_loadd(6, &b[n], kPitch);
    _tile_loadd(4, &of[0].a[n], kPitch);
    Step<signed_a, signed_b, 0, 4>();
    if constexpr (rows == 4) {
      _tile_loadd(5, &of[1].a[n], kPitch);
      Step<signed_a, signed_b, 1, 5>();
      _tile_loadd(4, &of[2].a[n], kPitch);
      Step<signed_a, signed_b, 2, 4>();
      _tile_loadd(5, &of[3].a[n], kPitch);
      Step<signed_a, signed_b, 3, 5>();
    }
  }
  _tile_stored(0, &sums[0], kPitch);
  if constexpr (rows == 4) {
    _tile_stored(1, &sums[1], kPitch);
    _tile_stored(2, &sums[2], kPitch);
    _tile_stored(3, &sums[3], kPitch);
  }
}

#endif

template <bool signed_a, bool signed_b>
inline void Multiply(const void* const* rows, uint32_t row_count, const void* b, uint32_t count,
                     uint32_t stride, [[maybe_unused]] uint32_t has_tiles) {
  const auto* of = reinterpret_cast<const TileRow*>(rows);
  const auto* of_b = static_cast<const Tile*>(b);
  constexpr uint32_t kAtOnce = 4;
  Sums sums[kAtOnce];
#pragma clang loop unroll(disable)
  for (uint32_t row = 0; row < row_count;) {
    const uint32_t at_once = row_count - row >= kAtOnce ? kAtOnce : 1;
#if defined(__AMX_INT8__)
    if (has_tiles == 0) [[unlikely]] {
      for (uint32_t n = 0; n < at_once; ++n)
        MultiplyByVectors<signed_a, signed_b>(sums[n], of[row + n].a, of_b, count);
    } else if (at_once == kAtOnce) {
      MultiplyByTiles<signed_a, signed_b, kAtOnce>(sums, of + row, of_b, count);
    } else {
      MultiplyByTiles<signed_a, signed_b, 1>(sums, of + row, of_b, count);
    }
#else
    for (uint32_t n = 0; n < at_once; ++n)
      MultiplyByVectors<signed_a, signed_b>(sums[n], of[row + n].a, of_b, count);
#endif
#pragma clang loop unroll(disable)
    for (uint32_t n = 0; n < at_once; ++n, ++row) sums[n].AddTo(of[row].first, of[row].second, stride);
  }
}

}  // namespace
}  // namespace ptx2cpu::rt::matrix

namespace matrix = ptx2cpu::rt::matrix;

extern "C" {

void ptx2cpu_matrix_tiles_begin([[maybe_unused]] uint32_t has_tiles) {
#if defined(__AMX_INT8__)
  if (has_tiles == 0) return;
  const matrix::Configuration configuration;
  _tile_loadconfig(&configuration);
#endif
}

void ptx2cpu_matrix_tiles_end([[maybe_unused]] uint32_t has_tiles) {
#if defined(__AMX_INT8__)
  if (has_tiles != 0) _tile_release();
#endif
}

void ptx2cpu_matrix_tiles_a(void* tiles, const uint32_t* fragment, uint32_t form, uint32_t at) {
  using namespace matrix;
  const uint32_t element = form >> PTX2CPU_MATRIX_A_SHIFT & 15;
  const int planes = element < kFirstOfFour ? 1 : 2, chunks = ChunksOf(form);
  auto* to = static_cast<Tile*>(tiles) + at / kWords;
#pragma clang loop unroll(disable)
  for (int n = 0; n < chunks; n += 2) {
    for (int g = 0; g < kGroups; ++g) {
      auto chunk = [&](int number) PTX2CPU_INLINE {
        return BytesOf(Group(fragment, number / planes * 2 + g / 2, g % 2), element, number % planes);
      };
      uint32_t* row = &to->words[4 * g][at % kWords + kQuads * n];
      PutRows(row, chunk(n), n + 1 < chunks ? chunk(n + 1) : U32x16{}, n + 1 < chunks);
    }
  }
}

void ptx2cpu_matrix_tiles_b(void* tiles, const uint32_t* fragment, uint32_t form, uint32_t at,
                            uint32_t second) {
  using namespace matrix;
  const uint32_t element = form >> PTX2CPU_MATRIX_B_SHIFT & 15;
  auto* to = static_cast<Tile*>(tiles) + at / kWords;
  const int planes = element < kFirstOfFour ? 1 : 2;
#pragma clang loop unroll(disable)
  for (int n = 0; n < ChunksOf(form); ++n) {
    Columns columns;
    columns.Put(BytesOf(Group(fragment, n / planes, 0), element, n % planes),
                BytesOf(Group(fragment, n / planes, 1), element, n % planes));
    for (int q = 0; q < kQuads; ++q)
      __builtin_memcpy(&to->words[at % kWords + kQuads * n + q][8 * second], columns.words[q], 32);
  }
}

#define PRODUCT(name, signed_a, signed_b)                                                                \
  void name(const void* const* rows, uint32_t row_count, const void* b, uint32_t count, uint32_t stride, \
            uint32_t has_tiles) {                                                                        \
    matrix::Multiply<signed_a, signed_b>(rows, row_count, b, count, stride, has_tiles);                  \
  }
PRODUCT(ptx2cpu_matrix_tiles_s8_s8, true, true)
PRODUCT(ptx2cpu_matrix_tiles_s8_u8, true, false)
PRODUCT(ptx2cpu_matrix_tiles_u8_s8, false, true)
PRODUCT(ptx2cpu_matrix_tiles_u8_u8, false, false)
#undef PRODUCT
}
