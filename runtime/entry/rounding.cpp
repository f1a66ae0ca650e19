// Directed rounding of doubles through the floating-point environment. Rare in PTX (interval arithmetic), so
// a call each.
#include <cfenv>
#include <cmath>

#include "runtime/abi/abi.h"

#pragma STDC FENV_ACCESS ON

namespace {

// Values of ir::Rounding, which the ABI uses.
enum { kTowardZero = 2, kDown = 3, kUp = 4 };

class RoundingScope {
 public:
  explicit RoundingScope(uint32_t rounding) : old_(std::fegetround()) {
    std::fesetround(rounding == kTowardZero ? FE_TOWARDZERO
                    : rounding == kDown     ? FE_DOWNWARD
                    : rounding == kUp       ? FE_UPWARD
                                            : FE_TONEAREST);
  }
  ~RoundingScope() { std::fesetround(old_); }

 private:
  int old_;
};

}  // namespace

extern "C" {

double ptx2cpu_round_add_f64(double a, double b, uint32_t rounding) {
  RoundingScope scope(rounding);
  volatile double x = a, y = b;
  volatile double result = x + y;
  return result;
}

double ptx2cpu_round_mul_f64(double a, double b, uint32_t rounding) {
  RoundingScope scope(rounding);
  volatile double x = a, y = b;
  volatile double result = x * y;
  return result;
}

double ptx2cpu_round_fma_f64(double a, double b, double c, uint32_t rounding) {
  RoundingScope scope(rounding);
  volatile double x = a, y = b, z = c;
  volatile double result = std::fma(x, y, z);
  return result;
}

double ptx2cpu_round_div_f64(double a, double b, uint32_t rounding) {
  RoundingScope scope(rounding);
  volatile double x = a, y = b;
  volatile double result = x / y;
  return result;
}

double ptx2cpu_round_sqrt_f64(double a, uint32_t rounding) {
  RoundingScope scope(rounding);
  volatile double x = a;
  volatile double result = std::sqrt(x);
  return result;
}

}  // extern "C"
