// Accesses in which a few lanes at a time have elements close together.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class GroupedAccesses : LanePart {
 public:
  using LanePart::LanePart;
  Status InGroups(const ir::Inst& inst, const Mask& mask, const std::function<Status()>& apart);

 private:
  struct GroupedAccess {
    const ir::Inst& inst;
    analysis::LaneGroups groups;
    std::vector<int64_t> distances;
    llvm::Value* start = nullptr;  // pointer to the first lane's element
    Memory memory;

    int64_t bytes() const { return ir::Bytes(inst.type); }
    int64_t elements() const { return groups.bytes / bytes(); }
    std::vector<int> LanesOf(size_t group) const;
    int PartAt(size_t group, size_t place, unsigned width) const;
  };
  Result<llvm::Value*> FirstOf(ir::ValueId id, std::span<const ir::ValueId> parts);
  llvm::Value* IsPattern(ir::ValueId part, const Mask& mask);
  llvm::Value* IsUnwrapped(const ir::Inst& widened, llvm::Value* first);
  llvm::Value* ActiveInGroup(const Mask& mask, std::span<const int> lanes);
  llvm::Value* ReadInGroup(const GroupedAccess& access, size_t group, const Mask& mask);
  void LoadGroups(const GroupedAccess& access, const Mask& mask);
  void StoreGroups(const GroupedAccess& access, const Mask& mask, bool keeps);
};

}  // namespace ptx2cpu::lowering
