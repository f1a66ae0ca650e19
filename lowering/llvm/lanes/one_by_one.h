// Code that runs for one lane after the other: vectors are stored in memory, and each lane loads its element.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LanesOneByOne : LanePart {
 public:
  using LanePart::LanePart;
  Status EmitEachLane(const ir::Inst& inst, const Mask& mask);

  // A vector's elements in memory, for code that goes from lane to lane.
  struct Stored {
    ir::ValueId id;
    llvm::Value* array;                   // pointer to the first lane's element
    std::vector<const ir::Inst*> remade;  // what a lane computes of its element: narrower than the result
    llvm::Value* element = nullptr;       // the lane's, where it is not loaded from the array
  };
  // `rows`: elements that were loaded side by side are loaded again.
  std::vector<Stored> StoreOperands(const ir::Inst& inst, bool rows);
  // The narrower vector from which a vector was made in the instruction's block, by these instructions.
  ir::ValueId NarrowSource(const ir::Inst& inst, ir::ValueId id, std::vector<const ir::Inst*>& made) const;
  Status Remake(const Stored& operand, ValueMap::Overrides& elements);
  Status AtLane(llvm::Value* lane, std::span<const Stored> operands, const std::function<Status()>& body);
  // A loop over the mask's lanes; over all, four in a trip of the machine's code.
  Status EachOf(const Mask& mask, const std::function<Status(llvm::Value* lane)>& body);
  Status AllLanes(const std::function<Status(llvm::Value* lane)>& body);
  // The same with operands, of which a narrow one comes from a register that has those of several lanes.
  using OfLane = std::function<Status(llvm::Value* lane, std::span<const Stored> operands)>;
  Status AllLanesFrom(std::span<const Stored> operands, const OfLane& body);

 private:
  void LoadResults(std::span<const Stored> results);
  Status WhereAlone(const std::function<Status()>& lanes, llvm::BasicBlock* after);
  Stored StoredOf(ir::ValueId id);
  llvm::Value* ElementOf(const Stored& stored, llvm::Value* lane);
  const ir::Inst* RowOf(const ir::Inst& inst, ir::ValueId source) const;
  llvm::Value* RowsHold(const ir::Inst& inst) const;
  Status EmitLane(const ir::Inst& inst, llvm::Value* lane, std::span<const Stored> operands,
                  std::span<const Stored> results);
};

}  // namespace ptx2cpu::lowering
