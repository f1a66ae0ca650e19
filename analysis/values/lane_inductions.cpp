// Loop counters, lane by lane: the first value of a counter, and a multiple of the number of the turn, which
// all counters of the loop have in common.
#include <algorithm>

#include "analysis/values/definitions.h"
#include "analysis/values/lane_forms.h"
#include "analysis/values/lane_numbers.h"
#include "analysis/values/polynomial.h"

namespace ptx2cpu::analysis {

namespace {

using ir::Opcode;

constexpr int kMaxSteps = 16;  // additions in one turn

// What a turn adds to the counter; nothing where it does something else.
std::optional<int64_t> StepOf(const ir::Function& f, ir::ValueId next, ir::ValueId counter) {
  uint64_t step = 0;
  for (int n = 0; n < kMaxSteps && next != counter; ++n) {
    const ir::Inst* inst = DefinitionOf(f, next);
    if (inst == nullptr || (inst->op != Opcode::kAdd && inst->op != Opcode::kSub)) return std::nullopt;
    const bool adds = inst->op == Opcode::kAdd;
    if ((inst->attrs.flags & ir::kSat) != 0) return std::nullopt;
    size_t number = 1;
    if (adds && NumberOf(f, inst->operands[0])) number = 0;
    const std::optional<uint64_t> by = NumberOf(f, inst->operands[number]);
    if (!by) return std::nullopt;
    step += adds ? *by : -*by;
    next = inst->operands[1 - number];
  }
  return next == counter ? std::optional(static_cast<int64_t>(step)) : std::nullopt;
}

}  // namespace

void LaneForms::FindEdges(const std::vector<ir::BlockId>& order) {
  std::vector<uint32_t> place(f_.blocks.size());
  for (uint32_t n = 0; n < order.size(); ++n) place[order[n].index] = n;
  entries_.resize(f_.blocks.size());
  for (const ir::BlockId from : order) {
    for (const ir::Edge& edge : f_.successors(from))
      entries_[edge.to.index].push_back({&edge, place[edge.to.index] <= place[from.index]});
  }
}

// A parameter of a block. Where control comes from several places, its lanes may not have come from the same.
LaneForm LaneForms::Parameter(ir::BlockId block, size_t number) {
  const ir::ValueId param = f_.at_block(block).params[number];
  const ir::Type type = f_.type_of(param);
  const LaneForm* begin = nullptr;
  std::optional<int64_t> step;
  for (const Entry& entry : entries_[block.index]) {
    const ir::ValueId arg = entry.edge->args[number];
    if (!IsWord(type)) return Opaque(param);
    if (entry.is_back) {
      const std::optional<int64_t> here = StepOf(f_, arg, param);
      if (!here || (step && *step != *here)) return Opaque(param);
      step = here;
    } else {
      if (begin != nullptr) return Opaque(param);
      begin = &Of(arg);
    }
  }
  if (begin == nullptr || !begin->known || !step) return Opaque(param);
  LaneForm form = *begin;
  const LaneForm turn = Single({5, block.index}, nullptr, block);
  form.base = Reduced(Sum(form.base, turn.base, *step), ir::Bits(type));
  return form;
}

}  // namespace ptx2cpu::analysis
