// The values of one warp, lane by lane: what all lanes have in common, as a polynomial, and a number for
// each.
//
//   %a = KQ + 256 * tid.y + (tid.x & -8)       base KQ + 256 * tid.y, lanes 0, 0, .., 0, 8, 8, .., 24
//
// Unlike the lattice of thread_shape.h this follows any integer operation of what is known lane by lane, for
// one warp at a time. It serves to find what programs rely on, not to prove anything: 32-bit numbers do not
// wrap where they are widened, and warps of blocks of unknown shape are rows of 32 threads.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "analysis/values/address_form.h"
#include "runtime/abi/limits.h"

namespace ptx2cpu::analysis {

struct LaneForm {
  bool known = false;
  Polynomial base;  // without a constant; its atoms have one value for all lanes
  std::array<int64_t, kWarpSize> lane{};

  bool IsNumber() const { return known && base.terms.empty(); }
  bool IsSame() const {
    return known && std::ranges::all_of(lane, [&](int64_t n) { return n == lane[0]; });
  }
};

// Between which numbers, by lane, what all lanes have in common must be: `x < k && y == k` limits k to
// x + 1 .. y. Lanes between whose limits no number is are never in that state, and never together where none
// is between those of both.
struct LaneLimits {
  Polynomial common;
  std::array<int64_t, kWarpSize> low{}, high{};
};
using AllLimits = std::vector<LaneLimits>;  // each of another polynomial
AllLimits Together(const AllLimits& a, const AllLimits& b);
struct LaneForm;
// The limits of the lanes of a + A and b + B in which a comparison holds.
AllLimits LimitsWhere(const LaneForm& a, const LaneForm& b, ir::Compare compare, ir::Type type);
// Lanes that may be in the state.
uint32_t LanesWithin(const AllLimits& limits);
bool AreApart(const AllLimits& limits, uint32_t lane, uint32_t other);

// The lanes in which a predicate may be true, and those in which it may be false.
struct LanePredicate {
  uint32_t yes = ~0u, no = ~0u;
  bool same = false;  // it is the same in all lanes, whichever it is
  AllLimits when_true{}, when_false{};

  // The predicate that holds where both do, or where one does.
  friend LanePredicate And(const LanePredicate& a, const LanePredicate& b);
  LanePredicate Not() const { return {no, yes, same, when_false, when_true}; }
  bool IsKnown() const { return (yes & no) == 0; }
};

class LaneForms {
 public:
  // Finds the forms of the values that `wanted` are computed from, in the warp with this number.
  LaneForms(const ir::Function& f, const UniformityResult& uniformity, LaunchShape shape, uint32_t warp,
            const std::vector<ir::ValueId>& wanted);

  const LaneForm& Of(ir::ValueId value) const { return forms_[value.index]; }
  const LanePredicate& PredicateOf(ir::ValueId value) const { return predicates_[value.index]; }
  // Lanes that the block has threads for.
  uint32_t members() const { return members_; }
  // Whether the polynomial has values that are computed in the block: they are others when it runs again.
  bool IsMadeIn(const Polynomial& p, ir::BlockId block) const;
  // Whether the condition holds for all such blocks.
  template <typename Condition>
  bool AllOfMadeIn(const Polynomial& p, const Condition& holds) const {
    return std::ranges::all_of(p.terms, [&](const Term& term) {
      return std::ranges::all_of(term.atoms,
                                 [&](uint32_t atom) { return std::ranges::all_of(made_in_[atom], holds); });
    });
  }

  // Whether the warps of blocks of this shape are parts of rows: their threads differ in tid.x alone.
  static bool AreRows(const LaunchShape& shape) { return shape.x % kWarpSize == 0; }

 private:
  using Key = std::vector<int64_t>;
  void FindNeeded(const std::vector<ir::ValueId>& wanted);
  void Visit(const ir::Inst& inst);
  void FindEdges(const std::vector<ir::BlockId>& order);
  LaneForm Parameter(ir::BlockId block, size_t number);
  LaneForm Special(const ir::Inst& inst) const;
  LaneForm Opaque(ir::ValueId value);
  LaneForm Structural(const ir::Inst& inst, uint32_t result);
  LaneForm Compute(const ir::Inst& inst);
  LaneForm Masked(const ir::Inst& inst, const LaneForm& value, int64_t mask);
  LaneForm Numbers(const ir::Inst& inst) const;
  LaneForm Chosen(const ir::Inst& inst) const;
  LanePredicate Decide(const ir::Inst& inst) const;
  LanePredicate Compare(const ir::Inst& inst) const;
  LanePredicate CompareBits(const ir::Inst& inst, const ir::Inst& bits) const;
  static LanePredicate CompareForms(const LaneForm& a, const LaneForm& b, ir::Compare compare, ir::Type type);
  LaneForm Single(Key key, const Polynomial* made_of, ir::BlockId block);

  const ir::Function& f_;
  const UniformityResult& uniformity_;
  const LaunchShape shape_;
  const uint32_t warp_;
  uint32_t members_ = ~0u;
  std::vector<bool> needed_;
  std::vector<LaneForm> forms_;
  std::vector<LanePredicate> predicates_;
  struct Entry {
    const ir::Edge* edge;
    bool is_back;
  };
  std::vector<std::vector<Entry>> entries_;  // by block
  std::map<Key, uint32_t> numbers_;
  std::vector<std::vector<uint32_t>> made_in_;  // by atom: the blocks whose values it has
};

}  // namespace ptx2cpu::analysis
