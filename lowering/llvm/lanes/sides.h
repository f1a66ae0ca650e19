// Conditions that are true for some lanes and false for others in few steps only. The places of the first and
// the last lane decide, without a vector, on which side all lanes are.
#pragma once

#include <optional>

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LaneSides : LanePart {
 public:
  using LanePart::LanePart;
  // Bounds; places that are compared with one place, or divided into rows of data before; flags of loops.
  bool PartsRarely(ir::ValueId condition) const { return PartsRarely(condition, kMaxDepth); }
  // A flag that lanes keep from trip to trip of a loop outside the threads: whether they are still in it.
  bool IsFlagOfTrips(ir::ValueId condition) const;

  // Whether a condition is true for all lanes, and whether it is true for none, where both are known without
  // a vector. A condition that holds for some lanes is neither.
  struct Sides {
    llvm::Value *all, *none;
  };
  // Computed in the block `at`, which branches on it.
  std::optional<Sides> Of(ir::ValueId condition, ir::BlockId at) { return Of(condition, at, kMaxDepth); }

 private:
  static constexpr int kMaxDepth = 4;
  // A sequence, as far as it `holds` (null: always).
  struct Place {
    llvm::Value* first;
    int64_t stride;
    llvm::Value* holds;
  };
  bool PartsRarely(ir::ValueId condition, int depth) const;
  bool IsBoundOrNumber(ir::ValueId value, int depth) const;
  bool IsStep(const ir::Inst& inst) const;
  bool IsDivision(const ir::Inst& inst) const;
  std::optional<LaneShape> ShapeOfPlace(ir::ValueId value, int depth) const;
  bool IsThere(ir::ValueId value, ir::BlockId at) const;
  bool AreThere(const ir::Inst& inst, ir::BlockId at) const;
  std::optional<Place> PlaceOf(ir::ValueId value, ir::BlockId at, int depth);
  std::optional<Sides> Of(ir::ValueId condition, ir::BlockId at, int depth);
  std::optional<Sides> OfCompare(const ir::Inst& compare, ir::BlockId at);
};

}  // namespace ptx2cpu::lowering
