#include "analysis/values/lane_forms.h"

#include <algorithm>
#include <bit>

#include "analysis/values/lane_numbers.h"
#include "analysis/values/polynomial.h"

namespace ptx2cpu::analysis {

using ir::Opcode;
using ir::Type;
using ir::ValueId;

namespace {

constexpr size_t kMaxTerms = 10;

int64_t Times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t Plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

LaneForm Filled(int64_t number) {
  LaneForm form;
  form.known = true;
  form.lane.fill(number);
  return form;
}

LaneForm Added(const LaneForm& a, const LaneForm& b, int64_t factor, Type type) {
  LaneForm sum;
  sum.base = Reduced(Sum(a.base, b.base, factor), ir::Bits(type));
  sum.known = sum.base.terms.size() <= kMaxTerms;
  for (uint32_t n = 0; n < kWarpSize; ++n)
    sum.lane[n] = Signed(Plus(a.lane[n], Times(b.lane[n], factor)), type);
  return sum;
}

}  // namespace

LaneForms::LaneForms(const ir::Function& f, const UniformityResult& uniformity, LaunchShape shape,
                     uint32_t warp, const std::vector<ValueId>& wanted)
    : f_(f),
      uniformity_(uniformity),
      shape_(shape),
      warp_(warp),
      needed_(f.values.size()),
      forms_(f.values.size()),
      predicates_(f.values.size()) {
  if (!AreRows(shape_)) {
    const uint32_t threads = shape_.x * std::max(shape_.y, 1u) * std::max(shape_.z, 1u);
    const uint32_t first = warp_ * kWarpSize;
    if (threads < first + kWarpSize) members_ = threads <= first ? 0 : (1u << (threads - first)) - 1;
  } else if (shape_.x != 0 && warp_ * kWarpSize >= shape_.x) {
    members_ = 0;
  }
  const std::vector<ir::BlockId> order = ir::ReversePostOrder(f);
  FindEdges(order);
  FindNeeded(wanted);
  for (const ir::BlockId block : order) {
    const std::vector<ValueId>& params = f.at_block(block).params;
    for (size_t n = 0; n < params.size(); ++n) {
      if (needed_[params[n].index]) forms_[params[n].index] = Parameter(block, n);
    }
    for (const ir::InstId id : f.at_block(block).insts) {
      const ir::Inst& inst = f.at_inst(id);
      if (std::ranges::any_of(inst.results, [&](ValueId v) { return needed_[v.index]; })) Visit(inst);
    }
  }
}

void LaneForms::FindNeeded(const std::vector<ValueId>& wanted) {
  std::vector<ValueId> work;
  const auto need = [&](ValueId value) {
    if (!needed_[value.index]) work.push_back(value);
    needed_[value.index] = true;
  };
  for (const ValueId value : wanted) need(value);
  while (!work.empty()) {
    const ValueId value = work.back();
    const ir::InstId def = f_.at_value(value).def;
    work.pop_back();
    if (!def.valid()) {
      const ir::BlockId block = f_.at_value(value).block;
      const std::vector<ValueId>& params = f_.at_block(block).params;
      const auto number = std::ranges::find(params, value) - params.begin();
      for (const Entry& entry : entries_[block.index]) {
        if (!entry.is_back) need(entry.edge->args[static_cast<size_t>(number)]);
      }
      continue;
    }
    if (ir::IsFloat(f_.at_inst(def).type)) continue;
    const ir::Effect effect = ir::Info(f_.at_inst(def).op).effect;
    if (effect != ir::Effect::kPure && effect != ir::Effect::kReads) continue;
    for (const ValueId operand : f_.at_inst(def).operands) need(operand);
  }
}

void LaneForms::Visit(const ir::Inst& inst) {
  const bool is_predicate = inst.results.size() == 1 && f_.type_of(inst.results[0]) == Type::kI1;
  if (is_predicate) {
    predicates_[inst.results[0].index] = Decide(inst);
    return;
  }
  if (inst.op == Opcode::kLoad) {
    const bool is_frozen = inst.attrs.space == ir::Space::kParam || inst.attrs.space == ir::Space::kConst;
    const bool is_same = Of(inst.operands[0]).IsSame() && inst.attrs.order == ir::MemoryOrder::kWeak;
    for (uint32_t n = 0; n < inst.results.size(); ++n)
      forms_[inst.results[n].index] = is_frozen && is_same ? Structural(inst, n) : Opaque(inst.results[n]);
    return;
  }
  for (const ValueId result : inst.results) {
    LaneForm form = inst.results.size() == 1 ? Compute(inst) : LaneForm{};
    forms_[result.index] = form.known ? std::move(form) : Opaque(result);
  }
}

LaneForm LaneForms::Single(Key key, const Polynomial* made_of, ir::BlockId block) {
  const auto [it, is_new] = numbers_.try_emplace(std::move(key), static_cast<uint32_t>(made_in_.size()));
  if (is_new) {
    std::vector<uint32_t> blocks;
    if (block.valid()) blocks.push_back(block.index);
    for (size_t n = 0; made_of != nullptr && n < made_of->terms.size(); ++n) {
      for (const uint32_t atom : made_of->terms[n].atoms)
        blocks.insert(blocks.end(), made_in_[atom].begin(), made_in_[atom].end());
    }
    std::ranges::sort(blocks);
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    made_in_.push_back(std::move(blocks));
  }
  LaneForm form = Filled(0);
  form.base.terms.push_back({{it->second}, 1});
  return form;
}

bool LaneForms::IsMadeIn(const Polynomial& p, ir::BlockId block) const {
  return std::ranges::any_of(p.terms, [&](const Term& term) {
    return std::ranges::any_of(
        term.atoms, [&](uint32_t atom) { return std::ranges::binary_search(made_in_[atom], block.index); });
  });
}

LaneForm LaneForms::Special(const ir::Inst& inst) const {
  using enum ir::Special;
  const ir::Special special = inst.attrs.special;
  LaneForm form = Filled(0);
  const bool rows = AreRows(shape_);
  for (uint32_t n = 0; n < kWarpSize; ++n) {
    const uint32_t thread = warp_ * kWarpSize + n;
    const uint32_t y = std::max(shape_.y, 1u);
    if (special == kLaneId)
      form.lane[n] = n;
    else if (special == kTidX)
      form.lane[n] = rows ? thread : thread % shape_.x;
    else if (special == kTidY && !rows)
      form.lane[n] = thread / shape_.x % y;
    else if (special == kTidZ && !rows)
      form.lane[n] = thread / shape_.x / y;
    else if (special == kNtidX && shape_.x != 0)
      form.lane[n] = shape_.x;
    else if (special == kNtidY && shape_.y != 0)
      form.lane[n] = shape_.y;
    else if (special == kNtidZ && shape_.z != 0)
      form.lane[n] = shape_.z;
    else
      return {};
  }
  return form;
}

// A value of which no more is known than that all lanes have the same, or that it grows from lane to lane.
LaneForm LaneForms::Opaque(ValueId value) {
  const ThreadShape& shape = uniformity_.values[value.index];
  if (!shape.uniform() && !shape.affine()) return {};
  const ir::Inst* def = f_.at_value(value).def.valid() ? &f_.at_inst(f_.at_value(value).def) : nullptr;
  LaneForm form;
  if (def != nullptr && def->op == Opcode::kSpecialRegister && (def->attrs.flags & ir::kVolatile) == 0) {
    form = Single({0, static_cast<int64_t>(def->attrs.special), def->attrs.index}, nullptr, {});
  } else {
    form = Single({1, value.index}, nullptr, f_.at_value(value).block);
  }
  for (uint32_t n = 0; n < kWarpSize && shape.affine(); ++n) form.lane[n] = shape.stride * n;
  return form;
}

// A pure operation on values of which all lanes have the same.
LaneForm LaneForms::Structural(const ir::Inst& inst, uint32_t result) {
  const ir::Attrs& attrs = inst.attrs;
  Key key{2,
          static_cast<int64_t>(inst.op),
          static_cast<int64_t>(inst.type),
          static_cast<int64_t>(inst.from),
          static_cast<int64_t>(attrs.bits),
          attrs.index,
          attrs.flags,
          static_cast<int64_t>(attrs.space),
          static_cast<int64_t>(attrs.compare),
          result};
  Polynomial all;
  for (const ValueId operand : inst.operands) {
    const LaneForm& form = Of(operand);
    if (!form.IsSame()) return {};
    AppendTo(key, form.base);
    key.push_back(form.lane[0]);
    all.terms.insert(all.terms.end(), form.base.terms.begin(), form.base.terms.end());
  }
  return Single(std::move(key), &all, {});
}

LaneForm LaneForms::Compute(const ir::Inst& inst) {
  const auto operand = [&](size_t n) -> const LaneForm& { return Of(inst.operands[n]); };
  if (inst.op == Opcode::kConst && IsWord(inst.type))
    return Filled(Signed(static_cast<int64_t>(inst.attrs.bits), inst.type));
  if (inst.op == Opcode::kSpecialRegister) return Special(inst);
  if (inst.op == Opcode::kSymbol && inst.attrs.space != ir::Space::kLocal)
    return Single({3, static_cast<int64_t>(inst.attrs.space), inst.attrs.index}, nullptr, {});
  if (inst.op == Opcode::kParamBase) return Single({4}, nullptr, {});
  if (inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric) return operand(0);
  if (inst.op == Opcode::kSelect) return Chosen(inst);
  if (ir::Info(inst.op).effect != ir::Effect::kPure || inst.op == Opcode::kUndef || inst.operands.empty() ||
      !IsWord(f_.type_of(inst.results[0])))
    return {};
  for (const ValueId value : inst.operands) {
    if (!Of(value).known) return {};
  }
  if (inst.op == Opcode::kSext || inst.op == Opcode::kZext || inst.op == Opcode::kTrunc) {
    if (!IsWord(inst.from)) return {};
    LaneForm form = operand(0);
    for (int64_t& number : form.lane) {
      if (inst.op == Opcode::kZext && form.IsNumber()) number = static_cast<int64_t>(Low(number, inst.from));
      if (inst.op == Opcode::kTrunc) number = Signed(number, inst.type);
    }
    form.base = Reduced(std::move(form.base), ir::Bits(inst.type));
    return form;
  }
  if ((inst.attrs.flags & ir::kSat) == 0) {
    if (inst.op == Opcode::kAdd) return Added(operand(0), operand(1), 1, inst.type);
    if (inst.op == Opcode::kSub) return Added(operand(0), operand(1), -1, inst.type);
    if (inst.op == Opcode::kNeg) return Added(Filled(0), operand(0), -1, inst.type);
  }
  for (const size_t n : {size_t{0}, size_t{1}}) {  // by a number that all lanes share
    if (inst.operands.size() != 2 || !operand(n).IsNumber() || !operand(n).IsSame()) continue;
    const int64_t number = operand(n).lane[0];
    if (inst.op == Opcode::kMul) return Added(Filled(0), operand(1 - n), number, inst.type);
    if (inst.op == Opcode::kShl && n == 1 && number >= 0 && number < ir::Bits(inst.type))
      return Added(Filled(0), operand(0), static_cast<int64_t>(1ull << number), inst.type);
    if (inst.op == Opcode::kAnd && !operand(1 - n).IsNumber()) {
      LaneForm masked = Masked(inst, operand(1 - n), number);
      if (masked.known) return masked;
    }
  }
  LaneForm numbers = Numbers(inst);
  return numbers.known ? numbers : Structural(inst, 0);
}

// value & mask, where the base has no bits that the mask cuts, or none but these.
LaneForm LaneForms::Masked(const ir::Inst& inst, const LaneForm& value, int64_t mask) {
  const int zeros = TrailingZeros(value.base);
  const uint64_t kept = Low(mask, inst.type);
  LaneForm form = value;
  if (std::countr_zero(kept) <= zeros && std::has_single_bit(~static_cast<uint64_t>(mask) + 1)) {
    // It clears low bits.
  } else if (std::has_single_bit(kept + 1) && std::countr_one(kept) <= zeros) {
    form.base = {};
  } else {
    return {};
  }
  for (int64_t& number : form.lane) number &= mask;
  return form;
}

LaneForm LaneForms::Numbers(const ir::Inst& inst) const {
  LaneForm form = Filled(0);
  if (inst.operands.size() != 2 || (inst.attrs.flags & ir::kSat) != 0) return {};
  const LaneForm &a = Of(inst.operands[0]), &b = Of(inst.operands[1]);
  if (!a.IsNumber() || !b.IsNumber()) return {};
  for (uint32_t n = 0; n < kWarpSize; ++n) {
    const std::optional<int64_t> number = OfNumbers(inst.op, inst.type, a.lane[n], b.lane[n]);
    if (!number) return {};
    form.lane[n] = Signed(*number, inst.type);
  }
  return form;
}

LaneForm LaneForms::Chosen(const ir::Inst& inst) const {
  const LaneForm &yes = Of(inst.operands[1]), &no = Of(inst.operands[2]);
  const LanePredicate& which = PredicateOf(inst.operands[0]);
  if (!IsWord(inst.type) || !yes.known || !no.known || !which.IsKnown() || yes.base != no.base) return {};
  LaneForm form = yes;
  for (uint32_t n = 0; n < kWarpSize; ++n) {
    if ((which.yes >> n & 1) == 0) form.lane[n] = no.lane[n];
  }
  return form;
}

LanePredicate LaneForms::Decide(const ir::Inst& inst) const {
  LanePredicate result;
  result.same = uniformity_.UniformAt(inst.results[0], ir::Level::kWarp);
  if (inst.op == Opcode::kIcmp) {
    if (inst.from == Type::kI1) return result;
    return Compare(inst);
  }
  const auto predicate = [&](size_t n) { return PredicateOf(inst.operands[n]); };
  const bool of_predicates =
      std::ranges::all_of(inst.operands, [&](ValueId operand) { return f_.type_of(operand) == Type::kI1; });
  if (inst.op == Opcode::kConst) {
    result = (inst.attrs.bits & 1) != 0 ? LanePredicate{~0u, 0, true} : LanePredicate{0, ~0u, true};
  } else if (!of_predicates || inst.operands.empty()) {
    return result;
  } else if (inst.op == Opcode::kNot) {
    result = predicate(0).Not();
  } else if (inst.op == Opcode::kAnd) {
    result = And(predicate(0), predicate(1));
  } else if (inst.op == Opcode::kOr) {
    result = And(predicate(0).Not(), predicate(1).Not()).Not();
  }
  return result;
}

}  // namespace ptx2cpu::analysis
