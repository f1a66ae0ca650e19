// Subtracts the addresses of two threads and decides whether the bytes there can overlap.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "analysis/values/address_form.h"
#include "analysis/values/polynomial.h"
#include "runtime/abi/limits.h"

namespace ptx2cpu::analysis {
namespace {

constexpr int kLinear = 3;
constexpr int64_t kFar =
    int64_t{1} << 30;  // smaller than what two widened numbers differ by when they wrapped apart

int64_t Magnitude(int64_t value) { return value == INT64_MIN ? INT64_MAX : std::abs(value); }

bool HasIds(const AddressDifference& d) {
  return std::any_of(d.first.begin(), d.first.end(), [](int64_t c) { return c != 0; }) ||
         std::any_of(d.second.begin(), d.second.end(), [](int64_t c) { return c != 0; });
}

}  // namespace

// tid.x + ntid.x * (tid.y + ntid.y * tid.z), times a factor: the thread's number, whatever the block's shape.
bool AddressForms::TakeLinearId(Polynomial& p, int64_t& factor) const {
  std::array<const Term*, 3> parts{};
  for (const Term& term : p.terms) {
    uint32_t ids = 0, extents[3] = {}, id = 3;
    bool others = false;
    for (uint32_t a : term.atoms) {
      const Atom& atom = atoms_[a];
      if (atom.kind <= AtomKind::kThreadZ) {
        ++ids;
        id = static_cast<uint32_t>(atom.kind);
      } else if (atom.kind == AtomKind::kExtent) {
        ++extents[atom.index];
      } else {
        others = true;
      }
    }
    if (others || ids != 1) continue;
    if (extents[0] == (id > 0 ? 1u : 0u) && extents[1] == (id > 1 ? 1u : 0u) && extents[2] == 0)
      parts[id] = &term;
  }
  if (!parts[0] || !parts[1] || !parts[2]) return false;
  if (parts[0]->factor != parts[1]->factor || parts[0]->factor != parts[2]->factor) return false;
  factor = parts[0]->factor;
  std::vector<Term> rest;
  for (const Term& term : p.terms) {
    if (&term != parts[0] && &term != parts[1] && &term != parts[2]) rest.push_back(term);
  }
  p.terms = std::move(rest);
  return true;
}

AddressDifference AddressForms::BetweenThreads(const Polynomial& a, const Polynomial& b) const {
  return Subtract(a, b, false, true);
}

AddressDifference AddressForms::SameThread(const Polynomial& a, const Polynomial& b) const {
  return Subtract(a, b, true, true);
}

AddressDifference AddressForms::Subtract(Polynomial a, Polynomial b, bool same_thread, bool wide) const {
  AddressDifference difference;
  if (!same_thread) {
    int64_t factor = 0;
    if (TakeLinearId(a, factor)) difference.first[kLinear] = factor;
    if (TakeLinearId(b, factor)) difference.second[kLinear] = factor;
  }
  // What has one value for both drops out.
  std::vector<Term> from_a, from_b;
  for (const Term& term : a.terms) {
    if (std::find(b.terms.begin(), b.terms.end(), term) != b.terms.end() && (same_thread || Uniform(term)))
      continue;
    from_a.push_back(term);
  }
  for (const Term& term : b.terms) {
    if (std::find(a.terms.begin(), a.terms.end(), term) != a.terms.end() && (same_thread || Uniform(term)))
      continue;
    from_b.push_back(term);
  }
  std::vector<Term> widened_a, widened_b;
  auto sort = [&](const std::vector<Term>& terms, std::array<int64_t, 4>& ids, std::vector<Term>& widened) {
    for (const Term& term : terms) {
      if (term.atoms.size() != 1) return false;
      const Atom& atom = atoms_[term.atoms[0]];
      if (atom.kind <= AtomKind::kThreadZ && !same_thread) {
        ids[static_cast<size_t>(atom.kind)] = term.factor;
      } else if (atom.kind == AtomKind::kWiden && wide) {
        widened.push_back(term);
      } else {
        return false;
      }
    }
    return true;
  };
  if (!sort(from_a, difference.first, widened_a) || !sort(from_b, difference.second, widened_b))
    return difference;
  difference.constant = Sum(Constant(a.constant), Constant(b.constant), -1).constant;
  if (widened_a.empty() && widened_b.empty()) {
    difference.known = true;
  } else {
    difference.known = SubtractWidened(widened_a, widened_b, same_thread, difference);
  }
  return difference;
}

// k * widen(P) - k * widen(Q): the numbers differ by r = P - Q modulo 2^32. Where r computed without wrapping
// is small, they differ by r or by more than 2^31, which is farther than any access reaches; so r speaks for
// both.
bool AddressForms::SubtractWidened(const std::vector<Term>& a, const std::vector<Term>& b, bool same_thread,
                                   AddressDifference& difference) const {
  if (a.size() != 1 || b.size() != 1 || a[0].factor != b[0].factor || HasIds(difference)) return false;
  const Atom &first = atoms_[a[0].atoms[0]], &second = atoms_[b[0].atoms[0]];
  int64_t factor = a[0].factor;
  if (first.is_signed != second.is_signed || Magnitude(factor) > (int64_t{1} << 20) ||
      Magnitude(difference.constant) > kFar)
    return false;
  AddressDifference inner = Subtract(first.inner, second.inner, same_thread, false);
  if (!inner.known) return false;
  __int128 reach = Magnitude(inner.constant = static_cast<int32_t>(inner.constant));
  for (size_t k = 0; k < 4; ++k) {
    int64_t most = k == 2 ? kMaxBlockZ : kMaxThreads;
    reach += static_cast<__int128>(Magnitude(inner.first[k]) + Magnitude(inner.second[k])) * most;
  }
  if (reach > kFar) return false;
  for (size_t k = 0; k < 4; ++k) {
    difference.first[k] = inner.first[k] * factor;
    difference.second[k] = inner.second[k] * factor;
  }
  difference.constant += inner.constant * factor;
  return true;
}

bool AddressForms::MayOverlap(const AddressDifference& d, int64_t first_bytes, int64_t second_bytes) const {
  if (!d.known) return true;
  std::array<int64_t, 4> extents{shape_.x ? shape_.x : kMaxThreads, shape_.y ? shape_.y : kMaxThreads,
                                 shape_.z ? shape_.z : kMaxBlockZ, 1};
  __int128 low = d.constant, high = d.constant;
  bool plain = false, linear = false;
  int64_t step = 0;
  for (size_t k = 0; k < 4; ++k) {
    int64_t most = k == kLinear ? kMaxThreads : extents[k];
    for (__int128 c : {static_cast<__int128>(d.first[k]), -static_cast<__int128>(d.second[k])}) {
      (c < 0 ? low : high) += c * (most - 1);
      if (c != 0) (k == kLinear ? linear : plain) = true;
    }
    step = std::gcd(step, std::gcd(Magnitude(d.first[k]), Magnitude(d.second[k])));
  }
  constexpr __int128 kSafe = static_cast<__int128>(1) << 62;  // addresses are modulo 2^64
  if (low < -kSafe || high > kSafe) return true;
  if (high <= -first_bytes || low >= second_bytes) return false;
  if (d.first != d.second || (plain && linear)) {
    if (step == 0) return true;
    // Differences are the constant and multiples of `step` away from it: the nearest ones around the overlap.
    int64_t rest = ((d.constant % step) + step) % step;
    return rest < second_bytes || rest - step > -first_bytes;
  }
  if (linear) extents = {1, 1, 1, kMaxThreads};
  return AnyOverlap(d, extents, first_bytes, second_bytes);
}

// Both threads' ids have the same factors: whether a difference of ids, not all zero, brings the accesses
// together. The ids with large factors first, so that few of their differences have to be tried.
bool AddressForms::AnyOverlap(const AddressDifference& d, const std::array<int64_t, 4>& extents,
                              int64_t first_bytes, int64_t second_bytes) const {
  std::array<size_t, 4> order{0, 1, 2, 3};
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return Magnitude(d.first[a]) > Magnitude(d.first[b]); });
  std::array<int64_t, 5> later{};  // what the ids from here on can still add
  for (size_t k = 4; k-- > 0;)
    later[k] = later[k + 1] + Magnitude(d.first[order[k]]) * (extents[order[k]] - 1);
  int steps = 0;
  auto search = [&](auto&& self, size_t k, int64_t distance, bool differ) -> bool {
    if (distance + later[k] <= -first_bytes || distance - later[k] >= second_bytes) return false;
    if (k == 4) return differ;
    int64_t most = extents[order[k]] - 1, factor = Magnitude(d.first[order[k]]);
    if (factor == 0) return differ || most > 0 || self(self, k + 1, distance, differ);
    int64_t from = -most, to = most;  // only differences of ids whose distance the later ids can close
    from = std::max(from, (-first_bytes - later[k + 1] - distance) / factor - 1);
    to = std::min(to, (second_bytes + later[k + 1] - distance) / factor + 1);
    for (int64_t delta = from; delta <= to; ++delta) {
      if (++steps > 20000) return true;  // too many to compare
      if (self(self, k + 1, distance + delta * factor, differ || delta != 0)) return true;
    }
    return false;
  };
  return search(search, 0, d.constant, false);
}

}  // namespace ptx2cpu::analysis
