// A loop at the head of a region that is the same for all threads of the block runs once, not once for each
// vector of threads. For example, each thread adds up the partial sums of other blocks for itself.
//
//   before                                            after
//     b0 [block]: for_lanes l0, b1                      b0 [block]: slot_store 7, false ; for_lanes e, b1
//     l0: br l1(0, 0)                                   e:  %done = slot_load 7 ; cond_br %done, n, l0
//     l1(%k, %s): %x = load %at(%k) ...                 l0: br l1(0, 0)
//         cond_br %again, l1(%k2, %s2), l2(%s2)         l1(%k, %s): ... cond_br %again, l1(%k2, %s2), s(%s2)
//     l2(%sum): store %own, %sum ; end_lane             s(%t): slot_store 8, %t ; slot_store 7, true ; br n
//                                                       n:  %u = slot_load 8 ; br l2(%u)
//                                                       l2(%sum): store %own, %sum ; end_lane
//
// The threads have no order and meet no barrier before, so the first that comes may load for all. What the
// rest of the region needs of the head is rebuilt there where it is cheap, else it has a slot of the block.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "analysis/graph/dominators.h"
#include "analysis/graph/loops.h"
#include "ir/build.h"
#include "lowering/passes.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::InstId;
using ir::Level;
using ir::Opcode;
using ir::ValueId;

constexpr size_t kMaxKept = 8;      // values in slots
constexpr size_t kMaxRebuilt = 64;  // instructions

// The head of a region: all blocks from its entry to `cut`, which every path meets, without it.
struct Head {
  BlockId entry, cut;
  std::set<uint32_t> blocks;
};

class OnceForBlock {
 public:
  explicit OnceForBlock(ir::Function& f) : f_(f) {}

  void Run() {
    for (BlockId block : ir::ReversePostOrder(f_)) {
      const std::optional<BlockId> entry = EntryOfRegion(block);
      if (!entry) continue;
      const std::optional<Head> head = FindHead(*entry);
      if (head && PlanValues(*head)) Rewrite(block, *head);
    }
  }

 private:
  // The entry of the region that a block starts for all its threads.
  std::optional<BlockId> EntryOfRegion(BlockId block) const {
    const ir::Inst& loop = f_.terminator(block);
    if (f_.at_block(block).level != Level::kBlock) return {};
    if (loop.op == Opcode::kForLanes) return loop.edges[0].to;
    if (loop.op != Opcode::kForWarps) return {};
    const ir::Block& warp = f_.at_block(loop.edges[0].to);
    const ir::Inst& lanes = f_.at_inst(warp.insts.back());
    if (warp.insts.size() != 1 || lanes.op != Opcode::kForLanes) return {};
    return lanes.edges[0].to;
  }

  // -- what is the same for all threads --

  // A volatile load may see something else each time, but all threads may also load at once.
  static bool ReadsMemory(const ir::Inst& inst) {
    const ir::MemoryOrder order = inst.attrs.order;
    return inst.op == Opcode::kLoad && inst.attrs.space != ir::Space::kLocal &&
           (inst.attrs.flags & ir::kVolatile) == 0 &&
           (order == ir::MemoryOrder::kWeak || order == ir::MemoryOrder::kVolatile);
  }

  static bool IsPure(const ir::Inst& inst) {
    const ir::OpcodeInfo& row = ir::Info(inst.op);
    const bool is_special = (row.attributes & ir::kSpecial) != 0;
    return row.effect == ir::Effect::kPure && row.lanes == ir::Lanes::kAlone &&
           !(is_special && ir::Info(inst.attrs.special).varies == ir::Varies::kTime);
  }

  bool IsUniform(const ir::Inst& inst) const {
    if (inst.op == Opcode::kSlotLoad) return f_.slots[inst.attrs.index].shape == Level::kBlock;
    if (inst.op == Opcode::kIsSpace || inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric)
      return false;  // of local memory they are the thread's own
    if (inst.op == Opcode::kSymbol && inst.attrs.space == ir::Space::kLocal) return false;
    if (inst.op == Opcode::kSpecialRegister &&
        ir::Info(inst.attrs.special).varies > ir::Varies::kUniformInBlock)
      return false;
    if (!IsPure(inst) && !ReadsMemory(inst)) return false;
    return std::ranges::none_of(inst.operands, [&](ValueId v) { return varying_.contains(v.index); });
  }

  // All blocks that are reached from one of a region, which is the first.
  std::vector<BlockId> Reached(BlockId first) {
    met_.resize(f_.blocks.size(), 0);
    ++mark_;
    std::vector<BlockId> reached;
    const auto meet = [&](BlockId block) {
      if (std::exchange(met_[block.index], mark_) != mark_) reached.push_back(block);
    };
    meet(first);
    for (size_t n = 0; n < reached.size(); ++n) {
      for (const ir::Edge& edge : f_.successors(reached[n])) meet(edge.to);
    }
    return reached;
  }

  // Parameters count as uniform until an edge brings another value.
  void FindVarying(const analysis::Cfg& g) {
    varying_.clear();
    for (bool changed = true; changed;) {
      changed = false;
      const auto mark = [&](ValueId value) { changed |= varying_.insert(value.index).second; };
      for (uint32_t node : g.order) {
        if (node == g.exit) continue;
        const ir::Block& block = f_.at_block(region_[node]);
        for (InstId id : block.insts) {
          const ir::Inst& inst = f_.at_inst(id);
          if (!IsUniform(inst)) std::ranges::for_each(inst.results, mark);
          for (const ir::Edge& edge : inst.edges) {
            for (size_t n = 0; n < edge.args.size(); ++n) {
              if (varying_.contains(edge.args[n].index)) mark(f_.at_block(edge.to).params[n]);
            }
          }
        }
      }
    }
  }

  // All threads go the same way through it, and it does nothing but compute and load.
  bool MayBeOfHead(BlockId id) const {
    const ir::Block& block = f_.at_block(id);
    const auto varies = [&](ValueId value) { return varying_.contains(value.index); };
    if (std::ranges::any_of(block.params, varies)) return false;
    for (InstId at : block.insts) {
      const ir::Inst& inst = f_.at_inst(at);
      if (inst.op == Opcode::kBr) continue;
      if (inst.op == Opcode::kCondBr) {
        if (std::ranges::any_of(inst.operands, varies)) return false;
      } else if (inst.op != Opcode::kSlotLoad && !IsPure(inst) && !ReadsMemory(inst)) {
        return false;
      }
    }
    return true;
  }

  // -- the head --

  // The blocks from an entry to a cut, which grow from one cut to the next.
  struct Growing {
    explicit Growing(const analysis::Cfg& graph) : g(graph), holds(graph.size()) {}
    void AddUpTo(uint32_t first, uint32_t cut) {
      Add(first);
      for (size_t n = blocks.size() - 1; n < blocks.size(); ++n) {
        for (uint32_t next : g.successors[blocks[n]]) {
          if (next != cut && !holds[next]) Add(next);
        }
      }
    }
    void Add(uint32_t node) {
      holds[node] = true;
      blocks.push_back(node);
      for (uint32_t from : g.predecessors[node]) entering += holds[from] ? 0 : 1;
      for (uint32_t to : g.successors[node]) entering -= holds[to] && to != node ? 1 : 0;
    }

    const analysis::Cfg& g;
    std::vector<bool> holds;
    std::vector<uint32_t> blocks;
    size_t entering = 0;  // edges
  };

  // The longest that has a loop.
  std::optional<Head> FindHead(BlockId entry) {
    region_ = Reached(entry);
    const analysis::Cfg g = analysis::BuildCfgOf(f_, region_);
    const analysis::LoopForest loops = analysis::Loops(g);
    if (loops.loops.empty() || !g.endless.empty()) return {};
    const analysis::DominatorTree post = analysis::PostDominators(g);
    FindVarying(g);
    if (!g.predecessors[g.entry].empty()) return {};
    Growing head(g);
    bool has_loop = false;
    size_t count = 0;  // of its blocks in the longest
    BlockId last;
    for (uint32_t from = g.entry, cut = post.parent[from]; cut != g.exit && cut != analysis::kNoNode;
         from = std::exchange(cut, post.parent[cut])) {
      const size_t before = head.blocks.size();
      head.AddUpTo(from, cut);
      const auto added = std::span(head.blocks).subspan(before);
      if (!std::ranges::all_of(added, [&](uint32_t node) { return MayBeOfHead(region_[node]); })) break;
      has_loop |= std::ranges::any_of(
          added, [&](uint32_t node) { return loops.innermost[node] != analysis::kNoNode; });
      if (!has_loop || head.entering != 0) continue;  // something leads back into it
      if (std::ranges::any_of(f_.at_block(region_[cut]).params,
                              [&](ValueId v) { return varying_.contains(v.index); }))
        continue;
      count = head.blocks.size();
      last = region_[cut];
    }
    if (count == 0) return {};
    std::set<uint32_t> blocks;
    for (uint32_t node : std::span(head.blocks).first(count)) blocks.insert(region_[node].index);
    return Head{entry, last, std::move(blocks)};
  }

  // -- what the rest needs of it --

  bool IsOfHead(const Head& head, ValueId value) const {
    return head.blocks.contains(f_.at_value(value).block.index);
  }

  bool IsCheap(const ir::Inst& inst) const {
    if (inst.op == Opcode::kSlotLoad || IsParam(inst)) return true;
    return IsPure(inst) && ir::Info(inst.op).cost != ir::Cost::kCostly;
  }

  // From nothing that has to be kept.
  bool CanRebuild(const Head& head, ValueId value) {
    if (!IsOfHead(head, value)) return true;
    if (const auto known = can_rebuild_.find(value.index); known != can_rebuild_.end()) return known->second;
    const InstId def = f_.at_value(value).def;
    const bool can = def.valid() && IsCheap(f_.at_inst(def)) &&
                     std::ranges::all_of(f_.at_inst(def).operands,
                                         [&](ValueId operand) { return CanRebuild(head, operand); });
    return can_rebuild_[value.index] = can;
  }

  // Rebuilds a value, after those that it needs, or keeps it. False: neither is possible.
  bool Plan(const Head& head, ValueId value) {
    if (!IsOfHead(head, value) || !planned_.insert(value.index).second) return true;
    const InstId def = f_.at_value(value).def;
    const bool uniform = !varying_.contains(value.index);
    if (uniform && !CanRebuild(head, value)) {
      kept_.push_back(value);
      return true;
    }
    const ir::Inst& inst = f_.at_inst(def);  // parameters of the head are uniform, and it stores nothing
    if (rebuilt_.size() == kMaxRebuilt) return false;
    const auto plan = [&](ValueId operand) { return Plan(head, operand); };
    if (!std::ranges::all_of(inst.operands, plan)) return false;
    if (std::ranges::find(rebuilt_, def) == rebuilt_.end()) rebuilt_.push_back(def);
    return true;
  }

  static bool IsParam(const ir::Inst& inst) {
    return inst.op == Opcode::kLoad && inst.attrs.space == ir::Space::kParam && inst.results.size() == 1;
  }

  bool PlanValues(const Head& head) {
    planned_.clear(), can_rebuild_.clear(), kept_.clear(), rebuilt_.clear(), rest_.clear();
    const std::vector<BlockId> reached = Reached(head.cut);
    for (uint32_t node : analysis::BuildCfgOf(f_, reached).order) {
      if (node < reached.size()) rest_.push_back(reached[node]);
    }
    for (BlockId block : rest_) {
      for (InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        for (ValueId operand : inst.operands) {
          if (!Plan(head, operand)) return false;
        }
        for (const ir::Edge& edge : inst.edges) {
          for (ValueId arg : edge.args) {
            if (!Plan(head, arg)) return false;
          }
        }
      }
    }
    return kept_.size() + f_.at_block(head.cut).params.size() <= kMaxKept;
  }

  // -- the new form --

  uint32_t AddSlot(ir::Type type) {
    f_.slots.push_back({type, Level::kBlock});
    return static_cast<uint32_t>(f_.slots.size() - 1);
  }

  void Rewrite(BlockId block, const Head& head) {
    const uint32_t done = AddSlot(ir::Type::kI1);
    StoreBefore(block, done);
    const BlockId again = ir::AddBlock(f_), save = ir::AddBlock(f_), rest = ir::AddBlock(f_);
    SetEntry(block, again);
    ir::Builder first{f_, again};
    first.CondBr(first.SlotLoad(done), {rest, {}}, {head.entry, {}});
    for (uint32_t node : head.blocks) {
      for (ir::Edge& edge : f_.inst(f_.at_block({node}).insts.back()).edges) {
        if (edge.to == head.cut) edge.to = save;
      }
    }
    ir::Builder saves{f_, save}, loads{f_, rest};
    std::vector<ValueId> args;
    const std::vector<ValueId> params = f_.at_block(head.cut).params;
    for (ValueId param : params) {
      const uint32_t slot = AddSlot(f_.type_of(param));
      saves.SlotStore(slot, ir::AddParam(f_, save, f_.type_of(param)));
      args.push_back(loads.SlotLoad(slot));
    }
    std::map<uint32_t, ValueId> replaced;
    for (ValueId value : kept_) {
      const uint32_t slot = AddSlot(f_.type_of(value));
      saves.SlotStore(slot, value);
      replaced[value.index] = loads.SlotLoad(slot);
    }
    saves.SlotStore(done, saves.Const(ir::Type::kI1, 1));
    saves.Br(rest);
    for (InstId id : rebuilt_) Rebuild(id, rest, replaced);
    for (BlockId at : rest_) {
      for (InstId id : f_.at_block(at).insts) Replace(f_.inst(id), replaced);
    }
    loads.Br(head.cut, std::move(args));
  }

  // That nothing is computed yet.
  void StoreBefore(BlockId block, uint32_t done) {
    std::vector<InstId>& insts = f_.block(block).insts;
    const InstId end = insts.back();
    insts.pop_back();
    ir::Builder b{f_, block};
    b.SlotStore(done, b.Const(ir::Type::kI1, 0));
    f_.block(block).insts.push_back(end);
  }

  void SetEntry(BlockId block, BlockId entry) {
    ir::Inst* loop = &f_.inst(f_.at_block(block).insts.back());
    if (loop->op == Opcode::kForWarps) loop = &f_.inst(f_.at_block(loop->edges[0].to).insts.back());
    loop->edges[0].to = entry;
  }

  void Rebuild(InstId id, BlockId to, std::map<uint32_t, ValueId>& replaced) {
    ir::Inst inst = f_.at_inst(id);
    const std::vector<ValueId> old = std::move(inst.results);
    inst.results.clear();
    for (ValueId result : old) inst.results.push_back(ir::AddValue(f_, f_.type_of(result), {}, to, 0));
    Replace(inst, replaced);
    const InstId copy = ir::Append(f_, to, std::move(inst), static_cast<uint32_t>(old.size()));
    for (size_t n = 0; n < old.size(); ++n) replaced[old[n].index] = f_.at_inst(copy).results[n];
  }

  static void Replace(ir::Inst& inst, const std::map<uint32_t, ValueId>& replaced) {
    const auto replace = [&](ValueId& value) {
      if (const auto found = replaced.find(value.index); found != replaced.end()) value = found->second;
    };
    std::ranges::for_each(inst.operands, replace);
    for (ir::Edge& edge : inst.edges) std::ranges::for_each(edge.args, replace);
  }

  ir::Function& f_;
  std::vector<uint32_t> met_;    // by block: the walk of Reached that met it last
  uint32_t mark_ = 0;            // of the last walk
  std::vector<BlockId> region_;  // that FindHead looks at: node i of its graph is region_[i]
  std::set<uint32_t> varying_;   // values of the region
  std::set<uint32_t> planned_;
  std::map<uint32_t, bool> can_rebuild_;
  std::vector<ValueId> kept_;    // in slots
  std::vector<InstId> rebuilt_;  // operands first
  std::vector<BlockId> rest_;    // of the region, from the cut on
};

}  // namespace

Status ComputeOnce(ir::Module&, ir::Function& f, const PassOptions&) {
  // All lanes of a region run: the first vector has one that computes.
  const bool runs_blocks = f.resumes == ir::Resumes::kNever || f.resumes == ir::Resumes::kBlocks;
  if (!runs_blocks || f.together_of != ~0u || f.parked_slot != ~0u || f.has_early_exit) return {};
  OnceForBlock(f).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
