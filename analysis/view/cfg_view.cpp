#include "analysis/view/cfg_view.h"

#include <algorithm>
#include <optional>

#include "analysis/graph/dominators.h"
#include "analysis/graph/loops.h"
#include "analysis/regions/regions.h"
#include "ir/text/text.h"

namespace ptx2cpu::analysis {
namespace {

using ir::BlockId;
using ir::Opcode;
using Role = CfgView::Role;

std::string Trim(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

class Maker {
 public:
  Maker(const ir::Module& module, const ir::Function& f, const CfgViewOptions& options)
      : module_(module), f_(f), options_(options), order_(ir::ReversePostOrder(f)) {}

  CfgView Make() {
    IndexLines();
    view_.title =
        (f_.is_kernel ? "kernel " : "function ") + f_.name + " (" + std::string(ir::Name(f_.phase)) + ")";
    UniformityResult uniformity = AnalyzeUniformity(f_);
    Cfg g = BuildCfg(f_);
    node_of_.assign(f_.blocks.size(), ~0u);
    for (BlockId block : order_) {
      node_of_[block.index] = static_cast<uint32_t>(view_.nodes.size());
      view_.nodes.push_back(MakeNode(block, uniformity));
    }
    for (BlockId block : order_) MakeEdges(block);
    if (f_.phase == ir::Phase::kSplit) SplitClusters();
    if (f_.phase == ir::Phase::kCollapsed) LoopClusters();
    if (options_.dominator_tree) {
      DominatorTree tree = Dominators(g);
      for (CfgView::Node& node : view_.nodes) {
        uint32_t parent = tree.parent[node.block.index];
        if (parent != kNoNode) node.dominator = node_of_[parent];
      }
    }
    ExplainLoops(Loops(g));
    return std::move(view_);
  }

 private:
  void IndexLines() {
    line_starts_ = {0};
    for (size_t at = module_.text.find('\n'); at != std::string::npos; at = module_.text.find('\n', at + 1)) {
      line_starts_.push_back(at + 1);
    }
  }
  std::string Line(uint32_t number) const {
    if (number == 0 || number > line_starts_.size() || module_.text.empty()) return {};
    size_t begin = line_starts_[number - 1];
    return Trim(std::string_view(module_.text).substr(begin, module_.text.find('\n', begin) - begin));
  }

  CfgView::Node MakeNode(BlockId block, const UniformityResult& uniformity) {
    const ir::Block& code = f_.at_block(block);
    CfgView::Node node;
    node.block = block;
    node.level = code.level;
    node.title = "b" + std::to_string(block.index);
    SetRole(code, node);
    if (!code.label.empty() && node.role != Role::kJoin && node.role != Role::kPeeledBranch)
      node.title += " " + code.label;
    node.branches = f_.successors(block).size() > 1 && !f_.terminator(block).operands.empty();
    node.decision = uniformity.branches[block.index];
    if (options_.block_text) {
      AddText(options_.block_text(block), node);
    } else if (options_.body == CfgViewOptions::Body::kPtx && !module_.text.empty()) {
      PtxLines(code, node);
    } else if (options_.body != CfgViewOptions::Body::kNone) {
      for (ir::InstId id : code.insts) node.lines.push_back(ir::Print(f_, f_.at_inst(id)));
    }
    return node;
  }

  static void AddText(const std::string& text, CfgView::Node& node) {
    for (size_t begin = 0; begin < text.size();) {
      size_t end = std::min(text.find('\n', begin), text.size());
      node.lines.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  // Lists each PTX line once, in the order of the block's instructions; instructions that passes made are
  // shown as IR.
  void PtxLines(const ir::Block& code, CfgView::Node& node) {
    std::vector<uint32_t> shown;
    for (ir::InstId id : code.insts) {
      const ir::Inst& inst = f_.at_inst(id);
      bool made = inst.at.ptx_line == 0 || inst.op == Opcode::kAgree || inst.op == Opcode::kAgreeIndex;
      if (made) {
        if (inst.op != Opcode::kBr) node.lines.push_back(ir::Print(f_, inst));
        continue;
      }
      // A branch that a pass made carries the line of the instruction that it was made for.
      if (inst.op == Opcode::kBr && Line(inst.at.ptx_line).find("bra") == std::string::npos) continue;
      if (std::find(shown.begin(), shown.end(), inst.at.ptx_line) != shown.end()) continue;
      shown.push_back(inst.at.ptx_line);
      node.lines.push_back(std::to_string(inst.at.ptx_line) + ": " + Line(inst.at.ptx_line));
    }
  }

  // insert-extra-barriers names its blocks after the line of the barrier they exist for.
  void SetRole(const ir::Block& code, CfgView::Node& node) {
    for (ir::InstId id : code.insts) {
      const ir::Inst& inst = f_.at_inst(id);
      if (!ir::IsBarrier(inst.op) && !ir::IsCollective(inst.op)) continue;
      node.role = ir::IsBarrier(inst.op) ? Role::kBarrier : Role::kCollective;
      node.why = std::string(ir::PtxName(inst.op, inst.attrs.flags)) + " at line " +
                 std::to_string(inst.at.ptx_line);
    }
    size_t number = code.label.find("_for_line_");
    if (node.role != Role::kPlain || code.level == ir::Level::kLane || number == std::string::npos) return;
    std::string line = code.label.substr(number + 10);
    uint32_t at = static_cast<uint32_t>(std::strtoul(line.c_str(), nullptr, 10));
    std::string text = Line(at);
    std::string barrier = "line " + line + (text.empty() ? "" : " (" + text + ")");
    if (code.label.starts_with("peeled")) {
      node.role = Role::kPeeledBranch;
      node.why = "decides whether " + barrier + " is reached";
    } else {
      node.role = Role::kJoin;
      node.why = "regions meet here because of " + barrier;
    }
  }

  void MakeEdges(BlockId block) {
    const ir::Inst& terminator = f_.terminator(block);
    uint32_t from = node_of_[block.index];
    bool divergent = view_.nodes[from].branches && view_.nodes[from].decision > Uniformity::kWarp;
    for (uint32_t e = 0; e < terminator.edges.size(); ++e) {
      uint32_t to = node_of_[terminator.edges[e].to.index];
      view_.edges.push_back({from, to, EdgeLabel(terminator, e), divergent, to <= from});
    }
  }

  std::string EdgeLabel(const ir::Inst& terminator, uint32_t e) const {
    if (terminator.op == Opcode::kSwitch) {
      return e + 1 == terminator.edges.size() ? "default" : std::to_string(e);
    }
    if (terminator.op == Opcode::kForWarps) {
      return e == 0 ? "each warp" : "then";
    }
    if (terminator.op == Opcode::kForLanes) {
      if (e == 2) return "when all have exited";
      return e == 0 ? (f_.is_flat ? "each thread" : "each lane") : "then";
    }
    if (terminator.op == Opcode::kCondBr) {
      return Predicate(terminator, e);
    }
    return {};
  }

  // The guard of the PTX branch, for the edge that the branch takes, negated for the other one.
  std::string Predicate(const ir::Inst& terminator, uint32_t e) const {
    std::string text = Line(terminator.at.ptx_line);
    size_t end = text.find_first_of(" \t");
    if (!text.starts_with("@") || end == std::string::npos) return e == 0 ? "true" : "false";
    std::string guard = text.substr(1, end - 1);
    bool negated = guard.starts_with("!");
    std::string name = negated ? guard.substr(1) : guard;
    std::optional<uint32_t> taken;
    for (uint32_t k = 0; k < 2; ++k) {
      const std::string& label = f_.at_block(terminator.edges[k].to).label;
      size_t at = label.empty() ? std::string::npos : text.find(label);
      if (at != std::string::npos && text.find_first_of(" \t;", at) == at + label.size()) taken = k;
    }
    if (!taken) return e == 0 ? "true" : "false";
    bool holds = (e == *taken) != negated;
    return (holds ? "" : "!") + name;
  }

  // -- parallel regions --
  void SplitClusters() {
    RegionMap warps = FindRegions(f_, ir::Level::kBlock), lanes = FindRegions(f_, ir::Level::kWarp);
    std::vector<uint32_t> outer(warps.regions.size());
    for (uint32_t r = 0; r < warps.regions.size(); ++r) {
      outer[r] = static_cast<uint32_t>(view_.clusters.size());
      view_.clusters.push_back({ir::Level::kBlock, "block region " + std::to_string(r)});
    }
    std::vector<uint32_t> inner(lanes.regions.size());
    for (uint32_t r = 0; r < lanes.regions.size(); ++r) {
      inner[r] = static_cast<uint32_t>(view_.clusters.size());
      uint32_t parent = warps.region_of[lanes.regions[r].head.index];
      view_.clusters.push_back({ir::Level::kWarp, "warp region " + std::to_string(r), outer[parent]});
    }
    for (CfgView::Node& node : view_.nodes) {
      uint32_t lane = lanes.region_of[node.block.index], warp = warps.region_of[node.block.index];
      node.cluster = lane < inner.size() ? inner[lane] : warp < outer.size() ? outer[warp] : ~0u;
    }
  }

  void LoopClusters() {
    for (BlockId block : order_) {
      const ir::Inst& loop = f_.terminator(block);
      if (loop.op == Opcode::kForWarps) AddLoop(loop, ir::Level::kBlock, "for each warp", ~0u);
    }
    for (BlockId block : order_) {
      const ir::Inst& loop = f_.terminator(block);
      if (loop.op != Opcode::kForLanes) continue;
      std::string title = f_.is_flat ? "for each thread of the block" : "for each lane";
      AddLoop(loop, f_.is_flat ? ir::Level::kBlock : ir::Level::kWarp, title,
              view_.nodes[node_of_[block.index]].cluster);
    }
  }

  // Blocks of a loop's body: reached from its first edge without climbing back to the level of the loop.
  void AddLoop(const ir::Inst& loop, ir::Level level, std::string title, uint32_t parent) {
    uint32_t cluster = static_cast<uint32_t>(view_.clusters.size());
    view_.clusters.push_back({level, std::move(title), parent});
    std::vector<BlockId> work{loop.edges[0].to};
    std::vector<bool> seen(f_.blocks.size());
    ir::Level body = f_.at_block(loop.edges[0].to).level;
    while (!work.empty()) {
      BlockId block = work.back();
      work.pop_back();
      if (seen[block.index] || f_.at_block(block).level > body) continue;
      seen[block.index] = true;
      view_.nodes[node_of_[block.index]].cluster = cluster;
      for (const ir::Edge& edge : f_.successors(block)) work.push_back(edge.to);
    }
  }

  // A loop is split when a boundary lies in it.
  void ExplainLoops(const LoopForest& forest) {
    if (f_.phase == ir::Phase::kCollapsed) return;
    for (const Loop& loop : forest.loops) {
      std::string why;
      for (uint32_t block : loop.blocks) {
        const CfgView::Node& node = view_.nodes[node_of_[block]];
        if (node.role == Role::kPlain || node.role == Role::kJoin) continue;
        why += (why.empty() ? "" : "; ") + node.title + ": " + node.why;
      }
      if (why.empty()) continue;
      std::string header = view_.nodes[node_of_[loop.header]].title;
      view_.notes.push_back("the loop at " + header + " is split into regions by " + why);
    }
  }

  const ir::Module& module_;
  const ir::Function& f_;
  const CfgViewOptions& options_;
  std::vector<BlockId> order_;
  std::vector<size_t> line_starts_;
  std::vector<uint32_t> node_of_;
  CfgView view_;
};

}  // namespace

CfgView MakeCfgView(const ir::Module& module, const ir::Function& f, const CfgViewOptions& options) {
  return Maker(module, f, options).Make();
}

}  // namespace ptx2cpu::analysis
