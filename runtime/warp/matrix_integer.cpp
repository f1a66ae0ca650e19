// Products of integers of 8 and 4 bits. They are exact: sums of 32 bits wrap around, or are clamped at the
// end.
//
// With VNNI an instruction multiplies four unsigned bytes by four signed ones. Where A and B are both signed,
// A is raised by 128, and 128 times the sum of B is taken off again; where both are unsigned, B is lowered by
// 128. Without VNNI bytes become pairs of 16 bits, even and odd ones apart.
#include "runtime/abi/matrix.h"
#include "runtime/warp/matrix_quads.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace ptx2cpu::rt::matrix {
namespace {

using U8x64 = uint8_t __attribute__((vector_size(64)));

// -- steps: `kPlanes` words of factors come of each word of a fragment --

#if defined(__AVX512VNNI__)

template <int bits, bool is_signed>
struct Factor {
  static constexpr int kPlanes = 8 / bits;
  static U32x16 Plane(U32x16 word, int plane) {
    if constexpr (bits == 8) return word;
    const auto nibbles = Bits<U8x64>((plane == 0 ? word : word >> 4) & 0x0f0f0f0f);
    return Bits<U32x16>(is_signed ? (nibbles ^ 8) - 8 : nibbles);
  }
};
inline I32x16 Dot(I32x16 sum, U32x16 of_unsigned, U32x16 of_signed) {
  return Bits<I32x16>(
      _mm512_dpbusd_epi32(Bits<__m512i>(sum), Bits<__m512i>(of_unsigned), Bits<__m512i>(of_signed)));
}
constexpr uint32_t kHighBits = 0x80808080;

template <bool signed_a, bool signed_b>
struct Step {
  static U32x16 FactorA(U32x16 a) { return signed_a && signed_b ? a ^ kHighBits : a; }
  static U32x16 FactorB(U32x16 b) { return !signed_a && !signed_b ? b ^ kHighBits : b; }
  static I32x16 Add(I32x16 sum, U32x16 a, U32x16 b) {
    return signed_a && !signed_b ? Dot(sum, b, a) : Dot(sum, a, b);
  }
  // What all products of a column are too much, of a row too little.
  static constexpr bool kCorrectsColumns = signed_a && signed_b, kCorrectsRows = !signed_a && !signed_b;
  static I32x16 AddToColumn(I32x16 sum, U32x16 b) { return Dot(sum, U32x16{} + kHighBits, b); }
  static I32x16 AddToRow(I32x16 sum, U32x16 a) { return sum - Dot(I32x16{}, a, U32x16{} + kHighBits); }
};

#else

template <int bits, bool is_signed>
struct Factor {
  static constexpr int kPlanes = 16 / bits;
  static U32x16 Plane(U32x16 word, int plane) {
    const auto up = Bits<U16x32>(word) << (16 - bits - plane * bits);
    return is_signed ? Bits<U32x16>(Bits<I16x32>(up) >> (16 - bits)) : Bits<U32x16>(up >> (16 - bits));
  }
};

template <typename Part, typename Combine>
inline I32x16 Parts(U32x16 a, U32x16 b, Combine combine) {
  struct All {
    Part parts[sizeof(U32x16) / sizeof(Part)];
  };
  const All x = Bits<All>(a), y = Bits<All>(b);
  All result;
  for (unsigned n = 0; n < sizeof(All) / sizeof(Part); ++n) result.parts[n] = combine(x.parts[n], y.parts[n]);
  return Bits<I32x16>(result);
}

// For each word, the sum of the product of the low halves and that of the high ones.
inline I32x16 SumsOfPairs(U32x16 a, U32x16 b) {
#if defined(__AVX512BW__)
  return Bits<I32x16>(_mm512_madd_epi16(Bits<__m512i>(a), Bits<__m512i>(b)));
#elif defined(__AVX2__)
  return Parts<__m256i>(a, b, [](__m256i x, __m256i y) { return _mm256_madd_epi16(x, y); });
#elif defined(__SSE2__)
  return Parts<__m128i>(a, b, [](__m128i x, __m128i y) { return _mm_madd_epi16(x, y); });
#else
  auto half = [](U32x16 word) { return Bits<I32x16>(word) >> 16; };
  return half(a << 16) * half(b << 16) + half(a) * half(b);
#endif
}

template <bool signed_a, bool signed_b>
struct Step {
  static U32x16 FactorA(U32x16 a) { return a; }
  static U32x16 FactorB(U32x16 b) { return b; }
  static I32x16 Add(I32x16 sum, U32x16 a, U32x16 b) { return sum + SumsOfPairs(a, b); }
  static constexpr bool kCorrectsColumns = false, kCorrectsRows = false;
  static I32x16 AddToColumn(I32x16 sum, U32x16) { return sum; }
  static I32x16 AddToRow(I32x16 sum, U32x16) { return sum; }
};

#endif

template <int bits, bool signed_a, bool signed_b>
struct Product {
  using OfA = Factor<bits, signed_a>;
  using ThisStep = Step<signed_a, signed_b>;
  static constexpr int kPlanes = OfA::kPlanes, kMaxTiles = 2;

  Columns columns[kMaxTiles * kPlanes];
  uint32_t too_much[kParities][kQuads];  // of the columns p, p + 2, p + 4 and p + 6

  static int TilesOf(uint32_t form) {
    const int depth = 1 << (form >> PTX2CPU_MATRIX_DEPTH_SHIFT & 15);
    return depth * bits / 128;
  }

  void PutColumns(const uint32_t* b, int tiles) {
    using OfB = Factor<bits, signed_b>;
    I32x16 of_words[2] = {};
    for (int tile = 0; tile < tiles; ++tile) {
      for (int plane = 0; plane < kPlanes; ++plane) {
        U32x16 words[2];
        for (int g = 0; g < 2; ++g) {
          words[g] = ThisStep::FactorB(OfB::Plane(Group(b, tile, g), plane));
          of_words[g] = ThisStep::AddToColumn(of_words[g], words[g]);
        }
        columns[tile * kPlanes + plane].Put(words[0], words[1]);
      }
    }
    if constexpr (!ThisStep::kCorrectsColumns) return;
    Columns by_word;
    by_word.Put(Bits<U32x16>(of_words[0]), Bits<U32x16>(of_words[1]));
    for (int p = 0; p < kParities; ++p) {
      for (int n = 0; n < kQuads; ++n)
        too_much[p][n] = (by_word.words[0][p][n] + by_word.words[1][p][n]) +
                         (by_word.words[2][p][n] + by_word.words[3][p][n]);
    }
  }

  // Groups `first` to `first` + count - 1 of rows, of `groups`.
  template <int count, bool saturates>
  void Rows(uint32_t* d, const uint32_t* a, const uint32_t* c, int first, int groups, int tiles,
            uint32_t stride) const {
    I32x16 sums[count][kParities], of_c[count][kParities];
    auto place = [&](int n, int p) { return (first + n) / 2 * kParities + p; };
    for (int p = 0; p < kParities; ++p) {
      I32x16 correction{};
      if constexpr (ThisStep::kCorrectsColumns) correction = ForQuads<I32x16>(too_much[p]);
      for (int n = 0; n < count; ++n) {
        of_c[n][p] = Bits<I32x16>(Group(c, place(n, p), (first + n) % 2, stride));
        sums[n][p] = (saturates ? I32x16{} : of_c[n][p]) - correction;
      }
    }
#pragma clang loop unroll(disable)
    for (int tile = 0; tile < tiles; ++tile) {
      for (int plane = 0; plane < kPlanes; ++plane) {
        U32x16 rows[count];
        for (int n = 0; n < count; ++n)
          rows[n] = ThisStep::FactorA(
              OfA::Plane(Group(a, tile * (groups / 2) + (first + n) / 2, (first + n) % 2), plane));
        const Columns& of_b = columns[tile * kPlanes + plane];
        ForQuarters([&]<int q>() PTX2CPU_INLINE {
          const U32x16 b[kParities] = {of_b.template Get<U32x16>(q, 0), of_b.template Get<U32x16>(q, 1)};
          for (int n = 0; n < count; ++n) {
            const U32x16 factor = Spread<q>(rows[n]);
            for (int p = 0; p < kParities; ++p) {
              sums[n][p] = ThisStep::Add(sums[n][p], factor, b[p]);
              if constexpr (ThisStep::kCorrectsRows) sums[n][p] = ThisStep::AddToRow(sums[n][p], factor);
            }
          }
        });
      }
    }
    for (int n = 0; n < count; ++n) {
      for (int p = 0; p < kParities; ++p) {
        const I32x16 sum = saturates ? __builtin_elementwise_add_sat(sums[n][p], of_c[n][p]) : sums[n][p];
        PutGroup(d, place(n, p), (first + n) % 2, Bits<U32x16>(sum), stride);
      }
    }
  }

  template <bool saturates>
  void AllRows(uint32_t* d, const uint32_t* a, const uint32_t* c, uint32_t form, uint32_t stride) const {
    const int tiles = TilesOf(form), groups = (form & PTX2CPU_MATRIX_SIXTEEN_ROWS) != 0 ? kGroups : 2;
    constexpr int kCount = kGroupsAtOnce == kGroups ? 2 : 1;
    if (kGroupsAtOnce == kGroups && groups == kGroups)
      return Rows<kGroups, saturates>(d, a, c, 0, kGroups, tiles, stride);
#pragma clang loop unroll(disable)
    for (int first = 0; first < groups; first += kCount)
      Rows<kCount, saturates>(d, a, c, first, groups, tiles, stride);
  }

  void Multiply(uint32_t* d, const uint32_t* a, const uint32_t* c, uint32_t form, uint32_t stride) const {
    if ((form & PTX2CPU_MATRIX_SATURATES) != 0) return AllRows<true>(d, a, c, form, stride);
    AllRows<false>(d, a, c, form, stride);
  }
};

}  // namespace
}  // namespace ptx2cpu::rt::matrix

using ptx2cpu::rt::matrix::Product;

extern "C" {
#define MATRIX(name, parameters, meaning) void name parameters;
#include "runtime/warp/matrix.def"
#undef MATRIX

#define PRODUCT(name, bits, signed_a, signed_b)                                                             \
  static_assert(sizeof(Product<bits, signed_a, signed_b>) <= PTX2CPU_MATRIX_PREPARED_BYTES);                \
  void name(uint32_t* d, const void* a, const void* b, const uint32_t* c, uint32_t form, uint32_t stride) { \
    static_cast<const Product<bits, signed_a, signed_b>*>(b)->Multiply(d, static_cast<const uint32_t*>(a),  \
                                                                       c, form, stride);                    \
  }                                                                                                         \
  void name##_b(void* prepared, const uint32_t* fragment, uint32_t form) {                                  \
    using ThisProduct = Product<bits, signed_a, signed_b>;                                                  \
    static_cast<ThisProduct*>(prepared)->PutColumns(fragment, ThisProduct::TilesOf(form));                  \
  }
PRODUCT(ptx2cpu_matrix_s8_s8, 8, true, true)
PRODUCT(ptx2cpu_matrix_s8_u8, 8, true, false)
PRODUCT(ptx2cpu_matrix_u8_s8, 8, false, true)
PRODUCT(ptx2cpu_matrix_u8_u8, 8, false, false)
PRODUCT(ptx2cpu_matrix_s4_s4, 4, true, true)
PRODUCT(ptx2cpu_matrix_s4_u4, 4, true, false)
PRODUCT(ptx2cpu_matrix_u4_s4, 4, false, true)
PRODUCT(ptx2cpu_matrix_u4_u4, 4, false, false)
#undef PRODUCT
}
