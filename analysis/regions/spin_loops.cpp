#include "analysis/regions/spin_loops.h"

#include <algorithm>

#include "analysis/graph/back_edges.h"

namespace ptx2cpu::analysis {

namespace {

using ir::BlockId;
using ir::Opcode;

// One loop: the blocks from which the back edge is reached without passing its target.
class Loop {
 public:
  Loop(const ir::Function& f, const std::vector<std::vector<BlockId>>& predecessors, BlockId latch,
       BlockId head)
      : f_(f), inside_(f.blocks.size()), seen_(f.values.size()) {
    inside_[head.index] = true;
    blocks_.push_back(head);
    Reach(latch);
    for (size_t i = 1; i < blocks_.size(); ++i) {
      for (BlockId from : predecessors[blocks_[i].index]) Reach(from);
    }
    for (BlockId block : blocks_) {
      for (ir::InstId id : f_.at_block(block).insts) {
        Opcode op = f_.at_inst(id).op;
        pauses_ |= op == Opcode::kFence || op == Opcode::kNanosleep;
      }
    }
  }

  // The read that decides whether the loop goes on, if another thread's store can change it.
  const ir::Inst* Decider() {
    for (BlockId block : blocks_) {
      bool leaves = false;
      for (const ir::Edge& edge : f_.successors(block)) leaves |= !inside_[edge.to.index];
      if (leaves) Branch(block);
    }
    while (!work_.empty()) {
      ir::ValueId value = work_.back();
      work_.pop_back();
      Trace(value);
    }
    return decider_;
  }

 private:
  void Reach(BlockId block) {
    if (inside_[block.index]) return;
    inside_[block.index] = true;
    blocks_.push_back(block);
  }
  void Push(ir::ValueId value) {
    if (seen_[value.index] || !inside_[f_.at_value(value).block.index]) return;
    seen_[value.index] = true;
    work_.push_back(value);
  }
  void Branch(BlockId block) {
    const ir::Inst& end = f_.terminator(block);
    if (!end.operands.empty() && end.edges.size() > 1) Push(end.operands[0]);
  }

  void Trace(ir::ValueId value) {
    const ir::Value& info = f_.at_value(value);
    if (!info.def.valid()) return TraceParam(info);
    const ir::Inst& inst = f_.at_inst(info.def);
    if (Waits(inst)) decider_ = &inst;
    for (ir::ValueId operand : inst.operands) Push(operand);
  }

  // Where several ways through the loop meet, what they were chosen by decides too.
  void TraceParam(const ir::Value& param) {
    std::vector<ir::ValueId> args;
    for (BlockId block : blocks_) {
      for (const ir::Edge& edge : f_.successors(block)) {
        if (edge.to == param.block) args.push_back(edge.args[param.number]);
      }
    }
    bool differ = std::ranges::any_of(args, [&](ir::ValueId arg) { return arg != args[0]; });
    for (ir::ValueId arg : args) Push(arg);
    if (!differ) return;
    for (BlockId block : blocks_) Branch(block);
  }

  bool Waits(const ir::Inst& inst) const {
    if (inst.op == Opcode::kAtomic) {
      return true;
    }
    if (inst.op == Opcode::kAtomicCas) {
      return !inside_[f_.at_value(inst.operands[1]).block.index] || IsConstant(inst.operands[1]);
    }
    if (inst.op == Opcode::kLoad) {
      if (inst.attrs.order != ir::MemoryOrder::kWeak) return true;
      ir::Space space = inst.attrs.space;
      bool shared_memory =
          space == ir::Space::kGlobal || space == ir::Space::kShared || space == ir::Space::kGeneric;
      return pauses_ && shared_memory && (inst.attrs.flags & ir::kNonCoherent) == 0;
    }
    return false;
  }
  bool IsConstant(ir::ValueId value) const {
    ir::InstId def = f_.at_value(value).def;
    return def.valid() && f_.at_inst(def).op == Opcode::kConst;
  }

  const ir::Function& f_;
  std::vector<bool> inside_, seen_;
  std::vector<BlockId> blocks_;
  std::vector<ir::ValueId> work_;
  bool pauses_ = false;
  const ir::Inst* decider_ = nullptr;
};

}  // namespace

std::vector<SpinLoop> FindSpinLoops(const ir::Function& f) {
  std::vector<SpinLoop> found;
  const std::vector<std::vector<BlockId>> predecessors = ir::Predecessors(f);
  for (BlockEdge back : FindBackEdges(f)) {
    Loop loop(f, predecessors, back.from, f.successors(back.from)[back.edge].to);
    if (const ir::Inst* decider = loop.Decider()) found.push_back({back, decider->at});
  }
  return found;
}

}  // namespace ptx2cpu::analysis
