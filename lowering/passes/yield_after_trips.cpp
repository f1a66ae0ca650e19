// A probe of a hash table by compare-and-swap decides by what other threads may change, as a lock does, but
// the next trip is at the next place; a queue's counter gives the next piece of work. To suspend in each trip
// costs many times the trip.
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

using Loops = std::vector<analysis::SpinLoop*>;

// All back edges of one loop become those of an outer one.
class Trials {
 public:
  Trials(ir::Function& f, BlockId head, const Loops& loops) : f_(f), head_(head), loops_(loops) {}

  void Make() {
    trials_ = ir::AddBlock(f_, "trials");
    RedirectEntries();
    std::vector<ValueId> first;
    for (const ValueId param : std::vector(f_.at_block(head_).params))
      first.push_back(ir::AddParam(f_, trials_, f_.type_of(param)));
    trips_ = ir::AddParam(f_, head_, Type::kI32);
    ir::Builder enters{f_, trials_, loops_[0]->at};
    first.push_back(enters.Const(Type::kI32, 0));
    enters.Br(head_, first);
    for (analysis::SpinLoop* loop : loops_) CountTrips(*loop);
  }

 private:
  bool IsBack(analysis::BlockEdge edge) const {
    return std::ranges::any_of(loops_, [&](const analysis::SpinLoop* loop) { return loop->back == edge; });
  }

  void RedirectEntries() {
    for (const BlockId from : ir::ReversePostOrder(f_)) {
      std::vector<ir::Edge>& edges = f_.inst(f_.at_block(from).insts.back()).edges;
      for (uint32_t e = 0; e < edges.size(); ++e) {
        if (edges[e].to == head_ && !IsBack({from, e})) edges[e].to = trials_;
      }
    }
    if (f_.entry == head_) f_.entry = trials_;
  }

  void CountTrips(analysis::SpinLoop& loop) {
    const BlockId more = ir::AddBlock(f_, "more"), turn = ir::AddBlock(f_, "turn");
    ir::Edge& edge = f_.inst(f_.at_block(loop.back.from).insts.back()).edges[loop.back.edge];
    const std::vector<ValueId> args = std::exchange(edge.args, {});
    edge.to = more;
    ir::Builder b{f_, more, loop.at};
    std::vector<ValueId> next = args;
    next.push_back(b.Binary(ir::Opcode::kAdd, Type::kI32, trips_, b.Const(Type::kI32, 1)));
    const ValueId again = b.Icmp(ir::Compare::kUlt, next.back(), b.Const(Type::kI32, kTrips));
    b.CondBr(again, {head_, next}, {turn, {}});
    ir::Builder{f_, turn, loop.at}.Br(trials_, args);
    loop.back = {turn, 0};
  }

  ir::Function& f_;
  const BlockId head_;
  const Loops& loops_;
  BlockId trials_;
  ValueId trips_;
};

}  // namespace

std::vector<analysis::SpinLoop> LoopsThatYield(ir::Function& f, analysis::PlainReads plain) {
  std::vector<analysis::SpinLoop> loops = analysis::FindSpinLoops(f, plain);
  std::map<BlockId, Loops> of_head;
  for (analysis::SpinLoop& loop : loops) {
    if (loop.seldom) of_head[f.successors(loop.back.from)[loop.back.edge].to].push_back(&loop);
  }
  if (of_head.empty()) return loops;
  const analysis::DominatorTree tree = analysis::Dominators(analysis::BuildCfg(f));
  std::map<BlockId, size_t> back_edges;
  for (const BlockId from : ir::ReversePostOrder(f)) {
    for (const ir::Edge& edge : f.successors(from))
      back_edges[edge.to] += tree.Dominates(edge.to.index, from.index) ? 1 : 0;
  }
  for (const auto& [head, group] : of_head) {
    const bool dominates = std::ranges::all_of(group, [&](const analysis::SpinLoop* loop) {
      return tree.Dominates(head.index, loop->back.from.index);
    });
    if (dominates && back_edges[head] == group.size()) Trials(f, head, group).Make();
  }
  return loops;
}

}  // namespace ptx2cpu::lowering
