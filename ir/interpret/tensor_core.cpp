// Tensor memory and the tensor cores of the fifth generation (tcgen05), as runtime/abi/tensor_core.h lays out
// their matrices.
//
// Sums of floats are ours, since the manual leaves their order and width open: those of 16-bit elements on an
// H100 (matrix_sum.cpp), for every type. All products of an element of D and D itself are one sum, cut off 25
// bits below the largest exponent, that is rounded toward zero to f32 and to nearest even to f16. A product
// with scales is exact before that. Sums of integers are exact, then clamped or wrapped around.
#include "runtime/abi/tensor_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/interpret/machine.h"
#include "ir/interpret/matrix_sum.h"

namespace ptx2cpu::ir::interpret {

namespace core = tensor_core;
using core::Place;

Status ExecuteTensorMemory(Step& s) {
  s.Return(core::OffsetInWindow(s.machine.shared_bytes));
  return {};
}

namespace {

// The shared windows of a block, or of the pair that it belongs to, the even one first.
class Windows {
 public:
  Windows(Step& s, bool pair) : s_(s), blocks_{&s.machine, nullptr} {
    if (!pair) return;
    const auto& blocks = s.machine.cluster.blocks;
    const uint32_t even = s.machine.cluster_rank & ~1u;
    if (even + 1 >= blocks.size()) return;
    blocks_ = {blocks[even].get(), blocks[even + 1].get()};
    is_pair_ = true;
  }
  // A pair needs two blocks.
  Status Check(bool pair) const {
    if (pair == is_pair_) return {};
    return s_.Fault("an operation of two blocks, and the cluster has no other block for this one");
  }
  Result<std::byte*> At(uint32_t block, uint64_t offset, uint32_t bytes) const {
    const std::span<std::byte> window = blocks_[block]->shared;
    if (offset > window.size() || bytes > window.size() - offset)
      return s_.Fault(fmt::format("a matrix reaches offset {} of shared memory, which has {} bytes",
                                  offset + bytes, window.size()));
    return window.data() + offset;
  }

 private:
  Step& s_;
  std::array<Machine*, 2> blocks_;
  bool is_pair_ = false;
};

// Matrices of one instruction.
class Product {
 public:
  Product(Step& s, const core::Product& form) : s_(s), p_(form), windows_(s, form.form.pair) {}

  Status Run() {
    TRY_STATUS(windows_.Check(p_.form.pair));
    const core::SharedMatrix b(s_.Operand64(core::kB));
    if (!b.is_legal || (!p_.form.a_in_memory && !core::SharedMatrix(s_.Operand64(core::kA)).is_legal))
      return s_.Fault("a matrix descriptor that PTX does not define");
    for (uint32_t row = 0; row < p_.m; ++row) {
      std::vector<Factor> of_a(p_.stored_k());
      std::vector<int64_t> integers(p_.stored_k());
      std::vector<uint32_t> columns(p_.stored_k());
      for (uint32_t k = 0; k < p_.stored_k(); ++k) {
        const uint64_t bits = TRY(BitsOfA(row, k));
        of_a[k] = Scaled(Decode(p_.a, bits, p_.negates_a), TRY(ScaleA(row, k)));
        integers[k] = IntegerOf(p_.a, bits);
        columns[k] = p_.form.sparse ? TRY(ColumnOf(row, k)) : k;
      }
      for (uint32_t column = 0; column < p_.n; ++column)
        TRY_STATUS(Sum(row, column, of_a, integers, columns));
    }
    return {};
  }

 private:
  Result<uint32_t> Word(uint32_t address, const Place& from) const {
    Place place = core::PlaceOf(address);
    place.lane += from.lane;
    place.column += from.column;
    return static_cast<uint32_t>(Fetch(
        TRY(windows_.At(from.block, s_.Operand64(core::kMemory) + core::OffsetOf(place), 4)), Type::kI32));
  }
  Result<uint64_t> SharedElement(uint32_t block, core::Operand operand, bool transposed,
                                 core::Element element, uint32_t line, uint32_t k) const {
    const uint32_t bits = p_.BitsOf(element);
    // Elements of 4 or 6 bits that count as bytes are packed in each 16 bytes.
    const uint32_t packed = bits == 8 ? core::FormatOf(element).bits : bits;
    const uint32_t along = transposed ? line : k, across = transposed ? k : line;
    const uint32_t in_chunk = along * bits % 128 / bits * packed;
    const uint32_t byte = along * bits / 128 * 16 + in_chunk / 8;
    uint64_t value = 0;
    const core::SharedMatrix matrix(s_.Operand64(operand));
    for (uint32_t n = 0; n < (in_chunk % 8 + packed + 7) / 8; ++n) {
      const std::byte* at = TRY(windows_.At(block, matrix.OffsetAt(transposed, across, byte + n), 1));
      value |= std::to_integer<uint64_t>(*at) << 8 * n;
    }
    return value >> in_chunk % 8 & ((uint64_t{1} << packed) - 1);
  }
  Result<uint64_t> BitsOfA(uint32_t row, uint32_t k) const {
    if (!p_.form.a_in_memory)
      return SharedElement(row / p_.rows(), core::kA, p_.transposes_a, p_.a, row % p_.rows(), k);
    const uint32_t bits = p_.BitsOf(p_.a);
    Place place = p_.PlaceOfRow(row);
    if (p_.form.shifts_a && place.lane + 1 < core::kLanes) ++place.lane;
    place.column = k * bits / 32;
    const uint32_t container = TRY(Word(s_.Operand32(core::kA), place)) >> k * bits % 32;
    // The containers of 4-bit elements have two bits below.
    const uint32_t below = p_.a == core::Element::kE2M1 && bits == 8 ? 2 : 0;
    const uint32_t kept = bits == 32 ? 32 : std::min<uint32_t>(bits, core::FormatOf(p_.a).bits);
    return container >> below & ((uint64_t{1} << kept) - 1);
  }
  Result<Factor> ScaleAt(core::Operand operand, Place place, uint32_t first, uint32_t k_of_whole) const {
    if (p_.form.blocks == 0) return Factor{.significand = 1};
    const uint32_t byte = first + k_of_whole / (p_.k / p_.form.blocks);
    const uint32_t bits = TRY(Word(s_.Operand32(operand), place)) >> 8 * byte & 255;
    if (!p_.scales_are_powers) return Decode(core::Element::kE4M3, bits & 127, false);
    if (bits == 255) return Factor{.kind = Factor::Kind::kNan, .significand = 1};
    return Factor{.exponent = static_cast<int>(bits) - 127, .significand = 1};
  }
  // The index along the whole k that decides the scale of a stored element: kept elements stay in their
  // chunk.
  uint32_t WholeK(uint32_t k) const { return p_.form.sparse ? k * 2 : k; }
  Result<Factor> ScaleA(uint32_t row, uint32_t k) const {
    return ScaleAt(core::kScaleA, p_.PlaceOfScaleA(row), p_.scale_a, WholeK(k));
  }
  Result<uint32_t> ColumnOf(uint32_t row, uint32_t k) const {
    const uint32_t chunk = k / (p_.chunk() / 2);
    const auto [place, bit] = p_.PlaceOfMetadata(row, chunk);
    return p_.ColumnOf(k, TRY(Word(s_.Operand32(core::kMetadata), place)) >> bit & 15);
  }
  static Factor Scaled(const Factor& a, const Factor& scale) { return ProductOf(a, scale); }

  static Factor Decode(core::Element element, uint64_t bits, bool negates) {
    const core::ElementFormat& format = core::FormatOf(element);
    if (element == core::Element::kTF32) bits >>= 13;
    Factor n;
    n.mantissa_bits = format.mantissa_bits;
    n.negative = ((bits >> (format.bits - 1) & 1) != 0) != negates;
    const uint64_t ones = (uint64_t{1} << format.mantissa_bits) - 1, fraction = bits & ones;
    const int top = (1 << format.exponent_bits) - 1,
              field = static_cast<int>(bits >> format.mantissa_bits) & top;
    n.exponent = std::max(field, 1) - top / 2;
    n.significand = field == 0 ? fraction : fraction | (ones + 1);
    if (field != top) return n;
    if (format.specials == core::Specials::kIeee)
      n.kind = fraction == 0 ? Factor::Kind::kInfinite : Factor::Kind::kNan;
    if (format.specials == core::Specials::kNan && fraction == ones) n.kind = Factor::Kind::kNan;
    return n;
  }
  static int64_t IntegerOf(core::Element element, uint64_t bits) {
    return element == core::Element::kS8 ? static_cast<int64_t>(static_cast<int8_t>(bits))
                                         : static_cast<int64_t>(bits);
  }

  bool IsMasked(const Place& place) const {
    const uint32_t words = p_.form.mask_words, word = place.block * 4 + place.lane / 32;
    if (word >= words) return false;
    return (s_.Operand32(core::kMaskWords + word) >> place.lane % 32 & 1) != 0;
  }

  Status Sum(uint32_t row, uint32_t column, const std::vector<Factor>& of_a,
             const std::vector<int64_t>& integers, const std::vector<uint32_t>& columns) {
    Place from = p_.PlaceOfD(row, column), place = core::PlaceOf(s_.Operand32(core::kD));
    place = {from.block, (place.lane + from.lane) % core::kLanes, place.column + from.column};
    if (IsMasked(place)) return {};
    std::byte* at = TRY(windows_.At(place.block, s_.Operand64(core::kMemory) + core::OffsetOf(place), 4));
    const uint64_t d = s_.Predicate(core::kCountsD) ? static_cast<uint32_t>(Fetch(at, Type::kI32)) : 0;
    const core::ColumnMask mask(p_.form.masks_columns ? s_.Operand64(core::kColumnMask) : 0, p_);
    const uint32_t block_of_b = column / p_.columns(), line = column % p_.columns() + mask.shift();
    std::vector<Factor> terms;
    int64_t sum = static_cast<int32_t>(d);
    for (uint32_t k = 0; k < of_a.size(); ++k) {
      const uint64_t bits =
          mask.IsZero(column)
              ? 0
              : TRY(SharedElement(block_of_b, core::kB, p_.transposes_b, p_.b, line, columns[k]));
      if (p_.d == core::Element::kS32) {
        sum += integers[k] * IntegerOf(p_.b, bits);
        continue;
      }
      const Factor scale = TRY(ScaleAt(core::kScaleB, p_.PlaceOfScaleB(row, column), p_.scale_b, WholeK(k)));
      terms.push_back(ProductOf(of_a[k], Scaled(Decode(p_.b, bits, p_.negates_b), scale)));
    }
    if (p_.d == core::Element::kS32) {
      if (p_.saturates) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      Put(at, Type::kI32, static_cast<uint32_t>(sum));
      return {};
    }
    const bool is_half = p_.d == core::Element::kF16;
    Factor c = Decode(p_.d, is_half ? d & 0xffff : d, false);
    c.exponent -= static_cast<int>(p_.form.scales_d);
    terms.push_back(c);
    const matrix::ElementInfo& format =
        matrix::InfoOf(is_half ? matrix::Element::kF16 : matrix::Element::kF32);
    Put(at, Type::kI32, SumOfTerms(terms, format, {.to_nearest = is_half}));
    return {};
  }

  Step& s_;
  const core::Product& p_;
  Windows windows_;
};

// Rows of tensor memory become those of the lanes after them.
Status ShiftRows(const Windows& windows, uint32_t block, uint64_t memory, const Place& base) {
  for (uint32_t row = 0; row < core::kShiftRows; ++row) {
    for (uint32_t column = 0; column < core::kShiftColumns; ++column) {
      const Place to{block, base.lane + row, base.column + column}, from{block, to.lane + 1, to.column};
      const std::byte* source = TRY(windows.At(block, memory + core::OffsetOf(from), 4));
      std::memcpy(TRY(windows.At(block, memory + core::OffsetOf(to), 4)), source, 4);
    }
  }
  return {};
}

Status CopyRows(Step& s, const Windows& windows, uint32_t block, const core::CopyForm& form,
                const Place& base) {
  const core::SharedMatrix source(s.Operand64(2));
  if (!source.is_legal) return s.Fault("a matrix descriptor that PTX does not define");
  const core::CopyRows& rows = core::kCopyRows[static_cast<uint32_t>(form.shape)];
  for (uint32_t row = 0; row < rows.rows; ++row) {
    for (uint32_t chunk = 0; chunk < rows.chunks; ++chunk) {
      uint8_t data[18] = {}, unpacked[16];
      for (uint32_t n = 0; n < 16; ++n)
        data[n] =
            std::to_integer<uint8_t>(*TRY(windows.At(block, source.OffsetAt(false, row, chunk * 16 + n), 1)));
      for (uint32_t n = 0; n < 16; ++n)
        unpacked[n] = form.unpacks == core::Unpacks::kNone ? data[n] : core::Container(data, form.unpacks, n);
      for (uint32_t copy = 0; copy < rows.copies; ++copy) {
        for (uint32_t word = 0; word < 4; ++word) {
          const Place to{block, base.lane + core::LaneOfRow(form.shape, row, copy),
                         base.column + chunk * 4 + word};
          std::memcpy(TRY(windows.At(block, s.Operand64(0) + core::OffsetOf(to), 4)), unpacked + word * 4, 4);
        }
      }
    }
  }
  return {};
}

}  // namespace

Status ExecuteTensorCoreCopy(Step& s) {
  const core::CopyForm form = core::DecodeCopy(s.inst.attrs.index);
  const Windows windows(s, form.pair);
  TRY_STATUS(windows.Check(form.pair));
  const Place base = core::PlaceOf(s.Operand32(1));
  for (uint32_t block = 0; block < (form.pair ? 2u : 1u); ++block) {
    TRY_STATUS(form.shape == core::CopyShape::kShift ? ShiftRows(windows, block, s.Operand64(0), base)
                                                     : CopyRows(s, windows, block, form, base));
  }
  return {};
}

Status ExecuteTensorCoreMultiply(Step& s) {
  const core::Product form(s.inst.attrs.index, s.Operand32(core::kDescriptor));
  if (!form.is_legal)
    return s.Fault(fmt::format("the instruction descriptor {:#010x} does not describe a product of this kind",
                               s.Operand32(core::kDescriptor)));
  return Product(s, form).Run();
}

}  // namespace ptx2cpu::ir::interpret
