// Values where lanes that arrive over several edges meet.
#pragma once

#include <map>
#include <vector>

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LaneMeets : LanePart {
 public:
  using LanePart::LanePart;
  ShapedValue Merge(const std::vector<EdgeRef>& edges, size_t number, const LaneShape& shape);
  void MergeParams(ir::BlockId block, const std::vector<EdgeRef>& edges, const Mask& mask);
  void MeetIn(ir::BlockId block, const Mask& mask);

 private:
  ir::BlockId OnlyReader(ir::ValueId value) const;  // of its level; else the value's own block

  std::map<ir::BlockId, std::vector<ir::ValueId>> meet_in_;  // what lanes bring, by where it is read
};

}  // namespace ptx2cpu::lowering
