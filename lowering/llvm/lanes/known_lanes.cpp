// The values of lanes are known while code is emitted where they depend on the lane's number only: the low
// bits of a sequence that begins at a multiple of the number of lanes.
//
//   tid & 31            ->  0, 1, .. 31     (the first lane's tid is a multiple of 32)
//   if (tid % 32 == 0)  ->  one lane's code: scalar accesses, and trees of which one lane is computed
//   parts[tid % 8]      ->  one load of parts[0 .. 8) and a shuffle
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>

#include "lowering/llvm/lanes/lane_vectors.h"

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;
using Value = llvm::Value*;

namespace {

// By lane; nothing where one is not known.
std::optional<std::vector<uint64_t>> Known(Value vector, unsigned width) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(vector);
  if (constant == nullptr || !constant->getType()->isVectorTy()) return std::nullopt;
  std::vector<uint64_t> lanes;
  for (unsigned lane = 0; lane < width; ++lane) {
    auto* element = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getAggregateElement(lane));
    if (element == nullptr) return std::nullopt;
    lanes.push_back(element->getZExtValue());
  }
  return lanes;
}

}  // namespace

// The low bits of base + stride * lane, where the base has zeros there. Null: not known.
Value LaneComputations::KnownLowBits(const ir::Inst& inst) const {
  if (inst.op != Opcode::kAnd) return nullptr;
  for (size_t n = 0; n < 2; ++n) {
    const ir::InstId def = f.at_value(inst.operands[1 - n]).def;
    if (!def.valid() || f.at_inst(def).op != Opcode::kConst) continue;
    const uint64_t mask = f.at_inst(def).attrs.bits;
    const LaneShape shape = ShapeIn(e, region_, inst.operands[n]);
    if (!shape.affine() || shape.guess || mask >> shape.align != 0) continue;
    llvm::SmallVector<llvm::Constant*, 64> lanes;
    for (unsigned lane = 0; lane < width_; ++lane)
      lanes.push_back(
          llvm::ConstantInt::get(e.m.TypeOf(inst.type), static_cast<uint64_t>(shape.stride) * lane & mask));
    return llvm::ConstantVector::get(lanes);
  }
  return nullptr;
}

// This also holds where lanes may have exited: if a warp stores the sum of its lanes, `if (lane == 0)`, that
// lane's part of the sum suffices.
std::optional<unsigned> LaneAccesses::OnlyLane(const Mask& mask) const {
  auto lanes = Known(mask.lanes, width_);
  if (auto* where = llvm::dyn_cast<llvm::SelectInst>(mask.lanes)) {
    auto* otherwise = llvm::dyn_cast<llvm::Constant>(where->getFalseValue());
    if (otherwise != nullptr && otherwise->isNullValue()) lanes = Known(where->getTrueValue(), width_);
  }
  if (!lanes || std::ranges::count(*lanes, 0) != static_cast<int64_t>(width_) - 1) return std::nullopt;
  return static_cast<unsigned>(std::ranges::find(*lanes, 1) - lanes->begin());
}

// One access for lanes that read parts of one run of memory, each element of which some lane reads.
bool LaneAccesses::LoadKnown(const ir::Inst& inst, const Mask& mask) {
  const ValueId address = inst.operands[0];
  Value addresses = e.values.Get(address);
  const auto places = Known(addresses, width_), active = Known(mask.lanes, width_);
  if (!places || !active || inst.results.size() != 1) return false;
  const auto bytes = static_cast<uint64_t>(ir::Bytes(inst.type));
  uint64_t first = UINT64_MAX, last = 0;
  for (unsigned lane = 0; lane < width_; ++lane) {
    if ((*active)[lane] == 0) continue;
    first = std::min(first, (*places)[lane]);
    last = std::max(last, (*places)[lane]);
  }
  if (first > last || (last - first) / bytes >= width_) return false;
  const auto count = static_cast<unsigned>((last - first) / bytes + 1);
  std::vector<bool> read(count);
  llvm::SmallVector<int, 64> from;  // lanes that are not active take an element of zeros
  for (unsigned lane = 0; lane < width_; ++lane) {
    const uint64_t offset = (*places)[lane] - first;
    const bool takes = (*active)[lane] != 0;
    if (takes && offset % bytes != 0) return false;
    if (takes) read[offset / bytes] = true;
    from.push_back(static_cast<int>(takes ? offset / bytes : count));
  }
  if (std::ranges::find(read, false) != read.end()) return false;
  NoteMisaligned(inst, mask, false);
  ValueMap::Overrides start(e.values);
  start.Set(address,
            {addresses, llvm::ConstantInt::get(addresses->getType()->getScalarType(), first), nullptr});
  Memory memory;
  Value pointer = FirstPointer(inst, &memory, 0);
  llvm::Type* run = llvm::FixedVectorType::get(e.m.MemoryTypeOf(inst.type), count);
  auto* load = b.CreateAlignedLoad(run, pointer, AlignOf(inst, 0));
  e.m.Annotate(load, memory);
  e.values.Set(inst.results[0], b.CreateShuffleVector(load, llvm::Constant::getNullValue(run), from));
  return true;
}

}  // namespace ptx2cpu::lowering
