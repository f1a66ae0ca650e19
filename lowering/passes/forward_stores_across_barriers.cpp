// A load of bytes that the thread itself stored or loaded last takes that value (Polygeist, section IV-B).
//
//   before                              after
//     store shared %mine, %a              store shared %mine, %a
//     barrier_block 0                     barrier_block 0
//     %b = load shared %mine              store global %out, %a
//     store global %out, %b
//
// where %mine is the thread's own (shared @s + 4 * tid): no thread can have written there since. Bytes that
// another thread may write before, between or after the barriers that are passed are loaded again, and so is
// everything after a volatile or ordered access, an atomic, a fence or a call.
#include <algorithm>

#include "analysis/memory/known_loads.h"
#include "ir/build.h"
#include "ir/edit.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {
namespace {

// The same bits in another type of that width, computed in front of `before`.
ir::ValueId Recast(ir::Function& f, ir::ValueId value, ir::Type type, ir::InstId before) {
  if (f.type_of(value) == type) return value;
  const std::vector<ir::InstId>& list = f.at_block(f.at_inst(before).block).insts;
  size_t where = static_cast<size_t>(std::find(list.begin(), list.end(), before) - list.begin());
  ir::Inst cast;
  cast.op = ir::Opcode::kBitcast;
  cast.type = type;
  cast.from = f.type_of(value);
  cast.operands = {value};
  cast.at = f.at_inst(before).at;
  ir::InstId id = ir::Insert(f, f.at_inst(before).block, where, std::move(cast));
  return f.at_inst(id).results[0];
}

}  // namespace

Status ForwardStoresAcrossBarriers(ir::Module& module, ir::Function& f, const PassOptions& options) {
  bool any = false;
  for (const ir::Block& block : f.blocks) {
    for (ir::InstId id : block.insts) any |= ir::IsBarrier(f.at_inst(id).op);
  }
  if (!any) return {};
  std::vector<analysis::KnownLoad> loads;
  {
    analysis::MemoryEffects effects(module, f, options.launch);
    analysis::BarrierIntervals intervals(module, f, effects);
    loads = analysis::FindKnownLoads(f, effects, intervals);
  }
  if (loads.empty()) return {};
  std::vector<ir::ValueId> replaced(f.values.size());
  for (const analysis::KnownLoad& known : loads) {
    for (size_t n = 0; n < known.values.size(); ++n) {
      ir::ValueId result = f.at_inst(known.load).results[n];
      replaced[result.index] = Recast(f, known.values[n], f.type_of(result), known.load);
    }
  }
  ir::ReplaceUses(f, replaced);
  std::vector<ir::InstId> needless;
  for (const analysis::KnownLoad& known : loads) needless.push_back(known.load);
  ir::RemoveAll(f, needless);
  return {};
}

}  // namespace ptx2cpu::lowering
