// Operations on each element, for scalar and packed types alike.
#pragma once

#include <vector>

#include "ptx-parser/translate/emitter.h"

namespace ptx2cpu::ptx::rows {

// operand 0 = f(elements of operands 1 .. sizeof...(Operand)).
template <typename Function>
void Map1(Emitter& e, Function f) {
  std::vector<ir::ValueId> a = e.ReadElements(1), d;
  for (size_t i = 0; i < a.size(); ++i) d.push_back(f(a[i]));
  e.WriteElements(0, std::move(d));
}

template <typename Function>
void Map2(Emitter& e, Function f) {
  std::vector<ir::ValueId> a = e.ReadElements(1), b = e.ReadElements(2), d;
  for (size_t i = 0; i < a.size(); ++i) d.push_back(f(a[i], b[i]));
  e.WriteElements(0, std::move(d));
}

template <typename Function>
void Map3(Emitter& e, Function f) {
  std::vector<ir::ValueId> a = e.ReadElements(1), b = e.ReadElements(2), c = e.ReadElements(3), d;
  for (size_t i = 0; i < a.size(); ++i) d.push_back(f(a[i], b[i], c[i]));
  e.WriteElements(0, std::move(d));
}

// The IR type of the elements of an operand.
inline ir::Type ElementOf(const Emitter& e, size_t operand) { return ElementType(e.OperandType(operand)); }

// Rounding of .rn .rz .rm .rp (group "rnd" or the words themselves); nearest even if none is written.
ir::Rounding RoundingOf(const Emitter& e);
// kFtz, kSat, kRelu, kPropagateNan, kXorSign, kAbs, kApprox, kFullRange, kSatFinite as written.
uint32_t FloatFlags(const Emitter& e);

}  // namespace ptx2cpu::ptx::rows
