#include "analysis/values/uniformity.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "analysis/graph/control_dependence.h"
#include "analysis/graph/loops.h"
#include "analysis/graph/meetings.h"
#include "analysis/values/alike_warps.h"
#include "analysis/values/settled_loads.h"
#include "analysis/values/thread_transfer.h"

namespace ptx2cpu::analysis {

namespace {

constexpr size_t kMaxTangle = 200;   // blocks of a loop with several entries whose meetings are looked for
constexpr uint64_t kWholeWarp = 31;  // clamp of a shuffle among all lanes

bool HasCollective(const ir::Function& f) {
  return std::ranges::any_of(f.insts, [](const ir::Inst& inst) {
    return inst.block.valid() && ir::Info(inst.op).effect == ir::Effect::kCollective && !inst.results.empty();
  });
}

// The ways in which decisions may differ; each has its sets of dependent nodes.
constexpr Uniformity kLevels[] = {Uniformity::kBlock, Uniformity::kWarp, Uniformity::kVarying};

class UniformitySolver {
 public:
  UniformitySolver(const ir::Function& f, LaunchShape launch)
      : f_(f),
        group_(ThreadGroup::WarpOf(launch)),
        transfer_(f, group_),
        settled_(FindSettledLoads(f)),
        g_(BuildCfg(f)),
        alike_(HasCollective(f) ? FindAlikeWarps(f, launch, g_, settled_) : std::vector<bool>()),
        loops_(Loops(g_)),
        meetings_(g_, loops_) {
    result_.values.resize(f.values.size());
    result_.branches.resize(f.blocks.size(), Uniformity::kGrid);
    merge_.resize(g_.size(), Uniformity::kGrid);
    loop_exit_.resize(loops_.loops.size(), Uniformity::kGrid);
    NumberTrips();
    FindTangles();
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
        if (settled_[id.index] && !shape.uniform() && operands_[0].uniform())
          shape = Uniform(std::max(operands_[0].kind, Uniformity::kBlock));
        if (IsOfAllWarps(inst, inst.results[n], shape)) shape = Uniform(Uniformity::kBlock);
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

  // Whether a collective gives all lanes of a warp the same result: a vote, or one lane's value for all of
  // them.
  bool IsOfAllWarps(const ir::Inst& inst, ir::ValueId result, const ThreadShape& shape) const {
    if (alike_.empty() || !alike_[result.index] || ir::Info(inst.op).effect != ir::Effect::kCollective)
      return false;
    if (inst.op != ir::Opcode::kShuffle) return shape.kind == Uniformity::kWarp;
    if (inst.attrs.shuffle != ir::ShuffleMode::kIdx || !operands_[1].uniform()) return false;
    const ir::InstId clamp = f_.at_value(inst.operands[2]).def;
    return clamp.valid() && f_.at_inst(clamp).op == ir::Opcode::kConst &&
           f_.at_inst(clamp).attrs.bits == kWholeWarp;
  }

  void VisitBranch(ir::BlockId block) {
    const ir::Inst& terminator = f_.terminator(block);
    if (g_.successors[block.index].size() < 2 || terminator.operands.empty()) return;
    Uniformity kind = result_.values[terminator.operands[0].index].kind;
    if (kind > Uniformity::kWarp) kind = Uniformity::kVarying;
    if (kind <= result_.branches[block.index]) return;
    result_.branches[block.index] = kind;
    changed_ = true;
    const uint32_t l = loops_.innermost[block.index];
    if (l != kNoNode && tangle_[l] != kNoNode)
      PartInTangle(tangle_[l], kind);
    else
      Meet(g_.successors[block.index], block.index, kind);
    if (l != kNoNode) Decide(l, trip_node_[block.index], kind);
  }

  void Meet(const std::vector<uint32_t>& starts, uint32_t stop, Uniformity kind) {
    for (uint32_t join : meetings_.Of(starts, stop)) merge_[join] = std::max(merge_[join], kind);
  }

  // Large loops with several entries: paths from each of their branches lead through most of the loop, so
  // that finding the meetings of each branch would take the square of its size. There threads are assumed to
  // meet everywhere and to leave in different trips.
  void FindTangles() {
    for (const Loop& loop : loops_.loops) {
      const uint32_t around = loop.parent == kNoNode ? kNoNode : tangle_[loop.parent];
      const bool is_one = loop.irreducible && loop.blocks.size() > kMaxTangle;
      const auto number = static_cast<uint32_t>(tangle_.size());
      tangle_.push_back(around != kNoNode ? around : is_one ? number : kNoNode);
    }
    everywhere_.resize(tangle_.size(), Uniformity::kGrid);
  }

  void PartInTangle(uint32_t tangle, Uniformity kind) {
    MeetEverywhere(tangle, kind);
    if (kind <= loop_exit_[tangle]) return;
    loop_exit_[tangle] = kind;
    Leave(tangle, kind);
    const uint32_t parent = loops_.loops[tangle].parent;
    if (parent != kNoNode) Decide(parent, loop_node_[tangle], kind);
  }

  void MeetEverywhere(uint32_t tangle, Uniformity kind) {
    if (kind <= everywhere_[tangle]) return;
    everywhere_[tangle] = kind;
    for (uint32_t block : loops_.loops[tangle].blocks) merge_[block] = std::max(merge_[block], kind);
  }

  // How threads leave a loop follows from the decisions of its exits, from those that decide within a trip
  // whether an exit is tested at all, and where these lie in inner loops, from how those are left.
  //
  // The graph of one trip: an inner loop is one node, edges to the header and out of the loop lead to the
  // exit.
  struct Trip {
    Cfg g;
    DominatorTree post;
    std::vector<bool> leaves;  // the source of an edge out of the loop
    std::optional<DependentNodes> differing[3];
  };

  // The node of the trip for a block, or for the inner loop that holds it; the exit where the block is
  // outside the loop.
  uint32_t NodeIn(uint32_t l, uint32_t block) const {
    const uint32_t exit = static_cast<uint32_t>(direct_[l].size() + inner_[l].size());
    if (block == loops_.loops[l].header) return exit;
    if (loops_.innermost[block] == l) return trip_node_[block];
    return loops_.Contains(l, block) ? loop_node_[InnerWith(l, block)] : exit;
  }

  // The loop directly within `l` that holds a block of `l`. A nest may be as deep as it has exits.
  uint32_t InnerWith(uint32_t l, uint32_t block) const {
    return *std::prev(std::ranges::upper_bound(inner_[l], loops_.innermost[block]));
  }

  void NumberTrips() {
    const size_t count = loops_.loops.size();
    direct_.resize(count);
    inner_.resize(count);
    trips_.resize(count);
    loop_node_.resize(count);
    trip_node_.resize(g_.size());
    returns_.resize(count);
    for (uint32_t node : g_.order) {
      const uint32_t l = loops_.innermost[node];
      if (node == g_.exit || l == kNoNode) continue;
      trip_node_[node] = static_cast<uint32_t>(direct_[l].size());
      direct_[l].push_back(node);
      if (std::ranges::find(g_.successors[node], g_.exit) == g_.successors[node].end()) continue;
      for (uint32_t in = l; in != kNoNode && !returns_[in]; in = loops_.loops[in].parent) returns_[in] = true;
    }
    for (uint32_t l = 0; l < count; ++l) {
      const uint32_t parent = loops_.loops[l].parent;
      if (parent == kNoNode) continue;
      loop_node_[l] = static_cast<uint32_t>(direct_[parent].size() + inner_[parent].size());
      inner_[parent].push_back(l);
    }
  }

  Trip& TripOf(uint32_t l) {
    if (trips_[l]) return *trips_[l];
    trips_[l] = std::make_unique<Trip>();
    Trip& trip = *trips_[l];
    Cfg& g = trip.g;
    g.exit = static_cast<uint32_t>(direct_[l].size() + inner_[l].size());
    g.successors.resize(g.exit + 1);
    trip.leaves.resize(g.exit + 1);
    for (uint32_t n = 0; n <= g.exit; ++n) g.order.push_back(n);
    for (uint32_t n = 0; n < direct_[l].size(); ++n) {
      for (uint32_t to : g_.successors[direct_[l][n]]) {
        g.successors[n].push_back(to == g_.exit ? g.exit : NodeIn(l, to));
        if (to != g_.exit && !loops_.Contains(l, to)) trip.leaves[n] = true;
      }
    }
    for (uint32_t inner : inner_[l]) {
      for (auto [from, to] : loops_.loops[inner].exits)
        g.successors[loop_node_[inner]].push_back(NodeIn(l, to));
      trip.leaves[loop_node_[inner]] = loops_.loops[inner].IsLeftWith(loops_.loops[l]);
      if (trip.leaves[loop_node_[inner]] || returns_[inner] || g.successors[loop_node_[inner]].empty())
        g.successors[loop_node_[inner]].push_back(g.exit);
    }
    for (auto& list : g.successors) {
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    trip.post = PostDominators(g);
    for (auto& nodes : trip.differing) nodes.emplace(g, trip.post);
    return trip;
  }

  // Notes that a decision in a trip differs by `kind`. The exit from the loop may differ with it, which is a
  // decision in a trip of the loop around it.
  void Decide(uint32_t l, uint32_t node, Uniformity kind) {
    while (true) {
      Trip& trip = TripOf(l);
      Uniformity leaving = Uniformity::kGrid;
      for (size_t i = 0; i < std::size(kLevels); ++i) {
        const Uniformity level = kLevels[i];
        if (kind < level) continue;
        for (uint32_t n : trip.differing[i].value().AddWithNode(node)) {
          if (trip.leaves[n]) leaving = level;
        }
      }
      if (leaving <= loop_exit_[l]) return;
      loop_exit_[l] = leaving;
      Leave(l, leaving);
      const uint32_t parent = loops_.loops[l].parent;
      if (parent == kNoNode) return;
      node = loop_node_[l];
      kind = leaving;
      l = parent;
    }
  }

  // The blocks to which threads leave the loop. Exits that also leave loops around it are handled with those
  // loops, whose exits differ as much; only the meetings in code that two paths lead into are found
  // differently then.
  std::vector<uint32_t> TargetsOf(uint32_t l) const {
    const Loop& loop = loops_.loops[l];
    std::vector<uint32_t> targets;
    if (!meetings_.IsIrreducible(l)) {
      for (auto [from, to] : loop.exits) targets.push_back(to);
      return targets;
    }
    for (uint32_t from : loop.blocks) {
      for (uint32_t to : g_.successors[from]) {
        if (to != g_.exit && !loops_.Contains(l, to)) targets.push_back(to);
      }
    }
    return targets;
  }

  // Where threads leave a loop in different trips, the values that they carry out differ, and so do the
  // blocks that they go to.
  void Leave(uint32_t l, Uniformity leaving) {
    if (tangle_[l] != kNoNode && tangle_[l] != l) {
      MeetEverywhere(tangle_[l], leaving);  // what leaves that too is left as differently
    } else {
      std::vector<uint32_t> targets = TargetsOf(l);
      for (uint32_t to : targets) merge_[to] = std::max(merge_[to], leaving);
      std::ranges::sort(targets);
      targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
      Meet(targets, loops_.loops[l].header, leaving);
    }
    FindEscapes();
    for (ir::ValueId value : escaping_[l]) escape_[value.index] = std::max(escape_[value.index], leaving);
  }

  // Values defined in a loop and used outside.
  void FindEscapes() {
    if (!escape_.empty()) return;
    escape_.resize(f_.values.size(), Uniformity::kGrid);
    escaping_.resize(loops_.loops.size());
    std::vector<uint32_t> within(f_.values.size(), kNoNode);  // the innermost loop that holds all uses so far
    for (size_t v = 0; v < within.size(); ++v) {
      const ir::BlockId block = f_.values[v].block;
      if (block.valid() && g_.reached[block.index]) within[v] = loops_.innermost[block.index];
    }
    const auto use = [&](ir::ValueId value, uint32_t node) {
      for (uint32_t& l = within[value.index]; l != kNoNode && !loops_.Contains(l, node);
           l = loops_.loops[l].parent)
        escaping_[l].push_back(value);
    };
    for (uint32_t node : g_.order) {
      if (node == g_.exit) continue;
      for (ir::InstId id : f_.at_block({node}).insts) {
        for (ir::ValueId value : f_.at_inst(id).operands) use(value, node);
        for (const ir::Edge& edge : f_.at_inst(id).edges) {
          for (ir::ValueId value : edge.args) use(value, node);
        }
      }
    }
  }

  ThreadShape Escaping(ir::ValueId value, const ThreadShape& shape) const {
    return value.index < escape_.size() ? Blend(shape, escape_[value.index], group_) : shape;
  }

  const ir::Function& f_;
  const ThreadGroup group_;
  ThreadTransfer transfer_;
  const std::vector<bool> settled_;
  Cfg g_;
  const std::vector<bool> alike_;  // by value: FindAlikeWarps
  LoopForest loops_;
  Meetings meetings_;
  // Per loop: its blocks that are in no inner loop, the loops within it, the graph of a trip once it is
  // needed.
  std::vector<std::vector<uint32_t>> direct_, inner_;
  std::vector<std::unique_ptr<Trip>> trips_;
  std::vector<uint32_t> trip_node_,
      loop_node_;                       // by block, by loop: the node in a trip of the loop around it
  std::vector<bool> returns_;           // by loop: threads may end in it
  std::vector<uint32_t> tangle_;        // by loop: the outermost large one with several entries around it
  std::vector<Uniformity> everywhere_;  // by such a loop: how threads part that meet anywhere in it
  std::vector<std::vector<ir::ValueId>> escaping_;  // by loop: values that are used outside
  UniformityResult result_;
  std::vector<ThreadShape> operands_;
  // How the branch differs at which the threads that meet there diverged; at which they leave a loop; at
  // which they hold values of different trips.
  std::vector<Uniformity> merge_, loop_exit_, escape_;
  bool changed_ = false;
};

}  // namespace

UniformityResult AnalyzeUniformity(const ir::Function& f, std::optional<LaunchShape> launch) {
  return UniformitySolver(f, launch.value_or(PromisedShape(f))).Solve();
}

}  // namespace ptx2cpu::analysis
