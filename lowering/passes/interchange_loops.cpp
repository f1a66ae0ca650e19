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
// A thread takes the trips that it took before; between two of them the others take theirs, which nothing
// orders. What a thread carries from trip to trip is in slots, so the loop must be short and carry little.
// All threads of the block must come to the loop, but for the branch in front of it that skips it.
#include <algorithm>
#include <optional>

#include "analysis/graph/control_dependence.h"
#include "analysis/graph/loops.h"
#include "analysis/values/linear_in_thread.h"
#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/inductions.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Level;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

constexpr size_t kMaxLoops = 8;
constexpr size_t kMaxInstructions = 160;
constexpr size_t kMaxCarried = 2;      // values that cross from trip to trip in a slot of each thread
constexpr uint64_t kLeastStride = 32;  // elements between a thread's accesses

// A loop with one way in, one back edge and one way out, both from the latch.
struct ThreadLoop {
  BlockId header, latch, entering, after;
  size_t entering_edge = 0, again = 0;  // edges of `entering` and of the latch
  std::vector<BlockId> blocks;
  BlockId guard;          // invalid: all threads come
  size_t guard_edge = 0;  // of the guard, towards the loop
};

class Interchanger {
 public:
  Interchanger(ir::Function& f, const PassOptions& options)
      : f_(f),
        uniformity_(analysis::AnalyzeUniformity(f, options.launch)),
        linear_(analysis::LinearInThread(f, uniformity_, Level::kBlock)),
        g_(analysis::BuildCfg(f)),
        dependence_(analysis::ControlDependences(g_, analysis::PostDominators(g_))) {}

  void Run() {
    const analysis::LoopForest forest = analysis::Loops(g_);
    std::vector<bool> has_inner(forest.loops.size());
    for (const analysis::Loop& loop : forest.loops) {
      if (loop.parent != analysis::kNoNode) has_inner[loop.parent] = true;
    }
    std::vector<ThreadLoop> found;
    for (size_t n = 0; n < forest.loops.size() && found.size() < kMaxLoops; ++n) {
      if (has_inner[n]) continue;
      std::optional<ThreadLoop> loop = Match(forest.loops[n]);
      if (loop && Strides(*loop)) found.push_back(std::move(*loop));
    }
    for (const ThreadLoop& loop : found) Rewriter(*this, loop).Run();
  }

 private:
  // -- which loops --
  std::optional<ThreadLoop> Match(const analysis::Loop& loop) const {
    if (loop.irreducible || loop.latches.size() != 1 || loop.exits.size() != 1) return std::nullopt;
    if (loop.exits[0].first != loop.latches[0]) return std::nullopt;
    ThreadLoop match{.header = {loop.header}, .latch = {loop.latches[0]}};
    const ir::Inst& end = f_.terminator(match.latch);
    if (end.op != Opcode::kCondBr || f_.at_block(match.header).params.empty()) return std::nullopt;
    match.again = end.edges[0].to == match.header ? 0 : 1;
    match.after = end.edges[1 - match.again].to;
    size_t instructions = 0;
    for (uint32_t block : loop.blocks) {
      match.blocks.push_back({block});
      for (ir::InstId id : f_.at_block({block}).insts) {
        if (!MayRun(f_.at_inst(id))) return std::nullopt;
        ++instructions;
      }
    }
    if (instructions > kMaxInstructions || !FindEntering(match) || !AllCome(match)) return std::nullopt;
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

  // Every branch that decides whether the loop is reached is uniform, but for one that skips it.
  bool AllCome(ThreadLoop& loop) const {
    std::vector<uint32_t> found{loop.header.index};
    std::vector<bool> seen(g_.size());
    for (size_t i = 0; i < found.size(); ++i) {
      for (uint32_t branch : dependence_.sources[found[i]]) {
        if (branch == loop.latch.index || seen[branch]) continue;
        seen[branch] = true;
        found.push_back(branch);
        if (uniformity_.BranchUniformAt({branch}, Level::kBlock)) continue;
        if (loop.guard.valid() || !IsGuard(loop, {branch})) return false;
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

  ValueId Start(const ThreadLoop& loop, size_t number) const {
    return f_.successors(loop.entering)[loop.entering_edge].args[number];
  }
  ValueId Again(const ThreadLoop& loop, size_t number) const {
    return f_.successors(loop.latch)[loop.again].args[number];
  }
  bool IsConstant(ValueId value) const {
    const ir::InstId def = f_.at_value(value).def;
    return def.valid() && f_.at_inst(def).op == Opcode::kConst;
  }
  std::optional<std::vector<InductionStep>> StepsOf(const ThreadLoop& loop, size_t number) const {
    const ValueId param = f_.at_block(loop.header).params[number];
    return StepsTo(f_, Again(loop, number), param, [&](ValueId v) {
      if (v.index >= linear_.size() || !uniformity_.UniformAt(v, Level::kBlock)) return false;
      return IsConstant(v) || std::ranges::find(loop.blocks, f_.at_value(v).block) == loop.blocks.end();
    });
  }

  // Some variable starts at a place of the thread and strides by the block, memory is accessed, and little
  // else is carried.
  bool Strides(const ThreadLoop& loop) const {
    bool strides = false;
    size_t carried = 0;
    for (size_t n = 0; n < f_.at_block(loop.header).params.size(); ++n) {
      const auto steps = StepsOf(loop, n);
      const ValueId start = Start(loop, n);
      const bool of_thread = linear_[start.index] && !uniformity_.UniformAt(start, Level::kBlock);
      if (!steps || !(of_thread || uniformity_.UniformAt(start, Level::kBlock))) {
        ++carried;
        continue;
      }
      const uint64_t least = kLeastStride * (ir::Bits(f_.type_of(start)) == 64 ? 4 : 1);
      strides |= of_thread && std::ranges::any_of(*steps, [&](const InductionStep& step) {
                   return IsBlockStride(step.by, least, kDepth);
                 });
    }
    return strides && carried <= kMaxCarried && AccessesMemory(loop);
  }

  static constexpr int kDepth = 8;
  bool IsBlockStride(ValueId value, uint64_t least, int depth) const {
    const ir::InstId def = f_.at_value(value).def;
    if (!def.valid() || depth == 0) return false;
    const ir::Inst& inst = f_.at_inst(def);
    if (inst.op == Opcode::kConst)
      return depth == kDepth && inst.attrs.bits >= least && inst.attrs.bits < 1u << 20;
    if (inst.op == Opcode::kSpecialRegister) return inst.attrs.special == ir::Special::kNtidX;
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

  // -- what becomes of one --
  class Rewriter {
   public:
    Rewriter(const Interchanger& all, const ThreadLoop& loop) : f_(all.f_), all_(all), loop_(loop) {}

    void Run() {
      FindOutgoing();
      Classify();
      MakeBlocks();
      ConnectBody();
      ConnectTrip();
      ConnectEnd();
      if (loop_.guard.valid()) DropGuard();
    }

   private:
    struct Carried {
      ValueId start, at_head, at_latch, after;  // after: as the merged block has it
      size_t number;                            // of the header's parameter; kExtra: only read after the loop
    };
    static constexpr size_t kExtra = ~size_t{0};

    bool Inside(BlockId block) const { return std::ranges::find(loop_.blocks, block) != loop_.blocks.end(); }

    // Values of the loop that are read after it.
    void FindOutgoing() {
      auto use = [&](ValueId value) {
        if (Inside(f_.at_value(value).block) && std::ranges::find(outgoing_, value) == outgoing_.end())
          outgoing_.push_back(value);
      };
      for (BlockId block : ir::ReversePostOrder(f_)) {
        if (Inside(block)) continue;
        for (ir::InstId id : f_.at_block(block).insts) {
          for (ValueId operand : f_.at_inst(id).operands) use(operand);
          for (const ir::Edge& edge : f_.at_inst(id).edges) std::ranges::for_each(edge.args, use);
        }
      }
      std::ranges::for_each(f_.successors(loop_.latch)[1 - loop_.again].args, use);
    }

    void Classify() {
      const auto& params = f_.at_block(loop_.header).params;
      steps_.resize(params.size());
      for (size_t n = 0; n < params.size(); ++n) {
        const ValueId again = all_.Again(loop_, n);
        const bool read_later =
            std::ranges::any_of(outgoing_, [&](ValueId v) { return v == params[n] || v == again; });
        if (!read_later) steps_[n] = all_.StepsOf(loop_, n);
        if (!steps_[n])
          carried_.push_back(
              {.start = all_.Start(loop_, n), .at_head = {}, .at_latch = again, .after = {}, .number = n});
      }
      for (ValueId value : outgoing_) {
        const bool known =
            std::ranges::any_of(carried_, [&](const Carried& c) { return c.at_latch == value; });
        if (!known)
          carried_.push_back({.start = {}, .at_head = {}, .at_latch = value, .after = {}, .number = kExtra});
      }
    }

    void MakeBlocks() {
      head_ = ir::AddBlock(f_);
      merge_ = ir::AddBlock(f_);
      barrier_ = ir::AddBlock(f_);
      decide_ = ir::AddBlock(f_);
      end_ = ir::AddBlock(f_);
      at_ = f_.terminator(loop_.latch).at;
      on_ = ir::AddParam(f_, head_, Type::kI1);
      const std::vector<ValueId> params = f_.at_block(loop_.header).params;
      for (ValueId param : params) at_head_.push_back(ir::AddParam(f_, head_, f_.type_of(param)));
      next_ = ir::AddParam(f_, merge_, Type::kI1);
      for (Carried& c : carried_) {
        const Type type = f_.type_of(c.at_latch);
        c.at_head = c.number == kExtra ? ir::AddParam(f_, head_, type) : at_head_[c.number];
        c.after = ir::AddParam(f_, merge_, type);
      }
    }

    std::vector<ValueId> ToMerge(ValueId next, ValueId Carried::* from) const {
      std::vector<ValueId> args{next};
      for (const Carried& c : carried_) args.push_back(c.*from);
      return args;
    }

    void ConnectBody() {
      ir::Builder b{f_, head_, at_};
      const ValueId no = b.Const(Type::kI1, 0);
      b.CondBr(on_, {loop_.header, at_head_}, {merge_, ToMerge(no, &Carried::at_head)});
      // The latch.
      const ir::InstId end = f_.at_block(loop_.latch).insts.back();
      ValueId more = f_.at_inst(end).operands[0];
      after_args_ = f_.at_inst(end).edges[1 - loop_.again].args;
      if (loop_.again == 1) more = Negated(loop_.latch, more);
      ir::Inst& latch = f_.inst(end);
      latch.op = Opcode::kBr;
      latch.attrs = {};
      latch.operands.clear();
      latch.edges = {{merge_, ToMerge(more, &Carried::at_latch)}};
    }

    ValueId Negated(BlockId block, ValueId value) {
      ir::Inst inst;
      inst.op = Opcode::kNot;
      inst.type = Type::kI1;
      inst.operands = {value};
      inst.at = at_;
      return f_.at_inst(ir::Insert(f_, block, f_.at_block(block).insts.size() - 1, std::move(inst)))
          .results[0];
    }

    void ConnectTrip() {
      ir::Builder{f_, merge_, at_}.Br(barrier_);
      ir::Builder at_barrier{f_, barrier_, at_};
      // The barrier's number is made outside its block, which holds nothing else.
      const ValueId number = NumberOfBarrier();
      const ValueId any =
          at_barrier.Inst1(Opcode::kBarrierReduceOr, Type::kVoid, {next_, number}, {.flags = ir::kAligned});
      at_barrier.Br(decide_);
      ir::Builder b{f_, decide_, at_};
      std::vector<ValueId> args{next_};
      for (size_t n = 0; n < at_head_.size(); ++n) {
        ValueId value = at_head_[n];
        if (steps_[n]) {
          for (const InductionStep& step : *steps_[n]) {
            // A constant of the loop is made again.
            const ValueId by = Inside(f_.at_value(step.by).block)
                                   ? b.Const(f_.type_of(step.by), f_.at_inst(f_.at_value(step.by).def).attrs.bits)
                                   : step.by;
            value = b.Binary(step.op, f_.type_of(value), value, by);
          }
        } else {
          value = std::ranges::find(carried_, n, &Carried::number)->after;
        }
        args.push_back(value);
      }
      for (const Carried& c : carried_) {
        if (c.number == kExtra) args.push_back(c.after);
      }
      b.CondBr(any, {head_, args}, {end_, {}});
    }

    ValueId NumberOfBarrier() {
      ir::Inst zero;
      zero.op = Opcode::kConst;
      zero.type = Type::kI32;
      zero.at = at_;
      return f_.at_inst(ir::Insert(f_, merge_, 0, std::move(zero))).results[0];
    }

    void ConnectEnd() {
      std::vector<ValueId> map(f_.values.size());
      for (const Carried& c : carried_) {
        if (std::ranges::find(outgoing_, c.at_latch) != outgoing_.end()) map[c.at_latch.index] = c.after;
      }
      // Where threads enter.
      ir::Builder b{f_, end_, at_};
      const ir::Edge entering = f_.successors(loop_.entering)[loop_.entering_edge];
      ValueId on = MakeBefore(Opcode::kConst, Type::kI1, 1);
      if (loop_.guard.valid()) {
        on = f_.terminator(loop_.guard).operands[0];
        if (loop_.guard_edge == 1) on = Negated(loop_.entering, on);
      }
      std::vector<ValueId> args{on};
      args.insert(args.end(), entering.args.begin(), entering.args.end());
      for (const Carried& c : carried_) {
        if (c.number == kExtra) args.push_back(MakeBefore(Opcode::kUndef, f_.type_of(c.at_latch), 0));
      }
      // Where they leave.
      std::vector<ValueId> out;
      for (size_t n = 0; n < after_args_.size(); ++n) {
        ValueId value = after_args_[n];
        const Carried* carried = nullptr;
        for (const Carried& c : carried_) {
          if (c.at_latch == value) carried = &c;
        }
        if (carried != nullptr) value = carried->after;
        if (loop_.guard.valid()) {
          const ValueId skipped = f_.terminator(loop_.guard).edges[1 - loop_.guard_edge].args[n];
          const bool is_start = carried != nullptr && carried->number != kExtra && carried->start == skipped;
          if (!is_start && value != skipped) value = b.Select(on, value, skipped);
        }
        out.push_back(value);
      }
      b.Br(loop_.after, out);
      ir::Edge& edge = f_.inst(f_.at_block(loop_.entering).insts.back()).edges[loop_.entering_edge];
      edge = {head_, args};
      ReplaceOutside(map);
    }

    ValueId MakeBefore(Opcode op, Type type, uint64_t bits) {
      ir::Inst inst;
      inst.op = op;
      inst.type = type;
      inst.attrs.bits = bits;
      inst.at = at_;
      const BlockId block = loop_.entering;
      return f_.at_inst(ir::Insert(f_, block, f_.at_block(block).insts.size() - 1, std::move(inst)))
          .results[0];
    }

    // Direct uses after the loop.
    void ReplaceOutside(const std::vector<ValueId>& map) {
      auto replace = [&](ValueId& value) {
        if (value.index < map.size() && map[value.index].valid()) value = map[value.index];
      };
      for (BlockId block : ir::ReversePostOrder(f_)) {
        if (Inside(block) || block == head_ || block == merge_) continue;
        for (ir::InstId id : f_.at_block(block).insts) {
          std::ranges::for_each(f_.inst(id).operands, replace);
          for (ir::Edge& edge : f_.inst(id).edges) std::ranges::for_each(edge.args, replace);
        }
      }
    }

    void DropGuard() {
      ir::Inst& guard = f_.inst(f_.at_block(loop_.guard).insts.back());
      ir::Edge kept = guard.edges[loop_.guard_edge];
      guard.op = Opcode::kBr;
      guard.attrs = {};
      guard.operands.clear();
      guard.edges = {std::move(kept)};
    }

    ir::Function& f_;
    const Interchanger& all_;
    const ThreadLoop& loop_;
    ir::Position at_;
    std::vector<ValueId> outgoing_, at_head_, after_args_;
    std::vector<std::optional<std::vector<InductionStep>>> steps_;  // of header parameters that count for all
    std::vector<Carried> carried_;
    BlockId head_, merge_, barrier_, decide_, end_;
    ValueId on_, next_;
  };

  ir::Function& f_;
  const analysis::UniformityResult uniformity_;
  const std::vector<bool> linear_;
  const analysis::Cfg g_;
  const analysis::ControlDependence dependence_;
};

}  // namespace

Status InterchangeLoops(ir::Module&, ir::Function& f, const PassOptions& options) {
  if (f.is_kernel && f.resumes == ir::Resumes::kNever) Interchanger(f, options).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
