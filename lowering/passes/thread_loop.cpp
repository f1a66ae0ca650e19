#include "lowering/passes/thread_loop.h"

#include <algorithm>

#include "ir/build.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::Opcode;
using ir::Type;
using ir::ValueId;

class Rewriter {
 public:
  Rewriter(ir::Function& f, const ThreadLoop& loop) : f_(f), loop_(loop) {}

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
      const ValueId again = f_.successors(loop_.latch)[loop_.again].args[n];
      // Threads that take the trip have taken all before it, so that it counts for them. What the others had
      // last is carried besides, if it is read after the loop.
      steps_[n] = loop_.steps[n];
      if (!steps_[n])
        carried_.push_back({.start = f_.successors(loop_.entering)[loop_.entering_edge].args[n],
                            .at_head = {},
                            .at_latch = again,
                            .after = {},
                            .number = n});
    }
    for (ValueId value : outgoing_) {
      const bool known = std::ranges::any_of(carried_, [&](const Carried& c) { return c.at_latch == value; });
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
    return f_.at_inst(ir::Insert(f_, block, f_.at_block(block).insts.size() - 1, std::move(inst))).results[0];
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
          const ValueId by =
              Inside(f_.at_value(step.by).block)
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
    return f_.at_inst(ir::Insert(f_, block, f_.at_block(block).insts.size() - 1, std::move(inst))).results[0];
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
  const ThreadLoop& loop_;
  ir::Position at_;
  std::vector<ValueId> outgoing_, at_head_, after_args_;
  std::vector<std::optional<std::vector<InductionStep>>> steps_;  // of header parameters that count for all
  std::vector<Carried> carried_;
  BlockId head_, merge_, barrier_, decide_, end_;
  ValueId on_, next_;
};

}  // namespace

void MoveOutsideThreads(ir::Function& f, const ThreadLoop& loop) { Rewriter(f, loop).Run(); }

}  // namespace ptx2cpu::lowering
