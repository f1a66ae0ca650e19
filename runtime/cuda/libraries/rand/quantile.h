// The standard normal distribution's inverse.
#pragma once

namespace ptx2cpu::libraries {

// 0 < p < 1; right to a few units in the last place.
double NormalQuantile(double p);

}  // namespace ptx2cpu::libraries
