// Predicates lane by lane, and their conditions on the part of a value that all lanes have in common.
#include <algorithm>
#include <limits>

#include "analysis/values/definitions.h"
#include "analysis/values/lane_forms.h"
#include "analysis/values/lane_numbers.h"
#include "analysis/values/polynomial.h"

namespace ptx2cpu::analysis {

namespace {

using ir::CompareInfo;

constexpr size_t kMaxLimits = 4;  // of a state, each of another polynomial
constexpr int64_t kLowest = std::numeric_limits<int64_t>::min(),
                  kHighest = std::numeric_limits<int64_t>::max();

// The outcomes of a comparison whose operands are exchanged.
unsigned Exchanged(unsigned outcomes) {
  unsigned result = outcomes & ~static_cast<unsigned>(CompareInfo::kLess | CompareInfo::kGreater);
  if ((outcomes & CompareInfo::kLess) != 0) result |= CompareInfo::kGreater;
  if ((outcomes & CompareInfo::kGreater) != 0) result |= CompareInfo::kLess;
  return result;
}

// What `common` is where it compares with each lane's number in one of these ways.
AllLimits LimitsOf(const Polynomial& common, const std::array<int64_t, kWarpSize>& numbers,
                   unsigned outcomes) {
  const bool less = (outcomes & CompareInfo::kLess) != 0, greater = (outcomes & CompareInfo::kGreater) != 0;
  const int64_t less_by = (outcomes & CompareInfo::kEqual) != 0 ? 0 : 1;
  if (less && greater) return {};
  LaneLimits limits{common, {}, {}};
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    limits.low[lane] = less ? kLowest : numbers[lane] + less_by;
    limits.high[lane] = greater ? kHighest : numbers[lane] - less_by;
  }
  return {std::move(limits)};
}

}  // namespace

AllLimits Together(const AllLimits& a, const AllLimits& b) {
  AllLimits all = a;
  for (const LaneLimits& more : b) {
    const auto same = std::ranges::find_if(all, [&](const LaneLimits& l) { return l.common == more.common; });
    if (same == all.end()) {
      if (all.size() < kMaxLimits) all.push_back(more);
      continue;
    }
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      same->low[lane] = std::max(same->low[lane], more.low[lane]);
      same->high[lane] = std::min(same->high[lane], more.high[lane]);
    }
  }
  return all;
}

uint32_t LanesWithin(const AllLimits& limits) {
  uint32_t lanes = ~0u;
  for (const LaneLimits& limit : limits) {
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      if (limit.low[lane] > limit.high[lane]) lanes &= ~(1u << lane);
    }
  }
  return lanes;
}

bool AreApart(const AllLimits& limits, uint32_t lane, uint32_t other) {
  return std::ranges::any_of(limits, [&](const LaneLimits& limit) {
    return std::max(limit.low[lane], limit.low[other]) > std::min(limit.high[lane], limit.high[other]);
  });
}

// a + A < b + B   ->   A - B < b - a. Numbers below 0 are large ones to a comparison without signs.
AllLimits LimitsWhere(const LaneForm& a, const LaneForm& b, ir::Compare compare, ir::Type type) {
  const CompareInfo& info = ir::Info(compare);
  const auto is_negative = [](int64_t number) { return number < 0; };
  if (info.of == CompareInfo::kUnsigned &&
      (std::ranges::any_of(a.lane, is_negative) || std::ranges::any_of(b.lane, is_negative)))
    return {};
  Polynomial common = Reduced(Sum(a.base, b.base, -1), ir::Bits(type));
  std::array<int64_t, kWarpSize> numbers{};
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) numbers[lane] = b.lane[lane] - a.lane[lane];
  unsigned outcomes = info.holds;
  // One polynomial for both signs.
  if (!common.terms.empty() && common.terms.front().factor < 0) {
    common = Reduced(Sum({}, common, -1), ir::Bits(type));
    for (int64_t& number : numbers) number = -number;
    outcomes = Exchanged(outcomes);
  }
  return LimitsOf(common, numbers, outcomes);
}

LanePredicate And(const LanePredicate& a, const LanePredicate& b) {
  LanePredicate both{a.yes & b.yes, a.no | b.no, a.same && b.same, Together(a.when_true, b.when_true)};
  both.yes &= LanesWithin(both.when_true);
  return both;
}

LanePredicate LaneForms::Compare(const ir::Inst& inst) const {
  const LaneForm &a = Of(inst.operands[0]), &b = Of(inst.operands[1]);
  const ir::Inst* left = DefinitionOf(f_, inst.operands[0]);
  LanePredicate result;
  if (left != nullptr && left->op == ir::Opcode::kOr && NumberOf(f_, inst.operands[1]) == 0) {
    result = CompareBits(inst, *left);
  } else if (IsWord(inst.from)) {
    result = CompareForms(a, b, inst.attrs.compare, inst.from);
  }
  result.same = (a.IsSame() && b.IsSame()) || uniformity_.UniformAt(inst.results[0], ir::Level::kWarp);
  return result;
}

// (a | b) == 0   ->   a == 0 && b == 0
LanePredicate LaneForms::CompareBits(const ir::Inst& inst, const ir::Inst& bits) const {
  const bool is_equal = inst.attrs.compare == ir::Compare::kEq;
  if (!IsWord(inst.from) || (!is_equal && inst.attrs.compare != ir::Compare::kNe)) return {};
  LaneForm zero;
  zero.known = true;
  const auto part = [&](size_t n) {
    return CompareForms(Of(bits.operands[n]), zero, ir::Compare::kEq, inst.from);
  };
  const LanePredicate both = And(part(0), part(1));
  return is_equal ? both : both.Not();
}

LanePredicate LaneForms::CompareForms(const LaneForm& a, const LaneForm& b, ir::Compare compare,
                                      ir::Type type) {
  if (!a.known || !b.known) return {};
  LanePredicate result;
  if (a.base != b.base) {
    result.when_true = LimitsWhere(a, b, compare, type);
    result.when_false = LimitsWhere(a, b, ir::Negated(compare), type);
    return result;
  }
  result.yes = result.no = 0;
  for (uint32_t n = 0; n < kWarpSize; ++n) {
    const bool holds = Holds(compare, type, a.lane[n], b.lane[n]);
    (holds ? result.yes : result.no) |= 1u << n;
  }
  return result;
}

}  // namespace ptx2cpu::analysis
