#include "lowering/llvm/lanes/counters.h"

#include <algorithm>

namespace ptx2cpu::lowering {

using ir::Opcode;
using ir::ValueId;

namespace {

std::optional<int64_t> ConstantOf(const ir::Function& f, ValueId id) {
  const ir::Inst* def = DefinitionOf(f, id);
  if (def == nullptr || def->op != Opcode::kConst) return std::nullopt;
  return static_cast<int64_t>(def->attrs.bits);
}

// The only value that a parameter of a block can have, if the block is entered over one edge.
std::optional<ValueId> OnlyArgument(const ir::Function& f, ValueId param) {
  const ir::BlockId block = f.at_value(param).block;
  const auto place = std::ranges::find(f.at_block(block).params, param);
  if (place == f.at_block(block).params.end()) return std::nullopt;
  const auto number = static_cast<size_t>(place - f.at_block(block).params.begin());
  std::optional<ValueId> only;
  for (const ir::Inst& inst : f.insts) {
    if (!inst.block.valid()) continue;
    for (const ir::Edge& edge : inst.edges) {
      if (edge.to != block) continue;
      if (only) return std::nullopt;
      only = edge.args[number];
    }
  }
  return only;
}

// What is added to the slot where a trip ends: the one store of a sum of it.
std::optional<ValueId> StepOf(const ir::Function& f, uint32_t slot) {
  std::optional<ValueId> step;
  for (const ir::Inst& store : f.insts) {
    if (!store.block.valid() || store.op != Opcode::kSlotStore || store.attrs.index != slot) continue;
    const ir::Inst* sum = DefinitionOf(f, store.operands[0]);
    if (sum == nullptr || sum->op != Opcode::kAdd) continue;
    for (size_t i = 0; i < 2; ++i) {
      const ir::Inst* old = DefinitionOf(f, sum->operands[i]);
      if (old == nullptr || old->op != Opcode::kSlotLoad || old->attrs.index != slot) continue;
      if (step) return std::nullopt;
      step = sum->operands[1 - i];
      break;
    }
  }
  return step;
}

// The parameter of a loop's head that each further trip increases, and by what.
std::optional<ValueId> StepOfParam(const ir::Function& f, ValueId param) {
  const ir::BlockId head = f.at_value(param).block;
  const auto place = std::ranges::find(f.at_block(head).params, param);
  if (place == f.at_block(head).params.end()) return std::nullopt;
  const auto number = static_cast<size_t>(place - f.at_block(head).params.begin());
  std::optional<ValueId> step;
  for (const ir::Inst& inst : f.insts) {
    if (!inst.block.valid()) continue;
    for (const ir::Edge& edge : inst.edges) {
      if (edge.to != head) continue;
      const ir::Inst* sum = DefinitionOf(f, edge.args[number]);
      if (sum == nullptr || sum->op != Opcode::kAdd) continue;
      const auto old = std::ranges::find(sum->operands, param);
      if (old == sum->operands.end()) continue;
      if (step) return std::nullopt;
      step = sum->operands[old == sum->operands.begin() ? 1 : 0];
    }
  }
  return step;
}

using CounterOfTerm = std::optional<Counter> (*)(const ir::Function&, ValueId, int depth);

// The counter in an address, which `of_term` finds in what is no sum or product.
std::optional<Counter> CounterInSum(const ir::Function& f, ValueId id, int depth, CounterOfTerm find,
                                    CounterOfTerm of_term) {
  const ir::Inst* inst = DefinitionOf(f, id);
  if (inst == nullptr || depth == 0) return depth == 0 ? std::nullopt : of_term(f, id, depth);
  auto times = [&](ValueId value, int64_t factor) {
    auto counter = find(f, value, depth - 1);
    if (counter) counter->factor *= factor;
    return counter;
  };
  if (inst->op == Opcode::kZext || inst->op == Opcode::kSext || inst->op == Opcode::kToGeneric ||
      inst->op == Opcode::kFromGeneric)
    return times(inst->operands[0], 1);
  if (inst->op == Opcode::kShl) {
    const auto by = ConstantOf(f, inst->operands[1]);
    return by && *by >= 0 && *by < 32 ? times(inst->operands[0], int64_t{1} << *by) : std::nullopt;
  }
  if (inst->op == Opcode::kMul) {
    for (size_t i = 0; i < 2; ++i) {
      if (const auto factor = ConstantOf(f, inst->operands[i])) return times(inst->operands[1 - i], *factor);
    }
    auto first = times(inst->operands[0], 1), second = times(inst->operands[1], 1);
    if (first.has_value() == second.has_value()) return std::nullopt;
    auto& counter = first ? first : second;
    counter->factors.push_back(inst->operands[first ? 1 : 0]);
    return counter;
  }
  if (inst->op == Opcode::kAdd) {
    const auto first = times(inst->operands[0], 1), second = times(inst->operands[1], 1);
    if (first && second) return std::nullopt;
    return first ? first : second;
  }
  return of_term(f, id, depth);
}

// The one value that is stored to a slot.
std::optional<ValueId> OnlyStored(const ir::Function& f, uint32_t slot) {
  std::optional<ValueId> only;
  for (const ir::Inst& store : f.insts) {
    if (!store.block.valid() || store.op != Opcode::kSlotStore || store.attrs.index != slot) continue;
    if (only) return std::nullopt;
    only = store.operands[0];
  }
  return only;
}

}  // namespace

// What a loop's parameter is in the first trip, or a block's that is entered over one edge.
std::optional<ValueId> FirstArgument(const ir::Function& f, ValueId param) {
  const ir::BlockId head = f.at_value(param).block;
  const auto place = std::ranges::find(f.at_block(head).params, param);
  if (place == f.at_block(head).params.end()) return std::nullopt;
  const auto number = static_cast<size_t>(place - f.at_block(head).params.begin());
  std::optional<ValueId> first;
  for (const ir::Inst& inst : f.insts) {
    if (!inst.block.valid()) continue;
    for (const ir::Edge& edge : inst.edges) {
      if (edge.to != head) continue;
      const ir::Inst* sum = DefinitionOf(f, edge.args[number]);
      const bool goes_on = sum != nullptr && std::ranges::find(sum->operands, param) != sum->operands.end();
      if (goes_on) continue;
      if (first) return std::nullopt;
      first = edge.args[number];
    }
  }
  return first;
}

std::optional<uint64_t> PointerIn(const ir::Function& f, ValueId id, int depth) {
  if (depth == 0 || ir::Bits(f.type_of(id)) != 64) return std::nullopt;
  const ir::Inst* inst = DefinitionOf(f, id);
  if (inst == nullptr || inst->op == Opcode::kSlotLoad) {
    const auto from = inst == nullptr ? FirstArgument(f, id) : OnlyStored(f, inst->attrs.index);
    return from ? PointerIn(f, *from, depth - 1) : std::nullopt;
  }
  if (inst->op == Opcode::kLoad && inst->attrs.space == ir::Space::kParam) {
    const ir::Inst* address = DefinitionOf(f, inst->operands[0]);
    if (address == nullptr || address->op != Opcode::kAdd) return 0;
    return ConstantOf(f, address->operands[1]);
  }
  if (inst->op != Opcode::kAdd && inst->op != Opcode::kToGeneric && inst->op != Opcode::kFromGeneric)
    return std::nullopt;
  for (ValueId operand : inst->operands) {
    if (const auto found = PointerIn(f, operand, depth - 1)) return found;
  }
  return std::nullopt;
}

bool DependsOnGrid(const ir::Function& f, ValueId id, int depth) {
  const ir::Inst* inst = DefinitionOf(f, id);
  if (inst == nullptr || depth == 0) return false;
  if (inst->op == Opcode::kSpecialRegister)
    return inst->attrs.special == ir::Special::kNctaidX || inst->attrs.special == ir::Special::kNctaidY;
  return std::ranges::any_of(inst->operands,
                             [&](ValueId operand) { return DependsOnGrid(f, operand, depth - 1); });
}

std::optional<Counter> CounterIn(const ir::Function& f, ValueId id, int depth) {
  return CounterInSum(f, id, depth, CounterIn, [](const ir::Function& f, ValueId id, int depth) {
    const ir::Inst* inst = DefinitionOf(f, id);
    if (inst == nullptr) {
      if (const std::optional<ValueId> only = OnlyArgument(f, id)) return CounterIn(f, *only, depth - 1);
      const std::optional<ValueId> step = StepOfParam(f, id);
      return step ? std::optional(Counter{*step, 1, {}, id, {}}) : std::nullopt;
    }
    if (inst->op != Opcode::kSlotLoad || f.slots[inst->attrs.index].shape != ir::Level::kBlock)
      return std::optional<Counter>();
    const std::optional<ValueId> step = StepOf(f, inst->attrs.index);
    return step ? std::optional(Counter{*step, 1, {}, {}, id}) : std::nullopt;
  });
}

std::optional<Counter> BlockIn(const ir::Function& f, ValueId id, int depth) {
  return CounterInSum(f, id, depth, BlockIn, [](const ir::Function& f, ValueId id, int depth) {
    const ir::Inst* inst = DefinitionOf(f, id);
    if (inst != nullptr && inst->op == Opcode::kSpecialRegister)
      return inst->attrs.special == ir::Special::kCtaidX ? std::optional(Counter{}) : std::nullopt;
    std::optional<ValueId> from;
    if (inst == nullptr)
      from = FirstArgument(f, id);
    else if (inst->op == Opcode::kSlotLoad)
      from = OnlyStored(f, inst->attrs.index);
    return from ? BlockIn(f, *from, depth - 1) : std::nullopt;
  });
}

std::optional<Test> TestOf(const ir::Function& f, ir::BlockId head) {
  for (ValueId param : f.at_block(head).params) {
    const std::optional<ValueId> step = StepOfParam(f, param);
    if (!step) continue;
    for (const ir::Inst& inst : f.insts) {
      if (!inst.block.valid() || inst.op != Opcode::kIcmp) continue;
      const ir::Inst* sum = DefinitionOf(f, inst.operands[0]);
      if (sum == nullptr || sum->op != Opcode::kAdd) continue;
      if (std::ranges::find(sum->operands, param) != sum->operands.end() &&
          std::ranges::find(sum->operands, *step) != sum->operands.end())
        return Test{param, *step, inst.operands[1]};
    }
  }
  return std::nullopt;
}

std::optional<ValueId> BoundOfSlot(const ir::Function& f, const Counter& counter) {
  const uint32_t slot = DefinitionOf(f, counter.now)->attrs.index;
  for (const ir::Inst& inst : f.insts) {
    if (!inst.block.valid() || inst.op != Opcode::kIcmp) continue;
    const ir::Inst* sum = DefinitionOf(f, inst.operands[0]);
    if (sum == nullptr || sum->op != Opcode::kAdd) continue;
    if (std::ranges::any_of(sum->operands, [&](ValueId operand) {
          const ir::Inst* old = DefinitionOf(f, operand);
          return old != nullptr && old->op == Opcode::kSlotLoad && old->attrs.index == slot;
        }))
      return inst.operands[1];
  }
  return std::nullopt;
}

namespace {

constexpr int kMaxValues = 40;  // that an address is made of

// The same of what the block's shape decides.
std::optional<int64_t> NumberKnown(const ir::Function& f, ValueId id) {
  const ir::Inst* def = DefinitionOf(f, id);
  if (def != nullptr && def->op == Opcode::kSpecialRegister && def->attrs.special == ir::Special::kNtidX &&
      f.required_threads[0] != 0)
    return f.required_threads[0];
  return ConstantOf(f, id);
}

std::optional<int64_t> Times(std::optional<int64_t> value, int64_t factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

// Nothing too where the address is made of more values than `budget`.
std::optional<int64_t> BytesBetween(const ir::Function& f, ValueId id, int& budget) {
  const ir::Inst* inst = DefinitionOf(f, id);
  if (inst == nullptr) return 0;
  if (--budget <= 0) return std::nullopt;
  const auto of = [&](size_t n) { return BytesBetween(f, inst->operands[n], budget); };
  if (inst->op == Opcode::kSpecialRegister) return inst->attrs.special == ir::Special::kCtaidX ? 1 : 0;
  if (inst->op == Opcode::kZext || inst->op == Opcode::kSext) return of(0);
  if (inst->op == Opcode::kAdd || inst->op == Opcode::kSub || inst->op == Opcode::kOr) {
    const auto first = of(0), second = of(1);
    if (!first || !second || (inst->op != Opcode::kAdd && *second != 0)) return std::nullopt;
    return *first + *second;
  }
  if (inst->op == Opcode::kShl || inst->op == Opcode::kMul) {
    for (size_t n = 0; n < 2; ++n) {
      const auto factor = NumberKnown(f, inst->operands[1 - n]);
      if (factor && inst->op == Opcode::kMul) return Times(of(n), *factor);
      if (factor && n == 0 && *factor >= 0 && *factor < 32) return Times(of(0), int64_t{1} << *factor);
    }
  }
  for (size_t n = 0; n < inst->operands.size(); ++n) {
    if (of(n) != 0) return std::nullopt;
  }
  return 0;
}

}  // namespace

std::optional<int64_t> BytesBetweenBlocks(const ir::Function& f, ValueId id) {
  int budget = kMaxValues;
  return BytesBetween(f, id, budget);
}

}  // namespace ptx2cpu::lowering
