#include "analysis/uniformity.h"

#include <algorithm>

#include "analysis/loops.h"
#include "analysis/uniformity_transfer.h"

namespace ptx2cpu::analysis {

std::string_view Name(Uniformity uniformity) {
  constexpr std::string_view kNames[] = {"block-uniform", "warp-uniform", "affine", "varying"};
  return kNames[static_cast<size_t>(uniformity)];
}

LaunchShape PromisedShape(const ir::Function& f) {
  if (f.required_threads[0] == 0) return {};
  return {f.required_threads[0], std::max(f.required_threads[1], 1u), std::max(f.required_threads[2], 1u)};
}

namespace {

ValueShape Join(const ValueShape& a, const ValueShape& b) {
  if (a == b) return a;
  if (a.kind <= Uniformity::kWarp && b.kind <= Uniformity::kWarp) return {std::max(a.kind, b.kind)};
  if (a.kind == Uniformity::kAffine && b.kind == Uniformity::kAffine && a.stride == b.stride) {
    return {Uniformity::kAffine, a.stride, std::min(a.base_align, b.base_align)};
  }
  return {Uniformity::kVarying};
}

// A value that is uniform in each of two groups of lanes that meet: it differs at the level of the branch.
ValueShape Blend(const ValueShape& value, Uniformity branch) {
  if (branch == Uniformity::kBlock) return value;
  if (branch == Uniformity::kWarp)
    return value.kind == Uniformity::kBlock ? ValueShape{Uniformity::kWarp} : value;
  return {Uniformity::kVarying};
}

class Solver {
 public:
  Solver(const ir::Function& f, LaunchShape launch)
      : f_(f), transfer_(f, launch), g_(BuildCfg(f)), loops_(Loops(g_)) {
    result_.values.resize(f.values.size());
    result_.branches.resize(f.blocks.size(), Uniformity::kBlock);
    merge_.resize(g_.size(), Uniformity::kBlock);
    loop_exit_.resize(loops_.loops.size(), Uniformity::kBlock);
  }

  UniformityResult Solve() {
    if (!f_.is_kernel && f_.entry.valid()) {
      for (ir::ValueId param : f_.at_block(f_.entry).params) Raise(param, {Uniformity::kVarying});
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
  void Raise(ir::ValueId id, ValueShape shape) {
    ValueShape& old = result_.values[id.index];
    ValueShape joined = seen_.size() > id.index && seen_[id.index] ? Join(old, shape) : shape;
    if (seen_.size() <= id.index) seen_.resize(result_.values.size());
    bool first = !seen_[id.index];
    seen_[id.index] = true;
    // A loop-carried base may lose its alignment trip by trip; two steps are enough to know.
    if (!first && joined.kind == Uniformity::kAffine && joined.base_align < old.base_align)
      joined.base_align = 1;
    if (first || !(joined == old)) changed_ = true;
    old = joined;
  }

  void VisitBlock(ir::BlockId block) {
    for (ir::InstId id : f_.at_block(block).insts) {
      const ir::Inst& inst = f_.at_inst(id);
      for (uint32_t n = 0; n < inst.results.size(); ++n) {
        ValueShape shape = transfer_.Result(inst, n, f_.at_block(block).level, result_.values);
        Raise(inst.results[n], Escaping(inst.results[n], shape));
      }
    }
    for (const ir::Edge& edge : f_.successors(block)) {
      for (size_t n = 0; n < edge.args.size(); ++n) {
        ir::ValueId param = f_.at_block(edge.to).params[n];
        ValueShape shape = Blend(result_.values[edge.args[n].index], merge_[edge.to.index]);
        Raise(param, Escaping(param, shape));
      }
    }
    VisitBranch(block);
  }

  void VisitBranch(ir::BlockId block) {
    const ir::Inst& terminator = f_.terminator(block);
    if (g_.successors[block.index].size() < 2 || terminator.operands.empty()) return;
    Uniformity kind = std::min(result_.values[terminator.operands[0].index].kind, Uniformity::kVarying);
    if (kind == Uniformity::kAffine) kind = Uniformity::kVarying;
    if (kind <= result_.branches[block.index]) return;
    result_.branches[block.index] = kind;
    changed_ = true;
    for (uint32_t join : JoinsOf(block.index)) merge_[join] = std::max(merge_[join], kind);
    // Lanes leave these loops at different trips: what they carry out differs.
    for (uint32_t l = loops_.innermost[block.index]; l != kNoNode; l = loops_.loops[l].parent) {
      const Loop& loop = loops_.loops[l];
      bool leaves = false;
      for (auto [from, to] : loop.exits) leaves |= from == block.index;
      if (!leaves) continue;
      loop_exit_[l] = std::max(loop_exit_[l], kind);
      for (auto [from, to] : loop.exits) merge_[to] = std::max(merge_[to], kind);
      FindEscapes(loop, kind);
    }
  }

  // Values defined in the loop and used outside.
  void FindEscapes(const Loop& loop, Uniformity kind) {
    escape_.resize(f_.values.size(), Uniformity::kBlock);
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

  ValueShape Escaping(ir::ValueId value, ValueShape shape) const {
    return value.index < escape_.size() ? Blend(shape, escape_[value.index]) : shape;
  }

  // Where paths from different successors of `branch` meet (disjoint paths; Karrenberg and Hack 2012). Each
  // node carries the successor it is reached from; a node reached from two starts anew with itself.
  std::vector<uint32_t> JoinsOf(uint32_t branch) const {
    std::vector<uint32_t> label(g_.size(), kNoNode), joins;
    for (uint32_t s : g_.successors[branch]) label[s] = s;
    bool changed = true;
    while (changed) {
      changed = false;
      for (uint32_t node : g_.order) {
        if (node == g_.exit || node == branch || label[node] == kNoNode) continue;
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
  UniformityTransfer transfer_;
  Cfg g_;
  LoopForest loops_;
  UniformityResult result_;
  std::vector<bool> seen_;
  std::vector<Uniformity> merge_, loop_exit_, escape_;
  bool changed_ = false;
};

}  // namespace

UniformityResult AnalyzeUniformity(const ir::Function& f, std::optional<LaunchShape> launch) {
  return Solver(f, launch.value_or(PromisedShape(f))).Solve();
}

}  // namespace ptx2cpu::analysis
