#include "analysis/memory/narrow_locals.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ptx2cpu::analysis {
namespace {

using ir::Opcode;
using ir::ValueId;

// The operands that an address is computed from. A sum counts as the widest of its parts.
enum class Origin : uint8_t { kUnknown, kIndex, kNarrow, kWide };

enum class WidthRule : uint8_t { kWidens, kPacks, kIndex, kChoice, kSum, kAddress };

WidthRule RuleOf(Opcode op) {
  static constexpr std::pair<Opcode, WidthRule> kRules[] = {
      {Opcode::kZext, WidthRule::kWidens},   {Opcode::kSext, WidthRule::kWidens},
      {Opcode::kPack, WidthRule::kPacks},    {Opcode::kConst, WidthRule::kIndex},
      {Opcode::kMul, WidthRule::kIndex},     {Opcode::kShl, WidthRule::kIndex},
      {Opcode::kSelect, WidthRule::kChoice},
  };
  for (auto [row, rule] : kRules) {
    if (row == op) return rule;
  }
  // Other operations on numbers keep what their operands are; what comes from elsewhere has 64 bits.
  const bool computes = ir::Info(op).effect == ir::Effect::kPure && ir::Info(op).lanes == ir::Lanes::kAlone;
  return computes ? WidthRule::kSum : WidthRule::kAddress;
}

class Origins {
 public:
  explicit Origins(const ir::Function& f) : f_(f), known_(f.values.size(), Origin::kUnknown) {
    for (const ir::Block& block : f.blocks) {
      if (block.removed) continue;
      for (const ir::Edge& edge : f.at_inst(block.insts.back()).edges) {
        const std::vector<ValueId>& params = f.at_block(edge.to).params;
        for (size_t n = 0; n < params.size(); ++n) incoming_.push_back({params[n].index, edge.args[n]});
      }
    }
    std::ranges::sort(incoming_, {}, &Incoming::param);
  }

  Origin Of(ValueId value) {
    if (known_[value.index] != Origin::kUnknown) return known_[value.index];
    known_[value.index] = Origin::kIndex;  // what a cycle adds to itself
    const Origin found = Find(value);
    known_[value.index] = found;
    return found;
  }

 private:
  struct Incoming {
    uint32_t param;
    ValueId value;
  };

  Origin Find(ValueId value) {
    const ir::Value& v = f_.at_value(value);
    if (!v.def.valid()) return OfParam(value);
    const ir::Inst& inst = f_.at_inst(v.def);
    switch (RuleOf(inst.op)) {
      case WidthRule::kWidens:
        return f_.type_of(inst.operands[0]) == ir::Type::kI32 ? Origin::kNarrow : Origin::kIndex;
      case WidthRule::kPacks:
        return Origin::kNarrow;
      case WidthRule::kIndex:
        return Origin::kIndex;
      case WidthRule::kSum:
        return OfSum(inst);
      case WidthRule::kChoice:
        return Either(Of(inst.operands[1]), Of(inst.operands[2]));
      case WidthRule::kAddress:
        return Origin::kWide;
    }
    return Origin::kWide;
  }

  Origin OfSum(const ir::Inst& inst) {
    if (inst.operands.empty()) return Origin::kWide;
    Origin widest = Origin::kIndex;
    for (ValueId operand : inst.operands) widest = std::max(widest, Of(operand));
    return widest;
  }

  // A parameter of a function is an address of 64 bits; one of a block is what any edge brings.
  Origin OfParam(ValueId value) {
    auto at = std::ranges::lower_bound(incoming_, value.index, {}, &Incoming::param);
    if (at == incoming_.end() || at->param != value.index) return Origin::kWide;
    Origin origin = Origin::kIndex;
    for (; at != incoming_.end() && at->param == value.index; ++at) origin = Either(origin, Of(at->value));
    return origin;
  }

  static Origin Either(Origin a, Origin b) {
    if (a == Origin::kNarrow || b == Origin::kNarrow) return Origin::kNarrow;
    return std::max(a, b);
  }

  const ir::Function& f_;
  std::vector<Origin> known_;
  std::vector<Incoming> incoming_;
};

bool HasNarrowLocalAddresses(const ir::Function& f) {
  std::vector<ValueId> addresses;
  for (const ir::Block& block : f.blocks) {
    if (block.removed) continue;
    for (ir::InstId id : block.insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (inst.attrs.space == ir::Space::kLocal && inst.op != Opcode::kSymbol && !inst.operands.empty())
        addresses.push_back(inst.operands[0]);
    }
  }
  if (addresses.empty()) return false;
  Origins origins(f);
  return std::ranges::any_of(addresses, [&](ValueId a) { return origins.Of(a) == Origin::kNarrow; });
}

}  // namespace

bool HasNarrowLocalAddresses(const ir::Module& module) {
  return std::ranges::any_of(module.functions, [](const ir::Function& f) {
    return !f.is_declaration && f.entry.valid() && HasNarrowLocalAddresses(f);
  });
}

}  // namespace ptx2cpu::analysis
