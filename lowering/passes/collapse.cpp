// Hierarchical and flat collapsing (COX sections 3.5 and 3.6): regions become loops over warps and lanes.
//
//   before (Split)                      after (Collapsed, hierarchical)
//     bb0: %x = load ... ; br bb1         entry [block]: for_warps w0, b1
//     bb1 [block]: barrier_block          w0 [warp]: for_lanes l0, w1        w1 [warp]: end_warp
//          br bb2                         l0 [lane]: %x = load ... ; slot_store 0, %x ; end_lane
//     bb2: store ..., %x ; ret            b1 [block]: barrier_block ; for_warps w2, b2
//                                         w2 [warp]: for_lanes l2, w3        w3 [warp]: end_warp
//                                         l2 [lane]: %x = slot_load 0 ; store ..., %x ; end_lane
//                                         b2 [block]: ret
//
// The flat form has no warp level: for_lanes at block level runs all threads. The new code is built beside
// the old blocks, which are dropped at the end. Parameters of boundaries live in slots. A lane's own are
// stored by the region that leads there; uniform ones are read by every lane of that region, so they change
// only after its loop, at the level they are uniform at.
//
// Two things are left for the next passes: warp-level branches that lanes may take both ways, and `exit`
// where the kernel ends for the lanes of a warp (in kernels that resume warps barriers are at warp level,
// too).
#include <algorithm>
#include <map>

#include "analysis/regions/regions.h"
#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/collapse_values.h"
#include "lowering/passes/diagnose.h"

namespace ptx2cpu::lowering {
namespace {

using analysis::BlockEdge;
using analysis::Region;
using ir::BlockId;
using ir::Level;
using ir::Opcode;
using ir::ValueId;

class Collapser {
 public:
  Collapser(ir::Function& f, const PassOptions& options, bool flat)
      : f_(f),
        flat_(flat),
        uniformity_(analysis::AnalyzeUniformity(f, options.launch)),
        values_(f, uniformity_, flat),
        lanes_(analysis::FindRegions(f, Level::kWarp)),
        warps_(analysis::FindRegions(f, Level::kBlock)),
        old_blocks_(static_cast<uint32_t>(f.blocks.size())) {
    new_block_.resize(old_blocks_);
    boundary_place_.resize(old_blocks_, kNoPlace);
    regions_to_.resize(old_blocks_);
    copiers_to_.resize(old_blocks_);
    for (uint32_t r = 0; r < lanes_.regions.size(); ++r) {
      if (!lanes_.regions[r].next.empty()) regions_to_[lanes_.regions[r].next[0].index].push_back(r);
    }
  }

  void Run(bool by_cut) {
    values_.KeepApartWhatLeavesApart();
    if (by_cut) values_.PlanSlots(analysis::ChooseStoredValues(f_, lanes_, uniformity_, flat_).stored);
    for (BlockId block : ir::ReversePostOrder(f_)) {
      if (f_.at_block(block).level != Level::kLane) DeclareBoundary(block);
    }
    for (uint32_t r = 0; r < lanes_.regions.size(); ++r) CloneRegion(r);
    for (BlockId block : boundaries_) CloneBoundary(block);
    for (uint32_t r = 0; r < lanes_.regions.size(); ++r) MapOperands(r);
    BuildSkeleton();
    CarryParameters();
    values_.FlushStores();
    for (auto& [block, terminator] : terminators_) ir::Append(f_, block, std::move(terminator));
    DropOldBlocks();
    f_.has_early_exit = early_exit_;
    f_.is_flat = flat_;
    f_.phase = ir::Phase::kCollapsed;
  }

 private:
  struct LaneCode {
    BlockId entry, end;  // slot loads; slot stores and end_lane
    PlaceId place = kNoPlace;
    std::vector<BlockId> clones;
  };
  // A place where uniform parameters of `to` are copied when control comes over `leave`.
  struct Copier {
    BlockEdge leave;
    BlockId to;
    Level level;  // of the place
    PlaceId place;
  };

  // -- code --
  void DeclareBoundary(BlockId block) {
    const ir::Block& old = f_.at_block(block);
    Level level = old.level;
    std::vector<ValueId> params = old.params;
    BlockId fresh = ir::AddBlock(f_, old.label, level);
    new_block_[block.index] = fresh;
    boundary_place_[block.index] = values_.AddPlace(level, fresh, fresh);
    boundaries_.push_back(block);
    for (ValueId param : params) values_.SetCarried(param);
    if (level != Level::kBlock) return;
    for (ir::InstId id : f_.at_block(block).insts) {
      for (ValueId operand : f_.at_inst(id).operands) {
        if (!uniformity_.UniformAt(operand, Level::kBlock)) values_.KeepPerLane(operand);
      }
    }
  }

  void CloneRegion(uint32_t index) {
    const Region& region = lanes_.regions[index];
    LaneCode code;
    code.entry = ir::AddBlock(f_, f_.at_block(region.head).label);
    code.end = ir::AddBlock(f_);
    code.place = values_.AddPlace(Level::kLane, code.entry, code.end);
    for (BlockId old : region.blocks) {
      BlockId clone = ir::AddBlock(f_, old == region.head ? "" : f_.at_block(old).label);
      new_block_[old.index] = clone;
      code.clones.push_back(clone);
      std::vector<ValueId> params = f_.at_block(old).params;
      for (ValueId param : params)
        values_.SetHome(param, code.place, ir::AddParam(f_, clone, f_.type_of(param)));
      std::vector<ir::InstId> insts = f_.at_block(old).insts;
      for (ir::InstId id : insts) CloneInst(id, clone, code.place);
    }
    code_.push_back(std::move(code));
  }

  // Operands still name old values.
  ir::InstId CloneInst(ir::InstId id, BlockId to, PlaceId place) {
    ir::Inst inst = f_.at_inst(id);
    std::vector<ValueId> old = std::move(inst.results);
    inst.results.clear();
    for (ValueId result : old) inst.results.push_back(ir::AddValue(f_, f_.type_of(result), {}, to, 0));
    ir::InstId copy = ir::Append(f_, to, std::move(inst), static_cast<uint32_t>(old.size()));
    for (size_t n = 0; n < old.size(); ++n) values_.SetHome(old[n], place, f_.at_inst(copy).results[n]);
    return copy;
  }

  void CloneBoundary(BlockId block) {
    PlaceId place = boundary_place_[block.index];
    Level level = f_.at_block(block).level;
    std::vector<ir::InstId> insts = f_.at_block(block).insts;
    for (ir::InstId id : insts) {
      if (ir::IsTerminator(f_.at_inst(id).op)) continue;
      std::vector<ValueId> operands = f_.at_inst(id).operands;
      for (ValueId& operand : operands) operand = values_.Get(place, operand);
      bool agree = f_.at_inst(id).op == Opcode::kAgree || f_.at_inst(id).op == Opcode::kAgreeIndex;
      if (agree && uniformity_.UniformAt(f_.at_inst(id).operands[0], level)) {
        values_.SetHome(f_.at_inst(id).results[0], place, operands[0]);  // known to hold
        continue;
      }
      f_.inst(CloneInst(id, new_block_[block.index], place)).operands = std::move(operands);
    }
  }

  void MapOperands(uint32_t index) {
    const LaneCode& code = code_[index];
    for (BlockId clone : code.clones) {
      std::vector<ir::InstId> insts = f_.at_block(clone).insts;
      for (ir::InstId id : insts) {
        for (size_t n = 0; n < f_.at_inst(id).operands.size(); ++n) {
          f_.inst(id).operands[n] = values_.Get(code.place, ValueId{f_.at_inst(id).operands[n]});
        }
        MapEdges(code, id);
      }
      MapTerminator(index, f_.at_block(clone).insts.back());
    }
    Terminate(code.end, Opcode::kEndLane, {});
    BlockEdge entry = lanes_.regions[index].entry;
    std::vector<ValueId> args;
    if (entry.from.valid()) args = f_.successors(entry.from)[entry.edge].args;
    for (ValueId& arg : args) arg = values_.Get(code.place, arg);
    Terminate(code.entry, Opcode::kBr, {{new_block_[lanes_.regions[index].head.index], args}});
  }

  void MapEdges(const LaneCode& code, ir::InstId id) {
    for (size_t e = 0; e < f_.at_inst(id).edges.size(); ++e) {
      ir::Edge edge = f_.at_inst(id).edges[e];
      if (f_.at_block(edge.to).level != Level::kLane) {
        edge = {code.end, {}};
      } else {
        edge.to = new_block_[edge.to.index];
        for (ValueId& arg : edge.args) arg = values_.Get(code.place, arg);
      }
      f_.inst(id).edges[e] = std::move(edge);
    }
  }

  void MapTerminator(uint32_t index, ir::InstId id) {
    Opcode op = f_.at_inst(id).op;
    if (op != Opcode::kRet && op != Opcode::kExit) return;
    // Nothing follows for any lane: the end of the region is the end of the kernel.
    // A resumable warp reports it to the scheduler.
    bool last = lanes_.regions[index].next.empty() && WarpRegionOf(lanes_.regions[index]).next.empty() &&
                f_.resumes != ir::Resumes::kWarps;
    f_.inst(id).op = last ? Opcode::kEndLane : Opcode::kExitLane;
    f_.inst(id).operands.clear();
    early_exit_ |= !last;
  }

  const Region& WarpRegionOf(const Region& lane_region) const {
    return warps_.regions[warps_.region_of[lane_region.head.index]];
  }

  void Terminate(BlockId block, Opcode op, std::vector<ir::Edge> edges, ir::Position at = {}) {
    ir::Inst inst;
    inst.op = op;
    inst.edges = std::move(edges);
    inst.at = at;
    terminators_.push_back({block, std::move(inst)});
  }

  // -- loops --
  void BuildSkeleton() {
    BlockId start = ir::AddBlock(f_, "", Level::kBlock);
    Terminate(start, Opcode::kBr, {{Enter({}, f_.entry, Level::kBlock), {}}});
    for (BlockId block : boundaries_) {
      ir::Inst terminator = f_.terminator(block);
      for (ValueId& operand : terminator.operands)
        operand = values_.Get(boundary_place_[block.index], operand);
      for (uint32_t e = 0; e < terminator.edges.size(); ++e) {
        terminator.edges[e] = {Enter({block, e}, terminator.edges[e].to, f_.at_block(block).level), {}};
      }
      if (terminator.op == Opcode::kRet || terminator.op == Opcode::kExit) LeaveAtBoundary(block, terminator);
      terminators_.push_back({new_block_[block.index], std::move(terminator)});
    }
    start_ = start;
  }

  // A boundary whose block continues only with ret.
  void LeaveAtBoundary(BlockId block, ir::Inst& terminator) {
    terminator.op = f_.at_block(block).level == Level::kBlock ? Opcode::kRet : Opcode::kEndWarp;
    terminator.operands.clear();
  }

  // The block of `level` to go to for what follows the edge.
  BlockId Enter(BlockEdge edge, BlockId to, Level level) {
    Level target = f_.at_block(to).level;
    if (level == Level::kBlock && target != Level::kBlock && !flat_) {
      const Region& region = warps_.regions[warps_.RegionAt(edge)];
      BlockId loop = ir::AddBlock(f_, "", Level::kBlock);
      BlockId after = After(region, Level::kBlock);
      Terminate(loop, Opcode::kForWarps, {{Enter(edge, to, Level::kWarp), {}}, {after, {}}});
      return loop;
    }
    if (target == Level::kLane) {
      uint32_t index = lanes_.RegionAt(edge);
      BlockId loop = ir::AddBlock(f_, "", level);
      BlockId after = After(lanes_.regions[index], level);
      Terminate(loop, Opcode::kForLanes, {{code_[index].entry, {}}, {after, {}}});
      return loop;
    }
    if (target == level) return new_block_[to.index];
    return EndWarp();  // from a warp-level boundary straight to a block-level one
  }

  // What follows the loop over a region, at the loop's level: copies of uniform parameters, then the next
  // boundary.
  BlockId After(const Region& region, Level level) {
    if (region.next.empty()) {
      BlockId end = ir::AddBlock(f_, "", level);
      Terminate(end, level == Level::kBlock ? Opcode::kRet : Opcode::kExit, {});
      return end;
    }
    BlockId next = region.next[0];
    BlockId copies = ir::AddBlock(f_, "", level);
    copiers_to_[next.index].push_back(static_cast<uint32_t>(copiers_.size()));
    copiers_.push_back({region.leaves[0], next, level, values_.AddPlace(level, copies, copies)});
    if (f_.at_block(next).level == level) {
      Terminate(copies, Opcode::kBr, {{new_block_[next.index], {}}});
    } else {
      Terminate(copies, Opcode::kEndWarp, {});
    }
    return copies;
  }

  BlockId EndWarp() {
    BlockId end = ir::AddBlock(f_, "", Level::kWarp);
    Terminate(end, Opcode::kEndWarp, {});
    return end;
  }

  // -- parameters of boundaries --
  // Serves slots in the order they are demanded; a copy may demand further ones.
  void CarryParameters() {
    for (std::vector<ValueId> fresh = values_.SettleStores(); !fresh.empty();
         fresh = values_.SettleStores()) {
      for (ValueId param : fresh) Carry(param);
    }
  }

  void Carry(ValueId param) {
    BlockId to = f_.at_value(param).block;
    size_t number = f_.at_value(param).number;
    Level shape = *values_.SlotShape(param);
    if (shape == Level::kLane) {
      for (uint32_t r : regions_to_[to.index]) {
        BlockEdge leave = lanes_.regions[r].leaves[0];
        values_.CopyInto(code_[r].place, f_.successors(leave.from)[leave.edge].args[number], param);
      }
      return;
    }
    // At the level of the shape, or of the boundary when that is lower: a block's loop may run within one
    // warp's turn.
    Level level = flat_ ? Level::kBlock : std::min(shape, f_.at_block(to).level);
    for (uint32_t c : copiers_to_[to.index]) {
      const Copier& copier = copiers_[c];
      if (copier.level != level) continue;
      values_.CopyInto(copier.place, f_.successors(copier.leave.from)[copier.leave.edge].args[number], param);
    }
  }

  void DropOldBlocks() {
    f_.entry = start_;
    ir::RemoveUnreachableBlocks(f_);
  }

  ir::Function& f_;
  bool flat_;
  analysis::UniformityResult uniformity_;
  CollapseValues values_;
  analysis::RegionMap lanes_, warps_;
  uint32_t old_blocks_;
  std::vector<BlockId> new_block_, boundaries_;
  std::vector<PlaceId> boundary_place_;
  std::vector<LaneCode> code_;
  std::vector<Copier> copiers_;
  std::vector<std::vector<uint32_t>> regions_to_,
      copiers_to_;  // by boundary: numbers of those that lead there
  std::vector<std::pair<BlockId, ir::Inst>> terminators_;
  BlockId start_;
  bool early_exit_ = false;
};

}  // namespace

namespace {

// A texture instruction costs much less for the lanes of a warp at once.
bool ReadsTextures(const ir::Function& f) {
  return std::ranges::any_of(f.blocks, [&](const ir::Block& block) {
    return !block.removed && std::ranges::any_of(block.insts, [&](ir::InstId id) {
      return f.at_inst(id).op == ir::Opcode::kTexture;
    });
  });
}

}  // namespace

Status Collapse(ir::Module& module, ir::Function& f, const PassOptions& options) {
  const ir::Inst* collective = nullptr;
  for (const ir::Block& block : f.blocks) {
    if (block.removed || block.level != Level::kWarp) continue;
    for (ir::InstId id : block.insts) {
      if (!collective && !ir::IsTerminator(f.at_inst(id).op)) collective = &f.at_inst(id);
    }
  }
  if (collective && options.collapse == CollapseForm::kFlat) {
    return Unsupported(module, collective->at,
                       "kernel '" + f.name + "' uses warp operations and cannot be collapsed flat",
                       "use --collapse=hierarchical, or auto");
  }
  const bool resumes = f.resumes == ir::Resumes::kWarps;
  // In a flat loop lanes are threads of a row, and here rows have one.
  const bool in_columns = analysis::IsColumn(options.launch.value_or(analysis::PromisedShape(f)));
  const bool by_warps = options.collapse == CollapseForm::kHierarchical ||
                        (options.collapse == CollapseForm::kAuto && (ReadsTextures(f) || in_columns));
  bool flat = !collective && !by_warps && !resumes;
  Collapser(f, options, flat).Run(options.slots_by_cut);
  return {};
}

}  // namespace ptx2cpu::lowering
