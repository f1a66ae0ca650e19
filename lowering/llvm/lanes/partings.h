// Steps, and trips of a loop, in which all lanes go the same way; steps whose lanes diverge branch to other
// code.
#pragma once

#include <functional>
#include <vector>

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LanePartings : LanePart {
 public:
  using LanePart::LanePart;
  // Whether steps whose lanes diverge at a bound should branch to other code; the code must be short enough
  // to exist twice.
  bool PaysToPart() const;

  // The block to which lanes that diverge at a bound may branch to begin the level again under masks, while
  // it has had no effect. Null: there is none.
  void SetMixed(llvm::BasicBlock* mixed) { mixed_ = mixed; }
  // While it lives, that is so in a trip of a loop. `bounded`: at its end the loop of whole trips looks at
  // the bound itself.
  class Trip {
   public:
    Trip(LanePartings& partings, uint32_t level, llvm::BasicBlock* mixed, ir::BlockId bounded);
    ~Trip();
    Trip(const Trip&) = delete;
    Trip& operator=(const Trip&) = delete;

   private:
    LanePartings& partings_;
    llvm::BasicBlock* outer_mixed_;
    uint32_t outer_level_;
    bool had_effects_;
    ir::BlockId outer_bounded_;
  };
  void NoteEffect() { has_effects_ = true; }

  bool PartsAtBound(const ir::Inst& inst, const Mask& mask) const;
  llvm::Value* AllOrNone(const ir::Inst& branch, llvm::Value* condition, const Mask& mask);
  // One branch where a guess holds, the other where not.
  Status Choose(llvm::Value* holds, const std::function<Status()>& yes, const std::function<Status()>& no,
                const std::vector<ir::ValueId>& results);

 private:
  bool NeedsMasksAnyway() const;
  bool UpdatesOneByOne() const;

  llvm::BasicBlock* mixed_ = nullptr;
  uint32_t mixed_level_ = 0;  // the level that begins again
  bool has_effects_ = false;
  ir::BlockId bounded_;
};

}  // namespace ptx2cpu::lowering
