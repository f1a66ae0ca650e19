// tcgen05: products. ir/interpret/tensor_core.cpp defines what they do; this does the same for all columns of
// a row at once.
#include "runtime/abi/tensor_core.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "runtime/math/sum_rounding.h"
#include "runtime/tensor/block_windows.h"

namespace ptx2cpu::rt::tensor {

namespace {

namespace core = tensor_core;
using core::Element;
using core::Place;

// significand * 2^(exponent - mantissa bits of the element). Zero has an exponent below all others.
struct Number {
  int32_t exponent = 0, significand = 1;
  bool is_infinite = false, is_nan = false;
};
constexpr int32_t kZeroExponent = -(1 << 20);

Number Decode(Element element, uint32_t bits, bool negates) {
  const core::ElementFormat& format = core::FormatOf(element);
  if (format.exponent_bits == 0) {
    return {0, element == Element::kS8 ? static_cast<int8_t>(bits) : static_cast<int32_t>(bits)};
  }
  if (element == Element::kTF32) bits >>= 13;
  const uint32_t one = 1u << format.mantissa_bits, fraction = bits & (one - 1),
                 top = (1u << format.exponent_bits) - 1, field = bits >> format.mantissa_bits & top;
  const auto magnitude = static_cast<int32_t>(field == 0 ? fraction : fraction | one);
  const bool negative = ((bits >> (format.bits - 1) & 1) != 0) != negates;
  Number n;
  n.significand = negative ? -magnitude : magnitude;
  n.exponent = magnitude == 0 ? kZeroExponent
                              : static_cast<int32_t>(std::max(field, 1u)) - static_cast<int32_t>(top / 2);
  const bool is_last = field == top;
  n.is_infinite = is_last && format.specials == core::Specials::kIeee && fraction == 0;
  n.is_nan = is_last && ((format.specials == core::Specials::kIeee && fraction != 0) ||
                         (format.specials == core::Specials::kNan && fraction == one - 1));
  return n;
}

Number Scaled(Number n, const Number& scale) {
  n.is_nan |= scale.is_nan || (n.is_infinite && scale.significand == 0);
  n.significand *= scale.significand;
  n.exponent = n.significand == 0 ? kZeroExponent : n.exponent + scale.exponent;
  return n;
}

class Multiplication {
 public:
  Multiplication(const ptx2cpu_block& block, const uint64_t* operands, const core::Product& form)
      : operands_(operands),
        p_(form),
        windows_(block, form.form.pair),
        columns_of_d_(form.n),
        mask_(form.form.masks_columns ? operands[core::kColumnMask] : 0, form) {}

  uint32_t Run() {
    const core::SharedMatrix b(operands_[core::kB]);
    const bool a_is_legal = p_.form.a_in_memory || core::SharedMatrix(operands_[core::kA]).is_legal;
    if (!windows_.is_good() || !b.is_legal || !a_is_legal) return PTX2CPU_FAULT_BAD_DESCRIPTOR;
    ReadB();
    for (uint32_t row = 0; row < p_.m && is_good_; ++row) {
      ReadA(row);
      if (!is_good_) break;
      p_.d == Element::kS32 ? SumIntegers(row) : SumFloats(row);
    }
    return is_good_ ? 0 : PTX2CPU_FAULT_BAD_ADDRESS;
  }

 private:
  static constexpr int kBitsBelow = 25;
  static constexpr uint32_t kMaxColumns = 256, kMaxDepth = 128;

  uint8_t* Memory(core::Operand operand, const Place& from) {
    Place place = core::PlaceOf(static_cast<uint32_t>(operands_[operand]));
    place.lane += from.lane;
    place.column += from.column;
    return Checked(windows_.At(from.block, operands_[core::kMemory] + core::OffsetOf(place), 4));
  }
  // What lies beyond the window ends the product.
  uint8_t* Checked(uint8_t* at) {
    is_good_ &= at != nullptr;
    return at != nullptr ? at : nothing_;
  }

  // Elements of 16 bytes that a matrix descriptor places; those of fewer bits than their container are
  // packed.
  void ReadChunk(uint32_t block, core::Operand operand, bool transposed, Element element, uint32_t line,
                 uint32_t chunk, uint32_t* elements) {
    const core::SharedMatrix matrix(operands_[operand]);
    const uint8_t* at =
        Checked(windows_.At(block, matrix.OffsetAt(transposed, line, chunk * kChunkBytes), kChunkBytes));
    const uint32_t bits = p_.BitsOf(element), packed = bits == 8 ? core::FormatOf(element).bits : bits;
    uint8_t bytes[kChunkBytes + 4] = {};
    std::memcpy(bytes, at, kChunkBytes);
    for (uint32_t n = 0; n < kChunkBytes * 8 / bits; ++n) {
      const uint32_t word = WordAt(bytes + n * packed / 8) >> n * packed % 8;
      elements[n] = packed == 32 ? word : word & ((1u << packed) - 1);
    }
  }

  void ReadB() {
    const uint32_t in_chunk = kChunkBytes * 8 / p_.BitsOf(p_.b), width = p_.columns(), shift = mask_.shift();
    uint32_t elements[32];
    // Shifted columns are beyond the others of their block.
    for (uint32_t block = 0; block < (p_.form.pair ? 2u : 1u); ++block) {
      if (p_.transposes_b) {
        for (uint32_t k = 0; k < p_.k; ++k) {
          for (uint32_t first = shift / in_chunk * in_chunk; first < width + shift; first += in_chunk) {
            ReadChunk(block, core::kB, true, p_.b, k, first / in_chunk, elements);
            for (uint32_t n = 0; n < in_chunk; ++n) PutB(block, first + n, k, elements[n]);
          }
        }
        continue;
      }
      for (uint32_t line = shift; line < width + shift; ++line) {
        for (uint32_t chunk = 0; chunk < p_.k / in_chunk; ++chunk) {
          ReadChunk(block, core::kB, false, p_.b, line, chunk, elements);
          for (uint32_t n = 0; n < in_chunk; ++n) PutB(block, line, chunk * in_chunk + n, elements[n]);
        }
      }
    }
  }
  void PutB(uint32_t block, uint32_t line, uint32_t k, uint32_t bits) {
    const uint32_t own = line - mask_.shift();
    if (own >= p_.columns()) return;
    const uint32_t column = block * p_.columns() + own;
    Number n = Decode(p_.b, mask_.IsZero(column) ? 0 : bits, p_.negates_b);
    const uint32_t at = k * kMaxColumns + column;
    exponents_b_[at] = n.exponent;
    significands_b_[at] = n.significand;
    specials_b_[at] = static_cast<uint8_t>(n.is_nan ? 2 : n.is_infinite ? 1 : 0);
    has_special_[column] |= specials_b_[at] != 0;
  }

  Number ScaleAt(core::Operand operand, const Place& place, uint32_t first, uint32_t block_of_k) {
    const uint32_t bits = WordAt(Memory(operand, place)) >> 8 * (first + block_of_k) & 255;
    if (!p_.scales_are_powers) return Decode(Element::kE4M3, bits & 127, false);
    return {static_cast<int32_t>(bits) - 127, 1, false, bits == 255};
  }

  void ReadA(uint32_t row) {
    const uint32_t bits = p_.BitsOf(p_.a), depth = p_.stored_k();
    uint32_t elements[kMaxDepth] = {};
    if (p_.form.a_in_memory) {
      Place place = p_.PlaceOfRow(row);
      if (p_.form.shifts_a && place.lane + 1 < core::kLanes) ++place.lane;
      // The containers of 4-bit elements have two bits below.
      const uint32_t below = p_.a == Element::kE2M1 && bits == 8 ? 2 : 0;
      const uint32_t kept = bits == 32 ? 32 : std::min<uint32_t>(bits, core::FormatOf(p_.a).bits);
      for (uint32_t k = 0; k < depth; ++k) {
        place.column = k * bits / 32;
        const uint32_t container = WordAt(Memory(core::kA, place)) >> k * bits % 32;
        elements[k] = kept == 32 ? container : container >> below & ((1u << kept) - 1);
      }
    } else {
      ReadSharedA(row, elements);
    }
    for (uint32_t k = 0; k < depth; ++k) {
      columns_[k] = k;
      if (p_.form.sparse) {
        const auto [place, bit] = p_.PlaceOfMetadata(row, k / (p_.chunk() / 2));
        columns_[k] = p_.ColumnOf(k, WordAt(Memory(core::kMetadata, place)) >> bit & 15);
      }
      Number n = Decode(p_.a, elements[k], p_.negates_a);
      if (p_.form.blocks != 0)
        n = Scaled(n, ScaleAt(core::kScaleA, p_.PlaceOfScaleA(row), p_.scale_a, BlockOf(columns_[k])));
      a_[k] = n;
    }
  }
  uint32_t BlockOf(uint32_t k) const { return k / (p_.k / p_.form.blocks); }

  void ReadSharedA(uint32_t row, uint32_t* elements) {
    const uint32_t in_chunk = kChunkBytes * 8 / p_.BitsOf(p_.a), block = row / p_.rows(),
                   own = row % p_.rows();
    if (!p_.transposes_a) {
      for (uint32_t k = 0; k < p_.stored_k(); k += in_chunk)
        ReadChunk(block, core::kA, false, p_.a, own, k / in_chunk, elements + k);
      return;
    }
    uint32_t others[32];
    for (uint32_t k = 0; k < p_.stored_k(); ++k) {
      ReadChunk(block, core::kA, true, p_.a, k, own / in_chunk, others);
      elements[k] = others[own % in_chunk];
    }
  }

  // Where the elements of a row of D are; null for those that stay as they are.
  void FindRow(uint32_t row) {
    for (uint32_t column = 0; column < p_.n; ++column) {
      const Place from = p_.PlaceOfD(row, column);
      const uint32_t lane =
          (core::PlaceOf(static_cast<uint32_t>(operands_[core::kD])).lane + from.lane) % core::kLanes;
      const uint32_t word = from.block * 4 + lane / 32;
      const bool stays =
          word < p_.form.mask_words && (operands_[core::kMaskWords + word] >> lane % 32 & 1) != 0;
      columns_of_d_[column] = stays ? nullptr : Memory(core::kD, from);
    }
  }
  uint32_t WordOfD(uint32_t column) const {
    if (columns_of_d_[column] == nullptr || (operands_[core::kCountsD] & 1) == 0) return 0;
    return WordAt(columns_of_d_[column]);
  }
  void PutD(uint32_t column, uint32_t word) {
    if (columns_of_d_[column] != nullptr) std::memcpy(columns_of_d_[column], &word, 4);
  }

  void SumIntegers(uint32_t row) {
    FindRow(row);
    int64_t sums[kMaxColumns];
    for (uint32_t n = 0; n < p_.n; ++n) sums[n] = static_cast<int32_t>(WordOfD(n));
    for (uint32_t k = 0; k < p_.stored_k(); ++k) {
      const int32_t* of_b = significands_b_.data() + columns_[k] * kMaxColumns;
      for (uint32_t n = 0; n < p_.n; ++n) sums[n] += int64_t{a_[k].significand} * of_b[n];
    }
    for (uint32_t n = 0; n < p_.n; ++n) {
      const int64_t sum = p_.saturates ? std::clamp<int64_t>(sums[n], INT32_MIN, INT32_MAX) : sums[n];
      PutD(n, static_cast<uint32_t>(sum));
    }
  }

  // The scales of B for this row's tensor memory, on top of A's; by block of k.
  void ReadScalesB(uint32_t row) {
    for (uint32_t block = 0; block < p_.form.blocks; ++block) {
      for (uint32_t n = 0; n < p_.n; ++n)
        scales_b_[block * kMaxColumns + n] =
            ScaleAt(core::kScaleB, p_.PlaceOfScaleB(row, n), p_.scale_b, block);
    }
  }
  // Element k of A, which is below column `column` of k, times B's scale of column n.
  Number FactorOf(uint32_t k, uint32_t n) const {
    return p_.form.blocks == 0 ? a_[k] : Scaled(a_[k], scales_b_[BlockOf(columns_[k]) * kMaxColumns + n]);
  }

  void SumFloats(uint32_t row) {
    FindRow(row);
    if (p_.form.blocks != 0 && row % p_.rows() == 0) ReadScalesB(row);
    Number c[kMaxColumns];
    int32_t largest[kMaxColumns];
    const bool is_half = p_.d == Element::kF16;
    bool a_is_special = false;
    for (uint32_t n = 0; n < p_.n; ++n) {
      c[n] = Decode(p_.d, is_half ? WordOfD(n) & 0xffff : WordOfD(n), false);
      if (c[n].significand != 0) c[n].exponent -= static_cast<int32_t>(p_.form.scales_d);
      largest[n] = c[n].exponent;
    }
    const uint32_t depth = p_.stored_k();
    for (uint32_t k = 0; k < depth; ++k) {
      a_is_special |= a_[k].is_nan || a_[k].is_infinite;
      const int32_t* of_b = exponents_b_.data() + columns_[k] * kMaxColumns;
      for (uint32_t n = 0; n < p_.n; ++n)
        largest[n] = std::max(largest[n], FactorOf(k, n).exponent + of_b[n]);
    }
    int64_t sums[kMaxColumns];
    AddProducts(largest, sums);
    const core::ElementFormat& format = core::FormatOf(p_.d);
    for (uint32_t n = 0; n < p_.n; ++n) {
      if (a_is_special || has_special_[n] || c[n].is_nan || c[n].is_infinite || p_.form.blocks != 0) {
        if (const uint32_t special = SpecialSum(n, c[n]); special != 0) {
          PutD(n, special);
          continue;
        }
      }
      const int32_t unit = largest[n] - kBitsBelow;
      sums[n] += Aligned(int64_t{c[n].significand} << (kBitsBelow - format.mantissa_bits),
                         largest[n] - c[n].exponent);
      PutD(n, math::RoundSum({format.exponent_bits, format.mantissa_bits}, sums[n], unit, is_half));
    }
  }

  // Cut off toward zero.
  static int64_t Aligned(int64_t value, int32_t shift) {
    const int64_t sign = value >> 63;
    return (((value ^ sign) - sign) >> std::min(shift, 63) ^ sign) - sign;
  }

  void AddProducts(const int32_t* largest, int64_t* sums) {
    const int of_scales =
        p_.form.blocks != 0 && !p_.scales_are_powers ? 2 * core::FormatOf(Element::kE4M3).mantissa_bits : 0;
    const int lift =
        kBitsBelow - core::FormatOf(p_.a).mantissa_bits - core::FormatOf(p_.b).mantissa_bits - of_scales;
    std::fill_n(sums, p_.n, 0);
    for (uint32_t k = 0; k < p_.stored_k(); ++k) {
      const uint32_t first = columns_[k] * kMaxColumns;
      for (uint32_t n = 0; n < p_.n; ++n) {
        const Number a = FactorOf(k, n);
        const int64_t product = (int64_t{a.significand} * significands_b_[first + n]) << lift;
        sums[n] += Aligned(product, largest[n] - a.exponent - exponents_b_[first + n]);
      }
    }
  }

  // The bits of an infinite sum or of NaN; 0 for others.
  uint32_t SpecialSum(uint32_t column, const Number& c) const {
    bool nan = c.is_nan, positive = c.is_infinite && c.significand > 0,
         negative = c.is_infinite && c.significand < 0;
    for (uint32_t k = 0; k < p_.stored_k(); ++k) {
      const Number a = FactorOf(k, column);
      const uint32_t at = columns_[k] * kMaxColumns + column;
      const uint8_t b = specials_b_[at];
      nan |=
          a.is_nan || b == 2 || (b == 1 && a.significand == 0) || (a.is_infinite && significands_b_[at] == 0);
      if (b != 1 && !a.is_infinite) continue;
      ((a.significand < 0) != (significands_b_[at] < 0) ? negative : positive) = true;
    }
    const core::ElementFormat& format = core::FormatOf(p_.d);
    const uint32_t all = (1u << (format.bits - 1)) - 1, one = 1u << format.mantissa_bits;
    if (nan || (positive && negative)) return all;
    if (!positive && !negative) return 0;
    return (all & ~(one - 1)) | (negative ? 1u << (format.bits - 1) : 0);
  }

  const uint64_t* operands_;
  const core::Product& p_;
  Windows windows_;
  std::vector<uint8_t*> columns_of_d_;
  core::ColumnMask mask_;
  bool is_good_ = true;
  alignas(kChunkBytes) uint8_t nothing_[kChunkBytes] = {};
  // By k, then column.
  std::vector<int32_t> exponents_b_ = std::vector<int32_t>(kMaxDepth * kMaxColumns),
                       significands_b_ = std::vector<int32_t>(kMaxDepth * kMaxColumns);
  std::vector<uint8_t> specials_b_ = std::vector<uint8_t>(kMaxDepth * kMaxColumns);
  std::vector<Number> scales_b_ = std::vector<Number>(4 * kMaxColumns);
  std::array<bool, kMaxColumns> has_special_{};
  // The elements of one row of A.
  std::array<Number, kMaxDepth> a_;
  std::array<uint32_t, kMaxDepth> columns_{};
};

}  // namespace

}  // namespace ptx2cpu::rt::tensor

extern "C" {

uint32_t ptx2cpu_tensor_core_multiply(ptx2cpu_block* block, const uint64_t* operands, uint32_t form) {
  namespace core = ptx2cpu::tensor_core;
  const core::Product product(form, static_cast<uint32_t>(operands[core::kDescriptor]));
  if (!product.is_legal) return PTX2CPU_FAULT_BAD_DESCRIPTOR;
  return ptx2cpu::rt::tensor::Multiplication(*block, operands, product).Run();
}

}  // extern "C"
