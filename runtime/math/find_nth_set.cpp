// fns: the place of the n-th set bit.
#include <stdint.h>

extern "C" {
#define MATH(result, name, parameters, code, meaning) result name parameters;
#include "runtime/math/math.def"
#undef MATH
}

extern "C" uint32_t ptx2cpu_fns(uint32_t mask, uint32_t base, uint32_t offset) {
  const int32_t wanted = static_cast<int32_t>(offset);
  if (wanted == 0) return base < 32 && (mask >> base & 1) != 0 ? base : ~0u;
  if (wanted == INT32_MIN) return 0;  // its negation overflows; an H200 returns 0 for every mask
  const int64_t step = wanted < 0 ? -1 : 1;
  int64_t remaining = (wanted < 0 ? -int64_t{wanted} : int64_t{wanted}) - 1;
  for (int64_t position = base; position >= 0 && position < 32; position += step) {
    if ((mask >> position & 1) != 0 && remaining-- == 0) return static_cast<uint32_t>(position);
  }
  return ~0u;
}
