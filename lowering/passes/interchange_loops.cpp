// Loops that stride by the block or the grid go outside the loop over threads, so that threads walk memory
// side by side: in the order of addresses, not each along its own column (gpucc and PPOpenCL call it
// work-item interchange).
//
//   before                                   after
//     g: cond_br %c, p, x(%z)                  g: br p
//     p: br h(%i0, %z)                         p: br n(%c, 0 + .., %z)
//     h(%i, %s):                               n(%on, %i, %s): cond_br %on, h, m(false, %s)
//        ... load global f(%i) ...             h: ...
//        %i2 = add %i, %step                      br m(%d, %s2)
//        cond_br %d, h(%i2, %s2), x(%s2)       m(%next, %t): br b
//     x(%r):                                   b: %any = barrier_reduce_or %next
//                                              e: cond_br %any, n(%next, %i + %step, %t), x(%t)
//
// Loops that do little more than load and compute an exponential or two stay inside, as a region of their
// own: the emitter makes vectors of them that hold hundreds of threads. Not so where they go through many
// arrays: the fewer threads such vectors hold, the more often memory is left for another page and come back
// to.
//
// Loops that walk down columns go outside too, if all threads take the same trips: a barrier ends each trip.
//
// Each thread still takes its own trips in order; between two of them the other threads take theirs, which
// nothing in the program orders. What a thread carries from trip to trip is in slots, so the loop must be
// short and carry little. All threads of the block must reach the loop, except over a branch in front of it
// that skips it; none may wait before it.
#include <algorithm>
#include <optional>

#include "analysis/graph/control_dependence.h"
#include "analysis/graph/loops.h"
#include "analysis/values/linear_in_thread.h"
#include "lowering/passes.h"
#include "lowering/passes/far_strides.h"
#include "lowering/passes/inductions.h"
#include "lowering/passes/light_loops.h"
#include "lowering/passes/thread_loop.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Level;
using ir::Opcode;
using ir::ValueId;

constexpr size_t kMaxLoops = 8;
constexpr size_t kMaxInterchanged = 160, kMaxInColumns = 320;
constexpr size_t kMaxCarried = 2;      // values that cross from trip to trip in a slot of each thread
constexpr uint64_t kLeastStride = 32;  // elements between a thread's accesses

class Interchanger {
 public:
  Interchanger(ir::Function& f, const PassOptions& options)
      : f_(f),
        uniformity_(analysis::AnalyzeUniformity(f, options.launch)),
        linear_(analysis::LinearInThread(f, uniformity_, Level::kBlock)),
        g_(analysis::BuildCfg(f)),
        post_(analysis::PostDominators(g_)),
        deciding_(g_, post_),
        strides_(f),
        has_collective_(std::ranges::any_of(
            f.insts, [](const ir::Inst& inst) { return inst.block.valid() && ir::IsCollective(inst.op); })) {
    const analysis::LaunchShape shape = options.launch.value_or(analysis::PromisedShape(f));
    is_one_row_ = shape.y == 1 && shape.z == 1;
  }

  void Run() {
    const analysis::LoopForest forest = analysis::Loops(g_);
    loops_ = forest.loops.size();
    std::vector<bool> has_inner(forest.loops.size());
    for (const analysis::Loop& loop : forest.loops) {
      if (loop.parent != analysis::kNoNode) has_inner[loop.parent] = true;
    }
    std::vector<ThreadLoop> found, light, columns;
    for (size_t n = 0; n < forest.loops.size() && found.size() + light.size() + columns.size() < kMaxLoops;
         ++n) {
      if (has_inner[n]) continue;
      std::optional<ThreadLoop> loop = Match(forest.loops[n]);
      if (!loop) continue;
      if (forest.loops[n].parent == analysis::kNoNode && WalksColumns(*loop)) {
        columns.push_back(std::move(*loop));
      } else if (instructions_ <= kMaxInterchanged && Strides(*loop) && AllCome(*loop)) {
        const bool is_light = IsLight(f_, *loop, uniformity_, carried_);
        (is_light ? light : found).push_back(std::move(*loop));
      }
    }
    for (const ThreadLoop& loop : found) MoveOutsideThreads(f_, loop);
    for (const ThreadLoop& loop : light) GiveOwnRegion(f_, loop);
    for (const ThreadLoop& loop : columns) PutBarrier(f_, loop.latch);
  }

 private:
  // -- which loops --
  std::optional<ThreadLoop> Match(const analysis::Loop& loop) {
    if (loop.irreducible || loop.latches.size() != 1 || loop.only_exit.first != loop.latches[0])
      return std::nullopt;
    ThreadLoop match;
    match.header = {loop.header};
    match.latch = {loop.latches[0]};
    const ir::Inst& end = f_.terminator(match.latch);
    if (end.op != Opcode::kCondBr || f_.at_block(match.header).params.empty()) return std::nullopt;
    match.again = end.edges[0].to == match.header ? 0 : 1;
    match.after = end.edges[1 - match.again].to;
    instructions_ = 0;
    for (uint32_t block : loop.blocks) {
      match.blocks.push_back({block});
      for (ir::InstId id : f_.at_block({block}).insts) {
        if (!MayRun(f_.at_inst(id))) return std::nullopt;
        ++instructions_;
      }
      if (instructions_ > kMaxInColumns) return std::nullopt;
    }
    if (!FindEntering(match)) return std::nullopt;
    for (size_t n = 0; n < f_.at_block(match.header).params.size(); ++n)
      match.steps.push_back(StepsOf(match, n));
    return match;
  }

  static bool MayRun(const ir::Inst& inst) {
    switch (ir::Info(inst.op).effect) {
      case ir::Effect::kPure:
        return ir::Info(inst.op).lanes == ir::Lanes::kAlone;
      case ir::Effect::kReads:
      case ir::Effect::kWrites:
      case ir::Effect::kMemory:
        return inst.attrs.order == ir::MemoryOrder::kWeak || inst.attrs.order == ir::MemoryOrder::kRelaxed;
      case ir::Effect::kTerminator:
        return inst.op == Opcode::kBr || inst.op == Opcode::kCondBr;
      case ir::Effect::kCollective:
      case ir::Effect::kBarrier:
      case ir::Effect::kOpaque:
        return false;
    }
    return false;
  }

  bool FindEntering(ThreadLoop& loop) const {
    size_t count = 0;
    for (uint32_t from : g_.predecessors[loop.header.index]) {
      if (from == loop.latch.index) continue;
      const auto edges = f_.successors({from});
      for (size_t e = 0; e < edges.size(); ++e) {
        if (edges[e].to != loop.header) continue;
        ++count;
        loop.entering = {from};
        loop.entering_edge = e;
      }
    }
    return count == 1;
  }

  // True where each branch that decides whether the loop is reached is uniform, except one that skips the
  // loop.
  bool AllCome(ThreadLoop& loop) {
    deciding_.Forget();
    std::vector<uint32_t> found{loop.header.index};
    for (size_t i = 0; i < found.size(); ++i) {
      for (uint32_t branch : deciding_.Take(found[i])) {
        if (branch == loop.latch.index) continue;
        found.push_back(branch);
        const bool is_uniform = uniformity_.BranchUniformAt({branch}, Level::kBlock);
        if (!is_uniform && (loop.guard.valid() || !IsGuard(loop, {branch}))) return false;
      }
    }
    return true;
  }

  // From the branch, nothing but pure code leads to the loop, and its other edge leads to where the loop
  // ends.
  bool IsGuard(ThreadLoop& loop, BlockId branch) const {
    const ir::Inst& end = f_.terminator(branch);
    if (end.op != Opcode::kCondBr || end.edges[0].to == end.edges[1].to) return false;
    BlockId at = loop.header, from = loop.entering;
    while (from != branch) {
      const auto& before = g_.predecessors[from.index];
      if (before.size() != 1 || f_.successors(from).size() != 1) return false;
      for (ir::InstId id : f_.at_block(from).insts) {
        const ir::Inst& inst = f_.at_inst(id);
        const bool free =
            ir::IsTerminator(inst.op) ||
            (ir::Info(inst.op).effect == ir::Effect::kPure && ir::Info(inst.op).lanes == ir::Lanes::kAlone) ||
            (inst.op == Opcode::kLoad && inst.attrs.space == ir::Space::kParam);
        if (!free) return false;
      }
      at = from;
      from = {before[0]};
    }
    loop.guard = branch;
    loop.guard_edge = end.edges[0].to == at ? 0 : 1;
    return end.edges[1 - loop.guard_edge].to == loop.after;
  }

  // All threads that have not ended take each trip, and the emitter does not make it wide (IsLight), which it
  // does with the only loop of a region.
  bool WalksColumns(const ThreadLoop& loop) {
    if (has_collective_ || f_.resumes != ir::Resumes::kNever ||
        !uniformity_.BranchUniformAt(loop.latch, Level::kBlock))
      return false;
    if (!WalksFar(f_, loop, strides_) || !AllComeOrEnd(loop)) return false;
    carried_ = ReadFromSlots(loop);
    const bool is_wide = loops_ == 1 || !is_one_row_;  // or its rows share what they load
    return carried_ <= kMaxCarried && !(is_wide && IsLight(f_, loop, uniformity_, carried_));
  }

  // Values of each thread that cross from trip to trip, or come from before the loop and are not computed
  // again.
  size_t ReadFromSlots(const ThreadLoop& loop) const {
    std::vector<ValueId> read;
    const auto add = [&](ValueId value) {
      if (value.index >= linear_.size() || linear_[value.index]) return;
      if (uniformity_.UniformAt(value, Level::kBlock) || std::ranges::find(read, value) != read.end()) return;
      read.push_back(value);
    };
    for (size_t n = 0; n < loop.steps.size(); ++n) {
      add(loop.steps[n] ? f_.successors(loop.entering)[loop.entering_edge].args[n]
                        : f_.at_block(loop.header).params[n]);
    }
    for (BlockId block : loop.blocks) {
      for (ir::InstId id : f_.at_block(block).insts) {
        for (ValueId operand : f_.at_inst(id).operands) {
          if (std::ranges::find(loop.blocks, f_.at_value(operand).block) == loop.blocks.end()) add(operand);
        }
      }
    }
    return read.size();
  }

  // Every branch that decides whether the loop is reached is uniform, or leads to the thread's end. What is
  // found out about a branch holds for later loops: these may follow as many of them as loops. The latches
  // that are passed over are uniform.
  bool AllComeOrEnd(const ThreadLoop& loop) {
    deciding_.Forget();
    come_.resize(f_.blocks.size(), Coming::kUnknown);
    std::vector<std::pair<uint32_t, size_t>> found{{loop.header.index, 0}};  // and for which of them
    const auto parted = [&](size_t n) {
      for (; n != 0; n = found[n].second) come_[found[n].first] = Coming::kParted;
      return false;
    };
    for (size_t i = 0; i < found.size(); ++i) {
      for (uint32_t branch : deciding_.Take(found[i].first)) {
        if (branch == loop.latch.index || come_[branch] == Coming::kTogether) continue;
        found.emplace_back(branch, i);
        if (come_[branch] == Coming::kParted || !IsUniformOrEnds({branch})) return parted(found.size() - 1);
      }
    }
    for (size_t n = 1; n < found.size(); ++n) come_[found[n].first] = Coming::kTogether;
    return true;
  }

  bool IsUniformOrEnds(BlockId branch) const {
    return uniformity_.BranchUniformAt(branch, Level::kBlock) ||
           std::ranges::any_of(f_.successors(branch), [&](const ir::Edge& edge) { return Ends(edge.to); });
  }

  // The thread ends without coming to another branch or a barrier.
  bool Ends(BlockId block) const {
    for (size_t steps = 0; steps < f_.blocks.size(); ++steps) {
      for (ir::InstId id : f_.at_block(block).insts) {
        if (ir::IsBarrier(f_.at_inst(id).op)) return false;
      }
      if (f_.successors(block).size() != 1) return f_.successors(block).empty();
      block = f_.successors(block)[0].to;
    }
    return false;
  }

  bool IsConstant(ValueId value) const {
    const ir::InstId def = f_.at_value(value).def;
    return def.valid() && f_.at_inst(def).op == Opcode::kConst;
  }
  std::optional<std::vector<InductionStep>> StepsOf(const ThreadLoop& loop, size_t number) const {
    const ValueId param = f_.at_block(loop.header).params[number];
    return StepsTo(f_, f_.successors(loop.latch)[loop.again].args[number], param, [&](ValueId v) {
      if (v.index >= linear_.size() || !uniformity_.UniformAt(v, Level::kBlock)) return false;
      return IsConstant(v) || std::ranges::find(loop.blocks, f_.at_value(v).block) == loop.blocks.end();
    });
  }

  // Some variable starts at a place of the thread and strides by the block, memory is accessed, and little
  // else is carried.
  bool Strides(const ThreadLoop& loop) {
    bool strides = false;
    carried_ = 0;
    for (size_t n = 0; n < f_.at_block(loop.header).params.size(); ++n) {
      const auto& steps = loop.steps[n];
      const ValueId start = f_.successors(loop.entering)[loop.entering_edge].args[n];
      const bool of_thread = linear_[start.index] && !uniformity_.UniformAt(start, Level::kBlock);
      if (!steps || !(of_thread || uniformity_.UniformAt(start, Level::kBlock))) {
        ++carried_;
        continue;
      }
      const uint64_t least = kLeastStride * (ir::Bits(f_.type_of(start)) == 64 ? 4 : 1);
      strides |= of_thread && std::ranges::any_of(*steps, [&](const InductionStep& step) {
                   return IsBlockStride(step.by, least, kDepth);
                 });
    }
    return strides && carried_ <= kMaxCarried && AccessesMemory(loop);
  }

  static constexpr int kDepth = 8;
  bool IsBlockStride(ValueId value, uint64_t least, int depth) const {
    const ir::InstId def = f_.at_value(value).def;
    if (!def.valid() || depth == 0) return false;
    const ir::Inst& inst = f_.at_inst(def);
    if (inst.op == Opcode::kConst)
      return depth == kDepth && inst.attrs.bits >= least && inst.attrs.bits < 1u << 20;
    if (inst.op == Opcode::kSpecialRegister)  // the grid's number of blocks: of a size that is a number
      return inst.attrs.special == ir::Special::kNtidX || inst.attrs.special == ir::Special::kNctaidX;
    if (ir::Info(inst.op).effect != ir::Effect::kPure) return false;
    return std::ranges::any_of(inst.operands,
                               [&](ValueId operand) { return IsBlockStride(operand, least, depth - 1); });
  }

  bool AccessesMemory(const ThreadLoop& loop) const {
    return std::ranges::any_of(loop.blocks, [&](BlockId block) {
      return std::ranges::any_of(f_.at_block(block).insts, [&](ir::InstId id) {
        const ir::Inst& inst = f_.at_inst(id);
        const bool far = inst.attrs.space == ir::Space::kGlobal || inst.attrs.space == ir::Space::kGeneric;
        return far && (inst.op == Opcode::kLoad || inst.op == Opcode::kStore);
      });
    });
  }

  ir::Function& f_;
  const analysis::UniformityResult uniformity_;
  const std::vector<bool> linear_;
  const analysis::Cfg g_;
  const analysis::DominatorTree post_;
  analysis::DecidingBranches deciding_;
  enum class Coming : uint8_t { kUnknown, kTogether, kParted };
  std::vector<Coming> come_;  // by branch: threads that have not ended, see AllComeOrEnd
  ThreadStrides strides_;
  const bool has_collective_;
  bool is_one_row_ = false;  // the block
  size_t loops_ = 0;         // of the function
  size_t instructions_ = 0;  // of the loop that Match has looked at
  size_t carried_ = 0;       // of the loop that Strides or WalksColumns has looked at
};

}  // namespace

Status InterchangeLoops(ir::Module&, ir::Function& f, const PassOptions& options) {
  if (!MayPutBarriers(f)) return {};
  if (!analysis::Loops(analysis::BuildCfg(f)).loops.empty()) Interchanger(f, options).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
