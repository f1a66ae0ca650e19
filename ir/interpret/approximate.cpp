// PTX's approximate functions: the host's double-precision function, rounded once to the type. That is within
// the stated errors, and the host's functions return the manual's results for zeros, infinities and NaN.
#include <cmath>

#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

namespace {

Status Approximate(Step& s, double (*function)(double)) {
  const Format& format = FormatOf(s.inst.type);
  uint64_t input = s.Operand64(0);
  if (s.Has(kFtz)) input = FlushSubnormal(format, input);
  double result = function(ToDouble(Decode(format, input)));
  uint64_t bits = Encode(format, FromDouble(result), {.mode = Rounding::kNearestEven, .flush = s.Has(kFtz)});
  s.Return(FinishFloat(format, bits, s.inst.attrs.flags));
  return {};
}

}  // namespace

Status ExecuteFSin(Step& s) {
  return Approximate(s, [](double x) { return std::sin(x); });
}
Status ExecuteFCos(Step& s) {
  return Approximate(s, [](double x) { return std::cos(x); });
}
Status ExecuteFLg2(Step& s) {
  return Approximate(s, [](double x) { return std::log2(x); });
}
Status ExecuteFEx2(Step& s) {
  return Approximate(s, [](double x) { return std::exp2(x); });
}
Status ExecuteFTanh(Step& s) {
  return Approximate(s, [](double x) { return std::tanh(x); });
}

}  // namespace ptx2cpu::ir::interpret
