// Several elements side by side at each lane's own address: a row of a matrix for each thread, records that
// an index chooses. A lane's elements are one access of 16 or 8 bytes, not a part of a gather for each of
// them, and rows become columns by shuffles within 16 bytes:
//
//   lane 0: a0 b0 c0 d0     a0 a1 a2 a3
//   lane 1: a1 b1 c1 d1     b0 b1 b2 b3
//   lane 2: a2 b2 c2 d2  -> c0 c1 c2 c3
//   lane 3: a3 b3 c3 d3     d0 d1 d2 d3
#include <llvm/IR/Constants.h>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;
using Values = std::vector<Value>;

namespace {

constexpr unsigned kPartBytes = 16;  // of which machines' shuffles make all vectors

// Interleaves groups of `size` elements of the lower (upper) halves of each 16 bytes of the two.
Value Interleave(llvm::IRBuilder<>& b, Value x, Value y, unsigned size, bool upper) {
  auto* type = llvm::cast<llvm::FixedVectorType>(x->getType());
  const unsigned all = type->getNumElements(), part = kPartBytes * 8 / type->getScalarSizeInBits();
  llvm::SmallVector<int, 128> from;
  for (unsigned i = 0; i < all; ++i) {
    const unsigned group = i % part / size, place = (upper ? part / 2 : 0) + group / 2 * size + i % size;
    from.push_back(static_cast<int>(i / part * part + place + (group % 2 == 0 ? 0 : all)));
  }
  return b.CreateShuffleVector(x, y, from);
}

// Vectors whose 16 bytes are each a square's rows -> its columns; it is its own inverse.
Values Transpose(llvm::IRBuilder<>& b, const Values& rows) {
  auto both = [&](Value x, Value y, unsigned size) {
    return std::pair{Interleave(b, x, y, size, false), Interleave(b, x, y, size, true)};
  };
  if (rows.size() == 2) {
    const auto [first, second] = both(rows[0], rows[1], 1);
    return {first, second};
  }
  const auto [low, low2] = both(rows[0], rows[1], 1);
  const auto [high, high2] = both(rows[2], rows[3], 1);
  const auto [first, second] = both(low, high, 2);
  const auto [third, fourth] = both(low2, high2, 2);
  return {first, second, third, fourth};
}

}  // namespace

// The vectors of a square's rows: of vector j, the 16 bytes number p are of lane p * rows + j. They are as
// aligned as their elements: what should be aligned better is noted, and must not be a fault of the
// processor's.
Values LaneGathers::LoadParts(llvm::Type* element, Value pointers, uint64_t offset, llvm::Align align,
                              Memory memory) {
  const unsigned rows = kPartBytes * 8 / element->getScalarSizeInBits();
  auto* type = llvm::FixedVectorType::get(element, rows);
  std::vector<Values> parts(rows);
  for (unsigned lane = 0; lane < width_; ++lane) {
    Value pointer = b.CreateExtractElement(pointers, uint64_t{lane});
    if (offset != 0) pointer = b.CreateConstGEP1_64(b.getInt8Ty(), pointer, offset);
    auto* load = b.CreateAlignedLoad(type, pointer, align);
    e.m.Annotate(load, memory);
    parts[lane % rows].push_back(load);
  }
  Values vectors;
  for (Values& of_row : parts) vectors.push_back(Concatenate(b, std::move(of_row)));
  return vectors;
}

// Pairs of 32-bit elements are words of 64 bits.
void LaneGathers::GatherPairs(const ir::Inst& inst, size_t k, Value pointers, const Mask& mask,
                              Memory memory) {
  llvm::Type* words = VectorOf(b.getInt64Ty());
  auto* load = b.CreateMaskedGather(words, pointers, AlignOf(inst, k), mask.lanes,
                                    llvm::Constant::getNullValue(words));
  e.m.Annotate(load, memory);
  Value both = b.CreateBitCast(load, llvm::FixedVectorType::get(e.m.MemoryTypeOf(inst.type), 2 * width_));
  for (size_t part = 0; part < 2; ++part) {
    llvm::SmallVector<int, 64> from;
    for (unsigned lane = 0; lane < width_; ++lane) from.push_back(static_cast<int>(2 * lane + part));
    e.values.Set(inst.results[k + part], b.CreateShuffleVector(both, from));
  }
}

// Lanes that are not active read what another one does.
void LaneGathers::GatherRows(const ir::Inst& inst, Value pointers, const Mask& mask, Memory memory) {
  const auto bytes = static_cast<uint64_t>(ir::Bytes(inst.type));
  llvm::Type* element = e.m.MemoryTypeOf(inst.type);
  const size_t rows = kPartBytes / bytes, count = inst.results.size();
  Value readable = count < rows || IsAll(mask) ? pointers : PointersForAll(mask, pointers);
  size_t k = 0;
  for (; k + rows <= count; k += rows) {
    const Values columns = Transpose(b, LoadParts(element, readable, k * bytes, llvm::Align(bytes), memory));
    for (size_t part = 0; part < rows; ++part) e.values.Set(inst.results[k + part], columns[part]);
  }
  auto pointers_of = [&](size_t number) {
    return number == 0 ? pointers : b.CreateConstGEP1_64(b.getInt8Ty(), pointers, number * bytes);
  };
  if (bytes == 4 && count - k >= 2) {
    GatherPairs(inst, k, pointers_of(k), mask, memory);
    k += 2;
  }
  for (; k < count; ++k) GatherElement(inst, k, pointers_of(k), mask, memory);
}

// Stores the rows of all lanes.
void LaneGathers::ScatterRows(const ir::Inst& inst) {
  const Mask all{llvm::Constant::getAllOnesValue(VectorOf(b.getInt1Ty())), b.getTrue()};
  NoteMisaligned(inst, all, false);
  Memory memory;
  Value pointers = e.memory.Pointer(inst.attrs.space, inst.operands[0], &memory);
  const auto bytes = static_cast<uint64_t>(ir::Bytes(inst.type));
  const size_t rows = kPartBytes / bytes, count = inst.operands.size() - 1;
  for (size_t k = 0; k < count; k += rows) {
    Values columns;
    for (size_t part = 0; part < rows; ++part)
      columns.push_back(Vector(e.values.Get(inst.operands[1 + k + part])));
    const Values vectors = Transpose(b, columns);
    for (unsigned lane = 0; lane < width_; ++lane) {
      llvm::SmallVector<int, 4> from;
      for (size_t part = 0; part < rows; ++part) from.push_back(static_cast<int>(lane / rows * rows + part));
      Value pointer = b.CreateExtractElement(pointers, uint64_t{lane});
      if (k != 0) pointer = b.CreateConstGEP1_64(b.getInt8Ty(), pointer, k * bytes);
      Value row = b.CreateShuffleVector(vectors[lane % rows], from);
      e.m.Annotate(b.CreateAlignedStore(row, pointer, llvm::Align(bytes)), memory);
    }
  }
}

}  // namespace ptx2cpu::lowering
