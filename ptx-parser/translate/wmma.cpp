// 9.7.14.4: wmma. The manual leaves open where a fragment has its elements; here they are where mma has them,
// which is also where an H100 has them as long as memory is contiguous along k. A product is one or two of
// mma's. D of 8 x 32 is computed as its transpose, 32 x 8, with the multiplicands exchanged.
#include <array>

#include "ptx-parser/translate/matrix.h"
#include "ptx-parser/translate/memory_attributes.h"
#include "ptx-parser/translate/rows.h"

namespace ptx2cpu::ptx {

using ir::Opcode;
using ir::Type;
using ir::ValueId;
using ir::matrix::Product;

namespace {

constexpr uint32_t kTileRows = 8, kWordsOfRow = 4;

// How a product is made of products with 8 columns, after the exchange.
struct Division {
  bool exchanged = false;
  uint32_t rows = 16;          // of one product: 8 or 16
  uint32_t row_blocks = 1;     // products one below the other
  uint32_t column_blocks = 1;  // and beside each other
  uint32_t depth = 16;
};

Division DivisionOf(const Emitter& e) {
  const MatrixShape shape = ShapeOf(e);
  Division d;
  d.exchanged = shape.m == 8 && shape.n == 32;
  const uint32_t m = d.exchanged ? shape.n : shape.m, n = d.exchanged ? shape.m : shape.n;
  d.rows = m == 8 ? 8 : 16;
  d.row_blocks = m / d.rows;
  d.column_blocks = n / kTileRows;
  d.depth = shape.k;
  return d;
}

uint32_t TilesOf(const Division& d, MatrixElement element) { return Product::Tiles(d.depth, element); }

// Where one register of a fragment begins in the matrix: its rows (columns of the right multiplicand) and k.
struct Tile {
  uint32_t row, k;
};

// The tiles of the left multiplicand are numbered along rows first, those of the right one along k.
std::vector<Tile> TilesOfFragment(const Division& d, MatrixElement element, bool is_left) {
  const uint32_t tiles = TilesOf(d, element), width = d.depth / tiles;
  std::vector<Tile> places;
  for (uint32_t block = 0; block < (is_left ? d.row_blocks : d.column_blocks); ++block) {
    const uint32_t rows = is_left ? d.rows : kTileRows;
    for (uint32_t n = 0; n < tiles * rows / kTileRows; ++n) {
      const uint32_t row = is_left ? n % (rows / kTileRows) : 0, k = is_left ? n / (rows / kTileRows) : n;
      places.push_back({block * rows + row * kTileRows, k * width});
    }
  }
  return places;
}

// f16 has eight registers for multiplicands of every shape: what is there is repeated.
size_t RegistersOfMultiplicand(MatrixElement element, size_t tiles) {
  return element == MatrixElement::kF16 ? 8 : tiles;
}

// The addresses of a matrix in memory.
class Memory {
 public:
  Memory(Emitter& e, const Place& place, size_t stride_operand, uint32_t stride, uint32_t bits)
      : e_(e), place_(place), bits_(bits), lane_(e.b.SpecialRegister(ir::Special::kLaneId)) {
    ValueId elements = e.Const(Type::kI64, stride);
    if (e.Present(stride_operand))
      elements = e.b.Convert(Opcode::kZext, Type::kI64, e.Read(stride_operand, Type::kI32));
    stride_ = bits >= 8
                  ? Times(elements, bits / 8)
                  : e.b.Binary(Opcode::kShrU, Type::kI64, Times(elements, bits), e.Const(Type::kI32, 3));
  }

  ValueId lane() const { return lane_; }
  ir::Space space() const { return place_.space; }
  // The address of element `at` of vector `vector` (i32); both may differ between lanes.
  ValueId Address(ValueId vector, ValueId at) {
    const ValueId row = e_.b.Binary(Opcode::kMul, Type::kI64, Wide(vector), stride_);
    const ValueId bytes =
        bits_ >= 8 ? Times(Wide(at), bits_ / 8)
                   : e_.b.Binary(Opcode::kShrU, Type::kI64, Times(Wide(at), bits_), e_.Const(Type::kI32, 3));
    return Sum(place_.address, Sum(row, bytes));
  }
  ValueId Plus(ValueId value, uint32_t number) {
    return e_.b.Binary(Opcode::kAdd, Type::kI32, value, e_.Const(Type::kI32, number));
  }
  ValueId Row() { return e_.b.Binary(Opcode::kShrU, Type::kI32, lane_, e_.Const(Type::kI32, 2)); }
  ValueId Quarter(uint32_t times) {
    const ValueId quarter = e_.b.Binary(Opcode::kAnd, Type::kI32, lane_, e_.Const(Type::kI32, 3));
    return e_.b.Binary(Opcode::kMul, Type::kI32, quarter, e_.Const(Type::kI32, times));
  }

 private:
  ValueId Wide(ValueId value) { return e_.b.Convert(Opcode::kZext, Type::kI64, value); }
  ValueId Sum(ValueId a, ValueId b) { return e_.b.Binary(Opcode::kAdd, Type::kI64, a, b); }
  ValueId Times(ValueId a, uint64_t b) {
    return e_.b.Binary(Opcode::kMul, Type::kI64, a, e_.Const(Type::kI64, b));
  }

  Emitter& e_;
  Place place_;
  uint32_t bits_;
  ValueId lane_, stride_;
};

// Up to four registers whose rows are 16 bytes in memory, or, of 16-bit elements, columns.
void LoadRows(Emitter& e, Memory& memory, std::span<const Tile> tiles, bool transposed,
              std::vector<ValueId>& words) {
  const auto count = static_cast<uint32_t>(tiles.size());
  // Lane 8 m + r has row r of matrix m: the beginning of matrix m by selection.
  const ValueId matrix = e.b.Binary(Opcode::kShrU, Type::kI32, memory.lane(), e.Const(Type::kI32, 3));
  ValueId vector = e.Const(Type::kI32, transposed ? tiles[0].k : tiles[0].row);
  ValueId at = e.Const(Type::kI32, transposed ? tiles[0].row : tiles[0].k);
  for (uint32_t m = 1; m < count; ++m) {
    const ValueId is_it = e.b.Icmp(ir::Compare::kEq, matrix, e.Const(Type::kI32, m));
    vector = e.b.Select(is_it, e.Const(Type::kI32, transposed ? tiles[m].k : tiles[m].row), vector);
    at = e.b.Select(is_it, e.Const(Type::kI32, transposed ? tiles[m].row : tiles[m].k), at);
  }
  const ValueId row = e.b.Binary(Opcode::kAnd, Type::kI32, memory.lane(), e.Const(Type::kI32, kTileRows - 1));
  vector = e.b.Binary(Opcode::kAdd, Type::kI32, vector, row);
  const ir::InstId id =
      e.b.Make(Opcode::kMatrixLoad, Type::kVoid, {memory.Address(vector, at), e.Const(Type::kI32, kAllLanes)},
               {.index = count | (transposed ? ir::matrix::kTransposed : 0), .space = memory.space()},
               Type::kVoid, count);
  for (ValueId word : e.f.at_inst(id).results) words.push_back(word);
}

// One register, element by element.
ValueId LoadElements(Emitter& e, Memory& memory, const Tile& tile, MatrixElement element, bool contiguous) {
  const uint32_t bits = ir::matrix::InfoOf(element).bits, in_word = bits == 64 ? 1 : 32 / bits;
  const Type type = element == MatrixElement::kF64 ? Type::kF64 : ir::IntegerOfBits(static_cast<int>(bits));
  const ValueId row = memory.Plus(memory.Row(), tile.row),
                first = memory.Plus(memory.Quarter(in_word), tile.k);
  std::vector<ValueId> parts;
  for (uint32_t n = 0; n < in_word; ++n) {
    const ValueId k = memory.Plus(first, n);
    const ValueId address = contiguous ? memory.Address(row, k) : memory.Address(k, row);
    parts.push_back(e.b.Load(type, memory.space(), address));
  }
  return parts.size() == 1 ? parts[0] : e.b.Pack(Type::kI32, parts);
}

std::vector<ValueId> LoadMultiplicand(Emitter& e, Memory& memory, const std::vector<Tile>& tiles,
                                      MatrixElement element, bool contiguous) {
  const uint32_t bits = ir::matrix::InfoOf(element).bits;
  std::vector<ValueId> words;
  if (bits < 64 && (contiguous || bits == 16)) {
    for (size_t first = 0; first < tiles.size(); first += kWordsOfRow) {
      const size_t count = std::min<size_t>(tiles.size() - first, kWordsOfRow);
      LoadRows(e, memory, std::span(tiles).subspan(first, count), !contiguous, words);
    }
  } else {
    for (const Tile& tile : tiles) words.push_back(LoadElements(e, memory, tile, element, contiguous));
  }
  return words;
}

// -- accumulators --

// Row and column of each element that a lane has of an accumulator, in the order of registers.
struct Spot {
  uint32_t row, column;  // for lane 0; lane 4 r + q adds r and 2 q
};
std::vector<Spot> SpotsOf(const Division& d) {
  std::vector<Spot> spots;
  for (uint32_t row = 0; row < d.row_blocks; ++row) {
    for (uint32_t column = 0; column < d.column_blocks; ++column) {
      for (uint32_t n = 0; n < d.rows / kTileRows * 2; ++n)
        spots.push_back({row * d.rows + n / 2 * kTileRows, column * kTileRows + n % 2});
    }
  }
  return spots;
}

Type TypeOfAccumulator(MatrixElement element) {
  if (element == MatrixElement::kF16) return Type::kI16;
  return RegisterType(element);
}

// Visits the address of each element of an accumulator.
template <typename Visit>
void ForAccumulators(Emitter& e, Memory& memory, bool by_rows, Visit visit) {
  const Division d = DivisionOf(e);
  for (const Spot& spot : SpotsOf(d)) {
    const ValueId row = memory.Plus(memory.Row(), spot.row),
                  column = memory.Plus(memory.Quarter(2), spot.column);
    visit(by_rows != d.exchanged ? memory.Address(row, column) : memory.Address(column, row));
  }
}

// The size of the leading dimension.
uint32_t DefaultStride(const Emitter& e, char matrix, bool by_rows) {
  const MatrixShape shape = ShapeOf(e);
  if (matrix == 'a') return by_rows ? shape.k : shape.m;
  if (matrix == 'b') return by_rows ? shape.n : shape.k;
  return by_rows ? shape.n : shape.m;
}

size_t RegistersIn(Emitter& e, size_t operand) {
  const ast::Operand& o = e.Operand(operand);
  return o.kind == ast::OperandKind::kVector ? e.ast.Children(o).size() : 1;
}

bool ByRows(const Emitter& e) { return e.mods().At("layout") == Word("row"); }

void WrongRegisters(Emitter& e) {
  e.Fail(ErrorCode::kSyntax,
         "there is no such fragment: its registers, shape and type do not belong together");
}

}  // namespace

namespace rows {

void wmma_load(Emitter& e) {
  const std::optional<MatrixElement> element = ElementOfType(e.type());
  if (!element) return WrongRegisters(e);
  const char matrix = e.Has("a") ? 'a' : e.Has("b") ? 'b' : 'c';
  const Division d = DivisionOf(e);
  if (matrix != 'c' && TilesOf(d, *element) == 0) return WrongRegisters(e);  // k4 is of f64 only
  Memory memory(e, e.Address(1, SpaceOfWords(e)), 2, DefaultStride(e, matrix, ByRows(e)),
                ir::matrix::InfoOf(*element).bits);
  std::vector<ValueId> words;
  if (matrix == 'c') {
    ForAccumulators(e, memory, ByRows(e), [&](ValueId address) {
      words.push_back(e.b.Load(TypeOfAccumulator(*element), memory.space(), address));
    });
    if (*element == MatrixElement::kF16) {
      std::vector<ValueId> pairs;
      for (size_t n = 0; n < words.size(); n += 2)
        pairs.push_back(e.b.Pack(Type::kI32, {words[n], words[n + 1]}));
      words = pairs;
    }
  } else {
    const bool is_left = (matrix == 'a') != d.exchanged;
    const std::vector<Tile> tiles = TilesOfFragment(d, *element, is_left);
    words = LoadMultiplicand(e, memory, tiles, *element, ByRows(e) == (matrix == 'a'));
    const size_t count = RegistersOfMultiplicand(*element, words.size());
    for (size_t n = 0; words.size() < count; ++n) words.push_back(words[n]);
  }
  if (RegistersIn(e, 0) != words.size()) return WrongRegisters(e);
  e.WriteVector(0, words, false);
}

void wmma_store(Emitter& e) {
  const std::optional<MatrixElement> element = ElementOfType(e.type());
  const size_t spots = SpotsOf(DivisionOf(e)).size();
  const bool is_half = element == MatrixElement::kF16;
  if (!element || RegistersIn(e, 1) != (is_half ? spots / 2 : spots)) return WrongRegisters(e);
  Memory memory(e, e.WritableAddress(0, SpaceOfWords(e)), 2, DefaultStride(e, 'd', ByRows(e)),
                ir::matrix::InfoOf(*element).bits);
  std::vector<ValueId> values;
  for (ValueId word : e.ReadVector(1, RegisterType(*element))) {
    if (!is_half) {
      values.push_back(word);
      continue;
    }
    for (ValueId part : e.b.Unpack(Type::kI16, word)) values.push_back(part);
  }
  size_t next = 0;
  ForAccumulators(e, memory, ByRows(e), [&](ValueId address) {
    e.b.Store(TypeOfAccumulator(*element), memory.space(), address, {values[next++]});
  });
}

namespace {

std::vector<ValueId> WidenedHalves(Emitter& e, const std::vector<ValueId>& words) {
  std::vector<ValueId> values;
  for (ValueId word : words) {
    for (ValueId part : e.b.Unpack(Type::kI16, word))
      values.push_back(e.b.Convert(Opcode::kFConvert, Type::kF32, e.b.Bitcast(Type::kF16, part)));
  }
  return values;
}

std::vector<ValueId> NarrowedPairs(Emitter& e, const std::vector<ValueId>& values) {
  std::vector<ValueId> words;
  const ir::Attrs nearest{.rounding = ir::Rounding::kNearestEven};
  for (size_t n = 0; n < values.size(); n += 2) {
    words.push_back(
        e.b.Pack(Type::kI32, {e.b.Convert(Opcode::kFConvert, Type::kF16, values[n], nearest),
                              e.b.Convert(Opcode::kFConvert, Type::kF16, values[n + 1], nearest)}));
  }
  return words;
}

// The registers from `first` on.
std::vector<ValueId> Part(const std::vector<ValueId>& values, size_t first, size_t count) {
  return {values.begin() + static_cast<std::ptrdiff_t>(first),
          values.begin() + static_cast<std::ptrdiff_t>(first + count)};
}

// One product of the division. An H100 does tf32 in steps of four along k.
std::vector<ValueId> OneProduct(Emitter& e, const Product& p, const MatrixOperands& operands) {
  ir::Rounding rounding = ir::Rounding::kNearestEven;
  if (e.Has("rz")) rounding = ir::Rounding::kTowardZero;
  if (e.Has("rm")) rounding = ir::Rounding::kDown;
  if (e.Has("rp")) rounding = ir::Rounding::kUp;
  if (rounding != ir::Rounding::kNearestEven) return MultiplyRounded(e, p, operands, rounding);
  if (p.a != MatrixElement::kTF32) return MultiplyMatrices(e, p, operands);
  Product step = p;
  step.depth = 4;
  const size_t rows = p.rows / kTileRows;
  MatrixOperands part = operands;
  for (size_t tile = 0; tile < p.depth / 4; ++tile) {
    part.a = Part(operands.a, tile * rows, rows);
    part.b = {operands.b[tile]};
    part.c = MultiplyMatrices(e, step, part);
  }
  return part.c;
}

}  // namespace

void wmma_mma(Emitter& e) {
  // f16 has the types of D and C only.
  const auto& types = e.mods().types;
  const bool is_half = e.mods().type_count == 2;
  const auto a = is_half ? std::optional(MatrixElement::kF16) : ElementOfType(types[1]);
  const auto b = is_half ? a : ElementOfType(types[2]);
  const auto c = ElementOfType(types[is_half ? 1 : 3]), result = ElementOfType(types[0]);
  const Division d = DivisionOf(e);
  if (!a || !b || !c || !result || *a != *b || (!is_half && *c != *result)) return WrongRegisters(e);
  Product p{.rows = d.rows, .depth = d.depth, .a = *a, .b = *b, .c = *c, .saturates = e.Has("satfinite")};
  if (e.Has("popc")) p.combine = e.Has("xor") ? ir::matrix::Combine::kXor : ir::matrix::Combine::kAnd;
  // Mixed accumulators are f32, converted before or after.
  if (*c != *result) p.c = MatrixElement::kF32;
  const size_t left = p.registers_of_a() * d.row_blocks, right = p.registers_of_b() * d.column_blocks;
  const size_t left_operand = d.exchanged ? 2 : 1, right_operand = d.exchanged ? 1 : 2;
  const size_t elements = SpotsOf(d).size();
  const auto registers = [&](MatrixElement type) {
    return type == MatrixElement::kF16 ? elements / 2 : elements;
  };
  if (RegistersIn(e, left_operand) != RegistersOfMultiplicand(*a, left) ||
      RegistersIn(e, right_operand) != RegistersOfMultiplicand(*a, right) ||
      RegistersIn(e, 3) != registers(*c) || RegistersIn(e, 0) != registers(*result))
    return WrongRegisters(e);
  const std::vector<ValueId> x = e.ReadVector(left_operand, RegisterType(*a)),
                             y = e.ReadVector(right_operand, RegisterType(*a));
  std::vector<ValueId> sums = e.ReadVector(3, RegisterType(*c)), results;
  if (*c != p.c) sums = WidenedHalves(e, sums);
  const uint32_t of_c = p.registers_of_c();
  for (uint32_t row = 0; row < d.row_blocks; ++row) {
    for (uint32_t column = 0; column < d.column_blocks; ++column) {
      const MatrixOperands operands{Part(x, row * p.registers_of_a(), p.registers_of_a()),
                                    Part(y, column * p.registers_of_b(), p.registers_of_b()),
                                    Part(sums, (row * d.column_blocks + column) * of_c, of_c)};
      for (ValueId value : OneProduct(e, p, operands)) results.push_back(value);
    }
  }
  e.WriteVector(0, *result == p.c ? results : NarrowedPairs(e, results), false);
}

}  // namespace rows
}  // namespace ptx2cpu::ptx
