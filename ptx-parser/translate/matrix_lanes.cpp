// Products that lanes compute on their own: an H100 does m8n8k4 of f16 so, with chains of fused multiply-adds
// in f32 to which the accumulator is added at the end.
#include <map>

#include "ptx-parser/translate/matrix.h"
#include "ptx-parser/translate/rows.h"
#include "ptx-parser/translate/word_operations.h"

namespace ptx2cpu::ptx {

using ir::Opcode;
using ir::Type;
using ir::ValueId;
using ir::matrix::Product;

namespace {

ValueId Plus(Emitter& e, ValueId a, uint64_t b) { return WordOperation(e, Opcode::kAdd, a, b); }
ValueId Times(Emitter& e, ValueId a, uint64_t b) { return WordOperation(e, Opcode::kMul, a, b); }

// The value of 32 bits that another lane has.
ValueId From(Emitter& e, ValueId value, ValueId lane) {
  return e.b
      .Inst2(Opcode::kShuffle, Type::kI32, {value, lane, Number(e, 31), Number(e, kAllLanes)},
             {.shuffle = ir::ShuffleMode::kIdx})
      .first;
}
ValueId DoubleFrom(Emitter& e, ValueId value, ValueId lane) {
  const std::vector<ValueId> words = e.b.Unpack(Type::kI32, e.b.Bitcast(Type::kI64, value));
  return e.b.Bitcast(Type::kF64, e.b.Pack(Type::kI64, {From(e, words[0], lane), From(e, words[1], lane)}));
}

// 16 bits of an f16, as f32.
ValueId WidenedHalf(Emitter& e, ValueId half) {
  return e.b.Convert(Opcode::kFConvert, Type::kF32, e.b.Bitcast(Type::kF16, half));
}

std::vector<ValueId> Halves(Emitter& e, const std::vector<ValueId>& words) {
  std::vector<ValueId> values;
  for (ValueId word : words) {
    for (ValueId part : e.b.Unpack(Type::kI16, word)) values.push_back(WidenedHalf(e, part));
  }
  return values;
}

// One of the eight lanes of a product of m8n8k4: in the lower half of the warp they have rows or columns 0 to
// 3, in the upper half 4 to 7.
class Quad {
 public:
  explicit Quad(Emitter& e)
      : e_(e),
        lane_(e.b.SpecialRegister(ir::Special::kLaneId)),
        base_(And(e, lane_, 12)),
        upper_(And(e, lane_, 16)) {}

  ValueId lane() const { return lane_; }
  ValueId upper() const { return upper_; }
  // Elements 0 to 3 of a vector of a multiplicand; lane `index` % 4 of a half has vector `index`.
  std::vector<ValueId> Vector(const std::vector<ValueId>& registers, ValueId index, ValueId half) {
    const ValueId lane = Sum(base_, Sum(index, half));
    std::vector<ValueId> elements;
    for (ValueId word : registers) {
      for (ValueId part : e_.b.Unpack(Type::kI16, From(e_, word, lane)))
        elements.push_back(WidenedHalf(e_, part));
    }
    return elements;
  }
  // The same where lane k of a half has vectors along the other side: element `at` (0 to 3) of each k.
  std::vector<ValueId> Across(const std::vector<ValueId>& registers, ValueId at, ValueId half) {
    const ValueId high = Bit(at, 2), odd = Bit(at, 1);
    std::vector<ValueId> elements;
    for (uint64_t k = 0; k < 4; ++k) {
      const ValueId lane = Sum(base_, Plus(e_, half, k));
      const ValueId word = e_.b.Select(high, From(e_, registers[1], lane), From(e_, registers[0], lane));
      const std::vector<ValueId> parts = e_.b.Unpack(Type::kI16, word);
      elements.push_back(WidenedHalf(e_, e_.b.Select(odd, parts[1], parts[0])));
    }
    return elements;
  }

  // Accumulators of f16, four words of row lane % 4, where those of f32 are.
  std::vector<ValueId> AccumulatorsOf(const std::vector<ValueId>& words) {
    const ValueId odd_pair = Bit(lane_, 2);
    std::vector<ValueId> values;
    for (uint64_t i = 0; i < 8; ++i) {
      const ValueId row = Plus(e_, And(e_, lane_, 1), i & 2), lane = Sum(base_, Sum(upper_, row));
      const size_t first = (i & 4) / 2;
      const ValueId word =
          e_.b.Select(odd_pair, From(e_, words[first + 1], lane), From(e_, words[first], lane));
      values.push_back(WidenedHalf(e_, e_.b.Unpack(Type::kI16, word)[i & 1]));
    }
    return values;
  }

 private:
  ValueId Sum(ValueId a, ValueId b) { return e_.b.Binary(Opcode::kAdd, Type::kI32, a, b); }
  ValueId Bit(ValueId value, uint64_t bit) {
    return e_.b.Icmp(ir::Compare::kNe, And(e_, value, bit), Number(e_, 0));
  }

  Emitter& e_;
  ValueId lane_, base_, upper_;
};

}  // namespace

void MultiplyQuads(Emitter& e) {
  const auto& types = e.mods().types;
  const bool result_is_half = types[0] == PtxType::kF16, sum_is_half = types[3] == PtxType::kF16;
  const auto count = [&](size_t operand) {
    const ast::Operand& o = e.Operand(operand);
    return o.kind == ast::OperandKind::kVector ? e.ast.Children(o).size() : 1;
  };
  if (count(0) != (result_is_half ? 4u : 8u) || count(1) != 2 || count(2) != 2 ||
      count(3) != (sum_is_half ? 4u : 8u) || (result_is_half && !sum_is_half) || types[2] != PtxType::kF16) {
    e.Fail(ErrorCode::kSyntax, "there is no such product: the registers and types do not belong together");
    return;
  }
  const bool a_by_rows = e.mods().At("layout") == Word("row"),
             b_by_columns = e.mods().At("layout2") == Word("col");
  const std::vector<ValueId> a = e.ReadVector(1, Type::kI32), b = e.ReadVector(2, Type::kI32);
  std::vector<ValueId> c = e.ReadVector(3, sum_is_half ? Type::kI32 : Type::kF32);
  Quad quad(e);
  if (sum_is_half) c = result_is_half ? Halves(e, c) : quad.AccumulatorsOf(c);
  const ir::Attrs nearest{.rounding = ir::Rounding::kNearestEven};
  std::vector<ValueId> sums;
  // In accumulators of f16, element i is column i of row lane % 4. In accumulators of f32, a lane has four
  // columns of row lane % 2 and of the row two below.
  const std::vector<uint64_t> row_bits =
      result_is_half ? std::vector<uint64_t>{0} : std::vector<uint64_t>{0, 2};
  const std::vector<uint64_t> column_bits =
      result_is_half ? std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7} : std::vector<uint64_t>{0, 1, 4, 5};
  std::map<uint64_t, std::vector<ValueId>> rows, columns;
  for (const uint64_t i : row_bits) {
    const ValueId row = result_is_half ? And(e, quad.lane(), 3) : Plus(e, And(e, quad.lane(), 1), i);
    rows[i] = a_by_rows ? quad.Vector(a, row, quad.upper()) : quad.Across(a, row, quad.upper());
  }
  for (const uint64_t i : column_bits) {
    const ValueId column = result_is_half ? Number(e, i & 3) : Plus(e, And(e, quad.lane(), 2), i & 1);
    const ValueId half = Number(e, (i & 4) * 4);
    columns[i] = b_by_columns ? quad.Vector(b, column, half) : quad.Across(b, column, half);
  }
  for (uint64_t i = 0; i < 8; ++i) {
    const std::vector<ValueId>&x = rows[i & row_bits.back()], &y = columns[i & column_bits.back()];
    ValueId sum = e.Const(Type::kF32, 0);
    for (size_t k = 0; k < 4; ++k) sum = e.b.Ternary(Opcode::kFFma, Type::kF32, x[k], y[k], sum, nearest);
    sums.push_back(e.b.Binary(Opcode::kFAdd, Type::kF32, sum, c[i], nearest));
  }
  if (!result_is_half) return e.WriteVector(0, sums, false);
  std::vector<ValueId> packed;
  for (size_t n = 0; n < 4; ++n) {
    auto narrow = [&](ValueId value) { return e.b.Convert(Opcode::kFConvert, Type::kF16, value, nearest); };
    packed.push_back(e.b.Pack(Type::kI32, {narrow(sums[2 * n]), narrow(sums[2 * n + 1])}));
  }
  e.WriteVector(0, packed, false);
}

std::vector<ValueId> MultiplyRounded(Emitter& e, const Product& form, const MatrixOperands& operands,
                                     ir::Rounding rounding) {
  const ValueId lane = e.b.SpecialRegister(ir::Special::kLaneId);
  const ValueId first_of_row = And(e, lane, 28), quarter = And(e, lane, 3);
  const uint32_t halves = form.rows / 8;
  std::vector<ValueId> sums = operands.c;
  for (uint32_t k = 0; k < form.depth; ++k) {
    for (uint32_t n = 0; n < sums.size(); ++n) {
      const ValueId a = DoubleFrom(e, operands.a[k / 4 * halves + n / 2], Plus(e, first_of_row, k % 4));
      const ValueId b = DoubleFrom(e, operands.b[k / 4], Plus(e, Times(e, quarter, 8), n % 2 * 4 + k % 4));
      sums[n] = e.b.Ternary(Opcode::kFFma, Type::kF64, a, b, sums[n], {.rounding = rounding});
    }
  }
  return sums;
}

}  // namespace ptx2cpu::ptx
