// Values of lanes without a known form: a test at run time finds out whether they are one sequence, or two.
#pragma once

#include <functional>

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LanesBySight : LanePart {
 public:
  using LanePart::LanePart;
  Status ChooseBySight(const ir::Inst& inst, const Mask& mask, const std::function<Status()>& together,
                       const std::function<Status()>& apart);
  // A value where lanes meet, as the assumed sequence, or as two sequences.
  ShapedValue Met(llvm::Value* all, int64_t stride, const Mask& mask);

 private:
  // The lanes of the mask that differ from a sequence whose value is `start` after `lanes_before` other
  // lanes.
  llvm::Value* ElsewhereThan(llvm::Value* all, llvm::Value* start, int64_t lanes_before, int64_t stride,
                             const Mask& mask);
  // Lanes of `second` lie side by side with the last lane, the others with the first.
  Status InTwoRuns(const ir::Inst& inst, const Mask& mask, llvm::Value* second);
};

}  // namespace ptx2cpu::lowering
