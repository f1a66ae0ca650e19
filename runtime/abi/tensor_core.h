/* The tensor cores of the fifth generation (tcgen05, PTX ISA 9.7.16): tensor memory, the forms of the
 * operations, and where the elements of matrices lie. Interpreter, translation and runtime read this header.
 *
 * The manual draws layouts in figures; where words leave them open, the layouts are those that CUTLASS uses
 * for the same instructions. No GPU that this project can use has these instructions.
 */
#ifndef PTX2CPU_TENSOR_CORE_H
#define PTX2CPU_TENSOR_CORE_H

#include <stdint.h>

namespace ptx2cpu::tensor_core {

// -- tensor memory: 512 columns of 128 lanes of 32 bits, after the block's shared memory in its window. The
// words of a column follow each other. After them is the allocator's word: a bit for each 32 columns that are
// taken, zero when a block begins --
inline constexpr uint32_t kLanes = 128, kColumns = 512, kUnitColumns = 32;
inline constexpr uint32_t kAllocatorAt = kLanes * kColumns * 4;
inline constexpr uint32_t kWindowBytes = kAllocatorAt + 128;

constexpr uint32_t OffsetInWindow(uint32_t shared_bytes) { return (shared_bytes + 127) / 128 * 128; }

// Addresses have the lane in bits 16 to 22 and the column in bits 0 to 8; both wrap around.
struct Place {
  uint32_t block = 0;  // of a pair of blocks: the one with an odd rank
  uint32_t lane = 0, column = 0;
};
constexpr Place PlaceOf(uint32_t address) {
  return {0, address >> 16 & (kLanes - 1), address & (kColumns - 1)};
}
constexpr uint32_t OffsetOf(const Place& place) {
  return ((place.column & (kColumns - 1)) * kLanes + (place.lane & (kLanes - 1))) * 4;
}

// -- elements --
enum class Element : uint8_t { kF16, kBF16, kTF32, kE4M3, kE5M2, kE2M3, kE3M2, kE2M1, kS8, kU8, kF32, kS32 };
enum class Specials : uint8_t { kIeee, kNan, kNone };  // kNan: all ones alone is one
struct ElementFormat {
  uint8_t bits, exponent_bits, mantissa_bits;  // no exponent: an integer
  Specials specials;
};
inline constexpr ElementFormat kFormats[] = {
    {16, 5, 10, Specials::kIeee}, {16, 8, 7, Specials::kIeee},  {19, 8, 10, Specials::kIeee},
    {8, 4, 3, Specials::kNan},    {8, 5, 2, Specials::kIeee},   {6, 2, 3, Specials::kNone},
    {6, 3, 2, Specials::kNone},   {4, 2, 1, Specials::kNone},   {8, 0, 0, Specials::kNone},
    {8, 0, 0, Specials::kNone},   {32, 8, 23, Specials::kIeee}, {32, 0, 0, Specials::kNone}};
constexpr const ElementFormat& FormatOf(Element element) { return kFormats[static_cast<uint32_t>(element)]; }

// -- attrs.index of TensorCoreMultiply --
enum class Kind : uint8_t { kF16, kTF32, kF8F6F4, kI8, kMxF8F6F4, kMxF4, kMxF4NvF4 };
struct Form {
  Kind kind = Kind::kF16;
  bool pair = false;         // .cta_group::2
  bool stationary = false;   // .ws
  bool sparse = false;       // .sp
  bool a_in_memory = false;  // A is in tensor memory
  bool shifts_a = false;     // .ashift
  uint32_t blocks = 0;       // of k, each with a scale: 1, 2, 4; 0: none
  uint32_t scales_d = 0;     // D counts 2^-scales_d times
  bool masks_columns = false;
  uint32_t mask_words = 0;  // of the lanes that stay as they are: 0, 4, 8
};
constexpr uint32_t Encode(const Form& f) {
  return static_cast<uint32_t>(f.kind) | (f.pair ? 1u : 0u) << 3 | (f.stationary ? 1u : 0u) << 4 |
         (f.sparse ? 1u : 0u) << 5 | (f.a_in_memory ? 1u : 0u) << 6 | (f.shifts_a ? 1u : 0u) << 7 |
         f.blocks << 8 | f.scales_d << 11 | (f.masks_columns ? 1u : 0u) << 15 | f.mask_words << 16;
}
constexpr Form DecodeForm(uint32_t bits) {
  return {static_cast<Kind>(bits & 7), (bits >> 3 & 1) != 0, (bits >> 4 & 1) != 0, (bits >> 5 & 1) != 0,
          (bits >> 6 & 1) != 0,        (bits >> 7 & 1) != 0, bits >> 8 & 7,        bits >> 11 & 15,
          (bits >> 15 & 1) != 0,       bits >> 16 & 15};
}
// The operands of TensorCoreMultiply, as words of the runtime; the words of the mask follow.
enum Operand : uint32_t {
  kMemory,      // window offset of tensor memory
  kD,           // address in tensor memory
  kA,           // the same, or a matrix descriptor
  kB,           // matrix descriptor
  kDescriptor,  // instruction descriptor
  kCountsD,     // 0: D counts as zero
  kMetadata,    // address in tensor memory, as far as the form has it; so are the next two
  kScaleA,
  kScaleB,
  kColumnMask,  // zero-column mask descriptor
  kMaskWords
};

// -- attrs.index of TensorCoreCopy: operands window offset of tensor memory, address there, matrix descriptor
// (0 for shift) --
enum class CopyShape : uint8_t {
  k128x256,
  k4x256,
  k128x128,
  k64x128Pairs02,
  k64x128Pairs01,
  k32x128,
  kShift
};
enum class Unpacks : uint8_t { kNone, kSixBits, kFourBits };  // of 16 bytes, 16 elements, to 8 bits each
struct CopyForm {
  CopyShape shape = CopyShape::k128x256;
  Unpacks unpacks = Unpacks::kNone;
  bool pair = false;
};
constexpr uint32_t Encode(const CopyForm& f) {
  return static_cast<uint32_t>(f.shape) | static_cast<uint32_t>(f.unpacks) << 3 | (f.pair ? 1u : 0u) << 5;
}
constexpr CopyForm DecodeCopy(uint32_t bits) {
  return {static_cast<CopyShape>(bits & 7), static_cast<Unpacks>(bits >> 3 & 3), (bits >> 5 & 1) != 0};
}
struct CopyRows {
  uint32_t rows, chunks;  // of 16 bytes
  uint32_t copies;        // of each row
};
inline constexpr CopyRows kCopyRows[] = {{128, 2, 1}, {4, 2, 1},  {128, 1, 1},
                                         {64, 1, 2},  {64, 1, 2}, {32, 1, 4}};
// The lane of a row of the source, from that of the address.
constexpr uint32_t LaneOfRow(CopyShape shape, uint32_t row, uint32_t copy) {
  switch (shape) {
    case CopyShape::k4x256:
      return row * 32;  // the same lane of each warp's lanes
    case CopyShape::k64x128Pairs02:
      return row + copy * 64;
    case CopyShape::k64x128Pairs01:
      return row % 32 + row / 32 * 64 + copy * 32;
    case CopyShape::k32x128:
      return row + copy * 32;
    case CopyShape::k128x256:
    case CopyShape::k128x128:
    case CopyShape::kShift:
      break;
  }
  return row;
}
inline constexpr uint32_t kShiftRows = 31, kShiftColumns = 8;  // each becomes the one after it

// Element n of 16 packed ones as its container in tensor memory: 4 bits in the middle, 6 bits at the bottom.
constexpr uint8_t Container(const uint8_t* packed, Unpacks unpacks, uint32_t n) {
  if (unpacks == Unpacks::kFourBits) return static_cast<uint8_t>((packed[n / 2] >> n % 2 * 4 & 15) << 2);
  const uint32_t bit = n * 6, pair = packed[bit / 8] | uint32_t{packed[bit / 8 + 1]} << 8;
  return static_cast<uint8_t>(pair >> bit % 8 & 63);
}

// -- a matrix in shared memory: Table 40 --
struct SharedMatrix {
  uint32_t start = 0, leading = 0, stride = 0;  // bytes
  uint32_t base = 0;        // row of 128 bytes where the pattern of the swizzle begins, mod 8
  uint32_t row_bytes = 16;  // of the swizzle: 32, 64, 128; 16: none
  uint32_t unit = 16;       // bytes that a swizzle keeps together
  bool is_legal = true;

  constexpr explicit SharedMatrix(uint64_t bits)
      : start(Field(bits, 0)),
        leading(Field(bits, 16)),
        stride(Field(bits, 32)),
        base(static_cast<uint32_t>(bits >> 49 & 7)) {
    constexpr uint32_t kRowBytes[] = {16, 128, 128, 0, 64, 0, 32, 0};
    const uint32_t mode = static_cast<uint32_t>(bits >> 61);
    row_bytes = kRowBytes[mode];
    if (mode == 1) unit = 32;
    is_legal = row_bytes != 0 && (bits >> 52 & 1) == 0;  // no absolute leading address
  }
  // Byte `byte` of row `line` (of A, or column of B), stored along k; or, transposed, byte `byte` along the
  // rows at `line` of k. Tables of 9.7.16.3: 8 lines of row_bytes make a tile.
  constexpr uint32_t OffsetAt(bool transposed, uint32_t line, uint32_t byte) const {
    const uint32_t tile = line / 8, in_tile = line % 8, part = byte / row_bytes, in_part = byte % row_bytes;
    if (row_bytes == 16)
      return start + in_tile * 16 +
             (transposed ? tile * leading + part * stride : tile * stride + part * leading) + in_part;
    // 32-byte units: 4 lines of 128 bytes are a tile.
    const uint32_t plain =
        start +
        (unit == 32 ? line % 4 * row_bytes + line / 4 * stride : in_tile * row_bytes + tile * stride) +
        part * leading + in_part;
    const uint32_t row = (plain >> 7) - base;
    return plain ^ (row & (row_bytes / unit - 1)) * unit;
  }

 private:
  static constexpr uint32_t Field(uint64_t bits, uint32_t shift) {
    return static_cast<uint32_t>(bits >> shift & 0x3fff) << 4;
  }
};

// -- the product that an instruction descriptor describes: Tables 42 to 44 --
struct Product {
  Form form;
  Element a = Element::kF16, b = Element::kF16, d = Element::kF32;
  uint32_t m = 0, n = 0, k = 0;  // of a sparse A, k / 2 are stored
  bool saturates = false, negates_a = false, negates_b = false, transposes_a = false, transposes_b = false;
  uint32_t selector = 0;              // which part of the words of metadata
  uint32_t scale_a = 0, scale_b = 0;  // the first byte of a word of scales
  bool scales_are_powers = false;     // ue8m0, else ue4m3
  bool is_legal = false;

  constexpr Product(uint32_t form_bits, uint32_t bits);

  constexpr uint32_t rows() const { return form.pair ? m / 2 : m; }     // of A in each block
  constexpr uint32_t columns() const { return form.pair ? n / 2 : n; }  // of B in each block
  constexpr uint32_t stored_k() const { return form.sparse ? k / 2 : k; }
  // Bits of an element in memory.
  constexpr uint32_t BitsOf(Element element) const {
    if (IsFourBits()) return 4;
    return element == Element::kTF32 ? 32 : FormatOf(element).bits == 16 ? 16 : 8;
  }
  constexpr bool IsFourBits() const { return form.kind == Kind::kMxF4 || form.kind == Kind::kMxF4NvF4; }
  // Half of the lanes are used: 16 of each 32.
  constexpr bool UsesHalf() const { return rows() == 64 && !form.stationary && (!form.pair || form.sparse); }
  // The columns of D are cut into this many parts, one below the other.
  constexpr uint32_t parts() const { return UsesHalf() ? 1 : kLanes / (rows() > 64 ? 128 : rows()); }

  // The place where row `row` of A or D begins, relative to the address: block and lane.
  constexpr Place PlaceOfRow(uint32_t row) const {
    const uint32_t own = row % rows();
    return {row / rows(), UsesHalf() ? own / 16 * 32 + own % 16 : own, 0};
  }
  constexpr Place PlaceOfD(uint32_t row, uint32_t column) const {
    const uint32_t width = n / parts();
    Place place = PlaceOfRow(row);
    place.lane += column / width * rows();
    place.column = column % width;
    return place;
  }
  // The scales of 32 rows are in the lanes of a column; each quarter of the lanes has the same ones.
  constexpr Place PlaceOfScaleA(uint32_t row) const {
    const uint32_t own = row % rows();
    return {row / rows(), own % 32, own / 32};
  }
  // The place is in the tensor memory that has the row of D.
  constexpr Place PlaceOfScaleB(uint32_t row, uint32_t column) const {
    const uint32_t width = n / parts(), own = column % width;
    return {row / rows(), column / width * rows() + own % 32, own / 32};
  }
  // Metadata: four bits for each chunk of four elements of a row (two of tf32, eight of 4 bits). For 16- and
  // 32-bit elements it is two halves of 16 bits: the row 8 lanes below shares the word, and the second half
  // of k is 8 lanes below. `chunk` counts along k; `bit` is the place of its four bits in the word.
  struct MetadataPlace {
    Place place;
    uint32_t bit;
  };
  constexpr uint32_t chunk() const { return IsFourBits() ? 8 : a == Element::kTF32 ? 2 : 4; }
  constexpr MetadataPlace PlaceOfMetadata(uint32_t row, uint32_t number) const {
    Place place = PlaceOfRow(row);
    if (BitsOf(a) <= 8) {
      place.column = number / 8;
      return {place, number % 8 * 4};
    }
    const uint32_t in_pair = place.lane % 16;
    place.lane += number / 4 * 8 - (in_pair >= 8 ? 8 : 0);
    place.column = selector;
    return {place, number % 4 * 4 + (in_pair >= 8 ? 16 : 0)};
  }
  // The number along k of the stored element `at` of a row, from the four bits of its chunk.
  constexpr uint32_t ColumnOf(uint32_t at, uint32_t bits) const {
    const uint32_t kept = chunk() / 2;
    if (chunk() == 2) return at * 2 + (bits >> 1 & 1);
    if (chunk() == 8) return at / kept * 8 + (bits >> at % kept / 2 * 2 & 3) * 2 + at % 2;
    return at / kept * 4 + (bits >> at % kept * 2 & 3);
  }

 private:
  constexpr bool ReadTypes(uint32_t bits);
  constexpr bool HasShape() const;
};

constexpr bool Product::ReadTypes(uint32_t bits) {
  const uint32_t of_a = bits >> 7 & 7, of_b = bits >> 10 & (IsFourBits() ? 3 : 7), of_d = bits >> 4 & 3;
  const bool scaled = form.kind >= Kind::kMxF8F6F4;
  d = form.kind == Kind::kI8 ? Element::kS32 : scaled || of_d == 1 ? Element::kF32 : Element::kF16;
  switch (form.kind) {
    case Kind::kF16:
      a = of_a == 0 ? Element::kF16 : Element::kBF16;
      b = of_b == 0 ? Element::kF16 : Element::kBF16;
      return of_a < 2 && of_b < 2 && (of_d == 1 || (of_d == 0 && of_a == 0 && of_b == 0));
    case Kind::kTF32:
      a = b = Element::kTF32;
      return of_a == 2 && of_b == 2 && of_d == 1;
    case Kind::kI8:
      a = of_a == 0 ? Element::kU8 : Element::kS8;
      b = of_b == 0 ? Element::kU8 : Element::kS8;
      return of_a < 2 && of_b < 2 && of_d == 2 && !negates_a && !negates_b;
    case Kind::kMxF4:
    case Kind::kMxF4NvF4:
      a = b = Element::kE2M1;
      return of_a == 1 && of_b == 1 && !transposes_a && !transposes_b && bits >> 31 == 0;  // K is not 96
    case Kind::kF8F6F4:
    case Kind::kMxF8F6F4: {
      constexpr Element kTypes[] = {Element::kE4M3, Element::kE5M2, Element::kF16, Element::kE2M3,
                                    Element::kE3M2, Element::kE2M1, Element::kF16, Element::kF16};
      a = kTypes[of_a];
      b = kTypes[of_b];
      // 4 and 6 bits are not transposed.
      const bool turns_a = !transposes_a || FormatOf(a).bits == 8,
                 turns_b = !transposes_b || FormatOf(b).bits == 8;
      return a != Element::kF16 && b != Element::kF16 && turns_a && turns_b && (scaled || of_d < 2);
    }
  }
  return false;
}

// Table 39.
constexpr bool Product::HasShape() const {
  const bool scaled = form.kind >= Kind::kMxF8F6F4;
  if (form.stationary) {
    return !form.pair && !scaled && (m == 32 || m == 64 || m == 128) &&
           (n == 64 || n == 128 || (n == 256 && !form.sparse));
  }
  uint32_t step = form.pair ? 16 : 8;
  if (form.kind == Kind::kI8 && (form.pair || n > 32)) step *= 2;
  if (n == 0 || n > 256 || n % step != 0) return false;
  if (form.pair) return m == 256 || (m == 128 && !(scaled && form.sparse));
  return m == 128 || (m == 64 && !scaled);
}

constexpr Product::Product(uint32_t form_bits, uint32_t bits) : form(DecodeForm(form_bits)) {
  const bool scaled = form.kind >= Kind::kMxF8F6F4;
  negates_a = (bits >> 13 & 1) != 0;
  negates_b = (bits >> 14 & 1) != 0;
  transposes_a = (bits >> 15 & 1) != 0;
  transposes_b = (bits >> 16 & 1) != 0;
  n = (bits >> 17 & 63) * 8;
  m = (bits >> 24 & 31) * 16;
  if (scaled) {
    m &= ~127u;
    scale_b = bits >> 4 & 3;
    scale_a = bits >> 29 & 3;
    scales_are_powers = (bits >> 23 & 1) != 0;
  } else {
    selector = form.sparse ? bits & 3 : 0;
    saturates = (bits >> 3 & 1) != 0 && form.kind == Kind::kI8;
  }
  const bool types = ReadTypes(bits);
  k = (IsFourBits() ? 64 : 256 / BitsOf(a)) * (form.sparse ? 2 : 1);
  const bool scales = !scaled || (scale_a + form.blocks <= 4 && scale_b + form.blocks <= 4 &&
                                  (scales_are_powers || (form.kind == Kind::kMxF4NvF4 && form.blocks == 4)));
  const bool sparsity = ((bits >> 2 & 1) != 0) == form.sparse;
  is_legal = types && scales && sparsity && HasShape() && !(form.shifts_a && rows() != 128);
}

// The zero-column mask: whether column `column` of B counts as zero. Runs of use + 1 columns that count and
// of skip + 1 that do not follow each other; each part of the columns begins anew.
struct ColumnMask {
  uint64_t bits;
  uint32_t part;  // columns
  constexpr ColumnMask(uint64_t descriptor, const Product& p) : bits(descriptor), part(p.n / p.parts()) {}
  constexpr uint32_t shift() const { return static_cast<uint32_t>(bits >> 56 & 63); }
  constexpr bool IsZero(uint32_t column) const {
    if ((bits >> 39 & 1) == 0) return false;
    const uint32_t number = column / part;
    const uint32_t skip = static_cast<uint32_t>(bits >> 40 & 255) + 1,
                   use = static_cast<uint32_t>(bits >> 48 & 255) + 1;
    const bool first_skips = (bits >> (32 + number) & 1) != 0;
    const uint32_t at = (column % part + static_cast<uint32_t>(bits >> number * 8 & 255)) % (skip + use);
    return first_skips ? at < skip : at >= use;
  }
};

}  // namespace ptx2cpu::tensor_core

#endif
