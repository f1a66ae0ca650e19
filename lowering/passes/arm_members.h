// Whether the members of the collectives in the arms of a divergent branch are lanes of their own arm.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "analysis/graph/dominators.h"
#include "analysis/values/lanes_where.h"
#include "ir/function.h"

namespace ptx2cpu::lowering {

// Examines a function in the Split phase whose divergent branches are marked.
class ArmMembers {
 public:
  ArmMembers(ir::Function& f, analysis::LaunchShape shape);

  // The first collective of the branch's arms that may have other members; null: none may.
  const ir::Inst* CollectiveOfOthers(ir::BlockId branch) const;

 private:
  // The mask names only lanes for which the decision is `taken`.
  bool Keeps(ir::ValueId mask, ir::ValueId decision, bool taken, ir::BlockId head, int depth) const;
  // The same of a mask that is a number.
  bool KeepsLanes(uint32_t mask, ir::ValueId decision, bool taken) const;

  ir::Function& f_;
  analysis::DominatorTree tree_;
  mutable analysis::LanesWhere lanes_;
  std::function<std::optional<std::vector<ir::BlockId>>(ir::BlockId)> arms_of_;
};

}  // namespace ptx2cpu::lowering
