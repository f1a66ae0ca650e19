#include "analysis/values/uniformity.h"

#include <algorithm>
#include <map>

#include "analysis/graph/control_dependence.h"
#include "analysis/graph/loops.h"
#include "analysis/values/thread_transfer.h"

namespace ptx2cpu::analysis {

namespace {

class Solver {
 public:
  Solver(const ir::Function& f, LaunchShape launch)
      : f_(f), group_(ThreadGroup::WarpOf(launch)), transfer_(f, group_), g_(BuildCfg(f)), loops_(Loops(g_)) {
    result_.values.resize(f.values.size());
    result_.branches.resize(f.blocks.size(), Uniformity::kGrid);
    merge_.resize(g_.size(), Uniformity::kGrid);
    loop_exit_.resize(loops_.loops.size(), Uniformity::kGrid);
  }

  UniformityResult Solve() {
    if (!f_.is_kernel && f_.entry.valid()) {
      for (ir::ValueId param : f_.at_block(f_.entry).params) Raise(param, kVaryingShape);
    }
    do {
      changed_ = false;
      for (uint32_t node : g_.order) {
        if (node != g_.exit) VisitBlock(ir::BlockId{node});
      }
    } while (changed_);
    return std::move(result_);
  }

 private:
  void Raise(ir::ValueId id, const ThreadShape& shape) {
    ThreadShape& known = result_.values[id.index];
    ThreadShape joined = Join(known, shape, group_);
    if (joined == known) return;
    known = joined;
    changed_ = true;
  }

  void VisitBlock(ir::BlockId block) {
    for (ir::InstId id : f_.at_block(block).insts) {
      const ir::Inst& inst = f_.at_inst(id);
      operands_.clear();
      for (ir::ValueId operand : inst.operands) operands_.push_back(result_.values[operand.index]);
      for (size_t n = 0; n < inst.results.size(); ++n) {
        ThreadShape shape = transfer_.Result(inst, n, f_.at_block(block).level, operands_);
        Raise(inst.results[n], Escaping(inst.results[n], shape));
      }
    }
    for (const ir::Edge& edge : f_.successors(block)) {
      for (size_t n = 0; n < edge.args.size(); ++n) {
        ir::ValueId param = f_.at_block(edge.to).params[n];
        ThreadShape shape = Blend(result_.values[edge.args[n].index], merge_[edge.to.index], group_);
        Raise(param, Escaping(param, shape));
      }
    }
    VisitBranch(block);
  }

  void VisitBranch(ir::BlockId block) {
    const ir::Inst& terminator = f_.terminator(block);
    if (g_.successors[block.index].size() < 2 || terminator.operands.empty()) return;
    Uniformity kind = result_.values[terminator.operands[0].index].kind;
    if (kind > Uniformity::kWarp) kind = Uniformity::kVarying;
    if (kind <= result_.branches[block.index]) return;
    result_.branches[block.index] = kind;
    changed_ = true;
    for (uint32_t join : JoinsOf(g_.successors[block.index], block.index))
      merge_[join] = std::max(merge_[join], kind);
    // Innermost first: how threads leave a loop depends on how they leave the loops in it.
    for (uint32_t l = loops_.innermost[block.index]; l != kNoNode; l = loops_.loops[l].parent) VisitLoop(l);
  }

  // Where threads leave a loop in different trips, what they carry out differs, and so does where they go.
  void VisitLoop(uint32_t l) {
    const Loop& loop = loops_.loops[l];
    Uniformity leaving = LeavingKind(l);
    if (leaving <= loop_exit_[l]) return;
    loop_exit_[l] = leaving;
    std::vector<uint32_t> targets;
    for (auto [from, to] : loop.exits) {
      merge_[to] = std::max(merge_[to], leaving);
      if (std::find(targets.begin(), targets.end(), to) == targets.end()) targets.push_back(to);
    }
    for (uint32_t join : JoinsOf(targets, loop.header)) merge_[join] = std::max(merge_[join], leaving);
    FindEscapes(loop, leaving);
  }

  // Control dependence within one trip of a loop: edges to the header and out of the loop lead to the exit.
  // Nodes are positions in Loop::blocks.
  const ControlDependence& WithinTrip(uint32_t l) {
    auto [it, made] = within_trip_.try_emplace(l);
    if (!made) return it->second;
    const Loop& loop = loops_.loops[l];
    auto local = [&](uint32_t block) {
      auto at = std::lower_bound(loop.blocks.begin(), loop.blocks.end(), block);
      bool inside = at != loop.blocks.end() && *at == block && block != loop.header;
      return static_cast<uint32_t>(inside ? at - loop.blocks.begin()
                                          : static_cast<ptrdiff_t>(loop.blocks.size()));
    };
    Cfg g;
    g.exit = static_cast<uint32_t>(loop.blocks.size());
    g.successors.resize(g.exit + 1);
    for (uint32_t n = 0; n <= g.exit; ++n) g.order.push_back(n);
    for (uint32_t n = 0; n < g.exit; ++n) {
      for (uint32_t to : g_.successors[loop.blocks[n]]) {
        auto& list = g.successors[n];
        if (std::find(list.begin(), list.end(), local(to)) == list.end()) list.push_back(local(to));
      }
    }
    return it->second = ControlDependences(g, PostDominators(g));
  }

  // How differently threads leave a loop: by the decisions of its exits, by those that decide within a trip
  // whether an exit is tested at all, and where these lie in inner loops, by how those are left.
  Uniformity LeavingKind(uint32_t l) {
    const Loop& loop = loops_.loops[l];
    const ControlDependence& dependence = WithinTrip(l);
    std::vector<Uniformity> decides(loop.blocks.size(), Uniformity::kGrid);
    for (size_t n = 0; n < loop.blocks.size(); ++n) {
      decides[n] = result_.branches[loop.blocks[n]];
      for (uint32_t m = loops_.innermost[loop.blocks[n]]; m != l; m = loops_.loops[m].parent) {
        decides[n] = std::max(decides[n], loop_exit_[m]);
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t n = 0; n < loop.blocks.size(); ++n) {
        for (uint32_t source : dependence.sources[n]) {
          if (decides[source] <= decides[n]) continue;
          decides[n] = decides[source];
          changed = true;
        }
      }
    }
    Uniformity leaving = Uniformity::kGrid;
    for (auto [from, to] : loop.exits) {
      auto at = std::lower_bound(loop.blocks.begin(), loop.blocks.end(), from);
      leaving = std::max(leaving, decides[static_cast<size_t>(at - loop.blocks.begin())]);
    }
    return leaving;
  }

  // Values defined in the loop and used outside.
  void FindEscapes(const Loop& loop, Uniformity kind) {
    escape_.resize(f_.values.size(), Uniformity::kGrid);
    auto use = [&](ir::ValueId value) {
      if (loop.Contains(f_.at_value(value).block.index))
        escape_[value.index] = std::max(escape_[value.index], kind);
    };
    for (uint32_t node : g_.order) {
      if (node == g_.exit || loop.Contains(node)) continue;
      for (ir::InstId id : f_.at_block({node}).insts) {
        for (ir::ValueId value : f_.at_inst(id).operands) use(value);
        for (const ir::Edge& edge : f_.at_inst(id).edges) {
          for (ir::ValueId value : edge.args) use(value);
        }
      }
    }
  }

  ThreadShape Escaping(ir::ValueId value, const ThreadShape& shape) const {
    return value.index < escape_.size() ? Blend(shape, escape_[value.index], group_) : shape;
  }

  // Where paths from different `starts` meet without passing `stop` (disjoint paths; Karrenberg and Hack
  // 2012). Each node carries the start it is reached from; a node reached from two starts anew with itself.
  std::vector<uint32_t> JoinsOf(const std::vector<uint32_t>& starts, uint32_t stop) const {
    std::vector<uint32_t> label(g_.size(), kNoNode), joins;
    for (uint32_t s : starts) label[s] = s;
    bool changed = true;
    while (changed) {
      changed = false;
      for (uint32_t node : g_.order) {
        if (node == g_.exit || node == stop || label[node] == kNoNode) continue;
        for (uint32_t to : g_.successors[node]) {
          if (label[to] == label[node] || label[to] == to) {
            // The successor itself is a join when another successor's path reaches it.
            if (label[to] == to && label[node] != to &&
                std::find(joins.begin(), joins.end(), to) == joins.end()) {
              joins.push_back(to);
              changed = true;
            }
            continue;
          }
          if (label[to] == kNoNode) {
            label[to] = label[node];
          } else {
            label[to] = to;
            joins.push_back(to);
          }
          changed = true;
        }
      }
    }
    return joins;
  }

  const ir::Function& f_;
  const ThreadGroup group_;
  ThreadTransfer transfer_;
  Cfg g_;
  LoopForest loops_;
  std::map<uint32_t, ControlDependence> within_trip_;
  UniformityResult result_;
  std::vector<ThreadShape> operands_;
  // How threads that meet there have been parted; ... leave a loop; ... hold values of different trips.
  std::vector<Uniformity> merge_, loop_exit_, escape_;
  bool changed_ = false;
};

}  // namespace

UniformityResult AnalyzeUniformity(const ir::Function& f, std::optional<LaunchShape> launch) {
  return Solver(f, launch.value_or(PromisedShape(f))).Solve();
}

}  // namespace ptx2cpu::analysis
