// A probe of a hash table by compare-and-swap decides by what other threads may change, as a lock does, but
// the next trip is at the next place. To suspend in each trip costs many times the trip.
//
//   before (Simt)                              after
//     ^b0:       br try(%h)                      ^b0:        br trials(%h)
//     try(%p):   %was = atomic_cas [%p], 0, %k   trials(%q): br try(%q, 0)
//                %taken = ...                    try(%p, %n): %was = atomic_cas [%p], 0, %k ; %taken = ...
//                cond_br %taken, next, done                  cond_br %taken, next, done
//     next:      %p2 = add %p, 4 ; br try(%p2)   next:       %p2 = add %p, 4 ; br more
//                                                more:       %n2 = add %n, 1 ; cond_br (%n2 < 16), try(%p2,
//                                                %n2), turn turn:       br trials(%p2)          yields
#include "lowering/passes/yield_after_trips.h"

#include <algorithm>
#include <utility>

#include "analysis/graph/dominators.h"
#include "ir/build.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Type;
using ir::ValueId;

namespace {

constexpr uint64_t kTrips = 16;

// Returns the back edge of the outer loop.
analysis::BlockEdge MakeTrials(ir::Function& f, const analysis::SpinLoop& loop) {
  const analysis::BlockEdge back = loop.back;
  const BlockId head = f.successors(back.from)[back.edge].to;
  const BlockId trials = ir::AddBlock(f, "trials"), more = ir::AddBlock(f, "more"),
                turn = ir::AddBlock(f, "turn");
  for (const BlockId from : ir::ReversePostOrder(f)) {
    std::vector<ir::Edge>& edges = f.inst(f.at_block(from).insts.back()).edges;
    for (uint32_t e = 0; e < edges.size(); ++e) {
      if (edges[e].to == head && analysis::BlockEdge{from, e} != back) edges[e].to = trials;
    }
  }
  if (f.entry == head) f.entry = trials;
  std::vector<ValueId> first;
  for (const ValueId param : std::vector(f.at_block(head).params))
    first.push_back(ir::AddParam(f, trials, f.type_of(param)));
  const ValueId trips = ir::AddParam(f, head, Type::kI32);
  ir::Builder enters{f, trials, loop.at};
  first.push_back(enters.Const(Type::kI32, 0));
  enters.Br(head, first);

  ir::Edge& edge = f.inst(f.at_block(back.from).insts.back()).edges[back.edge];
  const std::vector<ValueId> args = std::exchange(edge.args, {});
  edge.to = more;
  ir::Builder b{f, more, loop.at};
  std::vector<ValueId> next = args;
  next.push_back(b.Binary(ir::Opcode::kAdd, Type::kI32, trips, b.Const(Type::kI32, 1)));
  const ValueId again = b.Icmp(ir::Compare::kUlt, next.back(), b.Const(Type::kI32, kTrips));
  b.CondBr(again, {head, next}, {turn, {}});
  ir::Builder{f, turn, loop.at}.Br(trials, args);
  return {turn, 0};
}

}  // namespace

std::vector<analysis::SpinLoop> LoopsThatYield(ir::Function& f) {
  std::vector<analysis::SpinLoop> loops = analysis::FindSpinLoops(f);
  const auto probes = [](const analysis::SpinLoop& loop) { return loop.probes; };
  if (std::ranges::none_of(loops, probes)) return loops;
  const analysis::DominatorTree tree = analysis::Dominators(analysis::BuildCfg(f));
  for (analysis::SpinLoop& loop : loops) {
    const BlockId head = f.successors(loop.back.from)[loop.back.edge].to;
    if (loop.probes && tree.Dominates(head.index, loop.back.from.index)) loop.back = MakeTrials(f, loop);
  }
  return loops;
}

}  // namespace ptx2cpu::lowering
