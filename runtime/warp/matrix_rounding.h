// Products that are computed together, while this thread rounds down.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#include <stdint.h>

namespace ptx2cpu::rt::matrix {

// The thread rounds down for as long as it lives.
class RoundsDown {
 public:
  RoundsDown() : before_(_mm_getcsr()) {
    _mm_setcsr((before_ & ~static_cast<unsigned>(_MM_ROUND_MASK)) | _MM_ROUND_DOWN);
  }
  RoundsDown(const RoundsDown&) = delete;
  RoundsDown& operator=(const RoundsDown&) = delete;
  ~RoundsDown() { _mm_setcsr(before_); }

 private:
  unsigned before_;
};

// A product that is added to accumulators which no other one of a call is added to. OfA and OfB: factors of
// matrix_float.cpp.
template <typename OfA, typename OfB>
struct DownFactors {
  const OfA* a;
  const OfB* b;
  uint32_t* sums;
};
constexpr uint32_t kMaxTogether = 32;

}  // namespace ptx2cpu::rt::matrix
#endif
