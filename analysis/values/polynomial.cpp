#include "analysis/values/polynomial.h"

#include <algorithm>
#include <bit>

namespace ptx2cpu::analysis {
namespace {

constexpr size_t kMaxTerms = 10, kMaxAtoms = 4;

// Wrapping arithmetic: the polynomials are modulo 2^64.
int64_t Add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t Multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

void AddTerm(Polynomial& p, const std::vector<uint32_t>& atoms, int64_t factor) {
  if (factor == 0) return;
  if (atoms.empty()) {
    p.constant = Add(p.constant, factor);
    return;
  }
  auto at =
      std::lower_bound(p.terms.begin(), p.terms.end(), atoms,
                       [](const Term& term, const std::vector<uint32_t>& key) { return term.atoms < key; });
  if (at == p.terms.end() || at->atoms != atoms) {
    p.terms.insert(at, {atoms, factor});
    return;
  }
  at->factor = Add(at->factor, factor);
  if (at->factor == 0) p.terms.erase(at);
}

}  // namespace

Polynomial Constant(int64_t value) {
  Polynomial p;
  p.constant = value;
  return p;
}

Polynomial Sum(const Polynomial& a, const Polynomial& b, int64_t factor) {
  Polynomial sum = a;
  sum.constant = Add(sum.constant, Multiply(b.constant, factor));
  for (const Term& term : b.terms) AddTerm(sum, term.atoms, Multiply(term.factor, factor));
  return sum;
}

std::optional<Polynomial> Product(const Polynomial& a, const Polynomial& b) {
  Polynomial product = Constant(Multiply(a.constant, b.constant));
  for (const Term& x : a.terms) AddTerm(product, x.atoms, Multiply(x.factor, b.constant));
  for (const Term& y : b.terms) AddTerm(product, y.atoms, Multiply(y.factor, a.constant));
  if (a.terms.size() * b.terms.size() > kMaxTerms) return {};
  for (const Term& x : a.terms) {
    for (const Term& y : b.terms) {
      std::vector<uint32_t> atoms = x.atoms;
      atoms.insert(atoms.end(), y.atoms.begin(), y.atoms.end());
      if (atoms.size() > kMaxAtoms) return {};
      std::sort(atoms.begin(), atoms.end());
      AddTerm(product, atoms, Multiply(x.factor, y.factor));
    }
  }
  if (product.terms.size() > kMaxTerms) return {};
  return product;
}

Polynomial Reduced(Polynomial p, int bits) {
  if (bits == 32) {
    auto low = [](int64_t value) { return static_cast<int64_t>(static_cast<int32_t>(value)); };
    p.constant = low(p.constant);
    for (Term& term : p.terms) term.factor = low(term.factor);
  }
  std::erase_if(p.terms, [](const Term& term) { return term.factor == 0; });
  return p;
}

int TrailingZeros(const Polynomial& p) {
  auto zeros = [](int64_t value) { return std::countr_zero(static_cast<uint64_t>(value)); };
  int least = zeros(p.constant);
  for (const Term& term : p.terms) least = std::min(least, zeros(term.factor));
  return least;
}

void AppendTo(std::vector<int64_t>& key, const Polynomial& p) {
  key.push_back(static_cast<int64_t>(p.terms.size()));
  key.push_back(p.constant);
  for (const Term& term : p.terms) {
    key.push_back(term.factor);
    key.push_back(static_cast<int64_t>(term.atoms.size()));
    key.insert(key.end(), term.atoms.begin(), term.atoms.end());
  }
}

}  // namespace ptx2cpu::analysis
