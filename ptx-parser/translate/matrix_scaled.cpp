// 9.7.14.5 with a kind: products of elements with 4 to 8 bits, plain or with a scale for each block of k, as
// the manual defines them: no GPU has recorded them. Elements become f16 and their products are summed in f32
// within a block. Blocks are scaled and added to the accumulator in f64, and the result is rounded once.
#include <fmt/format.h>

#include "ptx-parser/translate/image_operands.h"
#include "ptx-parser/translate/matrix_pairs.h"
#include "ptx-parser/translate/rows.h"
#include "ptx-parser/translate/word_operations.h"

namespace ptx2cpu::ptx::rows {

using ir::Opcode;
using ir::Type;
using ir::ValueId;
using ir::matrix::Product;
using Operands = std::span<const ast::Operand>;

namespace {

constexpr ir::Attrs kNearest{.rounding = ir::Rounding::kNearestEven};
constexpr size_t kSums = 4;  // of a lane: two columns of two rows

enum class ScaleType : uint8_t { kNone, kUE8M0, kUE4M3 };

// The kinds: depth without sparsity, and how many blocks of k have scales (0: none).
struct Kind {
  std::string_view word, scale;
  Packing packing;
  uint32_t depth;
  uint32_t blocks;
  bool is_default;  // the scale's word may be left out
};
constexpr Kind kKinds[] = {
    {"kind::f8f6f4", "none", Packing::kBytes, 32, 0, true},
    {"kind::mxf8f6f4", "scale_vec::1X", Packing::kBytes, 32, 1, true},
    {"kind::mxf4", "scale_vec::2X", Packing::kFourBits, 64, 2, true},
    {"kind::mxf4nvf4", "scale_vec::2X", Packing::kFourBits, 64, 2, false},
    {"kind::mxf4nvf4", "scale_vec::4X", Packing::kFourBits, 64, 4, false},
};

const Kind* KindOf(const Emitter& e) {
  for (const Kind& kind : kKinds) {
    if (e.mods().At("kind") != Word(kind.word)) continue;
    const Word scale = e.mods().At("scale");
    if (scale ? scale == Word(kind.scale) : kind.is_default) return &kind;
  }
  return nullptr;
}

ScaleType ScaleTypeOf(const Emitter& e) {
  if (e.mods().last() == PtxType::kUE8M0) return ScaleType::kUE8M0;
  return e.mods().last() == PtxType::kUE4M3 ? ScaleType::kUE4M3 : ScaleType::kNone;
}

bool HasTypes(const Emitter& e, const Kind& kind) {
  const auto& types = e.mods().types;
  const auto is_narrow = [](PtxType type) {
    return IsFp8(type) || type == PtxType::kE2M1 || type == PtxType::kE2M3 || type == PtxType::kE3M2;
  };
  if (!is_narrow(types[1]) || !is_narrow(types[2]) || types[0] != types[3]) return false;
  if (kind.packing == Packing::kFourBits && (types[1] != PtxType::kE2M1 || types[2] != PtxType::kE2M1))
    return false;
  if (types[0] != PtxType::kF32 && (types[0] != PtxType::kF16 || kind.blocks != 0)) return false;
  const ScaleType scale = ScaleTypeOf(e);
  if (kind.blocks == 0) return scale == ScaleType::kNone && !e.Has("block_scale");
  if (!e.Has("block_scale") || scale == ScaleType::kNone) return false;
  return scale == ScaleType::kUE8M0 || kind.blocks == 4;
}

bool HasShape(const Emitter& e, const Kind& kind, bool is_sparse) {
  const MatrixShape shape = ShapeOf(e);
  return shape.m == 16 && shape.n == 8 && shape.k == kind.depth * (is_sparse ? 2 : 1) &&
         e.mods().At("layout") == Word("row") && e.mods().At("layout2") == Word("col");
}

size_t CountOf(const Emitter& e, const ast::Operand& o) {
  return o.kind == ast::OperandKind::kVector ? e.ast.Children(o).size() : 1;
}

ValueId SumOfWords(Emitter& e, ValueId a, ValueId b) { return e.b.Binary(Opcode::kAdd, Type::kI32, a, b); }
ValueId Wide(Emitter& e, ValueId value) { return e.b.Convert(Opcode::kFConvert, Type::kF64, value); }
ValueId TimesWide(Emitter& e, ValueId a, ValueId b) {
  return e.b.Binary(Opcode::kFMul, Type::kF64, a, b, kNearest);
}

// The number that a byte of scales is, as f64. All ones, without the sign of ue4m3, are NaN.
ValueId ScaleOf(Emitter& e, ValueId byte, ScaleType type) {
  if (type == ScaleType::kUE4M3) {
    const ValueId magnitude = e.b.Convert(Opcode::kTrunc, Type::kI16, And(e, byte, 0x7f));
    const ir::InstId id = e.b.Make(Opcode::kFromNarrow, Type::kF16, {magnitude},
                                   {.narrow = ir::NarrowFormat::kE4M3}, Type::kI16, 2);
    return Wide(e, e.b.Result(id, 0));
  }
  constexpr uint64_t kBias = 1023 - 127, kMantissa = 52, kNan = 0x7ff8000000000000;
  const ValueId exponent = e.b.Convert(Opcode::kZext, Type::kI64, SumOfWords(e, byte, Number(e, kBias)));
  const ValueId bits = e.b.Binary(Opcode::kShl, Type::kI64, exponent, Number(e, kMantissa));
  const ValueId is_nan = e.b.Icmp(ir::Compare::kEq, byte, Number(e, 0xff));
  return e.b.Bitcast(Type::kF64, e.b.Select(is_nan, e.Const(Type::kI64, kNan), bits));
}

// The scales of A or B. The scales of a row of A are in the first lane (for the row eight below, in the
// second lane) of a pair of its four lanes, those of a column of B in one of its four lanes; thread-id
// chooses the pair or lane. Byte-id is the byte of block 0.
class Scales {
 public:
  Scales(Emitter& e, const ast::Operand& data, const ast::Operand& selector, ScaleType type)
      : e_(e), type_(type), word_(e.ReadOperand(data, Type::kI32)) {
    const std::vector<ValueId> parts = ReadList(e, selector, Type::kI16);
    byte_ = e.b.Convert(Opcode::kZext, Type::kI32, parts[0]);
    thread_ = e.b.Convert(Opcode::kZext, Type::kI32, parts[1]);
    lane_ = e.b.SpecialRegister(ir::Special::kLaneId);
  }
  ValueId OfRow(bool lower, uint32_t block) {
    const ValueId four = e_.b.Binary(Opcode::kAnd, Type::kI32, lane_, Number(e_, 28));
    return At(
        SumOfWords(e_, SumOfWords(e_, four, SumOfWords(e_, thread_, thread_)), Number(e_, lower ? 1 : 0)),
        block);
  }
  ValueId OfColumn(bool odd, uint32_t block) {
    const ValueId pair = e_.b.Binary(Opcode::kAnd, Type::kI32, lane_, Number(e_, 3));
    const ValueId first = e_.b.Binary(Opcode::kShl, Type::kI32, pair, Number(e_, 3));
    return At(SumOfWords(e_, SumOfWords(e_, first, thread_), Number(e_, odd ? 4 : 0)), block);
  }

 private:
  ValueId At(ValueId lane, uint32_t block) {
    const ValueId bit =
        e_.b.Binary(Opcode::kShl, Type::kI32, SumOfWords(e_, byte_, Number(e_, block)), Number(e_, 3));
    const ValueId byte = e_.b.Binary(Opcode::kShrU, Type::kI32, FromLane(e_, word_, lane), bit);
    return ScaleOf(e_, e_.b.Binary(Opcode::kAnd, Type::kI32, byte, Number(e_, 0xff)), type_);
  }
  Emitter& e_;
  ScaleType type_;
  ValueId word_, byte_, thread_, lane_;
};

// Elements of 4 bits as the words of products with 32 elements of k: word 2 i and 2 i + 1 of A (row r and the
// row eight below) belong to word i of B.
struct FourBits {
  std::vector<ValueId> a, b;
};

ValueId LaneOfFour(Emitter& e) { return And(e, e.b.SpecialRegister(ir::Special::kLaneId), 3); }

// Where the two pairs of a chunk of eight elements are, in 4 bits; the elements are the low 16 bits of
// `kept`.
ValueId WholeChunk(Emitter& e, ValueId kept, ValueId places) {
  const auto moved = [&](ValueId pair, ValueId place) {
    return e.b.Binary(Opcode::kShl, Type::kI32, pair, Left(e, And(e, place, 3), 3));
  };
  const ValueId first = moved(And(e, kept, 0xff), places),
                second = moved(And(e, Right(e, kept, 8), 0xff), Right(e, places, 2));
  return e.b.Binary(Opcode::kOr, Type::kI32, first, second);
}

// m16n8k128 with a sparse A. Lane q of four has elements of the columns 16 q to 16 q + 15 of each half of A's
// row: two whole words. The words of B for these are those of lane 2 q and 2 q + 1 modulo 4, of the half's
// first register for q below 2. Metadata of 32 bits for a half of a row is in lane 0 for the first half and
// in lane 2 for the second, that of the row eight below in lanes 1 and 3.
FourBits WithoutSparsity(Emitter& e, const FourBits& sparse, ValueId metadata) {
  FourBits whole;
  const ValueId lane = e.b.SpecialRegister(ir::Special::kLaneId), four = And(e, lane, 28), q = LaneOfFour(e);
  const ValueId is_second = e.b.Icmp(ir::Compare::kNe, And(e, q, 2), Number(e, 0));
  for (uint32_t half = 0; half < 2; ++half) {
    ValueId places[2];
    for (uint32_t lower = 0; lower < 2; ++lower) {
      const ValueId word = FromLane(e, metadata, SumOfWords(e, four, Number(e, 2 * half + lower)));
      places[lower] = e.b.Binary(Opcode::kShrU, Type::kI32, word, Left(e, q, 3));
    }
    for (uint32_t chunk = 0; chunk < 2; ++chunk) {
      for (uint32_t lower = 0; lower < 2; ++lower) {
        whole.a.push_back(WholeChunk(e, Right(e, sparse.a[2 * half + lower], 16 * chunk),
                                     Right(e, places[lower], 4 * chunk)));
      }
      const ValueId from = SumOfWords(e, four, SumOfWords(e, Left(e, And(e, q, 1), 1), Number(e, chunk)));
      whole.b.push_back(e.b.Select(is_second, FromLane(e, sparse.b[2 * half + 1], from),
                                   FromLane(e, sparse.b[2 * half], from)));
    }
  }
  return whole;
}

// The sum of each block of k. Where half of the words hold two blocks, lanes 0 and 1 of four have the first.
std::vector<std::vector<ValueId>> BlocksOfFourBits(Emitter& e, const FourBits& words, uint32_t blocks) {
  const Product form{.rows = 16, .depth = 8, .c = MatrixElement::kF32};
  const ValueId is_second = e.b.Icmp(ir::Compare::kNe, And(e, LaneOfFour(e), 2), Number(e, 0)),
                zero = Number(e, 0);
  const auto part = [&](ValueId word, uint32_t half) {
    if (blocks == 2) return word;
    return half == 0 ? e.b.Select(is_second, zero, word) : e.b.Select(is_second, word, zero);
  };
  const size_t in_half = words.b.size() / 2;
  std::vector<std::vector<ValueId>> sums;
  for (uint32_t block = 0; block < blocks; ++block) {
    const size_t first = block * 2 / blocks * in_half;
    std::vector<ValueId> sum(kSums, e.Const(Type::kF32, 0));
    for (size_t n = first; n < first + in_half; ++n) {
      for (size_t p = 0; p < 4; ++p) {
        const auto pair = [&](ValueId word) {
          return PairOf(e, part(word, block % 2), PtxType::kE2M1, Packing::kFourBits, p);
        };
        sum = MultiplyMatrices(e, form,
                               {{pair(words.a[2 * n]), pair(words.a[2 * n + 1])}, {pair(words.b[n])}, sum});
      }
    }
    sums.push_back(std::move(sum));
  }
  return sums;
}

std::vector<ValueId> SumOfBytes(Emitter& e, Operands operands, const Kind& kind, bool is_sparse) {
  Product form{.rows = 16, .depth = is_sparse ? kind.depth : kind.depth / 2, .c = MatrixElement::kF32};
  form.sparse = is_sparse;
  const std::vector<ValueId> a = ReadList(e, operands[1], Type::kI32),
                             b = ReadList(e, operands[2], Type::kI32);
  return SumOfPairs(
      e, form,
      is_sparse ? SparsePairs(e, a, b, e.ReadOperand(operands[4], Type::kI32)) : DensePairs(e, a, b));
}

// The accumulators as f64: four of f32, or two words of f16.
std::vector<ValueId> WideAccumulators(Emitter& e, const ast::Operand& operand, bool is_half) {
  std::vector<ValueId> wide;
  for (ValueId value : ReadList(e, operand, is_half ? Type::kI32 : Type::kF32)) {
    if (!is_half) {
      wide.push_back(Wide(e, value));
      continue;
    }
    for (ValueId part : e.b.Unpack(Type::kI16, value)) wide.push_back(Wide(e, e.b.Bitcast(Type::kF16, part)));
  }
  return wide;
}

void WriteAccumulators(Emitter& e, const ast::Operand& operand, const std::vector<ValueId>& wide,
                       bool is_half) {
  const Type type = is_half ? Type::kF16 : Type::kF32;
  std::vector<ValueId> values;
  for (ValueId value : wide) values.push_back(e.b.Convert(Opcode::kFConvert, type, value, kNearest));
  if (is_half)
    values = {e.b.Pack(Type::kI32, {values[0], values[1]}), e.b.Pack(Type::kI32, {values[2], values[3]})};
  for (size_t n = 0; n < values.size(); ++n) e.WriteOperand(e.ast.Children(operand)[n], values[n], false);
}

// Operands: D, A, B, C, for a sparse A metadata and selector, for each scaled matrix its scales and {byte,
// thread}.
bool HasOperands(Emitter& e, Operands operands, const Kind& kind, bool is_sparse, bool is_half) {
  const size_t wanted = 4 + (is_sparse ? 2u : 0u) + (kind.blocks != 0 ? 4u : 0u);
  const size_t of_b = is_sparse ? 4 : 2, of_c = is_half ? 2 : kSums;
  bool good = operands.size() == wanted && CountOf(e, operands[0]) == of_c && CountOf(e, operands[1]) == 4 &&
              CountOf(e, operands[2]) == of_b && CountOf(e, operands[3]) == of_c;
  for (size_t n = wanted; good && kind.blocks != 0 && n > wanted - 4; n -= 2)
    good = CountOf(e, operands[n - 1]) == 2;
  if (good && is_sparse) good = operands[5].kind == ast::OperandKind::kInteger && operands[5].integer == 0;
  if (!good) e.Fail(ErrorCode::kSyntax, "the product takes other operands");
  return good;
}

}  // namespace

void mma_scaled(Emitter& e) {
  const bool is_sparse = e.Has("sp") || e.Has("sp::ordered_metadata");
  const Kind* kind = KindOf(e);
  if (kind == nullptr || !HasTypes(e, *kind) || !HasShape(e, *kind, is_sparse))
    return e.Fail(ErrorCode::kSyntax,
                  "there is no such product: kind, shape and types do not belong together");
  const Operands operands = e.ast.Operands(*e.instruction);
  const bool is_half = e.mods().types[0] == PtxType::kF16;
  if (!HasOperands(e, operands, *kind, is_sparse, is_half)) return;
  std::vector<std::vector<ValueId>> blocks;
  if (kind->packing == Packing::kFourBits) {
    const FourBits words{ReadList(e, operands[1], Type::kI32), ReadList(e, operands[2], Type::kI32)};
    blocks = BlocksOfFourBits(
        e, is_sparse ? WithoutSparsity(e, words, e.ReadOperand(operands[4], Type::kI32)) : words,
        kind->blocks);
  } else {
    blocks.push_back(SumOfBytes(e, operands, *kind, is_sparse));
  }
  std::vector<ValueId> sums = WideAccumulators(e, operands[3], is_half);
  const size_t first_scale = is_sparse ? 6 : 4;
  std::optional<Scales> of_a, of_b;
  if (kind->blocks != 0) {
    of_a.emplace(e, operands[first_scale], operands[first_scale + 1], ScaleTypeOf(e));
    of_b.emplace(e, operands[first_scale + 2], operands[first_scale + 3], ScaleTypeOf(e));
  }
  for (uint32_t block = 0; block < blocks.size(); ++block) {
    for (size_t n = 0; n < kSums; ++n) {
      ValueId term = Wide(e, blocks[block][n]);
      if (of_a)
        term =
            TimesWide(e, TimesWide(e, term, of_a->OfRow(n >= 2, block)), of_b->OfColumn(n % 2 == 1, block));
      sums[n] = e.b.Binary(Opcode::kFAdd, Type::kF64, sums[n], term, kNearest);
    }
  }
  WriteAccumulators(e, operands[0], sums, is_half);
}

}  // namespace ptx2cpu::ptx::rows
