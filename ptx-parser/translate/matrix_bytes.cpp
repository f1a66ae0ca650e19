// 9.7.14.5.15 and 16: ldmatrix and stmatrix of bytes, from the manual: no GPU has recorded them.
// Lanes load and store on their own; the addresses of rows come from the lanes that hold them.
#include "ptx-parser/translate/matrix.h"
#include "ptx-parser/translate/memory_attributes.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx::rows {

using ir::Opcode;
using ir::Type;
using ir::ValueId;

namespace {

enum class Source : uint8_t { kBytes, kSixBits, kFourBits };

// The rows of the matrices, from the view of one lane: lane 4 r + q.
class Rows {
 public:
  Rows(Emitter& e, const Place& place)
      : e_(e),
        space_(place.space),
        words_(e.b.Unpack(Type::kI32, place.address)),
        lane_(e.b.SpecialRegister(ir::Special::kLaneId)) {}

  ir::Space space() const { return space_; }
  ValueId r() { return Shifted(lane_, 2); }
  ValueId four_q() { return Times4(And(lane_, 3)); }
  ValueId two_q() { return Plus(And(lane_, 3), And(lane_, 3)); }
  ValueId Number(uint64_t value) { return e_.Const(Type::kI32, value); }
  ValueId Plus(ValueId a, ValueId b) { return e_.b.Binary(Opcode::kAdd, Type::kI32, a, b); }
  ValueId Plus(ValueId a, uint64_t b) { return b == 0 ? a : Plus(a, Number(b)); }

  // The address that lane `number` holds.
  ValueId Address(ValueId number) {
    std::vector<ValueId> words;
    for (ValueId word : words_) {
      words.push_back(e_.b.Inst2(Opcode::kShuffle, Type::kI32, {word, number, Number(31), Number(kAllLanes)},
                                 {.shuffle = ir::ShuffleMode::kIdx})
                          .first);
    }
    return e_.b.Pack(Type::kI64, words);
  }
  ValueId At(ValueId address, ValueId offset) {
    return e_.b.Binary(Opcode::kAdd, Type::kI64, address, e_.b.Convert(Opcode::kZext, Type::kI64, offset));
  }
  ValueId Byte(ValueId address, ValueId offset) {
    return e_.b.Convert(Opcode::kZext, Type::kI32, e_.b.Load(Type::kI8, space_, At(address, offset)));
  }
  // Element `index` of a row, in 8 bits. Four bits are in the middle of the byte, six are the low ones.
  ValueId Element(Source source, ValueId address, ValueId index) {
    if (source == Source::kBytes) return Byte(address, index);
    if (source == Source::kFourBits) {
      const ValueId by = Times4(And(index, 1));
      const ValueId bits =
          And(e_.b.Binary(Opcode::kShrU, Type::kI32, Byte(address, Shifted(index, 1)), by), 15);
      return Left(bits, 2);
    }
    const ValueId bit = Plus(Times4(index), Left(index, 1)), first = Shifted(bit, 3);
    const ValueId both = Plus(Byte(address, first), Left(Byte(address, Plus(first, 1)), 8));
    return And(e_.b.Binary(Opcode::kShrU, Type::kI32, both, And(bit, 7)), 63);
  }
  ValueId Joined(const std::vector<ValueId>& bytes) {
    std::vector<ValueId> narrow;
    for (ValueId byte : bytes) narrow.push_back(e_.b.Convert(Opcode::kTrunc, Type::kI8, byte));
    return e_.b.Pack(Type::kI32, narrow);
  }

 private:
  ValueId And(ValueId a, uint64_t mask) { return e_.b.Binary(Opcode::kAnd, Type::kI32, a, Number(mask)); }
  ValueId Shifted(ValueId a, uint64_t by) { return e_.b.Binary(Opcode::kShrU, Type::kI32, a, Number(by)); }
  ValueId Left(ValueId a, uint64_t by) { return e_.b.Binary(Opcode::kShl, Type::kI32, a, Number(by)); }
  ValueId Times4(ValueId a) { return Left(a, 2); }

  Emitter& e_;
  ir::Space space_;
  std::vector<ValueId> words_;
  ValueId lane_;
};

constexpr uint32_t kRowsOfNarrow = 8, kRowsOfSquare = 16;

}  // namespace

// m8n16: a register of lane 4 r + q has elements 4 q to 4 q + 3 of row r. m16n16 is transposed: its two
// registers have elements r and r + 8 of rows 4 q to 4 q + 3.
void ldmatrix_bytes(Emitter& e) {
  const Source source = e.Has("b6x16_p32")   ? Source::kSixBits
                        : e.Has("b4x16_p64") ? Source::kFourBits
                                             : Source::kBytes;
  const bool is_square = e.Has("m16n16");
  const uint32_t count = MatricesOf(e);
  if (!HasRegisters(e, 0, is_square ? 2 * count : count)) return;
  Rows rows(e, e.Address(1, SpaceOfWords(e)));
  std::vector<ValueId> registers;
  for (uint32_t matrix = 0; matrix < count; ++matrix) {
    if (!is_square) {
      const ValueId row = rows.Address(rows.Plus(rows.r(), matrix * kRowsOfNarrow));
      std::vector<ValueId> bytes;
      for (uint32_t n = 0; n < 4; ++n)
        bytes.push_back(rows.Element(source, row, rows.Plus(rows.four_q(), n)));
      registers.push_back(rows.Joined(bytes));
      continue;
    }
    std::vector<ValueId> addresses;
    for (uint32_t n = 0; n < 4; ++n)
      addresses.push_back(rows.Address(rows.Plus(rows.four_q(), matrix * kRowsOfSquare + n)));
    for (const uint32_t half : {0u, 8u}) {
      std::vector<ValueId> bytes;
      for (ValueId address : addresses)
        bytes.push_back(rows.Element(source, address, rows.Plus(rows.r(), half)));
      registers.push_back(rows.Joined(bytes));
    }
  }
  e.WriteVector(0, registers, false);
}

// m16n8, transposed: a register of lane 4 r + q has columns 2 q and 2 q + 1 of row r and of row r + 8, where
// an accumulator of 16 x 8 has them; a row in memory is a column.
void stmatrix_bytes(Emitter& e) {
  const uint32_t count = MatricesOf(e);
  if (!HasRegisters(e, 1, count)) return;
  Rows rows(e, e.WritableAddress(0, SpaceOfWords(e)));
  const std::vector<ValueId> registers = e.ReadVector(1, Type::kI32);
  for (uint32_t matrix = 0; matrix < count; ++matrix) {
    const std::vector<ValueId> bytes = e.b.Unpack(Type::kI8, registers[matrix]);
    for (uint32_t column = 0; column < 2; ++column) {
      const ValueId address = rows.Address(rows.Plus(rows.two_q(), matrix * kRowsOfNarrow + column));
      for (uint32_t half = 0; half < 2; ++half) {
        e.b.Store(Type::kI8, rows.space(), rows.At(address, rows.Plus(rows.r(), half * 8)),
                  {bytes[2 * half + column]});
      }
    }
  }
}

}  // namespace ptx2cpu::ptx::rows
