// Values in the Collapsed form: how code of one place obtains a value that another place defines.
//
// A place is the code of one lane-level region, of one boundary, or of one copy between levels. Every value
// of the Split form has a home, the place of its definition; elsewhere it is rebuilt when that is cheap, or
// read from a slot (analysis/regions/crossing_values chooses). Slots are made on first demand, so a value
// that does not cross has none.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/graph/loops.h"
#include "analysis/regions/crossing_values.h"
#include "analysis/values/linear_in_thread.h"
#include "analysis/values/uniformity.h"
#include "ir/build.h"
#include "ir/function.h"

namespace ptx2cpu::lowering {

using PlaceId = uint32_t;
inline constexpr PlaceId kNoPlace = ~0u;

class CollapseValues {
 public:
  CollapseValues(ir::Function& f, const analysis::UniformityResult& uniformity, bool flat)
      : f_(f),
        uniformity_(uniformity),
        flat_(flat),
        old_count_(static_cast<uint32_t>(f.values.size())),
        linear_(analysis::LinearInThread(f, uniformity, flat ? ir::Level::kBlock : ir::Level::kWarp)) {
    home_.resize(old_count_, kNoPlace);
    clone_.resize(old_count_);
    slot_.resize(old_count_, kNoSlot);
    per_lane_.resize(old_count_);
    per_warp_.resize(old_count_);
    carried_.resize(old_count_);
    planned_.resize(old_count_);
  }

  // `prologue` receives slot loads and rebuilt instructions, `epilogue` slot stores; both precede the
  // terminator.
  PlaceId AddPlace(ir::Level level, ir::BlockId prologue, ir::BlockId epilogue);
  void SetHome(ir::ValueId old, PlaceId place, ir::ValueId clone);
  // A parameter of a boundary: it is in its slot only, stored by the regions that lead there.
  void SetCarried(ir::ValueId old) { carried_[old.index] = true; }
  // A boundary of block level needs each thread's own value of something that is not uniform there.
  void KeepPerLane(ir::ValueId old) { per_lane_[old.index] = true; }

  // What threads carry out of a loop in different trips may be rebuilt outside from values of the loop, which
  // then differ there, too, whatever they are within a trip.
  void KeepApartWhatLeavesApart();

  // Values that are loaded from a slot wherever they are needed, so that others can be rebuilt from them.
  void PlanSlots(const std::vector<bool>& values) { planned_ = values; }

  // The value as seen in `place`.
  ir::ValueId Get(PlaceId place, ir::ValueId old);
  // Copies `from` to the slot of the carried value `to` at the end of `place`. Only for slots that have been
  // demanded.
  void CopyInto(PlaceId place, ir::ValueId from, ir::ValueId to);
  std::optional<ir::Level> SlotShape(ir::ValueId old) const;

  // Stores that homes owe to slots demanded so far; returns carried values whose slots are new since the last
  // call.
  std::vector<ir::ValueId> SettleStores();
  // Appends the pending stores of every place. Call once, before terminators are added to prologues and
  // epilogues.
  void FlushStores();

 private:
  struct Escape {
    uint32_t loop;
    ir::ValueId value;
  };
  void KeepOperandsIn(const analysis::LoopForest& forest, std::vector<Escape> escapes,
                      std::vector<bool>& kept);

  static constexpr uint32_t kNoSlot = ~0u;
  struct Place {
    ir::Level level;
    ir::BlockId prologue, epilogue;
    std::unordered_map<uint32_t, ir::ValueId> known;
    std::vector<std::pair<uint32_t, ir::ValueId>> stores;  // slot, value
  };

  uint32_t SlotOf(ir::ValueId old);
  ir::Level ShapeOf(ir::ValueId old) const;
  bool Scalar(const Place& place, ir::ValueId old) const;
  // Number of operations that rebuilding takes, beyond `limit` when it is too many or impossible.
  // What is used several times is counted once.
  uint32_t RebuildCost(const Place& place, ir::ValueId old, uint32_t limit,
                       std::vector<uint32_t>& counted) const;
  bool Affordable(const Place& place, ir::ValueId old, uint32_t limit) const;
  bool IsLeaf(const Place& place, ir::ValueId old) const;
  ir::ValueId Rebuild(PlaceId place, ir::ValueId old);

  ir::Function& f_;
  const analysis::UniformityResult& uniformity_;
  bool flat_;
  uint32_t old_count_;
  const std::vector<bool> linear_;
  std::vector<Place> places_;
  std::vector<PlaceId> home_;
  std::vector<ir::ValueId> clone_;
  std::vector<uint32_t> slot_;
  std::vector<bool> per_lane_, per_warp_, carried_, planned_;
  std::vector<ir::ValueId> unsettled_;
};

}  // namespace ptx2cpu::lowering
