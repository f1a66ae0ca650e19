// Statements of one warp whose order a GPU's lock step decides: a barrier of the lanes that are converged
// between them.
//
//   before                                    after
//     store shared %s + 4 * tid.x, 0            store shared %s + 4 * tid.x, 0
//     %one = icmp eq tid.x, 0                   barrier_warp {legacy}
//     cond_br %one, ^one, ^rest                 %one = icmp eq tid.x, 0
//     ^one: store shared %s + 64, %scales       cond_br %one, ^one, ^rest
//                                               ^one: store shared %s + 64, %scales
//
// Where a warp is one vector, this costs nothing and changes no result; where lanes run one by one or by
// groups, the first lane would store before the last one has cleared. analysis/memory/lock_step.h finds the
// accesses. They are still a race, and race checks report it, since checks are inserted before this pass.
#include <algorithm>

#include "analysis/memory/lock_step.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "runtime/abi/check.h"

namespace ptx2cpu::lowering {

Status KeepStatementsInStep(ir::Module&, ir::Function& f, const PassOptions& options) {
  // Launches in other orders are to show such races.
  if ((options.checks & PTX2CPU_CHECKS_ORDER) != 0) return {};
  std::vector<std::pair<ir::BlockId, size_t>> places;
  for (const analysis::LockStepPair& pair : analysis::FindLockStepPairs(f, options.launch))
    places.emplace_back(pair.block, pair.where);
  std::ranges::sort(places, std::ranges::greater{});  // what is before a place stays where it is
  places.erase(std::unique(places.begin(), places.end()), places.end());
  for (const auto& [block, where] : places)
    InsertConvergence(f, block, where, f.at_inst(f.at_block(block).insts[where]).at);
  return {};
}

}  // namespace ptx2cpu::lowering
