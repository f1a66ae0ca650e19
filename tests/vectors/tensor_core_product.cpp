#include "tests/vectors/tensor_core_product.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/vectors/shared_matrix.h"
#include "tests/vectors/tensor_core_kernel.h"

namespace ptx2cpu::vectors_test {

namespace {

using Type = ElementType;
using Case = ProductCase;

double ValueOf(const Type& type, uint32_t bits) {
  if (type.exponent_bits == 0) return type.code == 1 ? static_cast<int8_t>(bits) : static_cast<double>(bits);
  const int bias = (1 << (type.exponent_bits - 1)) - 1;
  const auto field = static_cast<int>(bits >> type.mantissa_bits & ((1u << type.exponent_bits) - 1));
  const double fraction = std::ldexp(bits & ((1u << type.mantissa_bits) - 1), -type.mantissa_bits);
  const double magnitude =
      field == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, field - bias);
  return (bits >> (type.exponent_bits + type.mantissa_bits) & 1) != 0 ? -magnitude : magnitude;
}

bool IsPacked(const Case& c) { return std::strcmp(c.a.name, "packed e2m1") == 0; }
uint32_t BitsInMemory(const Case& c, const Type& type) {
  return IsPacked(c) ? 4 : type.bits < 8 ? 8 : type.bits;
}
uint32_t Depth(const Case& c) { return 256 / BitsInMemory(c, c.a) * (c.sparse ? 2 : 1); }
uint32_t Rows(const Case& c) { return c.m / c.blocks; }
// Layouts B, E and G: columns of D in two or four parts, one below the other; C and F: 16 of 32 lanes.
uint32_t PartsOf(const Case& c) {
  if (c.stationary) return 128 / c.m;
  return c.blocks == 2 && c.m == 128 && !c.sparse ? 2 : 1;
}
bool UsesHalf(const Case& c) { return !c.stationary && Rows(c) == 64 && PartsOf(c) == 1; }

constexpr uint32_t kOffsetB = 32768, kSharedBytes = 65536;

// Pattern of bits at a bit of a memory of words.
void PutBits(uint32_t* words, uint64_t bit, uint32_t value, uint32_t bits) {
  for (uint32_t n = 0; n < bits; ++n) words[(bit + n) / 32] |= (value >> n & 1) << (bit + n) % 32;
}

class ProductKernel {
 public:
  ProductKernel(const Case& c, uint32_t seed)
      : a_at_(c.n),
        scale_a_at_(c.n + 32),
        scale_b_at_(c.n + 36),
        metadata_at_(c.n + 44),
        c_(c),
        random_(seed) {
    kernel_.blocks = c.blocks;
    kernel_.columns = c.n + 48;
    kernel_.shared.resize(c.blocks * kSharedBytes / 4);
    kernel_.memory.resize(size_t{c.blocks} * kTensorLanes * kernel_.columns);
    for (uint32_t& word : kernel_.memory) word = static_cast<uint32_t>(random_());
    PlaceA();
    PlaceB();
    PlaceScales();
    PlaceD();
    kernel_.operation = Operation();
    kernel_.numbers = Numbers();
  }

  void Check() {
    std::vector<uint32_t> expected = kernel_.memory;
    for (uint32_t row = 0; row < c_.m; ++row) {
      for (uint32_t column = 0; column < c_.n; ++column) {
        uint32_t& cell = expected[CellOfD(row, column)];
        const uint32_t lane = CellOfD(row, column) / kernel_.columns % kTensorLanes;
        if (c_.masks_lanes && (lane * 7 / 3 & 1) != 0) continue;
        cell = Expected(row, column, cell);
      }
    }
    CheckTensorKernel(kernel_, expected);
  }

 private:
  uint32_t RandomCode(const Type& type) {
    for (;;) {
      const auto code = static_cast<uint32_t>(random_()) & (type.bits == 32 ? ~0u : (1u << type.bits) - 1);
      if (type.exponent_bits == 0) return code;
      // Few bits, so that sums stay exact; tf32 ignores the lowest 13 of its words.
      const uint32_t few = type.bits == 32   ? 0xfffc1fff
                           : type.bits == 16 ? ~((1u << (type.mantissa_bits - 4)) - 1)
                                             : ~0u;
      const uint32_t kept = code & few;
      const double value = std::abs(ValueOf(type, type.bits == 32 ? kept & ~0x1fffu : kept));
      if (value == 0 || (value >= 0.25 && value <= 4)) return kept;
    }
  }
  uint32_t* SharedOf(uint32_t block) { return kernel_.shared.data() + block * kSharedBytes / 4; }

  void Put(uint32_t block, uint32_t base, Swizzle swizzle, bool transposed, const Placed& placed,
           uint32_t line, uint32_t k, const Type& type, uint32_t code) {
    const uint32_t bits = BitsInMemory(c_, type);
    if (bits == 8 && type.bits < 8) {  // 16 elements are packed at the begin of 16 bytes
      const uint32_t chunk = OffsetOf(swizzle, transposed, placed, line, k / 16 * 16, 8);
      PutBits(SharedOf(block), (uint64_t{base} + chunk) * 8 + k % 16 * type.bits, code, type.bits);
      return;
    }
    const uint32_t offset = OffsetOf(swizzle, transposed, placed, line, k, bits);
    PutBits(SharedOf(block), (uint64_t{base} + offset) * 8 + (bits == 4 ? k % 2 * 4 : 0), code, bits);
  }

  void PlaceA() {
    const uint32_t depth = Depth(c_), stored = c_.sparse ? depth / 2 : depth, bits = BitsInMemory(c_, c_.a);
    placed_a_ = SizesOf(c_.swizzle_a, c_.transposes_a, Rows(c_), stored, bits);
    values_a_.assign(size_t{c_.m} * depth, 0);
    for (uint32_t row = 0; row < c_.m; ++row) {
      std::vector<uint32_t> at(stored);
      for (uint32_t k = 0; k < stored; ++k) at[k] = k;
      if (c_.sparse) at = PlaceMetadata(row);
      for (uint32_t k = 0; k < stored; ++k) {
        const uint32_t code = RandomCode(c_.a);
        values_a_[row * depth + at[k]] = ValueOf(c_.a, c_.a.bits == 32 ? code & ~0x1fffu : code);
        const uint32_t block = row / Rows(c_), own = row % Rows(c_);
        if (!c_.a_in_memory) {
          Put(block, 0, c_.swizzle_a, c_.transposes_a, placed_a_, own, k, c_.a, code);
          continue;
        }
        const uint32_t lane = UsesHalf(c_) ? own / 16 * 32 + own % 16 : own;
        uint32_t& word = kernel_.Cell(block, lane, a_at_ + k * bits / 32);
        if (k * bits % 32 == 0) word = 0;
        word |= (bits == 8 && c_.a.bits == 4 ? code << 2 : code) << k * bits % 32;
      }
    }
  }

  // Which elements of the row the stored ones are.
  std::vector<uint32_t> PlaceMetadata(uint32_t row) {
    const uint32_t depth = Depth(c_), chunk = c_.a.bits == 32 ? 2 : IsPacked(c_) ? 8 : 4;
    std::vector<uint32_t> at;
    for (uint32_t n = 0; n < depth / chunk; ++n) {
      uint32_t first = static_cast<uint32_t>(random_()) % 3,
               second = first + 1 + static_cast<uint32_t>(random_()) % (3 - first);
      uint32_t nibble = first | second << 2;
      if (chunk == 2) {
        nibble = first % 2 == 0 ? 4 : 14;
        at.push_back(n * 2 + first % 2);
      } else {
        for (const uint32_t which : {first, second}) {
          if (chunk == 4) at.push_back(n * 4 + which);
          if (chunk == 8) at.insert(at.end(), {n * 8 + which * 2, n * 8 + which * 2 + 1});
        }
      }
      const uint32_t own = row % Rows(c_), block = row / Rows(c_);
      const uint32_t lane = UsesHalf(c_) ? own / 16 * 32 + own % 16 : own;
      if (BitsInMemory(c_, c_.a) <= 8) {
        SetNibble(block, lane, metadata_at_ + n / 8, n % 8 * 4, nibble);
      } else {  // 16 bits of a row in a word: first those of the even eight rows; the second half of k, 8
                // lanes below
        const uint32_t sixteen = lane / 16 * 16;
        SetNibble(block, sixteen + own % 8 + n / 4 * 8, metadata_at_ + c_.selector,
                  own / 8 % 2 * 16 + n % 4 * 4, nibble);
      }
    }
    return at;
  }
  void SetNibble(uint32_t block, uint32_t lane, uint32_t column, uint32_t bit, uint32_t nibble) {
    uint32_t& word = kernel_.Cell(block, lane, column);
    word = (word & ~(15u << bit)) | nibble << bit;
  }

  uint32_t Shift() const { return static_cast<uint32_t>(c_.column_mask >> 56 & 63); }
  void PlaceB() {
    const uint32_t depth = Depth(c_), own = c_.n / c_.blocks + Shift(), bits = BitsInMemory(c_, c_.b);
    placed_b_ = SizesOf(c_.swizzle_b, c_.transposes_b, own, depth, bits);
    values_b_.assign(size_t{c_.n} * depth, 0);
    for (uint32_t block = 0; block < c_.blocks; ++block) {
      for (uint32_t line = 0; line < own; ++line) {
        for (uint32_t k = 0; k < depth; ++k) {
          const uint32_t code = RandomCode(c_.b);
          Put(block, kOffsetB, c_.swizzle_b, c_.transposes_b, placed_b_, line, k, c_.b, code);
          if (line < Shift()) continue;
          const uint32_t column = block * (c_.n / c_.blocks) + line - Shift();
          if (!IsZeroColumn(column))
            values_b_[column * depth + k] = ValueOf(c_.b, c_.b.bits == 32 ? code & ~0x1fffu : code);
        }
      }
    }
  }
  // The runs of the mask written out: those of columns that count have use + 1, the others skip + 1.
  bool IsZeroColumn(uint32_t column) const {
    if ((c_.column_mask >> 39 & 1) == 0) return false;
    const uint32_t part = c_.n / PartsOf(c_), number = column / part;
    std::vector<bool> pattern;
    bool zero = (c_.column_mask >> (32 + number) & 1) != 0;
    while (pattern.size() < 1024) {
      pattern.insert(pattern.end(), (c_.column_mask >> (zero ? 40 : 48) & 255) + 1, zero);
      zero = !zero;
    }
    return pattern[(c_.column_mask >> number * 8 & 255) + column % part];
  }

  // A row's scales are in lane row % 32 of column row / 32, once in each quarter of the lanes.
  void PlaceScales() {
    scales_a_.assign(size_t{c_.m} * std::max(c_.scales, 1u), 1);
    scales_b_.assign(size_t{c_.n} * std::max(c_.scales, 1u), 1);
    for (uint32_t row = 0; c_.scales != 0 && row < c_.m; ++row) {
      for (uint32_t n = 0; n < c_.scales; ++n) {
        const uint32_t code = RandomScale(&scales_a_[row * c_.scales + n]), own = row % Rows(c_);
        for (uint32_t quarter = 0; quarter < 4; ++quarter)
          SetByte(row / Rows(c_), quarter * 32 + own % 32, scale_a_at_ + own / 32, c_.scale_id_a + n, code);
      }
    }
    for (uint32_t column = 0; c_.scales != 0 && column < c_.n; ++column) {
      for (uint32_t n = 0; n < c_.scales; ++n) {
        const uint32_t code = RandomScale(&scales_b_[column * c_.scales + n]);
        const uint32_t part = c_.n / PartsOf(c_), own = column % part;
        for (uint32_t block = 0; block < c_.blocks; ++block) {
          for (uint32_t quarter = 0; quarter < 4; ++quarter) {
            if (PartsOf(c_) == 2 && quarter / 2 != column / part) continue;
            SetByte(block, quarter * 32 + own % 32, scale_b_at_ + own / 32, c_.scale_id_b + n, code);
          }
        }
      }
    }
  }
  uint32_t RandomScale(double* value) {
    if (c_.powers) {
      const uint32_t code = 125 + static_cast<uint32_t>(random_()) % 5;
      *value = std::ldexp(1.0, static_cast<int>(code) - 127);
      return code;
    }
    const uint32_t code = 48 + static_cast<uint32_t>(random_()) % 16;  // 0.5 to 1.875
    *value = ValueOf(kE4M3, code);
    return code;
  }
  void SetByte(uint32_t block, uint32_t lane, uint32_t column, uint32_t byte, uint32_t value) {
    uint32_t& word = kernel_.Cell(block, lane, column);
    word = (word & ~(255u << 8 * byte)) | value << 8 * byte;
  }

  size_t CellOfD(uint32_t row, uint32_t column) const {
    const uint32_t own = row % Rows(c_), part = c_.n / PartsOf(c_);
    const uint32_t lane = (UsesHalf(c_) ? own / 16 * 32 + own % 16 : own) + column / part * Rows(c_);
    return (size_t{row / Rows(c_)} * kTensorLanes + lane) * kernel_.columns + column % part;
  }

  uint32_t Expected(uint32_t row, uint32_t column, uint32_t before) const {
    const uint32_t depth = Depth(c_);
    double sum = 0;
    for (uint32_t k = 0; k < depth; ++k) {
      double product = values_a_[row * depth + k] * values_b_[column * depth + k];
      if (c_.scales != 0) {
        const uint32_t block = k / (depth / c_.scales);
        product *= scales_a_[row * c_.scales + block] * scales_b_[column * c_.scales + block];
      }
      sum += product;
    }
    if (c_.negates_a != c_.negates_b) sum = -sum;
    if (IsInteger()) return static_cast<uint32_t>(static_cast<int32_t>(sum)) + (c_.counts ? before : 0);
    if (c_.half_d) {
      const double d =
          c_.counts ? std::ldexp(ValueOf(kF16, before & 0xffff), -static_cast<int>(c_.halvings)) : 0;
      return HalfOf(d + sum);
    }
    float d = 0;
    std::memcpy(&d, &before, 4);
    const auto result =
        static_cast<float>(sum + (c_.counts ? std::ldexp(double{d}, -static_cast<int>(c_.halvings)) : 0.0));
    uint32_t bits = 0;
    std::memcpy(&bits, &result, 4);
    return result == 0 ? 0 : bits;
  }
  // To nearest even, for numbers that are normal in f16 or zero.
  static uint32_t HalfOf(double value) {
    if (value == 0) return 0;
    int exponent = 0;
    const double fraction = std::frexp(std::abs(value), &exponent);  // 0.5 to 1
    auto significand = static_cast<uint32_t>(std::nearbyint(std::ldexp(fraction, 11)));
    if (significand == 2048) significand = 1024, ++exponent;
    return (value < 0 ? 0x8000u : 0u) + (static_cast<uint32_t>(exponent + 14) << 10) + (significand - 1024);
  }
  bool IsInteger() const { return c_.a.exponent_bits == 0; }

  // D before the product: small numbers, or anything for integers.
  void PlaceD() {
    for (uint32_t row = 0; row < c_.m; ++row) {
      for (uint32_t column = 0; column < c_.n; ++column) {
        uint32_t& cell = kernel_.memory[CellOfD(row, column)];
        if (IsInteger()) continue;
        const auto number = static_cast<float>(static_cast<int>(random_() % 64) - 32);
        std::memcpy(&cell, &number, 4);
        if (c_.half_d) cell = HalfOf(number);
      }
    }
  }

  std::string Operation() const {
    std::string text = fmt::format("tcgen05.mma{}{}.cta_group::{}.kind::{}", c_.stationary ? ".ws" : "",
                                   c_.sparse ? ".sp" : "", c_.blocks, c_.kind);
    if (c_.scales != 0) text += fmt::format(".block_scale.{}", c_.scale);
    text += fmt::format(" [%t], {}, %q1, ", c_.a_in_memory ? fmt::format("[%t+{}]", a_at_) : "%q0");
    if (c_.sparse) text += fmt::format("[%t+{}], ", metadata_at_);
    text += "%w2, ";
    if (c_.masks_lanes) {
      text += "{%w3, %w4, %w5, %w6";
      text += c_.blocks == 2 ? ", %w3, %w4, %w5, %w6}, " : "}, ";
    }
    if (c_.scales != 0) text += fmt::format("[%t+{}], [%t+{}], ", scale_a_at_, scale_b_at_);
    text += "%counts";
    if (c_.halvings != 0) text += fmt::format(", {}", c_.halvings);
    if (c_.column_mask != 0) text += ", %q3";
    // The descriptors hold the addresses of the tile.
    return fmt::format(
        "cvt.u64.u32 %q, %base;\n  and.b64 %q, %q, 0x3ffff;\n  shr.u64 %q, %q, 4;\n  add.u64 %q0, %q0, %q;\n "
        " "
        "add.u64 %q1, %q1, %q;\n  {};",
        text);
  }
  uint64_t Descriptor(const Placed& placed, Swizzle swizzle, uint32_t offset) const {
    return uint64_t{offset >> 4} | uint64_t{placed.leading >> 4} << 16 | uint64_t{placed.stride >> 4} << 32 |
           uint64_t{1} << 46 | uint64_t{static_cast<uint32_t>(swizzle)} << 61;
  }
  std::vector<uint64_t> Numbers() const {
    uint32_t descriptor = (c_.sparse ? 4u : 0u) | c_.a.code << 7 | c_.b.code << 10 |
                          (c_.negates_a ? 1u : 0u) << 13 | (c_.negates_b ? 1u : 0u) << 14 |
                          (c_.transposes_a ? 1u : 0u) << 15 | (c_.transposes_b ? 1u : 0u) << 16 |
                          c_.n / 8 << 17 | c_.m / 16 << 24;
    if (c_.scales != 0) {
      descriptor |= c_.scale_id_b << 4 | (c_.powers ? 1u : 0u) << 23 | c_.scale_id_a << 29;
    } else {
      descriptor |= (IsInteger() ? 2u : c_.half_d ? 0u : 1u) << 4 | c_.selector;
    }
    std::vector<uint64_t> numbers{Descriptor(placed_a_, c_.swizzle_a, 0),
                                  Descriptor(placed_b_, c_.swizzle_b, kOffsetB), descriptor};
    numbers.resize(8);
    numbers[3] = c_.column_mask;
    if (c_.masks_lanes) {
      for (uint32_t lane = 0; lane < kTensorLanes; ++lane)
        numbers[3 + lane / 32] |= uint64_t{lane * 7 / 3 & 1} << lane % 32;
    }
    numbers[7] = c_.counts ? 1 : 0;
    return numbers;
  }

  const uint32_t a_at_, scale_a_at_, scale_b_at_, metadata_at_;  // columns; D is at 0
  Case c_;
  std::mt19937 random_;
  TensorKernel kernel_;
  Placed placed_a_{}, placed_b_{};
  std::vector<double> values_a_, values_b_, scales_a_,
      scales_b_;  // by row (column of B), then k or block of k
};

}  // namespace

void CheckProducts(const std::vector<ProductCase>& cases) {
  uint32_t number = 0;
  for (const Case& c : cases) {
    ++number;
    INFO("case " << number << ": " << c.kind << " " << c.a.name << " " << c.b.name << " " << c.m << "x"
                 << c.n);
    ProductKernel kernel(c, number);
    kernel.Check();
  }
}

}  // namespace ptx2cpu::vectors_test
