// Resumes blocks: loops that may wait for another thread's store, in kernels whose regions run to their end
// otherwise. A thread that would begin another trip (in some loops: further ones) goes to the region's end
// instead; the others continue to the barrier that it leads to. When all have arrived, the block (or warp)
// yields and the waiting threads try again. No thread could have passed that barrier, so none is delayed.
//
// clang-format off
//   before (Simt)                               after
//     s:    cond_br %first, spin, b                s:     cond_br %first, spin, join(0)
//     spin: %v = load.acquire %flag                spin:  %v = load.acquire %flag
//           %p = icmp eq %v, 0                            %p = icmp eq %v, 0
//           cond_br %p, spin, b                           cond_br %p, join(1), join(0)
//     b:    barrier_block 0                        join(%w): %pending = icmp ne %w, 0 ; br ask
//                                                  ask:   %any = barrier_reduce_or %pending, 0
//                                                         cond_br %any, wait, b
//                                                  wait:  yield_block ; br again
//                                                  again: cond_br %pending, spin', join(0)
//                                                  spin': as spin
//                                                  b:     barrier_block 0
// clang-format on
//
// Threads that wait try again in a copy of the code, so that control enters the new loop at `join` only. If
// the loop contained the code of the first trial, it would have several entries, and its header could come
// before `join`. Seen from such a header, each thread leaves a loop within it when its own wait ends, so that
// all code after it would count as varying.
//
// A loop that holds a barrier or collective yields on its back edge: there all threads of its level are
// together. So does a loop that no barrier follows: the threads that do not wait end. Otherwise the first
// boundary on all ways from the loop must be a barrier of the whole block or a collective of all lanes of the
// warp, without a boundary on the way; other kernels resume lanes.
//
// Code for warps whose lanes are together (partings.cpp) does the same with yields of the warp, which its
// scheduler resumes independently of others; where no place to gather is known, the back edge yields, and
// lanes that do not wait diverge there.
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

#include "analysis/graph/dominators.h"
#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/diagnose.h"
#include "lowering/passes/ssa_repair.h"
#include "lowering/passes/waiting_places.h"
#include "lowering/passes/yield_after_trips.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Level;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

constexpr int kHoistDepth = 8;       // operations on top of each other
constexpr size_t kMaxCopied = 2000;  // instructions of what is tried again

class WaitDeferrer {
 public:
  // `most`: the level that yields, at most.
  WaitDeferrer(const ir::Module& module, ir::Function& f, Level most)
      : module_(module),
        f_(f),
        most_(most),
        loops_(LoopsThatYield(
            f, most == Level::kWarp ? analysis::PlainReads::kMayWait : analysis::PlainReads::kDoNotWait)) {}

  Status Run() {
    const WaitingPlaces places(f_);
    std::map<uint32_t, std::vector<Waiting>> gathered;  // by barrier
    std::vector<Waiting> alone;
    for (const analysis::SpinLoop& loop : loops_) {
      std::optional<Waiting> waiting = places.Of(loop);
      if (!waiting && most_ == Level::kWarp) waiting = Waiting{.loop = loop, .target = TargetOf(f_, loop)};
      if (waiting) waiting->level = std::min(waiting->level, most_);
      if (!waiting) {
        return Unsupported(module_, loop.at,
                           "a loop that may wait, and after which no barrier is met by all threads",
                           "the lanes tier (--exec=lanes, or auto) runs this kernel");
      }
      (waiting->barrier ? gathered[waiting->barrier->index] : alone).push_back(*waiting);
    }
    for (const Waiting& waiting : alone) YieldOnBackEdge(waiting);
    for (const auto& [barrier, waits] : gathered) Gather({barrier}, waits);
    RepairValues();
    return {};
  }

 private:
  // -- new code --

  static Opcode YieldOf(Level level) {
    return level == Level::kBlock ? Opcode::kYieldBlock : Opcode::kYieldWarp;
  }

  void YieldOnBackEdge(const Waiting& waiting) {
    const analysis::BlockEdge back = waiting.loop.back;
    const BlockId turn = SplitEdge(f_, back.from, back.edge, Level::kLane, "wait");
    ir::Inst yield;
    yield.op = YieldOf(waiting.level);
    yield.at = waiting.loop.at;
    ir::Insert(f_, turn, 0, std::move(yield), 0);
  }

  void Gather(BlockId barrier, const std::vector<Waiting>& waits) {
    const ir::Position at = waits[0].loop.at;
    const Level level = waits[0].level;
    const BlockId join = joins_.emplace_back(ir::AddBlock(f_, "waits")), ask = ir::AddBlock(f_),
                  decide = ir::AddBlock(f_), wait = ir::AddBlock(f_, "wait"),
                  again = ir::AddBlock(f_, "again");
    const ValueId which = ir::AddParam(f_, join, Type::kI32);  // 0: the thread does not wait
    std::vector<ValueId> nothing;                              // arguments of a thread that does not
    std::vector<std::vector<ValueId>> kept;  // arguments of the loops' heads, as parameters of `join`
    for (const Waiting& waiting : waits) {
      kept.emplace_back();
      for (ValueId param : f_.at_block(waiting.target).params) {
        kept.back().push_back(ir::AddParam(f_, join, f_.type_of(param)));
        nothing.push_back(AtStart(Opcode::kUndef, f_.type_of(param), 0));
      }
    }
    const auto number = [&](uint64_t bits) { return AtStart(Opcode::kConst, Type::kI32, bits); };
    for (size_t n = 0; n <= waits.size(); ++n) number(n);  // no instruction is added while edges are changed
    const auto to_join = [&](size_t loop, const std::vector<ValueId>& args) {  // loop 0: none
      std::vector<ValueId> all{number(loop)};
      all.insert(all.end(), nothing.begin(), nothing.end());
      size_t first = 1;
      for (size_t n = 0; n + 1 < loop; ++n) first += kept[n].size();
      std::ranges::copy(args, all.begin() + static_cast<ptrdiff_t>(first));
      return ir::Edge{join, std::move(all)};
    };
    for (BlockId from : ir::ReversePostOrder(f_)) {
      for (ir::Edge& edge : f_.inst(f_.at_block(from).insts.back()).edges) {
        if (edge.to == barrier) edge = to_join(0, {});
      }
    }
    for (size_t n = 0; n < waits.size(); ++n) {
      const analysis::BlockEdge back = waits[n].loop.back;
      const std::vector<ValueId> args = f_.successors(back.from)[back.edge].args;
      ir::Edge edge = to_join(n + 1, args);
      f_.inst(f_.at_block(back.from).insts.back()).edges[back.edge] = std::move(edge);
    }
    const ValueId none = number(0);
    ir::Builder at_join{f_, join, at};
    const ValueId pending = at_join.Icmp(ir::Compare::kNe, which, none);
    at_join.Br(ask);
    const ValueId any = Ask(ask, decide, pending, level, at);
    ir::Builder{f_, decide, at}.CondBr(any, {wait, {}}, {barrier, {}});
    ir::Builder yields{f_, wait, at};
    yields.Make(YieldOf(level), Type::kVoid, {}, {}, Type::kVoid, 0);
    yields.Br(again);
    // Each thread where it was.
    const std::vector<BlockId> targets = CopyTrials(waits, join);
    ir::Builder b{f_, again, at};
    const BlockId first = ir::AddBlock(f_);
    b.CondBr(b.Icmp(ir::Compare::kNe, which, none), {first, {}}, to_join(0, {}));
    b.block = first;
    for (size_t n = 0; n + 1 < waits.size(); ++n) {
      const BlockId others = ir::AddBlock(f_);
      b.CondBr(b.Icmp(ir::Compare::kEq, which, number(n + 1)), {targets[n], kept[n]}, {others, {}});
      b.block = others;
    }
    b.Br(targets.back(), kept.back());
  }

  // The heads of the loops for further trials: copies of all code from the loops to `join`. The loops
  // themselves where that is too long.
  std::vector<BlockId> CopyTrials(const std::vector<Waiting>& waits, BlockId join) {
    std::vector<BlockId> targets;
    for (const Waiting& waiting : waits) targets.push_back(waiting.target);
    std::vector<BlockId> blocks = ReachedFrom(f_, targets, [&](BlockId block) { return block == join; });
    std::erase(blocks, join);
    size_t size = 0;
    for (BlockId block : blocks) size += f_.at_block(block).insts.size();
    if (size > kMaxCopied) return targets;
    const Copies copies = CloneBlocks(f_, blocks);
    for (const auto& [original, copy] : copies.values) {
      if (originals_.size() <= copy.index) originals_.resize(copy.index + 1);
      originals_[copy.index] = Original(original);
      copies_[Original(original)].push_back(copy);
    }
    for (BlockId& target : targets)
      target = copies.blocks[static_cast<size_t>(std::ranges::find(blocks, target) - blocks.begin())];
    return targets;
  }

  ValueId Original(ValueId value) const {
    const bool copied = value.index < originals_.size() && originals_[value.index].valid();
    return copied ? originals_[value.index] : value;
  }

  // Whether any thread of the level waits: computed in `decide`, or before it.
  ValueId Ask(BlockId ask, BlockId decide, ValueId pending, Level level, ir::Position at) {
    ir::Builder b{f_, ask, at};
    if (level == Level::kBlock) {
      const ValueId barrier = AtStart(Opcode::kConst, Type::kI32, 0);
      const ValueId any =
          b.Inst1(Opcode::kBarrierReduceOr, Type::kVoid, {pending, barrier}, {.flags = ir::kAligned});
      b.Br(decide);
      return any;
    }
    const ValueId all = AtStart(Opcode::kConst, Type::kI32, 0xffffffff);
    const ValueId any = b.Inst1(Opcode::kVoteAny, Type::kVoid, {pending, all});
    b.Br(decide);
    return any;
  }

  // Available everywhere.
  ValueId AtStart(Opcode op, Type type, uint64_t bits) {
    const auto [it, made] = at_start_.try_emplace({op, type, bits});
    if (!made) return it->second;
    ir::Inst inst;
    inst.op = op;
    inst.type = type;
    inst.attrs.bits = bits;
    return it->second = f_.at_inst(ir::Insert(f_, f_.entry, 0, std::move(inst))).results[0];
  }

  // -- values whose definition no longer is on all ways to their uses --

  // Moves a value, with what it is computed from, to the end of a block that dominates its home, where it is
  // as uniform as it was: numbers of barriers, membermasks, addresses, decisions.
  // What is computed again in a further trial is another value, unless it is pure and computed from the same.
  bool Hoist(ValueId value, BlockId to, const analysis::DominatorTree& tree, int depth) {
    const BlockId home = f_.at_value(value).block;
    const bool is_there = tree.Dominates(home.index, to.index);
    if (is_there && !copies_.contains(value)) return true;
    const ir::InstId id = f_.at_value(value).def;
    if (!id.valid() || depth == 0) return false;
    const ir::Inst& inst = f_.at_inst(id);
    const bool pure = ir::Info(inst.op).effect == ir::Effect::kPure &&
                      ir::Info(inst.op).lanes == ir::Lanes::kAlone &&
                      (inst.op != Opcode::kSpecialRegister || (inst.attrs.flags & ir::kVolatile) == 0);
    const bool parameter = inst.op == Opcode::kLoad && inst.attrs.space == ir::Space::kParam;
    if (!pure && !parameter) return false;
    if (!std::ranges::all_of(std::vector(inst.operands),
                             [&](ValueId v) { return Hoist(v, to, tree, depth - 1); }))
      return false;
    if (is_there) return true;
    std::vector<ir::InstId>& from = f_.block(home).insts;
    from.erase(std::ranges::find(from, id));
    std::vector<ir::InstId>& insts = f_.block(to).insts;
    insts.insert(insts.end() - 1, id);
    f_.inst(id).block = to;
    for (ValueId result : f_.at_inst(id).results) f_.values[result.index].block = to;
    return true;
  }

  // The closest block that dominates both and is no boundary: those stay alone in theirs.
  BlockId CommonDominator(BlockId a, BlockId b, const analysis::DominatorTree& tree) const {
    while (a != f_.entry && (!tree.Dominates(a.index, b.index) || IsBoundary(f_, a)))
      a = {tree.parent[a.index]};
    return a;
  }

  // All operands and arguments of edges, with the block in which they are used.
  template <typename Visit>
  void ForEachUse(const Visit& visit) {
    for (BlockId block : ir::ReversePostOrder(f_)) {
      for (ir::InstId id : f_.at_block(block).insts) {
        for (ValueId& value : f_.inst(id).operands) visit(value, block);
        for (ir::Edge& edge : f_.inst(id).edges) {
          for (ValueId& value : edge.args) visit(value, block);
        }
      }
    }
  }

  // No thread uses the value before it passes its definition again, once it has come to the block.
  ValueId UndefinedIn(BlockId block, Type type) {
    ir::Inst inst;
    inst.op = Opcode::kUndef;
    inst.type = type;
    return f_.at_inst(ir::Insert(f_, block, f_.at_block(block).insts.size() - 1, std::move(inst))).results[0];
  }

  void RepairValues() {
    const analysis::DominatorTree tree = analysis::Dominators(analysis::BuildCfg(f_));
    std::vector<bool> after_trials(f_.blocks.size());
    for (BlockId block : ReachedFrom(f_, joins_, [](BlockId) { return false; }))
      after_trials[block.index] = true;
    std::vector<bool> lost(f_.values.size());
    std::vector<BlockId> above(f_.values.size());  // dominates the home and each use that the home does not
    ForEachUse([&](ValueId used, BlockId block) {
      const BlockId home = f_.at_value(used).block;
      // The first trial's definition dominates what follows all of them, where each may have its own.
      const bool of_first_trial = block != home && after_trials[block.index] && copies_.contains(used);
      if (of_first_trial || !tree.Dominates(home.index, block.index)) lost[Original(used).index] = true;
    });
    ForEachUse([&](ValueId& used, BlockId block) {
      const ValueId value = Original(used);
      if (!lost[value.index] || f_.at_value(used).block == block) return;
      used = value;
      BlockId& to = above[value.index];
      to = CommonDominator(to.valid() ? to : f_.at_value(value).block, block, tree);
    });
    std::vector<Versions> versions;
    for (uint32_t n = 0; n < lost.size(); ++n) {
      const ValueId value{n};
      if (!lost[n] || Hoist(value, above[n], tree, kHoistDepth)) continue;
      Versions& all = versions.emplace_back(Versions{value});
      if (above[n] != f_.at_value(value).block) all.push_back(UndefinedIn(above[n], f_.type_of(value)));
      if (copies_.contains(value)) std::ranges::copy(copies_.at(value), std::back_inserter(all));
    }
    if (!versions.empty()) RepairSsa(f_, versions, std::vector<bool>(f_.blocks.size(), true));
  }

  const ir::Module& module_;
  ir::Function& f_;
  const Level most_;
  const std::vector<analysis::SpinLoop> loops_;
  std::map<std::tuple<Opcode, Type, uint64_t>, ValueId> at_start_;
  std::vector<BlockId> joins_;                      // where threads gather
  std::vector<ValueId> originals_;                  // by copy
  std::map<ValueId, std::vector<ValueId>> copies_;  // by original
};

}  // namespace

Status DeferWaits(ir::Module& module, ir::Function& f, const PassOptions&) {
  return WaitDeferrer(module, f, Level::kBlock).Run();
}

Status DeferWaitsOfWarps(ir::Module& module, ir::Function& f) {
  return WaitDeferrer(module, f, Level::kWarp).Run();
}

}  // namespace ptx2cpu::lowering
