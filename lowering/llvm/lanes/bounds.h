// Conditions that compare the lanes' places in the data with the data's bounds: most steps lie on one side,
// which the places of the first and the last lane decide.
#pragma once

#include <optional>

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LaneBounds : LanePart {
 public:
  using LanePart::LanePart;
  bool IsBound(ir::ValueId condition) const { return IsBound(condition, kMaxDepth); }

  // A condition that lanes fulfil if their `place`, a sequence, compares by the predicate with `limit`, which
  // is the same for all lanes.
  struct Bound {
    ir::ValueId place, limit;
    llvm::CmpInst::Predicate predicate;
  };
  std::optional<Bound> BoundOf(ir::ValueId condition, bool holds) const;
  llvm::Value* AllWithin(const Bound& bound);

  // The same for a sequence that begins at `first` and whose last lane is `way` further.
  llvm::Value* AllWithin(llvm::CmpInst::Predicate predicate, llvm::Value* first, int64_t way,
                         llvm::Value* limit);

  // The distance from the first lane's number of `bits` bits to the last lane's. Nothing: the sequence is
  // longer than the range of such numbers, so that it always wraps around.
  std::optional<int64_t> WayOf(const LaneShape& shape, unsigned bits) const;
  llvm::Value* SequenceFrom(ir::ValueId id, llvm::Value* first);

 private:
  static constexpr int kMaxDepth = 4;
  bool IsBound(ir::ValueId condition, int depth) const;
};

}  // namespace ptx2cpu::lowering
