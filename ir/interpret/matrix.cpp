// Matrix fragments: the exchange between the lanes of a warp. Lanes that are not members contribute zeros.
#include "ir/matrix.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "ir/interpret/group.h"
#include "ir/interpret/matrix_sum.h"

namespace ptx2cpu::ir::interpret {

namespace {

constexpr uint32_t kRows = 8;
// 8x8 elements of 16 bits, of which a register has two of row lane / 4.
struct Tile {
  uint16_t at[kRows][kRows] = {};

  void Set(uint32_t lane, uint64_t pair) {
    at[lane / 4][lane % 4 * 2] = static_cast<uint16_t>(pair);
    at[lane / 4][lane % 4 * 2 + 1] = static_cast<uint16_t>(pair >> 16);
  }
  uint32_t Of(uint32_t lane, bool transposed) const {
    const uint32_t row = lane / 4, column = lane % 4 * 2;
    const uint32_t low = transposed ? at[column][row] : at[row][column];
    const uint32_t high = transposed ? at[column + 1][row] : at[row][column + 1];
    return low | high << 16;
  }
};

}  // namespace

void CompleteMatrixTranspose(Group& group) {
  Tile tile;
  group.ForEach([&](Thread& t) { tile.Set(t.lane, static_cast<uint32_t>(OperandOf(t, 0))); });
  group.ForEach([&](Thread& t) { ReturnTo(t, tile.Of(t.lane, true)); });
}

namespace {

// The row of a matrix whose address the thread has; null after a fault, which the group then has.
std::byte* RowOf(Group& group, Thread& thread, Access access) {
  const Inst& inst = *thread.waiting_at;
  Step step{group.machine, thread, thread.frame(), inst};
  const auto address = static_cast<uint64_t>(OperandOf(thread, 0));
  Result<std::byte*> row =
      Locate(step, inst.attrs.space, address, matrix::kRowBytes, matrix::kRowBytes, access);
  if (row) return *row;
  group.status = Fail(std::move(row.error()));
  return nullptr;
}

}  // namespace

void CompleteMatrixLoad(Group& group) {
  const uint32_t form = group.first().waiting_at->attrs.index;
  const uint32_t count = form & matrix::kCountMask;
  Tile tiles[4];
  group.ForEach([&](Thread& t) {
    if (t.lane >= kRows * count || !group.status) return;
    if (const std::byte* row = RowOf(group, t, Access::kRead))
      std::memcpy(tiles[t.lane / kRows].at[t.lane % kRows], row, matrix::kRowBytes);
  });
  group.ForEach([&](Thread& t) {
    for (uint32_t n = 0; n < count; ++n)
      ReturnTo(t, tiles[n].Of(t.lane, (form & matrix::kTransposed) != 0), n);
  });
}

void CompleteMatrixStore(Group& group) {
  const uint32_t form = group.first().waiting_at->attrs.index;
  const uint32_t count = form & matrix::kCountMask;
  Tile tiles[4];
  group.ForEach([&](Thread& t) {
    for (uint32_t n = 0; n < count; ++n) tiles[n].Set(t.lane, static_cast<uint32_t>(OperandOf(t, 1 + n)));
  });
  if ((form & matrix::kTransposed) != 0) {
    for (Tile& tile : tiles) {
      Tile flipped;
      for (uint32_t lane = 0; lane < kWarpSize; ++lane) flipped.Set(lane, tile.Of(lane, true));
      tile = flipped;
    }
  }
  group.ForEach([&](Thread& t) {
    if (t.lane >= kRows * count || !group.status) return;
    if (std::byte* row = RowOf(group, t, Access::kWrite))
      std::memcpy(row, tiles[t.lane / kRows].at[t.lane % kRows], matrix::kRowBytes);
  });
}

namespace {

using matrix::ElementPlace;

// The registers of a warp, as operands of one instruction.
class Fragments {
 public:
  explicit Fragments(Group& group) : values_(group.first().waiting_at->operands.size()) {
    group.ForEach([&](Thread& t) {
      for (size_t n = 0; n < values_.size(); ++n) values_[n][t.lane] = static_cast<uint64_t>(OperandOf(t, n));
    });
  }
  uint64_t At(size_t first, const ElementPlace& place, uint32_t bits) const {
    const uint64_t value = values_[first + place.part][place.lane] >> place.bit;
    return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
  }
  uint32_t Word(size_t number, uint32_t lane) const { return static_cast<uint32_t>(Whole(number, lane)); }
  uint64_t Whole(size_t number, uint32_t lane) const { return values_[number][lane]; }

 private:
  std::vector<std::array<uint64_t, kWarpSize>> values_;
};

// The column, in the whole matrix A, of element `at` of a row of the stored half. Metadata has four bits for
// each chunk of four elements (two of tf32, four pairs of 4 bits), which state where its two kept elements
// are. The metadata of a row has 16, 32 or 64 bits: 16 bits share a word with the row eight below, others are
// words of lanes.
uint32_t ColumnOf(const matrix::Product& form, const Fragments& fragments, size_t metadata, uint32_t row,
                  uint32_t at) {
  const uint32_t bits = matrix::InfoOf(form.a).bits;
  const uint32_t chunk = bits == 32 ? 2 : bits == 4 ? 8 : 4, kept = chunk / 2;
  const uint32_t bits_of_row = form.depth / chunk * 4, bit = at / kept * 4;
  const uint32_t lane = row % 8 * 4, half = row / 8;
  uint32_t nibble = 0;
  if (bits >= 16) {
    const uint32_t holder = form.selector * (bits_of_row / 16) + bit / 16;
    nibble = fragments.Word(metadata, lane + holder) >> (half * 16 + bit % 16);
  } else {
    nibble = fragments.Word(metadata, lane + form.selector * 2 + bit / 32 * 2 + half) >> bit % 32;
  }
  if (bits == 32) return at * 2 + ((nibble >> 1 & 1) != 0 ? 1 : 0);
  if (bits == 4) return at / kept * chunk + (nibble >> at % kept / 2 * 2 & 3) * 2 + at % 2;
  return at / kept * chunk + (nibble >> at % kept * 2 & 3);
}

}  // namespace

void CompleteMatrixMultiply(Group& group) {
  const matrix::Product form = matrix::DecodeProduct(group.first().waiting_at->attrs.index);
  const Fragments fragments(group);
  const uint32_t first_b = form.registers_of_a(), first_c = first_b + form.registers_of_b();
  const uint32_t bits_a = matrix::InfoOf(form.a).bits, bits_b = matrix::InfoOf(form.b).bits,
                 bits_c = matrix::InfoOf(form.c).bits, depth = form.sparse ? form.depth / 2 : form.depth;
  std::vector<std::array<uint64_t, kWarpSize>> results(form.registers_of_c());
  std::vector<FactorPair> pairs(depth);
  for (uint32_t row = 0; row < form.rows; ++row) {
    for (uint32_t column = 0; column < kRows; ++column) {
      for (uint32_t k = 0; k < depth; ++k) {
        const uint32_t in_b = form.sparse ? ColumnOf(form, fragments, form.operands() - 2, row, k) : k;
        pairs[k].a = fragments.At(0, matrix::PlaceOfMultiplicand(form.a, row, k, form.rows), bits_a);
        pairs[k].b = fragments.At(first_b, matrix::PlaceOfMultiplicand(form.b, column, in_b, kRows), bits_b);
      }
      const ElementPlace place = matrix::PlaceOfAccumulator(form.c, row, column);
      const uint64_t sum = SumOfProducts(form, pairs, fragments.At(first_c, place, bits_c));
      results[place.part][place.lane] |= sum << place.bit;
    }
  }
  group.ForEach([&](Thread& t) {
    for (size_t n = 0; n < results.size(); ++n) ReturnTo(t, results[n][t.lane], n);
  });
}

namespace {

// The lines of a matrix in shared memory, `depth` elements of each.
class SharedMatrix {
 public:
  SharedMatrix(Group& group, uint64_t descriptor, bool transposed, uint32_t bits)
      : group_(group), descriptor_(descriptor), transposed_(transposed), bits_(bits) {}

  uint64_t At(uint32_t line, uint32_t k) {
    const uint32_t along = transposed_ ? line : k, bit = along * bits_ % kChunkBits;
    const uint32_t offset =
        descriptor_.OffsetOf(transposed_, transposed_ ? k : line, along * bits_ / kChunkBits) + bit / 8;
    Thread& thread = group_.first();
    Step step{group_.machine, thread, thread.frame(), *thread.waiting_at};
    const uint32_t bytes = std::max(bits_ / 8, 1u);
    Result<std::byte*> at = Locate(step, Space::kShared, offset, bytes, bytes, Access::kRead);
    if (!at) {
      if (group_.status) group_.status = Fail(std::move(at.error()));
      return 0;
    }
    uint64_t value = 0;
    std::memcpy(&value, *at, bytes);
    return value >> bit % 8 & ((uint64_t{1} << bits_) - 1);
  }

 private:
  static constexpr uint32_t kChunkBits = 128;
  Group& group_;
  matrix::Descriptor descriptor_;
  bool transposed_;
  uint32_t bits_;
};

}  // namespace

void CompleteMatrixMultiplyShared(Group& group) {
  const matrix::SharedProduct form = matrix::DecodeShared(group.first().waiting_at->attrs.index);
  const matrix::Product& p = form.product;
  const Fragments fragments(group);
  const uint32_t lane = group.first().lane, of_a = form.operands_of_a(), first_c = form.first_c();
  const uint32_t bits_a = matrix::InfoOf(p.a).bits, bits_b = matrix::InfoOf(p.b).bits,
                 bits_c = matrix::InfoOf(p.c).bits, depth = p.sparse ? p.depth / 2 : p.depth;
  SharedMatrix a(group, fragments.Whole(0, lane), form.transposes_a, bits_a);
  SharedMatrix b(group, fragments.Whole(of_a, lane), form.transposes_b, bits_b);
  const uint32_t first_row = (fragments.Word(of_a + 1, lane) & 3) * p.rows;
  const bool counts_c = fragments.Word(of_a + 2, lane) != 0;
  std::vector<std::array<uint64_t, kWarpSize>> results(form.registers_of_c());
  std::vector<FactorPair> pairs(depth);
  const uint64_t negation = form.negates ? uint64_t{1} << (bits_b - 1) : 0;
  for (uint32_t row = 0; row < p.rows; ++row) {
    for (uint32_t column = 0; column < form.column_tiles * kRows; ++column) {
      for (uint32_t k = 0; k < depth; ++k) {
        const uint32_t in_b = p.sparse ? ColumnOf(p, fragments, form.operands() - 2, row, k) : k;
        pairs[k].a = form.a_in_shared
                         ? a.At(first_row + row, k)
                         : fragments.At(0, matrix::PlaceOfMultiplicand(p.a, row, k, p.rows), bits_a);
        pairs[k].b = b.At(column, in_b) ^ negation;
      }
      ElementPlace place = matrix::PlaceOfAccumulator(p.c, row, column % kRows);
      place.part += column / kRows * p.registers_of_c();
      const uint64_t c = counts_c ? fragments.At(first_c, place, bits_c) : 0;
      results[place.part][place.lane] |= SumOfProducts(p, pairs, c) << place.bit;
    }
  }
  group.ForEach([&](Thread& t) {
    for (size_t n = 0; n < results.size(); ++n) ReturnTo(t, results[n][t.lane], n);
  });
}

}  // namespace ptx2cpu::ir::interpret
