// Sums and products of the polynomials of address_form.h, modulo 2^32 or 2^64.
#pragma once

#include <optional>

#include "analysis/values/address_form.h"

namespace ptx2cpu::analysis {

Polynomial Constant(int64_t value);
// a + factor * b.
Polynomial Sum(const Polynomial& a, const Polynomial& b, int64_t factor = 1);
// Nothing when it would grow beyond what is worth following.
std::optional<Polynomial> Product(const Polynomial& a, const Polynomial& b);
// Factors brought to the signed range of the width; zero ones dropped.
Polynomial Reduced(Polynomial p, int bits);
// How often 2 divides all factors and the constant.
int TrailingZeros(const Polynomial& p);
// The polynomial as numbers, for a key.
void AppendTo(std::vector<int64_t>& key, const Polynomial& p);

}  // namespace ptx2cpu::analysis
