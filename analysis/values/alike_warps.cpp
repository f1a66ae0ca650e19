// All values count as alike at first; values are removed until nothing changes.
#include "analysis/values/alike_warps.h"

#include <algorithm>

#include "analysis/graph/dominators.h"
#include "analysis/graph/loops.h"

namespace ptx2cpu::analysis {

namespace {

using ir::Opcode;
using ir::ValueId;

constexpr uint32_t kLanes = 31, kEveryone = ~0u;
constexpr size_t kMaxWalks = 64;  // blocks that are visited for branches, per block of the function

class AlikeWarpFinder {
 public:
  AlikeWarpFinder(const ir::Function& f, const LaunchShape& launch, const Cfg& g,
                  const std::vector<bool>& settled)
      : f_(f),
        launch_(launch),
        g_(g),
        settled_(settled),
        post_(PostDominators(g)),
        loops_(Loops(g)),
        alike_(f.values.size(), true),
        parted_(g.size()),
        decides_(g.size()),
        leaves_apart_(loops_.loops.size()) {}

  std::vector<bool> Find() {
    do {
      changed_ = false;
      for (uint32_t node : g_.order) {
        if (node != g_.exit) Visit(ir::BlockId{node});
      }
    } while (changed_ && !is_too_much_);
    return is_too_much_ ? std::vector<bool>(alike_.size()) : std::move(alike_);
  }

 private:
  void Clear(ValueId value) {
    if (!alike_[value.index]) return;
    alike_[value.index] = false;
    changed_ = true;
  }

  void Visit(ir::BlockId block) {
    const bool apart = IsApart(block.index);
    for (ir::InstId id : f_.at_block(block).insts) {
      const ir::Inst& inst = f_.at_inst(id);
      if (inst.results.empty() || (!apart && IsAlike(id, inst))) continue;
      for (ValueId result : inst.results) Clear(result);
    }
    for (const ir::Edge& edge : f_.successors(block)) {
      const bool meets_apart = parted_[edge.to.index] || IsApart(edge.to.index);
      for (size_t n = 0; n < edge.args.size(); ++n) {
        if (meets_apart || !alike_[edge.args[n].index]) Clear(f_.at_block(edge.to).params[n]);
      }
    }
    const ir::Inst& end = f_.terminator(block);
    if (g_.successors[block.index].size() > 1 && !end.operands.empty() && !alike_[end.operands[0].index])
      Part(block.index);
  }

  // In a loop that warps may leave in different trips.
  bool IsApart(uint32_t block) const {
    uint32_t l = loops_.innermost[block];
    while (l != kNoNode && !leaves_apart_[l]) l = loops_.loops[l].parent;
    return l != kNoNode;
  }

  bool IsAlike(ir::InstId id, const ir::Inst& inst) const {
    if (inst.op == Opcode::kSpecialRegister) return IsAlike(inst.attrs.special);
    if (inst.op == Opcode::kAnd && TakesLane(inst)) return true;
    if (!std::ranges::all_of(inst.operands, [&](ValueId operand) { return alike_[operand.index]; }))
      return false;
    switch (ir::Info(inst.op).effect) {
      case ir::Effect::kPure:
        return ir::Info(inst.op).lanes == ir::Lanes::kAlone && !IsOwnWindow(inst);
      case ir::Effect::kReads:
        return inst.op == Opcode::kLoad && (settled_[id.index] || IsFrozen(inst));
      case ir::Effect::kCollective:
        return IsOfWarp(inst);
      case ir::Effect::kWrites:
      case ir::Effect::kMemory:
      case ir::Effect::kBarrier:
      case ir::Effect::kOpaque:
      case ir::Effect::kTerminator:
        return false;
    }
    return false;
  }

  bool IsAlike(ir::Special special) const {
    switch (ir::Info(special).varies) {
      case ir::Varies::kUniformInGrid:
      case ir::Varies::kUniformInBlock:
      case ir::Varies::kAffineInLane:
        return true;
      case ir::Varies::kAffineInTid:
        return special == ir::Special::kTidX && launch_.x == 32;
      case ir::Varies::kUniformInWarp:
      case ir::Varies::kVarying:
      case ir::Varies::kTime:
        return false;
    }
    return false;
  }

  const ir::Inst* Def(ValueId value) const {
    const ir::InstId def = f_.at_value(value).def;
    return def.valid() ? &f_.at_inst(def) : nullptr;
  }

  // tid.x & 31, or fewer of these bits.
  bool TakesLane(const ir::Inst& inst) const {
    const ir::Inst *tid = Def(inst.operands[0]), *mask = Def(inst.operands[1]);
    if (mask == nullptr || mask->op != Opcode::kConst) std::swap(tid, mask);
    return launch_.x % 32 == 0 && tid != nullptr && tid->op == Opcode::kSpecialRegister &&
           tid->attrs.special == ir::Special::kTidX && mask != nullptr && mask->op == Opcode::kConst &&
           mask->attrs.bits <= kLanes;
  }

  // An address of local memory, which every thread has for itself.
  static bool IsOwnWindow(const ir::Inst& inst) {
    return (inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric) &&
           inst.attrs.space == ir::Space::kLocal;
  }

  // Memory that no thread writes while the kernel runs.
  static bool IsFrozen(const ir::Inst& load) {
    return load.attrs.space == ir::Space::kConst || load.attrs.space == ir::Space::kParam;
  }

  // What all lanes of a warp exchange or agree upon: each lane's result follows from their operands. Lanes
  // that have ended bring zeros, in one warp and not in another.
  bool IsOfWarp(const ir::Inst& inst) const {
    if (ends_apart_ || (inst.op != Opcode::kShuffle && ir::Info(inst.op).lanes != ir::Lanes::kVote) ||
        (inst.attrs.flags & ir::kLegacy) != 0)
      return false;
    const ir::Inst* members = Def(inst.operands.back());
    return members != nullptr && members->op == Opcode::kConst &&
           static_cast<uint32_t>(members->attrs.bits) == kEveryone;
  }

  // Warps take different ways from here to where all ways meet.
  void Part(uint32_t block) {
    if (decides_[block]) return;
    decides_[block] = changed_ = true;
    const uint32_t meet = post_.parent[block];
    ends_apart_ |= meet == kNoNode || meet == g_.exit;
    std::vector<uint32_t> found;
    std::vector<bool> seen(g_.size());
    const auto add = [&](uint32_t node) {
      if (seen[node]) return;
      seen[node] = parted_[node] = true;
      if (node != meet && node != g_.exit) found.push_back(node);
    };
    for (uint32_t to : g_.successors[block]) add(to);
    for (size_t i = 0; i < found.size(); ++i) {
      for (uint32_t to : g_.successors[found[i]]) add(to);
    }
    walked_ += found.size();
    is_too_much_ |= walked_ > kMaxWalks * g_.size();
    for (uint32_t l = loops_.innermost[block]; l != kNoNode; l = loops_.loops[l].parent) {
      const bool stays = meet != kNoNode && loops_.Contains(l, meet) && !seen[loops_.loops[l].header] &&
                         std::ranges::all_of(found, [&](uint32_t n) { return loops_.Contains(l, n); });
      if (!stays || loops_.loops[l].irreducible) leaves_apart_[l] = true;
    }
  }

  const ir::Function& f_;
  const LaunchShape launch_;
  const Cfg& g_;
  const std::vector<bool>& settled_;
  const DominatorTree post_;
  const LoopForest loops_;
  std::vector<bool> alike_;         // by value
  std::vector<bool> parted_;        // by block: warps that meet there may have come over different edges
  std::vector<bool> decides_;       // by block: Part has seen its branch
  std::vector<bool> leaves_apart_;  // by loop
  size_t walked_ = 0;
  bool ends_apart_ = false;  // some warps' threads may have ended
  bool is_too_much_ = false, changed_ = false;
};

}  // namespace

std::vector<bool> FindAlikeWarps(const ir::Function& f, const LaunchShape& launch, const Cfg& g,
                                 const std::vector<bool>& settled_loads) {
  if (!f.is_kernel || !f.entry.valid() || !FillsWarps(launch)) return std::vector<bool>(f.values.size());
  return AlikeWarpFinder(f, launch, g, settled_loads).Find();
}

}  // namespace ptx2cpu::analysis
