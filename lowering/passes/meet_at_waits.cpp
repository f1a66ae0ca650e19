// Brings the threads of a block together before and after a wait that all of them take, where that delays no
// thread that another one needs (analysis/regions/block_waits.h): the wait of cuda::barrier, or for the bytes
// of a bulk copy. Blocks that suspend then run it (defer_waits.cpp), most often without another trial,
// instead of lanes.
//
//   before                                 after
//         %token = atomic mbarrier %a, 1         %token = atomic mbarrier %a, 1
//         br ask                                 barrier_block 0
//   ask:  %now = load.acquire %a                 br ask
//         %no = same phase %now, %token    ask:  ...
//         cond_br %no, ask, next                 cond_br %no, ask, next
//   next: %v = load.shared %x              next: barrier_block 0
//                                                %v = load.shared %x
#include <algorithm>
#include <functional>
#include <tuple>

#include "analysis/regions/block_waits.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"

namespace ptx2cpu::lowering {

Status MeetAtWaits(ir::Module& module, ir::Function& f, const PassOptions& options) {
  if (options.tier != Tier::kAuto || f.resumes == ir::Resumes::kLanes) return {};
  auto waits = analysis::FindBlockWaits(f, options.launch);
  if (!waits || waits->empty() || DecideTier(module, f, options).resumes == ir::Resumes::kWarps) return {};
  ir::Function met = f;
  // From the end of each block, so that positions stay. Several waits may have one place.
  std::vector<std::tuple<uint32_t, size_t, ir::Position>> places;
  for (const analysis::BlockWait& wait : *waits) {
    places.emplace_back(wait.before.index, wait.where, wait.at);
    places.emplace_back(wait.after.index, 0, wait.at);
  }
  const auto place = [](const auto& p) { return std::pair(std::get<0>(p), std::get<1>(p)); };
  std::ranges::sort(places, std::ranges::greater{}, place);
  const auto again = std::ranges::unique(places, std::ranges::equal_to{}, place);
  places.erase(again.begin(), again.end());
  for (const auto& [block, where, at] : places) InsertBlockBarrier(met, {block}, where, at);
  if (Status status = SplitAtBarriers(module, met, options); !status) return status;
  // Where barriers of part of the block, arrivals or computed numbers could meet the new ones, warps resume.
  if (DecideTier(module, met, options).resumes <= ir::Resumes::kBlocks) f = std::move(met);
  return {};
}

}  // namespace ptx2cpu::lowering
