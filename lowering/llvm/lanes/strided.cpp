// Accesses whose elements have gaps between them, or go downward: one run of memory, of which masks leave out
// the gaps and a shuffle takes the lanes' elements.
//
//   lane i: x[3 * i]   ->   masked load of x[0 .. 3 * W), of each third element; shuffle 0, 3, 6, ...
//
// Where all lanes are active, the run ends with the last element that a lane accesses: its last register is
// not the next one after those before but the last that ends there. Processors take some hundred cycles for a
// masked access that reaches into a page that does not exist, even if no active element is there, and shared
// memory ends before such a page. Where all lanes are active, loads have no masks: what is between two
// elements that are read exists.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

namespace {

llvm::SmallVector<int, 64> Numbers(unsigned first, unsigned count) {
  llvm::SmallVector<int, 64> numbers(count);
  std::iota(numbers.begin(), numbers.end(), static_cast<int>(first));
  return numbers;
}

}  // namespace

// Lane n's elements begin at n * apart, from the last lane's on where that is negative. Elements of the gaps,
// and those of lanes that are not active, are not accessed.
LaneStrides::Stretch LaneStrides::StretchOf(const ir::Inst& inst, const Mask& mask, Memory* memory) {
  const int64_t apart = ElementsApart(ShapeOf(inst.operands[0]), inst);
  const auto step = static_cast<unsigned>(std::abs(apart));
  Stretch run{FirstPointer(inst, memory, 0), nullptr, width_ * step, 0, 0, {}};
  if (apart < 0) {
    const int64_t back = apart * static_cast<int64_t>(width_ - 1) * ir::Bytes(inst.type);
    run.start = b.CreateConstGEP1_64(b.getInt8Ty(), run.start, static_cast<uint64_t>(back));
  }
  llvm::SmallVector<int, 128> lane_of(run.elements, static_cast<int>(width_));  // of the second operand: none
  for (unsigned lane = 0; lane < width_; ++lane) {
    const unsigned first = (apart < 0 ? width_ - 1 - lane : lane) * step;
    run.first.push_back(static_cast<int>(first));
    for (size_t k = 0; k < ElementCount(inst); ++k) lane_of[first + k] = static_cast<int>(lane);
  }
  run.active =
      b.CreateShuffleVector(mask.lanes, llvm::Constant::getNullValue(mask.lanes->getType()), lane_of);
  // Masks that are computed would have to be shuffled for a last register that overlaps others.
  run.needed = IsAll(mask) ? run.elements - step + static_cast<unsigned>(ElementCount(inst)) : run.elements;
  // As much as a register holds, or a power of two below that, if the run is shorter.
  run.piece = std::max(e.m.traits.vector_bytes / ir::Bytes(inst.type), 1u);
  while (run.piece > run.needed) run.piece /= 2;
  return run;
}

// Where the pieces of the run begin, in elements, upwards.
llvm::SmallVector<unsigned, 16> LaneStrides::PiecesOf(const Stretch& run) const {
  llvm::SmallVector<unsigned, 16> first;
  for (unsigned at = 0; at + run.piece < run.needed; at += run.piece) first.push_back(at);
  first.push_back(run.needed - run.piece);
  return first;
}

Value LaneStrides::PointerTo(const ir::Inst& inst, const Stretch& run, unsigned element) {
  return b.CreateConstGEP1_64(b.getInt8Ty(), run.start, uint64_t{element} * ir::Bytes(inst.type));
}

llvm::Align LaneStrides::AlignAt(const ir::Inst& inst, unsigned element) const {
  return llvm::commonAlignment(AlignOf(inst, 0), uint64_t{element} * ir::Bytes(inst.type));
}

void LaneStrides::LoadStrided(const ir::Inst& inst, const Mask& mask) {
  NoteMisaligned(inst, mask, true);
  Memory memory;
  const Stretch run = StretchOf(inst, mask, &memory);
  const auto pieces = PiecesOf(run);
  auto* type = llvm::FixedVectorType::get(e.m.MemoryTypeOf(inst.type), run.piece);
  llvm::SmallVector<Value, 16> parts;
  for (const unsigned first : pieces) {
    const Value pointer = PointerTo(inst, run, first);
    const llvm::Align align = AlignAt(inst, first);
    llvm::Instruction* load =
        IsAll(mask) ? static_cast<llvm::Instruction*>(b.CreateAlignedLoad(type, pointer, align))
                    : b.CreateMaskedLoad(type, pointer, align,
                                         b.CreateShuffleVector(run.active, Numbers(first, run.piece)),
                                         llvm::Constant::getNullValue(type));
    e.m.Annotate(load, memory);
    parts.push_back(load);
  }
  const Value whole = llvm::concatenateVectors(b, parts);
  const auto last = static_cast<int>(pieces.size() - 1);
  const auto piece = static_cast<int>(run.piece);
  for (size_t k = 0; k < inst.results.size(); ++k) {
    llvm::SmallVector<int, 64> from = run.first;
    for (int& element : from) {
      element += static_cast<int>(k);
      if (element >= last * piece) element += last * piece - static_cast<int>(pieces.back());
    }
    e.values.Set(inst.results[k], b.CreateShuffleVector(whole, from));
  }
}

void LaneStrides::StoreStrided(const ir::Inst& inst, const Mask& mask) {
  NoteMisaligned(inst, mask, true);
  Memory memory;
  const Stretch run = StretchOf(inst, mask, &memory);
  Value whole = nullptr;
  for (size_t k = 0; k < ElementCount(inst); ++k) {
    llvm::SmallVector<int, 128> from(run.elements, -1), merged(run.elements);
    for (unsigned lane = 0; lane < width_; ++lane)
      from[static_cast<size_t>(run.first[lane]) + k] = static_cast<int>(lane);
    Value spread = b.CreateShuffleVector(Vector(e.values.Get(inst.operands[k + 1])), from);
    for (unsigned n = 0; n < run.elements; ++n)
      merged[n] = static_cast<int>(from[n] < 0 ? n : n + run.elements);
    whole = whole == nullptr ? spread : b.CreateShuffleVector(whole, spread, merged);
  }
  for (const unsigned first : PiecesOf(run)) {
    const auto numbers = Numbers(first, run.piece);
    auto* store = b.CreateMaskedStore(b.CreateShuffleVector(whole, numbers), PointerTo(inst, run, first),
                                      AlignAt(inst, first), b.CreateShuffleVector(run.active, numbers));
    e.m.Annotate(store, memory);
  }
}

}  // namespace ptx2cpu::lowering
