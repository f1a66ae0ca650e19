// Lets all threads read the words of shared memory that they read first after a barrier, before any of them
// changes these words on its way to the next one.
//
//   before                                  after
//     barrier_block 0                         barrier_block 0
//     %sum = load shared @sums                %sum = load shared @sums
//     ...                                     barrier_block 0
//     store shared @sums + 4 * warp, %new     ...
//                                             store shared @sums + 4 * warp, %new
//
// Such a kernel has a data race: sums of a block that are taken twice, without a barrier between the last
// thread's read of the first and the first thread's write of the second. On a GPU the warps leave the barrier
// within a few cycles of each other, so that programs with it are published and pass their own tests; here a
// warp would run all of the region before the next one begins it. Every order of racing accesses is as right
// as any other, and this is the one that the programs were tested with. The pass looks for a read at one
// known address, where hardly anything but a race makes the barrier seem needed.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/memory/barrier_intervals.h"
#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "runtime/abi/check.h"

namespace ptx2cpu::lowering {

namespace {

using analysis::MemoryEffect;
using analysis::MemoryEffects;

class Finder {
 public:
  Finder(const ir::Module& module, const ir::Function& f, const PassOptions& options)
      : f_(f), effects_(module, f, options.launch), intervals_(module, f, effects_) {}

  // After which positions of which blocks a barrier is missing, the last first.
  std::vector<std::pair<ir::BlockId, size_t>> Places() const {
    std::vector<std::pair<ir::BlockId, size_t>> places;
    if (!intervals_.known()) return places;
    for (uint32_t b = 0; b < intervals_.barriers().size(); ++b) {
      const analysis::BlockBarrier& barrier = intervals_.barriers()[b];
      if (!barrier.plain || !barrier.together) continue;
      const analysis::Stretch& stretch = intervals_.stretches()[barrier.after];
      if (const std::optional<size_t> where = AfterReads(b, stretch))
        places.emplace_back(stretch.block, *where);
    }
    std::ranges::sort(places, std::ranges::greater{},
                      [](const auto& place) { return std::pair(place.first.index, place.second); });
    return places;
  }

 private:
  // The position after the last of the reads at the stretch's start that another thread's write may change.
  std::optional<size_t> AfterReads(uint32_t barrier, const analysis::Stretch& stretch) const {
    std::optional<size_t> where;
    for (uint32_t i = stretch.from; i < stretch.to; ++i) {
      const ir::InstId id = f_.at_block(stretch.block).insts[i];
      const ir::Effect effect = ir::Info(f_.at_inst(id).op).effect;
      if (effect != ir::Effect::kPure && effect != ir::Effect::kReads) break;
      const uint32_t read = effects_.IndexOf(id);
      if (read == MemoryEffects::kNone) continue;
      const MemoryEffect& what = effects_.all()[read];
      if (what.access != analysis::Access::kRead) break;
      // A number, or a variable and a number.
      const bool of_variable = what.object.kind == analysis::MemoryObject::Kind::kVariable;
      const bool at_one_place = what.in_window && what.address.terms.size() == (of_variable ? 1 : 0);
      if (at_one_place && IsOverwritten(barrier, read)) where = i + 1;
    }
    return where;
  }

  bool IsOverwritten(uint32_t barrier, uint32_t read) const {
    return std::ranges::any_of(intervals_.effects_after(barrier), [&](uint32_t other) {
      const MemoryEffect& what = effects_.all()[other];
      return what.access == analysis::Access::kWrite && what.reach == analysis::Reach::kShared &&
             effects_.Conflict(read, other);
    });
  }

  const ir::Function& f_;
  MemoryEffects effects_;
  analysis::BarrierIntervals intervals_;
};

}  // namespace

Status KeepEarlyReads(ir::Module& module, ir::Function& f, const PassOptions& options) {
  const bool any = std::ranges::any_of(f.insts, [](const ir::Inst& inst) {
    return inst.block.valid() && inst.op == ir::Opcode::kBarrierBlock;
  });
  // Launches in other orders are to show such races.
  if (!any || (options.checks & PTX2CPU_CHECKS_ORDER) != 0) return {};
  for (const auto& [block, where] : Finder(module, f, options).Places()) {
    const ir::Position at = f.at_inst(f.at_block(block).insts[where - 1]).at;
    InsertBlockBarrier(f, block, where, at);
  }
  return {};
}

}  // namespace ptx2cpu::lowering
