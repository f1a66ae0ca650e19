// Words that follow from the lane's number alone, as the membermasks of a warp's tiles do: 0xff << (laneid &
// ~7). Reads IR only.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "ir/function.h"
#include "runtime/abi/limits.h"

namespace ptx2cpu::analysis {

using WordPerLane = std::array<uint32_t, kWarpSize>;

class LaneWords {
 public:
  // Collapsed or not; looks through slots.
  explicit LaneWords(const ir::Function& f);
  // An i32's value in each lane; nothing where it depends on anything else.
  std::optional<WordPerLane> Of(ir::ValueId value);

 private:
  std::optional<WordPerLane> Compute(const ir::Inst& inst);
  std::optional<WordPerLane> OfSlot(uint32_t slot);

  const ir::Function& f_;
  std::vector<std::vector<ir::ValueId>> stored_;             // by slot
  std::map<ir::ValueId, std::optional<WordPerLane>> known_;  // nothing while it is being found
};

// Whether the masks divide the lanes into tiles: each lane is in its own mask, and all that it names have the
// same one.
bool AreTiles(const WordPerLane& masks);

}  // namespace ptx2cpu::analysis
