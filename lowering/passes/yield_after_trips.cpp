// Loops that depend on values that other threads may change, as locks do, but make progress in each trip: a
// probe of a hash table by compare-and-swap continues at the next place, a queue's counter gives the next
// piece of work. Suspending in each trip would cost many times the trip.
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
#include <map>
#include <utility>
#include <vector>

#include "analysis/graph/dominators.h"
#include "ir/build.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Type;
using ir::ValueId;

namespace {

constexpr uint64_t kTrips = 16;

using Loops = std::vector<analysis::SpinLoop>;

// The back edges of one loop, over which threads that may wait come.
class Trials {
 public:
  Trials(ir::Function& f, BlockId head, const Loops& loops) : f_(f), head_(head), loops_(loops) {}

  // One edge for all of them: else threads that come over different ones would yield at different places.
  analysis::SpinLoop Join() {
    if (loops_.size() == 1) return loops_[0];
    const BlockId latch = ir::AddBlock(f_, "latch");
    std::vector<ValueId> args;
    for (const ValueId param : std::vector(f_.at_block(head_).params))
      args.push_back(ir::AddParam(f_, latch, f_.type_of(param)));
    for (const analysis::SpinLoop& loop : loops_) EdgeOf(loop.back).to = latch;
    ir::Builder{f_, latch, loops_[0].at}.Br(head_, args);
    return {{latch, 0}, loops_[0].at, false, false};
  }

  // The edge, the only one back, becomes that of an outer loop.
  void Nest(analysis::SpinLoop& loop) {
    const BlockId trials = ir::AddBlock(f_, "trials");
    RedirectEntries(loop.back, trials);
    std::vector<ValueId> first;
    for (const ValueId param : std::vector(f_.at_block(head_).params))
      first.push_back(ir::AddParam(f_, trials, f_.type_of(param)));
    const ValueId trips = ir::AddParam(f_, head_, Type::kI32);
    ir::Builder enters{f_, trials, loop.at};
    first.push_back(enters.Const(Type::kI32, 0));
    enters.Br(head_, first);

    const BlockId more = ir::AddBlock(f_, "more"), turn = ir::AddBlock(f_, "turn");
    ir::Edge& edge = EdgeOf(loop.back);
    const std::vector<ValueId> args = std::exchange(edge.args, {});
    edge.to = more;
    ir::Builder b{f_, more, loop.at};
    std::vector<ValueId> next = args;
    next.push_back(b.Binary(ir::Opcode::kAdd, Type::kI32, trips, b.Const(Type::kI32, 1)));
    const ValueId again = b.Icmp(ir::Compare::kUlt, next.back(), b.Const(Type::kI32, kTrips));
    b.CondBr(again, {head_, next}, {turn, {}});
    ir::Builder{f_, turn, loop.at}.Br(trials, args);
    loop.back = {turn, 0};
  }

 private:
  ir::Edge& EdgeOf(analysis::BlockEdge back) const {
    return f_.inst(f_.at_block(back.from).insts.back()).edges[back.edge];
  }

  void RedirectEntries(analysis::BlockEdge back, BlockId to) {
    for (const BlockId from : ir::ReversePostOrder(f_)) {
      std::vector<ir::Edge>& edges = f_.inst(f_.at_block(from).insts.back()).edges;
      for (uint32_t e = 0; e < edges.size(); ++e) {
        if (edges[e].to == head_ && analysis::BlockEdge{from, e} != back) edges[e].to = to;
      }
    }
    if (f_.entry == head_) f_.entry = to;
  }

  ir::Function& f_;
  const BlockId head_;
  const Loops& loops_;
};

}  // namespace

Loops LoopsThatYield(ir::Function& f, analysis::PlainReads plain) {
  std::map<BlockId, Loops> of_head;
  for (const analysis::SpinLoop& loop : analysis::FindSpinLoops(f, plain))
    of_head[f.successors(loop.back.from)[loop.back.edge].to].push_back(loop);
  if (of_head.empty()) return {};
  const analysis::DominatorTree tree = analysis::Dominators(analysis::BuildCfg(f));
  std::map<BlockId, size_t> back_edges;
  for (const BlockId from : ir::ReversePostOrder(f)) {
    for (const ir::Edge& edge : f.successors(from))
      back_edges[edge.to] += tree.Dominates(edge.to.index, from.index) ? 1 : 0;
  }
  Loops loops;
  for (const auto& [head, group] : of_head) {
    const auto dominates = [&](const analysis::SpinLoop& loop) {
      return tree.Dominates(head.index, loop.back.from.index);
    };
    if (!std::ranges::all_of(group, dominates)) {
      loops.insert(loops.end(), group.begin(), group.end());
      continue;
    }
    Trials trials(f, head, group);
    analysis::SpinLoop& loop = loops.emplace_back(trials.Join());
    const bool seldom = std::ranges::all_of(group, &analysis::SpinLoop::seldom);
    if (seldom && back_edges.at(head) == group.size()) trials.Nest(loop);
  }
  return loops;
}

}  // namespace ptx2cpu::lowering
