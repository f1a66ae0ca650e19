// Loads and stores of all lanes: the form of each (LaneForm), and those of consecutive elements.
#pragma once

#include <functional>

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LaneAccesses : LanePart {
 public:
  using LanePart::LanePart;
  Status EmitLoad(const ir::Inst& inst, const Mask& mask);
  Status EmitStore(const ir::Inst& inst, const Mask& mask);
  void LoadTogether(const ir::Inst& inst, const Mask& mask, unsigned lanes_before = 0);
  llvm::Instruction* StoreTogether(const ir::Inst& inst, const Mask& mask, unsigned lanes_before = 0);

 private:
  Status LoadOnce(const ir::Inst& inst, const Mask& mask);
  Status StoreLast(const ir::Inst& inst, const Mask& mask);
  Status StoreWhole(const ir::Inst& inst, const Mask& mask);
  llvm::Value* StepsTo(const ir::Inst& inst, llvm::Value* lane, llvm::Value* like);
  bool RepeatsMaskThrice(const ir::Inst& inst) const;
  Status Together(const ir::Inst& inst, const Mask& mask, const std::function<void(const Mask&)>& access);
  Status Apart(const ir::Inst& inst, const Mask& mask, const std::function<void(const Mask&)>& access);
  // blended_stores.cpp
  bool MayBlend(const ir::Inst& store, const Mask& mask) const;
  llvm::Value* IsInWindow(const ir::Inst& store);
  void StoreBlended(const ir::Inst& store, const Mask& mask);
  // known_lanes.cpp
  std::optional<unsigned> OnlyLane(const Mask& mask) const;  // that is active, where it is known and alone
  bool LoadKnown(const ir::Inst& inst, const Mask& mask);    // false: nothing is emitted
};

}  // namespace ptx2cpu::lowering
