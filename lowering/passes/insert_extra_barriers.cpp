// Extra barriers (COX section 3.3) on any control flow graph, by control dependence.
//
//   before                              after (all of block level, for a block barrier in bb2)
//     bb1: ...                            bb1: ... ; br peeled
//          cond_br %p, bb2, bb3           peeled [block]: %u = agree %p ; cond_br %u, bb2, join
//     bb2: barrier_block ; br bb3         bb2 [block]: barrier_block ; br join
//     bb3: ...                            join [block]: br bb3
//                                         bb3: ...
//
// A block that can reach no barrier any more is "doomed": lanes that go there finish the kernel within their
// region. A branch that is not known to be uniform therefore needs no agreement about going there (early
// exits before barriers). For every other branch that a boundary is control dependent on, all live members
// must agree; it is alone in a block of the boundary's level. Where two regions meet there is a boundary too.
// Both are repeated, since new boundaries create new dependences; then every region leads to one boundary at
// most: were there two, first boundaries X and Y on paths from a branch inside, neither of which needs a
// decision inside the region, both would post-dominate that branch, each would lie on every path from the
// other, and they would be the same.
#include <algorithm>
#include <map>

#include "analysis/graph/control_dependence.h"
#include "analysis/regions/regions.h"
#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/block_editing.h"
#include "lowering/passes/diagnose.h"
#include "lowering/passes/ssa_repair.h"

namespace ptx2cpu::lowering {
namespace {

constexpr uint32_t kMaxCopiedOfArms = 20000;  // instructions in all copies of a function's blocks

class ExtraBarriers {
 public:
  ExtraBarriers(const ir::Module& module, ir::Function& f, const PassOptions& options)
      : module_(module), f_(f), uniformity_(analysis::AnalyzeUniformity(f, options.launch)) {}

  Status Run() {
    SetLevels();
    TRY_STATUS(AtLevel(ir::Level::kBlock));
    TRY_STATUS(AtLevel(ir::Level::kWarp));
    MergeLeaves(ir::Level::kWarp);
    MergeLeaves(ir::Level::kBlock);
    SeparateBoundaries();
    f_.phase = ir::Phase::kSplit;
    return CheckRegions();
  }

 private:
  void SetLevels() {
    for (ir::Block& block : f_.blocks) {
      if (block.removed) continue;
      for (ir::InstId id : block.insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (ir::IsCollective(inst.op)) block.level = ir::Level::kWarp;
        // Warps that suspend reach a barrier independently.
        if (ir::IsBarrier(inst.op)) {
          const bool by_warps = f_.resumes == ir::Resumes::kWarps || ir::IsOfWarp(inst.op);
          block.level = by_warps ? ir::Level::kWarp : ir::Level::kBlock;
        }
      }
    }
  }

  bool Boundary(ir::BlockId block) const { return f_.at_block(block).level >= level_; }

  Status AtLevel(ir::Level level) {
    level_ = level;
    const auto bounds = [&](const ir::Block& b) { return !b.removed && b.level >= level; };
    if (std::ranges::none_of(f_.blocks, bounds)) return {};
    for (bool changed = true; changed;) {
      FindDoomed();
      FindTogether();
      changed = PeelBranches();
      if (!changed) changed = TRY(SeparateRegions());
    }
    return {};
  }

  // doomed_: no boundary can be reached. faulting_: neither can a ret or exit, every path ends in a trap.
  void FindDoomed() {
    doomed_.assign(f_.blocks.size(), true);
    faulting_.assign(f_.blocks.size(), true);
    std::vector<ir::BlockId> order = ir::ReversePostOrder(f_);
    for (bool changed = true; changed;) {
      changed = false;
      for (auto it = order.rbegin(); it != order.rend(); ++it) {
        ir::Opcode end = f_.terminator(*it).op;
        bool doomed = !Boundary(*it);
        bool faulting = doomed && end != ir::Opcode::kRet && end != ir::Opcode::kExit;
        for (const ir::Edge& edge : f_.successors(*it)) {
          doomed = doomed && doomed_[edge.to.index];
          faulting = faulting && faulting_[edge.to.index];
        }
        changed |= doomed != doomed_[it->index] || faulting != faulting_[it->index];
        doomed_[it->index] = doomed;
        faulting_[it->index] = faulting;
      }
    }
  }

  bool BranchUniform(ir::BlockId block) const {
    if (Boundary(block)) return true;
    const ir::Inst& branch = f_.terminator(block);
    if (branch.operands.empty()) return true;
    ir::ValueId decision = branch.operands[0];
    return decision.index < uniformity_.values.size() && uniformity_.UniformAt(decision, level_);
  }

  bool LeadsToDoom(ir::BlockId from, uint32_t edge) const {
    return doomed_[f_.successors(from)[edge].to.index] && !doomed_[from.index] &&
           f_.successors(from).size() > 1;
  }

  // Edges that matter for control dependence of boundaries. All members go to doom together, or not at all,
  // where the branch is uniform and they arrive there together.
  bool Keep(ir::BlockId from, uint32_t edge) const {
    if (!LeadsToDoom(from, edge)) return true;
    return !faulting_[f_.successors(from)[edge].to.index] && BranchUniform(from) && together_[from.index];
  }

  // together_: execution depends on uniform branches only, early exits aside.
  void FindTogether() {
    together_.assign(f_.blocks.size() + 1, true);
    analysis::Cfg g = analysis::BuildCfg(
        f_, [&](ir::BlockId b, uint32_t e) { return !LeadsToDoom(b, e); },
        [&](ir::BlockId b) { return Boundary(b); });
    const analysis::DominatorTree post = analysis::PostDominators(g);
    analysis::DependentNodes apart(g, post);
    for (uint32_t branch : g.order) {
      if (branch == g.exit || g.successors[branch].size() < 2 || BranchUniform({branch})) continue;
      for (uint32_t node : apart.AddAll(branch)) together_[node] = false;
    }
  }

  // What decides whether a boundary is reached becomes one, and what decides about that in turn.
  bool PeelBranches() {
    analysis::Cfg g = analysis::BuildCfg(
        f_, [&](ir::BlockId b, uint32_t e) { return Keep(b, e); },
        [&](ir::BlockId b) { return Boundary(b); });
    const analysis::DominatorTree post = analysis::PostDominators(g);
    analysis::DecidingBranches deciding(g, post);
    std::vector<std::pair<uint32_t, ir::Position>> work;  // in reverse post order
    for (uint32_t node : g.order) {
      if (node != g.exit && Boundary({node})) work.push_back({node, Cause({node})});
    }
    std::vector<std::pair<ir::BlockId, ir::Position>> peel;
    std::vector<bool> listed(f_.blocks.size());
    for (size_t i = 0; i < work.size(); ++i) {
      const auto [node, cause] = work[i];
      for (uint32_t branch : deciding.Take(node)) {
        if (listed[branch] || Boundary({branch})) continue;
        listed[branch] = true;
        peel.push_back({{branch}, cause});
        work.push_back({branch, cause});
      }
    }
    for (auto& [block, cause] : peel) Peel(block, cause);
    return !peel.empty();
  }

  void Peel(ir::BlockId block, ir::Position cause) {
    ir::BlockId peeled = SplitBlock(f_, block, f_.at_block(block).insts.size() - 1, Label("peeled", cause));
    f_.block(peeled).level = level_;
    Remember(peeled, cause);
    ir::Inst& branch = f_.inst(f_.at_block(peeled).insts.back());
    ir::Inst agree;
    agree.op = branch.op == ir::Opcode::kSwitch ? ir::Opcode::kAgreeIndex : ir::Opcode::kAgree;
    agree.operands = {branch.operands[0]};
    agree.at = branch.at;
    ir::InstId id = ir::Insert(f_, peeled, 0, std::move(agree));
    f_.inst(f_.at_block(peeled).insts.back()).operands[0] = f_.at_inst(id).results[0];
  }

  // All threads of every region that reaches the block go there, so the regions may end there. `post`: on the
  // graph without the edges by which only some threads leave for good.
  bool AllArrive(ir::BlockId block, const analysis::RegionMap& map,
                 const analysis::DominatorTree& post) const {
    for (const analysis::BlockEdge& edge : incoming_[block.index]) {
      uint32_t region = map.region_of[edge.from.index];
      if (Boundary(edge.from) || region == map.region_of[block.index]) continue;
      size_t count = map.regions.size();
      ir::BlockId head = region < count ? map.regions[region].head : map.shared[region - count];
      if (doomed_[head.index] != doomed_[block.index] || !post.Dominates(block.index, head.index))
        return false;
    }
    return true;
  }

  // Edges into each block, in reverse post order of their sources.
  void FindIncoming() {
    incoming_.assign(f_.blocks.size(), {});
    for (ir::BlockId from : ir::ReversePostOrder(f_)) {
      for (uint32_t e = 0; e < f_.successors(from).size(); ++e)
        incoming_[f_.successors(from)[e].to.index].push_back({from, e});
    }
  }

  // Blocks that several regions reach: the regions end there, or, where only some of a region's threads go to
  // such a block, each region gets its own copy. True when any was found.
  Result<bool> SeparateRegions() {
    analysis::RegionMap map = analysis::FindRegions(f_, level_);
    if (map.shared.empty()) return false;
    analysis::Cfg g = analysis::BuildCfg(
        f_,
        [&](ir::BlockId b, uint32_t e) {
          return Keep(b, e) && (f_.successors(b).size() < 2 || !faulting_[f_.successors(b)[e].to.index]);
        },
        [&](ir::BlockId b) { return Boundary(b); });
    analysis::DominatorTree post = analysis::PostDominators(g);
    analysis::DependentNodes apart(g, post);  // depend on branches that do not take all threads one way
    for (uint32_t branch : g.order) {
      if (branch == g.exit || g.successors[branch].size() < 2) continue;
      if (!BranchUniform({branch}) || !together_[branch]) apart.AddDirect(branch);
    }
    FindIncoming();
    // A block that follows another shared one waits: which copies lead to it is not known yet.
    std::vector<ir::BlockId> joins, waiting;
    for (ir::BlockId block : map.shared) {
      bool copies =
          !AllArrive(block, map, post) &&
          (doomed_[block.index] || (apart.Contains(block.index) && Affordable(BlocksOf(block, map))));
      if (copies && !FollowsShared(block, map)) {
        TRY_STATUS(CopyPerRegion(block, map));
        return true;  // the map no longer holds
      }
      (copies ? waiting : joins).push_back(block);
    }
    if (joins.empty()) {
      TRY_STATUS(CopyPerRegion(waiting.front(), map));
      return true;
    }
    for (ir::BlockId block : joins) {
      ir::Position cause = CauseOfMeeting(block, map);
      // A loop that starts here and holds no boundary stays within the region that starts here.
      auto within = [&](ir::BlockId from) {
        return from.index < map.region_of.size() && map.region_of[from.index] == map.region_of[block.index];
      };
      Remember(
          InsertBlockBefore(f_, block, incoming_[block.index], level_, Label("join", cause), cause, within),
          cause);
    }
    return true;
  }

  bool FollowsShared(ir::BlockId block, const analysis::RegionMap& map) const {
    return std::ranges::any_of(incoming_[block.index], [&](const analysis::BlockEdge& edge) {
      uint32_t region = map.region_of[edge.from.index];
      return !Boundary(edge.from) && region >= map.regions.size() && region != map.region_of[block.index];
    });
  }

  // The blocks that only a shared block leads to, itself first.
  std::vector<ir::BlockId> BlocksOf(ir::BlockId shared, const analysis::RegionMap& map) const {
    std::vector<ir::BlockId> blocks{shared};
    for (ir::BlockId block : map.led_to[map.region_of[shared.index] - map.regions.size()]) {
      if (block != shared) blocks.push_back(block);
    }
    return blocks;
  }

  bool Affordable(const std::vector<ir::BlockId>& blocks) const {
    uint64_t size = copied_;
    for (ir::BlockId block : blocks) size += f_.at_block(block).insts.size();
    return size <= kMaxCopiedOfArms;
  }

  Status CopyPerRegion(ir::BlockId block, const analysis::RegionMap& map) {
    std::vector<ir::BlockId> blocks = BlocksOf(block, map);
    // Edges into `block`, grouped by the region (or the boundary's edge) they come from.
    std::vector<std::pair<uint64_t, analysis::BlockEdge>> edges;
    for (const auto& [from, e] : incoming_[block.index]) {
      if (map.region_of[from.index] == map.region_of[block.index]) continue;  // a loop within
      uint64_t key = Boundary(from) ? (uint64_t{from.index} + 1) << 32 | e : map.region_of[from.index];
      edges.push_back({key, {from, e}});
    }
    if (f_.entry == block) edges.push_back({~uint64_t{0}, {}});
    std::sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) { return a < b; });
    std::vector<bool> outside(f_.blocks.size(), true);
    for (ir::BlockId b : blocks) outside[b.index] = false;
    std::map<ir::ValueId, Versions> versions;
    uint64_t keep = edges.back().first;
    ir::BlockId copy;
    for (size_t i = 0; i < edges.size() && edges[i].first != keep; ++i) {
      if (i == 0 || edges[i].first != edges[i - 1].first) {
        if (!Affordable(blocks)) {
          return Unsupported(module_, f_.terminator(block).at,
                             "too many early exits run into the same long tail of '" + f_.name + "'",
                             "the code after the early exit would be copied once for each of them");
        }
        for (ir::BlockId b : blocks) copied_ += static_cast<uint32_t>(f_.at_block(b).insts.size());
        Copies copies = CloneBlocks(f_, blocks);
        copy = copies.blocks[0];
        for (auto [original, made] : copies.values) {
          versions.try_emplace(original, Versions{original}).first->second.push_back(made);
        }
      }
      f_.inst(f_.at_block(edges[i].second.from).insts.back()).edges[edges[i].second.edge].to = copy;
    }
    std::vector<Versions> values;
    for (auto& [original, list] : versions) values.push_back(std::move(list));
    RepairSsa(f_, values, outside);
    return {};
  }

  // One leave edge per region: a value that depends on which way a region is left becomes a value of the
  // region.
  void MergeLeaves(ir::Level level) {
    analysis::RegionMap map = analysis::FindRegions(f_, level);
    for (analysis::Region& region : map.regions) {
      if (region.leaves.size() < 2) continue;
      ir::BlockId next = region.next[0];
      ir::Level below = level == ir::Level::kBlock ? ir::Level::kWarp : ir::Level::kLane;
      ir::BlockId merge = ir::AddBlock(f_, "", below);
      ir::Builder b{f_, merge};
      std::vector<ir::ValueId> params;
      for (size_t n = 0; n < f_.at_block(next).params.size(); ++n) {
        params.push_back(ir::AddParam(f_, merge, f_.type_of(f_.at_block(next).params[n])));
      }
      b.Br(next, params);
      for (analysis::BlockEdge leave : region.leaves) {
        f_.inst(f_.at_block(leave.from).insts.back()).edges[leave.edge].to = merge;
      }
      if (below == ir::Level::kWarp) Remember(merge, Cause(next));
    }
  }

  // Arguments between two boundaries are moved by a lane-level block, so that boundaries never move lanes'
  // values.
  void SeparateBoundaries() {
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      ir::BlockId block{b};
      if (f_.blocks[b].removed || f_.blocks[b].level == ir::Level::kLane) continue;
      for (uint32_t e = 0; e < f_.successors(block).size(); ++e) {
        const ir::Edge& edge = f_.successors(block)[e];
        if (edge.args.empty() || f_.at_block(edge.to).level == ir::Level::kLane) continue;
        SplitEdge(f_, block, e, ir::Level::kLane, "");
      }
    }
  }

  Status CheckRegions() const {
    for (ir::Level level : {ir::Level::kBlock, ir::Level::kWarp}) {
      analysis::RegionMap map = analysis::FindRegions(f_, level);
      const bool good = map.shared.empty() && std::ranges::all_of(map.regions, [](const auto& region) {
                          return region.next.size() <= 1 && region.leaves.size() <= 1;
                        });
      if (!good) {
        return Fail(ErrorCode::kInternal, "regions of '" + f_.name + "' at " + std::string(ir::Name(level)) +
                                              " level are not separated");
      }
    }
    return {};
  }

  // -- which barrier of the program a boundary exists for --
  void Remember(ir::BlockId block, ir::Position cause) {
    if (causes_.size() <= block.index) causes_.resize(block.index + 1);
    causes_[block.index] = cause;
  }
  ir::Position Cause(ir::BlockId block) const {
    if (block.index < causes_.size() && causes_[block.index].ptx_line) return causes_[block.index];
    for (ir::InstId id : f_.at_block(block).insts) {
      const ir::Inst& inst = f_.at_inst(id);
      if (ir::IsCollective(inst.op) || ir::IsBarrier(inst.op)) return inst.at;
    }
    return {};
  }
  ir::Position CauseOfMeeting(ir::BlockId block, const analysis::RegionMap& map) const {
    for (const auto& [from, e] : incoming_[block.index]) {
      if (Boundary(from)) return Cause(from);
      uint32_t region = map.region_of[from.index];
      if (region >= map.regions.size() || !map.regions[region].entry.from.valid()) continue;
      return Cause(map.regions[region].entry.from);
    }
    return {};
  }
  static std::string Label(const char* what, ir::Position cause) {
    return std::string(what) + "_for_line_" + std::to_string(cause.ptx_line);
  }

  const ir::Module& module_;
  ir::Function& f_;
  analysis::UniformityResult uniformity_;
  ir::Level level_ = ir::Level::kBlock;
  std::vector<bool> doomed_, faulting_, together_;
  std::vector<std::vector<analysis::BlockEdge>> incoming_;
  std::vector<ir::Position> causes_;
  uint32_t copied_ = 0;
};

}  // namespace

Status InsertExtraBarriers(ir::Module& module, ir::Function& f, const PassOptions& options) {
  return ExtraBarriers(module, f, options).Run();
}

}  // namespace ptx2cpu::lowering
