#include "analysis/regions/block_waits.h"

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/graph/control_dependence.h"
#include "analysis/regions/spin_loops.h"
#include "analysis/values/uniformity.h"
#include "runtime/abi/mbarrier.h"

namespace ptx2cpu::analysis {

namespace {

using ir::BlockId;
using ir::Opcode;
using ir::ValueId;

constexpr int kMaxNesting = 16;  // operations on top of each other

class BlockWaitFinder {
 public:
  BlockWaitFinder(const ir::Function& f, std::optional<LaunchShape> launch)
      : f_(f),
        shape_(launch.value_or(PromisedShape(f))),
        uniformity_(AnalyzeUniformity(f, launch)),
        cfg_(BuildCfg(f)),
        dominators_(Dominators(cfg_)),
        post_(PostDominators(cfg_)),
        apart_(cfg_, post_) {
    for (const BlockId block : ir::ReversePostOrder(f)) {
      if (!Uniform(block)) apart_.AddAll(block.index);
    }
    counted_ = ArrivalsAreCounted();
  }

  std::optional<BlockWait> Examine(const SpinLoop& loop) {
    const BlockId head = f_.successors(loop.back.from)[loop.back.edge].to;
    if (!dominators_.Dominates(head.index, loop.back.from.index)) return {};
    std::vector<BlockId> latches;  // of all back edges to the head
    for (const uint32_t from : cfg_.predecessors[head.index]) {
      if (dominators_.Dominates(head.index, from)) latches.push_back({from});
    }
    inside_ = Between(latches, head, cfg_.predecessors);
    if (!std::ranges::all_of(inside_, [&](BlockId block) { return OnlyReads(block); })) return {};
    const std::optional<BlockId> before = Above(head), after = Below(head);
    if (!before || !after || !post_.Dominates(after->index, before->index)) return {};
    addresses_.clear();
    tokens_.clear();
    for (const BlockId block : Between({*before}, *after, cfg_.successors)) {
      if (block != *after && !AsksTheSame(block)) return {};
    }
    if (addresses_.empty()) return {};
    return BlockWait{*before, FirstQuestion(*before), *after, loop.at};
  }

 private:
  const ir::Inst* Def(ValueId value) const {
    const ir::InstId def = f_.at_value(value).def;
    return def.valid() ? &f_.at_inst(def) : nullptr;
  }
  bool Uniform(BlockId block) const { return uniformity_.BranchUniformAt(block, ir::Level::kBlock); }
  bool Uniform(ValueId value) const { return uniformity_.UniformAt(value, ir::Level::kBlock); }
  // True where all threads of the block run it, equally often.
  bool RunByAll(uint32_t node) const { return node != cfg_.exit && !apart_.Contains(node); }
  bool Inside(uint32_t node) const { return std::ranges::find(inside_, BlockId{node}) != inside_.end(); }

  // -- places --

  // What is reached from some blocks over edges, up to `end`, which is included.
  std::vector<BlockId> Between(std::vector<BlockId> blocks, BlockId end,
                               const std::vector<std::vector<uint32_t>>& edges) const {
    std::vector<bool> seen(cfg_.size());
    for (const BlockId block : blocks) seen[block.index] = true;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i] == end) continue;
      for (const uint32_t next : edges[blocks[i].index]) {
        if (!seen[next] && next != cfg_.exit) blocks.push_back({next});
        seen[next] = true;
      }
    }
    return blocks;
  }

  std::optional<BlockId> Above(BlockId head) const {
    uint32_t node = dominators_.parent[head.index];
    while (node != kNoNode && !RunByAll(node)) node = dominators_.parent[node];
    return node == kNoNode ? std::nullopt : std::optional(BlockId{node});
  }
  std::optional<BlockId> Below(BlockId head) const {
    uint32_t node = post_.parent[head.index];
    while (node != kNoNode && node != cfg_.exit && (!RunByAll(node) || Inside(node)))
      node = post_.parent[node];
    return node == kNoNode || node == cfg_.exit ? std::nullopt : std::optional(BlockId{node});
  }

  // The position of the first read that decides, or that of the terminator.
  size_t FirstQuestion(BlockId block) const {
    const std::vector<ir::InstId>& insts = f_.at_block(block).insts;
    const auto asks = [&](ir::InstId id) {
      return IsQuestion(f_.at_inst(id)) && SameValue(f_.at_inst(id).operands[0], addresses_[0], kMaxNesting);
    };
    const auto first = std::ranges::find_if(insts, asks);
    return std::min(static_cast<size_t>(first - insts.begin()), insts.size() - 1);
  }

  // -- what threads ask --

  bool OnlyReads(BlockId block) const {
    return std::ranges::all_of(f_.at_block(block).insts, [&](ir::InstId id) {
      const Opcode op = f_.at_inst(id).op;
      const ir::Effect effect = ir::Info(op).effect;
      return effect == ir::Effect::kPure || effect == ir::Effect::kReads ||
             effect == ir::Effect::kTerminator || op == Opcode::kNanosleep || op == Opcode::kFence;
    });
  }

  static bool IsQuestion(const ir::Inst& inst) {
    return inst.op == Opcode::kLoad && inst.attrs.space == ir::Space::kShared &&
           inst.attrs.order != ir::MemoryOrder::kWeak;
  }

  // A branch after which a thread may no longer wait: all threads decide it alike, or by the same questions.
  // Within the loop it does not matter how a thread comes to ask again.
  bool AsksTheSame(BlockId block) {
    const std::vector<uint32_t>& next = cfg_.successors[block.index];
    if (next.size() < 2 || Uniform(block)) return true;
    const bool stays =
        Inside(block.index) && std::ranges::all_of(next, [&](uint32_t n) { return Inside(n); });
    const ir::Inst& end = f_.terminator(block);
    return stays || (end.op == Opcode::kCondBr && IsCommon(end.operands[0], kMaxNesting));
  }

  bool IsCommon(ValueId value, int depth) {
    if (Uniform(value)) return true;
    const ir::Inst* def = Def(value);
    if (def == nullptr || depth == 0) return false;
    if (IsQuestion(*def)) return Uniform(def->operands[0]) && IsOnly(addresses_, def->operands[0]);
    if (def->op == Opcode::kAtomic && def->attrs.atomic == ir::AtomicOp::kMbarrier)
      return counted_ && IsOnly(tokens_, value);
    const ir::OpcodeInfo& info = ir::Info(def->op);
    return info.effect == ir::Effect::kPure && info.lanes == ir::Lanes::kAlone &&
           def->op != Opcode::kSpecialRegister && def->op != Opcode::kUndef &&
           std::ranges::all_of(def->operands, [&](ValueId v) { return IsCommon(v, depth - 1); });
  }

  bool IsOnly(std::vector<ValueId>& all, ValueId value) const {
    if (all.empty()) all.push_back(value);
    return SameValue(all[0], value, kMaxNesting);
  }

  bool SameValue(ValueId a, ValueId b, int depth) const {
    if (a == b) return true;
    const ir::Inst *x = Def(a), *y = Def(b);
    if (x == nullptr || y == nullptr || depth == 0) return false;
    if (x->op != y->op || x->type != y->type || x->from != y->from || x->attrs != y->attrs) return false;
    if (ir::Info(x->op).effect != ir::Effect::kPure || (x->attrs.flags & ir::kVolatile) != 0 ||
        x->results.size() != 1 || ir::Info(x->op).lanes != ir::Lanes::kAlone)
      return false;
    return std::ranges::equal(x->operands, y->operands,
                              [&](ValueId v, ValueId w) { return SameValue(v, w, depth - 1); });
  }

  // -- arrivals --

  // Each thread arrives as often as the others at each mbarrier object, and what a phase waits for divides
  // the number of threads.
  bool ArrivalsAreCounted() const {
    std::vector<ValueId> objects;
    size_t starts = 0;
    for (const BlockId block : ir::ReversePostOrder(f_)) {
      for (const ir::InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (MayChangeUnseen(inst.op)) return false;
        const bool changes = inst.op == Opcode::kAtomic && inst.attrs.atomic == ir::AtomicOp::kMbarrier;
        if (changes && !IsConst(inst.operands[1], 0)) {
          if (!RunByAll(block.index) || !Uniform(inst.operands[0]) || !IsConst(inst.operands[1], 1))
            return false;
          objects.push_back(inst.operands[0]);
        }
      }
    }
    for (const BlockId block : ir::ReversePostOrder(f_)) {
      for (const ir::InstId id : f_.at_block(block).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (inst.op != Opcode::kStore || inst.type != ir::Type::kI64 || inst.operands.size() != 2) continue;
        const bool shared = inst.attrs.space == ir::Space::kShared || inst.attrs.space == ir::Space::kGeneric;
        if (!shared) continue;
        const std::optional<bool> divides = CountDivides(inst.operands[1]);
        const auto is_object = [&](ValueId object) {
          return SameValue(object, inst.operands[0], kMaxNesting);
        };
        if (divides.has_value() ? !*divides : std::ranges::any_of(objects, is_object)) return false;
        starts += divides.has_value() ? 1 : 0;
      }
    }
    return starts > 0;
  }

  // Callees and copies of a cluster may arrive at an object, or make it.
  static bool MayChangeUnseen(Opcode op) {
    return op == Opcode::kCall || op == Opcode::kCallIndirect || op == Opcode::kCopyMulticast ||
           op == Opcode::kCopyTensorMulticast;
  }

  bool IsConst(ValueId value, uint64_t bits) const {
    const ir::Inst* def = Def(value);
    return def != nullptr && def->op == Opcode::kConst && def->attrs.bits == bits;
  }

  // Whether the count of a new object (runtime/abi/mbarrier.h) divides the number of threads; none where the
  // word is not one.
  std::optional<bool> CountDivides(ValueId word) const {
    const ir::Inst* def = Def(word);
    if (def == nullptr) return {};
    if (def->op == Opcode::kConst) {
      const uint64_t count = def->attrs.bits & mbarrier::kCountMask;
      if (count == 0 || def->attrs.bits != (count | count << mbarrier::kExpectedShift)) return {};
      return Divides(count);
    }
    if (def->op != Opcode::kOr) return {};
    const ir::Inst* upper = Def(def->operands[1]);
    if (upper == nullptr || upper->op != Opcode::kShl ||
        !IsConst(upper->operands[1], mbarrier::kExpectedShift))
      return {};
    const ValueId count = Narrow(def->operands[0]);
    if (!SameValue(count, Narrow(upper->operands[0]), kMaxNesting)) return {};
    const ir::Inst* known = Def(count);
    if (known != nullptr && known->op == Opcode::kConst) return Divides(known->attrs.bits);
    std::array<bool, 3> axes{};
    return IsProductOfExtents(count, axes, kMaxNesting);
  }

  // Without masks and extensions that a count in its range does not need.
  ValueId Narrow(ValueId value) const {
    for (const ir::Inst* def = Def(value); def != nullptr; def = Def(value)) {
      const bool masks = def->op == Opcode::kAnd && IsConst(def->operands[1], mbarrier::kCountMask);
      if (!masks && def->op != Opcode::kZext && def->op != Opcode::kTrunc) break;
      value = def->operands[0];
    }
    return value;
  }

  bool Divides(uint64_t count) const {
    const uint64_t threads = uint64_t{shape_.x} * shape_.y * shape_.z;  // 0: not known
    return count == 1 || (count != 0 && threads != 0 && threads % count == 0);
  }

  bool IsProductOfExtents(ValueId value, std::array<bool, 3>& axes, int depth) const {
    const ir::Inst* def = Def(value);
    if (def == nullptr || depth == 0) return false;
    if (def->op == Opcode::kMul) {
      return IsProductOfExtents(def->operands[0], axes, depth - 1) &&
             IsProductOfExtents(def->operands[1], axes, depth - 1);
    }
    if (def->op == Opcode::kZext || def->op == Opcode::kTrunc)
      return IsProductOfExtents(def->operands[0], axes, depth - 1);
    if (def->op == Opcode::kConst) return def->attrs.bits == 1;
    if (def->op != Opcode::kSpecialRegister) return false;
    for (const auto& [axis, extent] : {std::pair{size_t{0}, ir::Special::kNtidX},
                                       {size_t{1}, ir::Special::kNtidY},
                                       {size_t{2}, ir::Special::kNtidZ}}) {
      if (def->attrs.special == extent) return !std::exchange(axes[axis], true);
    }
    return false;
  }

  const ir::Function& f_;
  const LaunchShape shape_;
  const UniformityResult uniformity_;
  const Cfg cfg_;
  const DominatorTree dominators_, post_;
  DependentNodes apart_;  // blocks that only some threads of the block may run
  bool counted_ = false;
  std::vector<BlockId> inside_;              // the loop's blocks
  std::vector<ValueId> addresses_, tokens_;  // of the questions about it: the first one
};

}  // namespace

std::optional<std::vector<BlockWait>> FindBlockWaits(const ir::Function& f,
                                                     std::optional<LaunchShape> launch) {
  const std::vector<SpinLoop> loops = FindSpinLoops(f);
  std::vector<BlockWait> waits;
  if (loops.empty()) return waits;
  BlockWaitFinder finder(f, launch);
  for (const SpinLoop& loop : loops) {
    if (loop.by_memory) continue;  // its threads meet already
    const std::optional<BlockWait> wait = finder.Examine(loop);
    if (!wait) return {};
    waits.push_back(*wait);
  }
  return waits;
}

}  // namespace ptx2cpu::analysis
