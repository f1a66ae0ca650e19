// What the rows MatrixLoad, MatrixStore and MatrixMultiply do: the bits of attrs.index (kMatrixForm), and
// where the elements of a matrix lie in the registers of a warp.
//
// A register of 32 lanes holds eight rows of 128 bits: lane 4 r + q has bits 32 q to 32 q + 31 of row r. A
// multiplicand is cut into such tiles: eight rows of A by 128 bits along k, eight columns of B by 128 bits
// along k. Registers of A count rows first, then k. Rows of f64 are four elements, one for each lane.
// An accumulator's tile is eight rows by eight columns: lane 4 r + q has columns 2 q and 2 q + 1 of row r, in
// one register (f16) or in two.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace ptx2cpu::ir::matrix {

enum class Element : uint8_t { kF16, kBF16, kTF32, kF64, kS8, kU8, kS4, kU4, kB1, kF32, kS32 };

struct ElementInfo {
  uint8_t bits;                          // in a register
  uint8_t exponent_bits, mantissa_bits;  // 0: an integer
  bool is_signed;
};
inline constexpr std::array<ElementInfo, 11> kElements = {{
    {16, 5, 10, true},   // f16
    {16, 8, 7, true},    // bf16
    {32, 8, 10, true},   // tf32: the lowest 13 bits of the register are ignored
    {64, 11, 52, true},  // f64
    {8, 0, 0, true},     // s8
    {8, 0, 0, false},    // u8
    {4, 0, 0, true},     // s4
    {4, 0, 0, false},    // u4
    {1, 0, 0, false},    // b1
    {32, 8, 23, true},   // f32
    {32, 0, 0, true},    // s32
}};
inline const ElementInfo& InfoOf(Element element) { return kElements[static_cast<uint32_t>(element)]; }

enum class Combine : uint8_t { kProduct, kXor, kAnd };  // of two elements; the sum of b1 counts ones

// D = A * B + C. Operands of MatrixMultiply: the registers of A, B and C, metadata where A is sparse,
// membermask.
struct Product {
  uint32_t rows = 16, depth = 8;                                    // m and k; n is 8
  Element a = Element::kF16, b = Element::kF16, c = Element::kF32;  // D is like C
  Combine combine = Combine::kProduct;
  bool saturates = false;  // s32: the sum is clamped, else it wraps around
  // A has half of its elements: of four (two tf32, four pairs of 4 bits) in a row those that the metadata
  // names, which the lanes that `selector` chooses hold.
  bool sparse = false;
  uint32_t selector = 0;

  uint32_t registers_of_a() const { return rows / 8 * Tiles(sparse ? depth / 2 : depth, a); }
  uint32_t registers_of_b() const { return Tiles(depth, b); }
  uint32_t registers_of_c() const { return rows / 8 * (c == Element::kF16 ? 1 : 2); }
  uint32_t operands() const {
    return registers_of_a() + registers_of_b() + registers_of_c() + (sparse ? 2 : 1);
  }
  static uint32_t Tiles(uint32_t depth, Element element) {
    return element == Element::kF64 ? depth / 4 : depth * InfoOf(element).bits / 128;
  }

  friend bool operator==(const Product&, const Product&) = default;
};

constexpr uint32_t Encode(const Product& p) {
  return (p.rows == 16 ? 1u : 0u) | static_cast<uint32_t>(std::countr_zero(p.depth)) << 1 |
         static_cast<uint32_t>(p.a) << 5 | static_cast<uint32_t>(p.b) << 9 |
         static_cast<uint32_t>(p.c) << 13 | static_cast<uint32_t>(p.combine) << 17 |
         (p.saturates ? 1u : 0u) << 19 | (p.sparse ? 1u : 0u) << 20 | p.selector << 21;
}
inline bool HasElements(uint32_t bits) {  // else DecodeProduct has no meaning
  return (bits >> 5 & 15) < kElements.size() && (bits >> 9 & 15) < kElements.size() &&
         (bits >> 13 & 15) < kElements.size();
}
inline Product DecodeProduct(uint32_t bits) {
  Product p;
  p.rows = (bits & 1) != 0 ? 16 : 8;
  p.depth = 1u << (bits >> 1 & 15);
  p.a = static_cast<Element>(bits >> 5 & 15);
  p.b = static_cast<Element>(bits >> 9 & 15);
  p.c = static_cast<Element>(bits >> 13 & 15);
  p.combine = static_cast<Combine>(bits >> 17 & 3);
  p.saturates = (bits >> 19 & 1) != 0;
  p.sparse = (bits >> 20 & 1) != 0;
  p.selector = bits >> 21 & 3;
  return p;
}

// Where an element of a matrix is: register, lane and the first bit.
struct ElementPlace {
  uint32_t part, lane, bit;
};
inline ElementPlace PlaceOfMultiplicand(Element element, uint32_t row, uint32_t k, uint32_t rows) {
  const uint32_t bits = element == Element::kF64 ? 32 : InfoOf(element).bits, in_tile = 128 / bits;
  const uint32_t bit = k % in_tile * bits;
  return {k / in_tile * (rows / 8) + row / 8, row % 8 * 4 + bit / 32, bit % 32};
}
inline ElementPlace PlaceOfAccumulator(Element element, uint32_t row, uint32_t column) {
  const uint32_t lane = row % 8 * 4 + column / 2;
  if (element == Element::kF16) return {row / 8, lane, column % 2 * 16};
  return {row / 8 * 2 + column % 2, lane, 0};
}

// -- MatrixLoad, MatrixStore: operands address, registers stored, membermask. Lane 8 m + r has the address of
// row r of matrix m --
inline constexpr uint32_t kCountMask = 7;   // matrices: 1, 2 or 4
inline constexpr uint32_t kTransposed = 8;  // matrices of 8x8 16-bit elements, rows in memory are columns
inline constexpr uint32_t kRowBytes = 16;

}  // namespace ptx2cpu::ir::matrix
