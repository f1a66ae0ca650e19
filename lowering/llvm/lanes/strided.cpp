// Accesses whose elements have gaps between them, or go downward: one run of memory, of which masks leave out
// the gaps and a shuffle takes the lanes' elements.
//
//   lane i: x[3 * i]   ->   masked load of x[0 .. 3 * W), of each third element; shuffle 0, 3, 6, ...
#include <llvm/IR/Constants.h>

#include <cstdlib>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

// Lane n's elements begin at n * apart, from the last lane's on where that is negative. Elements of the gaps,
// and those of lanes that are not active, are not accessed.
LaneStrides::Stretch LaneStrides::StretchOf(const ir::Inst& inst, const Mask& mask, Memory* memory) {
  const int64_t apart = ElementsApart(ShapeOf(inst.operands[0]), inst);
  const auto step = static_cast<unsigned>(std::abs(apart));
  Stretch run{FirstPointer(inst, memory, 0), nullptr, width_ * step, {}};
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
  return run;
}

void LaneStrides::LoadStrided(const ir::Inst& inst, const Mask& mask) {
  NoteMisaligned(inst, mask, true);
  Memory memory;
  const Stretch run = StretchOf(inst, mask, &memory);
  auto* type = llvm::FixedVectorType::get(e.m.MemoryTypeOf(inst.type), run.elements);
  auto* load =
      b.CreateMaskedLoad(type, run.start, AlignOf(inst, 0), run.active, llvm::Constant::getNullValue(type));
  e.m.Annotate(load, memory);
  for (size_t k = 0; k < inst.results.size(); ++k) {
    llvm::SmallVector<int, 64> from = run.first;
    for (int& element : from) element += static_cast<int>(k);
    e.values.Set(inst.results[k], b.CreateShuffleVector(load, from));
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
  auto* store = b.CreateMaskedStore(whole, run.start, AlignOf(inst, 0), run.active);
  e.m.Annotate(store, memory);
}

}  // namespace ptx2cpu::lowering
