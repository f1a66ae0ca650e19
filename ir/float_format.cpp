#include "ir/float_format.h"

#include <iterator>

#include "ir/result.h"

namespace ptx2cpu::ir {

namespace {

struct TypeRow {
  Type type;
  FloatFormat format;
};
constexpr TypeRow kTypes[] = {
    {Type::kF16, {5, 10, 15, 0, true, true, 0x7BFF, 0x7FFF, 0x8000}},
    {Type::kBF16, {8, 7, 127, 0, true, true, 0x7F7F, 0x7FFF, 0x8000}},
    {Type::kF32, {8, 23, 127, 0, true, true, 0x7F7FFFFF, 0x7FFFFFFF, 0x80000000}},
    {Type::kF64, {11, 52, 1023, 0, true, true, 0x7FEFFFFFFFFFFFFF, 0xFFF8000000000000, 0x8000000000000000}},
};

struct NarrowRow {
  NarrowFormat narrow;
  int field_bits;
  int random_shifts[4], random_bits;  // by position, the highest first
  FloatFormat format;
};
// tf32 is not rounded by random bits.
constexpr NarrowRow kNarrowRows[] = {
    {NarrowFormat::kNone, 0, {}, 0, {}},
    {NarrowFormat::kTF32, 32, {}, 0, {8, 10, 127, 13, true, true, 0x3FBFF, 0x7FFFE000, 0x80000000}},
    {NarrowFormat::kE4M3, 8, {16, 16, 0, 0}, 16, {4, 3, 7, 0, false, true, 0x7E, 0x7F, 0x80}},
    {NarrowFormat::kE5M2, 8, {16, 16, 0, 0}, 16, {5, 2, 15, 0, true, true, 0x7B, 0x7F, 0x80}},
    {NarrowFormat::kE2M3, 8, {16, 16, 0, 0}, 16, {2, 3, 1, 0, false, false, 0x1F, 0x1F, 0x20}},
    {NarrowFormat::kE3M2, 8, {16, 16, 0, 0}, 16, {3, 2, 3, 0, false, false, 0x1F, 0x1F, 0x20}},
    {NarrowFormat::kE2M1, 4, {24, 8, 16, 0}, 8, {2, 1, 1, 0, false, false, 0x7, 0x7, 0x8}},
    {NarrowFormat::kUE8M0, 8, {}, 0, {}},  // neither sign nor zero
};
static_assert(std::size(kNarrowRows) == kCountOf<NarrowFormat>);

constexpr bool InOrder() {
  for (size_t n = 0; n < std::size(kTypes); ++n) {
    if (static_cast<size_t>(kTypes[n].type) != static_cast<size_t>(Type::kF16) + n) return false;
  }
  for (size_t n = 0; n < std::size(kNarrowRows); ++n) {
    if (static_cast<size_t>(kNarrowRows[n].narrow) != n) return false;
  }
  return true;
}
static_assert(InOrder());

const NarrowRow& RowOf(NarrowFormat format) { return kNarrowRows[static_cast<size_t>(format)]; }

}  // namespace

const FloatFormat& FormatOf(Type type) {
  CHECK(IsFloat(type), "not a float type");
  return kTypes[static_cast<size_t>(type) - static_cast<size_t>(Type::kF16)].format;
}

const FloatFormat& FormatOf(NarrowFormat format) {
  const FloatFormat& found = RowOf(format).format;
  CHECK(found.exponent_bits != 0, "not a signed narrow format");
  return found;
}

int FieldBits(NarrowFormat format) { return RowOf(format).field_bits; }

RandomField RandomFieldOf(NarrowFormat format, size_t position) {
  const NarrowRow& row = RowOf(format);
  return {row.random_shifts[position & 3], row.random_bits};
}

}  // namespace ptx2cpu::ir
