// The forms of the rows MatrixLoad, MatrixStore and MatrixMultiply: the bits of attrs.index (kMatrixForm),
// and where the elements of a matrix lie in the registers of a warp.
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

enum class Element : uint8_t { kF16, kBF16, kTF32, kF64, kS8, kU8, kS4, kU4, kB1, kF32, kS32, kE4M3, kE5M2 };

struct ElementInfo {
  uint8_t bits;                          // in a register
  uint8_t exponent_bits, mantissa_bits;  // 0: an integer
  bool is_signed;
  bool has_infinity = true;  // else the largest exponent is that of numbers, and of one NaN: all ones
};
inline constexpr std::array<ElementInfo, 13> kElements = {{
    {16, 5, 10, true},       // f16
    {16, 8, 7, true},        // bf16
    {32, 8, 10, true},       // tf32: the lowest 13 bits of the register are ignored
    {64, 11, 52, true},      // f64
    {8, 0, 0, true},         // s8
    {8, 0, 0, false},        // u8
    {4, 0, 0, true},         // s4
    {4, 0, 0, false},        // u4
    {1, 0, 0, false},        // b1
    {32, 8, 23, true},       // f32
    {32, 0, 0, true},        // s32
    {8, 4, 3, true, false},  // e4m3
    {8, 5, 2, true},         // e5m2
}};
inline const ElementInfo& InfoOf(Element element) { return kElements[static_cast<uint32_t>(element)]; }

// How two elements are combined; the sum of b1 counts ones. kChain: products of f16, bf16 or tf32 whose sums
// are chains of fused multiply-adds in f32 (interpret/matrix_sum.h) instead of the sums of Hopper's tensor
// cores.
enum class Combine : uint8_t { kProduct, kXor, kAnd, kChain };

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

  bool CanChain() const {
    return !sparse && (a == Element::kF16 || a == Element::kBF16 || a == Element::kTF32);
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

// -- MatrixMultiplyShared: B, and A unless it is in registers, are in shared memory. The operands: A
// (registers or a descriptor), the descriptor of B, the number of the warp in its four (whose rows 16 times
// that begin), whether C counts (else it is zero), the registers of C (those of each eight columns one after
// the other), metadata where A is sparse, membermask. The bits of attrs.index are those of the product and
// the ones below --
inline constexpr uint32_t kProductBits = (1u << 23) - 1;

struct SharedProduct {
  Product product;
  uint32_t column_tiles = 1;  // of eight columns
  bool a_in_shared = true;
  bool transposes_a = false, transposes_b = false;  // stored along the rows of A, along the columns of B
  bool negates = false;                             // the products

  uint32_t operands_of_a() const { return a_in_shared ? 1 : product.registers_of_a(); }
  uint32_t registers_of_c() const { return column_tiles * product.registers_of_c(); }
  uint32_t first_c() const { return operands_of_a() + 3; }
  uint32_t operands() const { return first_c() + registers_of_c() + (product.sparse ? 2 : 1); }
};

constexpr uint32_t Encode(const SharedProduct& p) {
  return Encode(p.product) | (p.column_tiles - 1) << 23 | (p.a_in_shared ? 1u : 0u) << 28 |
         (p.transposes_a ? 1u : 0u) << 29 | (p.transposes_b ? 1u : 0u) << 30 | (p.negates ? 1u : 0u) << 31;
}
inline SharedProduct DecodeShared(uint32_t bits) {
  SharedProduct p;
  p.product = DecodeProduct(bits);
  p.column_tiles = (bits >> 23 & 31) + 1;
  p.a_in_shared = (bits >> 28 & 1) != 0;
  p.transposes_a = (bits >> 29 & 1) != 0;
  p.transposes_b = (bits >> 30 & 1) != 0;
  p.negates = bits >> 31 != 0;
  return p;
}

// A matrix in shared memory, in chunks of 16 bytes. PTX ISA 9.7.15.5.1; what `leading` and `stride` are the
// distances of depends on the layout: offset_of.
struct Descriptor {
  uint32_t start, leading, stride;  // bytes
  uint32_t base;                    // number of 128 bytes where the pattern of the swizzle begins, mod 8
  uint32_t row_bytes;               // of the swizzle: 32, 64, 128; 16: none

  explicit Descriptor(uint64_t bits)
      : start(Field(bits, 0)),
        leading(Field(bits, 16)),
        stride(Field(bits, 32)),
        base(static_cast<uint32_t>(bits >> 49 & 7)) {
    constexpr uint32_t kRowBytes[] = {16, 128, 64, 32};
    row_bytes = kRowBytes[bits >> 62];
  }
  // Stored along k: chunk `across` of k in row (or column) `line`. Stored along the rows: chunk `across` of
  // rows at `line` of k.
  uint32_t OffsetOf(bool transposed, uint32_t line, uint32_t across) const {
    const uint32_t groups = line / 8, in_group = line % 8, chunks = row_bytes / 16;
    if (row_bytes == 16) {
      return start + in_group * 16 +
             (transposed ? across * stride + groups * leading : groups * stride + across * leading);
    }
    const uint32_t plain =
        start + in_group * row_bytes + across % chunks * 16 + across / chunks * leading + groups * stride;
    const uint32_t row = ((plain >> 7) - base) & (chunks - 1);
    return plain ^ row << 4;
  }

 private:
  static uint32_t Field(uint64_t bits, uint32_t shift) {
    return static_cast<uint32_t>(bits >> shift & 0x3fff) << 4;
  }
};

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
