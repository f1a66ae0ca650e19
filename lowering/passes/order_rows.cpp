// A block's loads of rows (analysis/lanes/load_rows.h) take the order of their addresses, and those that a
// kernel begins with are a region of their own, before its first warp operation.
//
//   before                                 after
//     %b = load x[i + 256]                   %a = load x[i]
//     %a = load x[i]                         %b = load x[i + 256]
//     %s = add %b, %a                        %s = add %b, %a
//     br w                                   br b
//     w: shuffle %s                          b: barrier
//                                            w: shuffle %s
//
// A region without warp operations runs for all threads of a block at once, so that memory is read in the
// order of its addresses: row after row, where warps one after the other would read parts of all rows. Values
// that depend on a row are computed before the next row is loaded, so that few values are live at a time.
#include <algorithm>
#include <set>

#include "analysis/lanes/load_rows.h"
#include "lowering/passes.h"
#include "lowering/passes/light_loops.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::InstId;

bool IsPureOrRead(const ir::Inst& inst) {
  const ir::Effect effect = ir::Info(inst.op).effect;
  const bool alone = ir::Info(inst.op).lanes == ir::Lanes::kAlone;
  return alone && (effect == ir::Effect::kPure || effect == ir::Effect::kReads);
}

// The loads take each other's places in the list, where nothing but pure code and other reads lies between.
void PutInOrder(ir::Function& f, BlockId block, const std::vector<InstId>& loads) {
  std::vector<InstId>& insts = f.block(block).insts;
  auto is_load = [&](InstId id) { return std::ranges::find(loads, id) != loads.end(); };
  const auto first = std::ranges::find_if(insts, is_load);
  const auto end = std::find_if(insts.rbegin(), insts.rend(), is_load).base();
  if (!std::all_of(first, end, [&](InstId id) { return IsPureOrRead(f.at_inst(id)); })) return;
  std::vector<InstId> rest, ordered;
  for (auto it = first; it != end; ++it) {
    if (!is_load(*it)) rest.push_back(*it);
  }
  std::set<uint32_t> missing;  // values that are computed later
  for (auto it = first; it != end; ++it) {
    for (ir::ValueId result : f.at_inst(*it).results) missing.insert(result.index);
  }
  auto take = [&](InstId id) {
    ordered.push_back(id);
    for (ir::ValueId result : f.at_inst(id).results) missing.erase(result.index);
  };
  auto take_ready = [&] {
    std::erase_if(rest, [&](InstId id) {
      const auto& operands = f.at_inst(id).operands;
      const bool ready =
          std::ranges::none_of(operands, [&](ir::ValueId v) { return missing.contains(v.index); });
      if (ready) take(id);
      return ready;
    });
  };
  for (InstId load : loads) {
    take_ready();
    take(load);
  }
  take_ready();
  std::ranges::copy(ordered, first);
}

}  // namespace

Status OrderRows(ir::Module&, ir::Function& f, const PassOptions& options) {
  const analysis::LaunchShape launch = options.launch.value_or(analysis::PromisedShape(f));
  if (!f.is_kernel || launch.x == 0) return {};
  for (uint32_t block = 0; block < f.blocks.size(); ++block) {
    if (f.blocks[block].removed) continue;
    const std::vector<InstId> loads = analysis::RowsLoaded(f, {block}, launch);
    if (!loads.empty()) PutInOrder(f, {block}, loads);
  }
  const auto edges = f.successors(f.entry);
  if (edges.size() != 1 || !MayPutBarriers(f)) return {};
  const bool leads_to_warps = std::ranges::any_of(
      f.at_block(edges[0].to).insts, [&](InstId id) { return ir::IsCollective(f.at_inst(id).op); });
  if (leads_to_warps && !analysis::RowsLoaded(f, f.entry, launch).empty()) PutBarrier(f, f.entry);
  return {};
}

}  // namespace ptx2cpu::lowering
