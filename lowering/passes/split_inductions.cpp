// Induction variables of loops that hold boundaries: the part that differs between threads moves out of the
// loop.
//
//   before                                after
//     br h(%a)          ; linear in tid     br h(0)
//     h(%p):                                h(%q):              ; uniform: one slot for the block
//       load global %p                        %p = add %a, %q   ; computed again in each region
//       barrier_block                         load global %p
//       %n = add %p, %step ; uniform          barrier_block
//       br h(%n)                              %n = add %q, %step
//                                             br h(%n)
//
// A thread's copy of %p would be kept in a slot across the barriers, and a region that loads it knows nothing
// of its form: its accesses become gathers. Sums are taken modulo the type's width, so no wrap is lost.
#include <algorithm>
#include <optional>

#include "analysis/graph/loops.h"
#include "analysis/values/linear_in_thread.h"
#include "ir/build.h"
#include "lowering/passes.h"
#include "lowering/passes/inductions.h"

namespace ptx2cpu::lowering {
namespace {

using analysis::UniformityResult;
using ir::BlockId;
using ir::Level;
using ir::Opcode;
using ir::ValueId;

class Splitter {
 public:
  Splitter(ir::Function& f, const PassOptions& options)
      : f_(f),
        level_(HasCollective(f) ? Level::kWarp : Level::kBlock),
        uniformity_(analysis::AnalyzeUniformity(f, options.launch)),
        linear_(analysis::LinearInThread(f, uniformity_, level_)) {}

  void Run() {
    const analysis::Cfg g = analysis::BuildCfg(f_);
    const analysis::LoopForest forest = analysis::Loops(g);
    const std::vector<std::vector<BlockId>> predecessors = ir::Predecessors(f_);
    for (uint32_t l = 0; l < forest.loops.size(); ++l) {
      const analysis::Loop& loop = forest.loops[l];
      const BlockId header{loop.header};
      const bool holds_boundary =
          std::ranges::any_of(loop.blocks, [&](uint32_t block) { return IsBoundary({block}); });
      if (loop.irreducible || !holds_boundary || IsBoundary(header)) continue;
      FindEdges(header, predecessors[header.index],
                [&](BlockId from) { return !forest.Contains(l, from.index); });
      for (size_t n = 0; n < f_.at_block(header).params.size(); ++n) Split(header, n);
    }
  }

 private:
  struct Incoming {
    BlockId from;
    size_t edge;
    bool enters;
  };

  static bool Holds(const ir::Function& f, BlockId block, bool (*kind)(Opcode)) {
    return std::ranges::any_of(f.at_block(block).insts,
                               [&](ir::InstId id) { return kind(f.at_inst(id).op); });
  }
  static bool HasCollective(const ir::Function& f) {
    return std::ranges::any_of(
        f.insts, [](const ir::Inst& inst) { return inst.block.valid() && ir::IsCollective(inst.op); });
  }
  bool IsBoundary(BlockId block) const {
    return Holds(f_, block, ir::IsBarrier) || Holds(f_, block, ir::IsCollective);
  }

  template <typename Enters>
  void FindEdges(BlockId header, const std::vector<BlockId>& predecessors, const Enters& enters) {
    incoming_.clear();
    for (const BlockId from : predecessors) {
      const auto edges = f_.successors(from);
      for (size_t e = 0; e < edges.size(); ++e) {
        if (edges[e].to == header) incoming_.push_back({from, e, enters(from)});
      }
    }
  }

  ValueId& Argument(const Incoming& edge, size_t number) {
    return f_.inst(f_.at_block(edge.from).insts.back()).edges[edge.edge].args[number];
  }

  bool Known(ValueId value) const { return value.index < linear_.size(); }
  bool IsUniform(ValueId value) const { return Known(value) && uniformity_.UniformAt(value, level_); }

  void Split(BlockId header, size_t number) {
    const ValueId param = f_.at_block(header).params[number];
    if (!ir::IsInteger(f_.type_of(param)) || ir::Bits(f_.type_of(param)) > 64 || IsUniform(param)) return;
    ValueId start;
    std::vector<std::vector<InductionStep>> steps;
    for (const Incoming& edge : incoming_) {
      const ValueId argument = Argument(edge, number);
      if (edge.enters) {
        if (start.valid() && start != argument) return;
        start = argument;
        continue;
      }
      std::optional<std::vector<InductionStep>> to_latch =
          StepsTo(f_, argument, param, [&](ValueId v) { return IsUniform(v); });
      if (!to_latch) return;
      steps.push_back(std::move(*to_latch));
    }
    if (!start.valid() || !Known(start) || !linear_[start.index]) return;
    Rewrite(header, number, start, steps);
  }

  ValueId Before(BlockId block, size_t where, Opcode op, ir::Type type, std::vector<ValueId> operands) {
    ir::Inst inst;
    inst.op = op;
    inst.type = type;
    inst.operands = std::move(operands);
    const std::vector<ir::InstId>& list = f_.at_block(block).insts;
    inst.at = f_.at_inst(list[std::min(where, list.size() - 1)]).at;
    return f_.at_inst(ir::Insert(f_, block, where, std::move(inst))).results[0];
  }
  ValueId AtEnd(BlockId block, Opcode op, ir::Type type, std::vector<ValueId> operands) {
    return Before(block, f_.at_block(block).insts.size() - 1, op, type, std::move(operands));
  }

  void Rewrite(BlockId header, size_t number, ValueId start,
               const std::vector<std::vector<InductionStep>>& steps) {
    const ValueId counter = f_.at_block(header).params[number];  // the parameter itself
    const ir::Type type = f_.type_of(counter);
    const ValueId sum = Before(header, 0, Opcode::kAdd, type, {start, start});
    ir::ReplaceUses(f_, counter, sum);
    f_.inst(f_.at_value(sum).def).operands[1] = counter;
    size_t latch = 0;
    for (const Incoming& edge : incoming_) {
      ValueId value = counter;
      if (edge.enters) {
        value = AtEnd(edge.from, Opcode::kConst, type, {});
      } else {
        for (const InductionStep& step : steps[latch])
          value = AtEnd(edge.from, step.op, type, {value, step.by});
        ++latch;
      }
      Argument(edge, number) = value;
    }
  }

  ir::Function& f_;
  const Level level_;
  const UniformityResult uniformity_;
  const std::vector<bool> linear_;
  std::vector<Incoming> incoming_;
};

}  // namespace

Status SplitInductions(ir::Module&, ir::Function& f, const PassOptions& options) {
  const bool any_boundary = std::ranges::any_of(f.insts, [](const ir::Inst& inst) {
    return inst.block.valid() && (ir::IsBarrier(inst.op) || ir::IsCollective(inst.op));
  });
  if (f.is_kernel && any_boundary) Splitter(f, options).Run();
  return {};
}

}  // namespace ptx2cpu::lowering
