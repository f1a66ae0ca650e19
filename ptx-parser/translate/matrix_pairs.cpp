#include "ptx-parser/translate/matrix_pairs.h"

#include "ptx-parser/translate/word_operations.h"

namespace ptx2cpu::ptx {

using ir::Opcode;
using ir::Type;
using ir::ValueId;
using ir::matrix::Product;

namespace {

ValueId Or(Emitter& e, ValueId a, ValueId b) { return e.b.Binary(Opcode::kOr, Type::kI32, a, b); }

constexpr struct {
  PtxType type;
  ir::NarrowFormat format;
} kFormats[] = {
    {PtxType::kE4M3, ir::NarrowFormat::kE4M3}, {PtxType::kE5M2, ir::NarrowFormat::kE5M2},
    {PtxType::kE2M3, ir::NarrowFormat::kE2M3}, {PtxType::kE3M2, ir::NarrowFormat::kE3M2},
    {PtxType::kE2M1, ir::NarrowFormat::kE2M1},
};

ir::NarrowFormat PairFormatOf(PtxType type) {
  for (const auto& row : kFormats) {
    if (row.type == type) return row.format;
  }
  CHECK(false, "no narrow format");
  return ir::NarrowFormat::kNone;
}

// The operand of the conversion of two elements: their bits.
ValueId BitsOfPair(Emitter& e, ValueId word, PtxType type, Packing packing, size_t number) {
  if (packing == Packing::kFourBits) return e.b.Unpack(Type::kI8, word)[number];
  if (type != PtxType::kE2M1) return e.b.Unpack(Type::kI16, word)[number];
  const ValueId low = And(e, Right(e, word, number * 16 + 2), 0x0f);
  const ValueId high = And(e, Right(e, word, number * 16 + 6), 0xf0);
  return e.b.Convert(Opcode::kTrunc, Type::kI8, Or(e, low, high));
}

}  // namespace

ValueId FromLane(Emitter& e, ValueId value, ValueId lane) {
  return e.b
      .Inst2(Opcode::kShuffle, Type::kI32, {value, lane, Number(e, 31), Number(e, kAllLanes)},
             {.shuffle = ir::ShuffleMode::kIdx})
      .first;
}

ValueId PairOf(Emitter& e, ValueId word, PtxType type, Packing packing, size_t number) {
  const ValueId bits = BitsOfPair(e, word, type, packing, number);
  const ir::InstId id =
      e.b.Make(Opcode::kFromNarrow, Type::kF16, {bits}, {.narrow = PairFormatOf(type)}, e.f.type_of(bits), 2);
  return e.b.Pack(Type::kI32, {e.b.Result(id, 0), e.b.Result(id, 1)});
}

PairOperands DensePairs(Emitter& e, const std::vector<ValueId>& a, const std::vector<ValueId>& b) {
  PairOperands pairs;
  const auto& types = e.mods().types;
  for (size_t p = 0; p < 2; ++p) {
    for (ValueId word : a) pairs.a[p].push_back(PairOf(e, word, types[1], Packing::kBytes, p));
    for (ValueId word : b) pairs.b[p].push_back(PairOf(e, word, types[2], Packing::kBytes, p));
  }
  return pairs;
}

namespace {

// Every second group of four bits, in 16 bits.
ValueId Gathered(Emitter& e, ValueId word) {
  const ValueId bytes = And(e, word, 0x0f0f0f0f);
  const ValueId halves = And(e, Or(e, bytes, Right(e, bytes, 4)), 0x00ff00ff);
  return And(e, Or(e, halves, Right(e, halves, 8)), 0xffff);
}

}  // namespace

// A lane's word of A has an even chunk's elements and an odd one's. A word of B is a chunk: lanes 2j of four
// have even ones, lanes 2j + 1 odd ones, and in the product of f16 both of them share one. Metadata of 16
// bits for a row is in the lower half of lanes 0 and 1, that of the row eight below in the upper half.
PairOperands SparsePairs(Emitter& e, const std::vector<ValueId>& a, const std::vector<ValueId>& b,
                         ValueId metadata) {
  PairOperands pairs;
  const auto& types = e.mods().types;
  const ValueId lane = e.b.SpecialRegister(ir::Special::kLaneId);
  const ValueId odd_bit = And(e, lane, 1);
  const ValueId is_odd = e.b.Icmp(ir::Compare::kNe, odd_bit, Number(e, 0));
  const ValueId partner = e.b.Binary(Opcode::kXor, Type::kI32, lane, Number(e, 1));
  for (ValueId word : b) {
    const ValueId other = FromLane(e, word, partner);
    for (size_t p = 0; p < 2; ++p) {
      const ValueId chunk = p == 0 ? e.b.Select(is_odd, other, word) : e.b.Select(is_odd, word, other);
      const ValueId low = PairOf(e, chunk, types[2], Packing::kBytes, 0),
                    high = PairOf(e, chunk, types[2], Packing::kBytes, 1);
      pairs.b[p].push_back(e.b.Select(is_odd, high, low));
    }
  }
  const ValueId first = e.b.Binary(Opcode::kAdd, Type::kI32, And(e, lane, 28), Left(e, odd_bit, 1));
  const ValueId second = e.b.Binary(Opcode::kAdd, Type::kI32, first, Number(e, 1));
  const ValueId upper_rows = FromLane(e, metadata, first), lower_rows = FromLane(e, metadata, second);
  for (size_t p = 0; p < 2; ++p) {
    for (ValueId word : a) pairs.a[p].push_back(PairOf(e, word, types[1], Packing::kBytes, p));
    pairs.metadata[p] = Or(e, Gathered(e, Right(e, upper_rows, 4 * p)),
                           Left(e, Gathered(e, Right(e, lower_rows, 4 * p)), 16));
  }
  return pairs;
}

std::vector<ValueId> SumOfPairs(Emitter& e, const Product& form, const PairOperands& pairs) {
  std::vector<ValueId> sums(form.registers_of_c(), e.Const(RegisterType(form.c), 0));
  for (size_t p = 0; p < 2; ++p)
    sums = MultiplyMatrices(e, form, {pairs.a[p], pairs.b[p], sums, pairs.metadata[p]});
  return sums;
}

}  // namespace ptx2cpu::ptx
