// What this machine can do at most, measured with two kernels of our own: copies of arrays that no cache
// holds, and chains of multiply-adds in registers.
#pragma once

#include <cstdint>

#include "ir/result.h"

namespace ptx2cpu::tool::profile {

struct Roofline {
  double bytes = 0;       // read and written a second
  double operations = 0;  // of f32 a second; a multiply-add is two
  uint32_t workers = 0;
  bool from_cache = false;
  bool disturbed = false;  // other programs had part of the processors: it is not kept
};

// With as many workers as programs get. Measured in about half a second, or read from the cache of kernels.
Result<Roofline> MeasureRoofline();

}  // namespace ptx2cpu::tool::profile
