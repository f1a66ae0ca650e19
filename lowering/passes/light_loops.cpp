#include "lowering/passes/light_loops.h"

#include <algorithm>

#include "analysis/graph/cfg.h"
#include "analysis/graph/loops.h"
#include "ir/build.h"
#include "lowering/passes/block_editing.h"

namespace ptx2cpu::lowering {

using ir::BlockId;
using ir::Level;
using ir::Opcode;
using ir::ValueId;

namespace {

constexpr size_t kMaxLightCarried = 1;
constexpr size_t kMaxLightOperations = 64;  // besides addresses
constexpr size_t kMaxLightAccesses = 5;  // of streams of memory: of more, registers hold too little of each
constexpr size_t kMaxLightCostly = 2;    // exponentials and the like
constexpr size_t kMaxAround = 60;        // instructions that may be as wide as the loop
constexpr int kDepth = 12;

class Strides {
 public:
  Strides(const ir::Function& f, const ThreadLoop& loop, const analysis::UniformityResult& uniformity)
      : f_(f), loop_(loop), uniformity_(uniformity) {}

  // The stride from a thread to the next one in the row; nothing where it is unknown.
  std::optional<int64_t> Of(ValueId value, int depth = kDepth) const {
    if (depth == 0) return std::nullopt;
    const auto& params = f_.at_block(loop_.header).params;
    const auto param = std::ranges::find(params, value);
    if (param != params.end()) {
      const auto n = static_cast<size_t>(param - params.begin());
      if (!loop_.steps[n]) return std::nullopt;
      return Of(f_.successors(loop_.entering)[loop_.entering_edge].args[n], depth - 1);
    }
    if (uniformity_.UniformAt(value, Level::kBlock)) return 0;
    const ir::InstId def = f_.at_value(value).def;
    if (!def.valid()) return std::nullopt;
    const ir::Inst& inst = f_.at_inst(def);
    auto of = [&](size_t n) { return Of(inst.operands[n], depth - 1); };
    if (inst.op == Opcode::kSpecialRegister) {
      const ir::Special special = inst.attrs.special;
      if (special == ir::Special::kTidY || special == ir::Special::kTidZ) return 0;
      return special == ir::Special::kTidX ? std::optional<int64_t>(1) : std::nullopt;
    }
    if (inst.op == Opcode::kZext || inst.op == Opcode::kSext || inst.op == Opcode::kToGeneric ||
        inst.op == Opcode::kFromGeneric)
      return of(0);
    if (inst.op == Opcode::kAdd || inst.op == Opcode::kSub) {
      const auto a = of(0), b = of(1);
      if (!a || !b) return std::nullopt;
      return inst.op == Opcode::kAdd ? *a + *b : *a - *b;
    }
    if (inst.op == Opcode::kMul || inst.op == Opcode::kShl) {
      for (size_t n = inst.op == Opcode::kMul ? 0 : 1; n < 2; ++n) {
        const ir::InstId factor = f_.at_value(inst.operands[n]).def;
        if (!factor.valid() || f_.at_inst(factor).op != Opcode::kConst) continue;
        const auto other = of(1 - n);
        const uint64_t bits = f_.at_inst(factor).attrs.bits;
        if (!other || bits >= (inst.op == Opcode::kMul ? 1u << 20 : 20u)) return std::nullopt;
        return *other * static_cast<int64_t>(inst.op == Opcode::kMul ? bits : uint64_t{1} << bits);
      }
    }
    const bool same = ir::Info(inst.op).effect == ir::Effect::kPure && !inst.operands.empty() &&
                      std::ranges::all_of(inst.operands, [&](ValueId v) { return Of(v, depth - 1) == 0; });
    return same ? std::optional<int64_t>(0) : std::nullopt;
  }

 private:
  const ir::Function& f_;
  const ThreadLoop& loop_;
  const analysis::UniformityResult& uniformity_;
};

bool IsNeighbours(const ir::Inst& access, std::optional<int64_t> stride) {
  if (!stride || access.attrs.order != ir::MemoryOrder::kWeak) return false;
  if (access.op == Opcode::kLoad && *stride == 0) return true;
  const size_t count = access.op == Opcode::kLoad ? access.results.size() : access.operands.size() - 1;
  return *stride == static_cast<int64_t>(static_cast<size_t>(ir::Bytes(access.type)) * count);
}

// Whether a warp operation or another loop runs between the block's last barrier and the loop, which is
// entered from there.
bool FollowsOthers(const ir::Function& f, BlockId entering) {
  const analysis::Cfg g = analysis::BuildCfg(f);
  const analysis::LoopForest forest = analysis::Loops(g);
  std::vector<bool> seen(f.blocks.size());
  std::vector<uint32_t> found{entering.index};
  for (size_t n = 0; n < found.size(); ++n) {
    if (forest.innermost[found[n]] != forest.innermost[entering.index]) return true;
    bool stops = false;
    for (ir::InstId id : f.at_block({found[n]}).insts) {
      const Opcode op = f.at_inst(id).op;
      if (ir::IsCollective(op) || op == Opcode::kBarrierWarp) return true;
      stops |= ir::IsBarrier(op);
    }
    if (stops) continue;
    for (uint32_t from : g.predecessors[found[n]]) {
      if (!seen[from]) found.push_back(from);
      seen[from] = true;
    }
  }
  return false;
}

bool HasCollective(const ir::Function& f) {
  return std::ranges::any_of(f.insts, [](const ir::Inst& inst) {
    return inst.block.valid() && (ir::IsCollective(inst.op) || inst.op == Opcode::kBarrierWarp);
  });
}

}  // namespace

bool IsLight(const ir::Function& f, const ThreadLoop& loop, const analysis::UniformityResult& uniformity,
             size_t carried) {
  if (loop.blocks.size() != 1 || carried > kMaxLightCarried) return false;
  const Strides strides(f, loop, uniformity);
  size_t operations = 0, costly = 0, accesses = 0;
  for (ir::InstId id : f.at_block(loop.header).insts) {
    const ir::Inst& inst = f.at_inst(id);
    if (ir::IsTerminator(inst.op)) continue;
    if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore) {
      const std::optional<int64_t> stride = strides.Of(inst.operands[0]);
      if (!IsNeighbours(inst, stride)) return false;
      if (*stride != 0 && ++accesses > kMaxLightAccesses) return false;
      continue;
    }
    if (ir::Info(inst.op).effect != ir::Effect::kPure) return false;
    costly += ir::Info(inst.op).cost == ir::Cost::kCostly;
    operations += std::ranges::any_of(inst.results, [&](ValueId result) { return !strides.Of(result); });
  }
  return operations <= kMaxLightOperations && costly <= kMaxLightCostly;
}

void PutBarrier(ir::Function& f, BlockId block) {
  const ir::Position at = f.terminator(block).at;
  ir::Inst zero;
  zero.op = Opcode::kConst;
  zero.type = ir::Type::kI32;
  zero.at = at;
  const size_t where = f.at_block(block).insts.size() - 1;
  const ValueId number = f.at_inst(ir::Insert(f, block, where, std::move(zero))).results[0];
  const BlockId alone = SplitBlock(f, block, where + 1, "");
  const BlockId after = SplitBlock(f, alone, 0, "");
  static_cast<void>(after);
  ir::Inst barrier;
  barrier.op = Opcode::kBarrierBlock;
  barrier.operands = {number};
  barrier.attrs.flags = ir::kAligned;
  barrier.at = at;
  ir::Insert(f, alone, 0, std::move(barrier), 0);
}

namespace {

// Whether the block yields in a loop without a boundary.
bool ThreadsWaitApart(const ir::Function& f) {
  const std::vector<std::vector<BlockId>> predecessors = ir::Predecessors(f);
  return std::ranges::any_of(ir::ReversePostOrder(f), [&](BlockId waits) {
    const auto first = [&](BlockId block) { return f.at_inst(f.at_block(block).insts.front()).op; };
    if (!ir::IsYield(first(waits))) return false;
    std::vector<BlockId> loop{f.successors(waits)[0].to, waits};
    for (size_t n = 1; n < loop.size(); ++n) {
      const Opcode op = first(loop[n]);
      if (ir::IsCollective(op) || (ir::IsBarrier(op) && !ir::IsYield(op))) return false;
      for (BlockId from : predecessors[loop[n].index]) {
        if (std::ranges::find(loop, from) == loop.end()) loop.push_back(from);
      }
    }
    return true;
  });
}

}  // namespace

bool MayPutBarriers(const ir::Function& f) {
  if (!f.is_kernel || f.together_of != ~0u) return false;
  switch (f.resumes) {
    case ir::Resumes::kNever:
      return true;
    case ir::Resumes::kBlocks:
      return !ThreadsWaitApart(f);
    case ir::Resumes::kWarps:
    case ir::Resumes::kLanes:
      return false;
  }
  return false;
}

void GiveOwnRegion(ir::Function& f, const ThreadLoop& loop) {
  const bool in_warps = HasCollective(f);
  if (!in_warps) {
    size_t around = 0;
    for (const ir::Block& block : f.blocks) around += block.removed ? 0 : block.insts.size();
    if (around <= f.at_block(loop.header).insts.size() + kMaxAround) return;
  }
  const bool before = !in_warps || FollowsOthers(f, loop.entering);
  // All threads come to where the loop ends.
  std::vector<analysis::BlockEdge> incoming;
  const analysis::Cfg g = analysis::BuildCfg(f);
  for (uint32_t from : g.predecessors[loop.after.index]) {
    for (uint32_t n = 0; n < f.successors({from}).size(); ++n) {
      if (f.successors({from})[n].to == loop.after) incoming.push_back({{from}, n});
    }
  }
  const ir::Position at = f.terminator(loop.latch).at;
  PutBarrier(f, InsertBlockBefore(f, loop.after, incoming, Level::kLane, "", at,
                                  [&](BlockId from) { return from != loop.latch && from != loop.guard; }));
  if (!before) return;
  if (loop.guard.valid()) {
    static_cast<void>(SplitBlock(f, loop.guard, f.at_block(loop.guard).insts.size() - 1, ""));
    PutBarrier(f, loop.guard);
  } else {
    PutBarrier(f, SplitEdge(f, loop.entering, static_cast<uint32_t>(loop.entering_edge), Level::kLane, ""));
  }
}

}  // namespace ptx2cpu::lowering
