// Deterministic test data: gen(NAME,COUNT,...) of the SPEC language. Same bytes on every machine and
// compiler.
//
// clang-format off
//   iota,COUNT,START[,STEP]        START + i * STEP (default STEP 1)
//   constant,COUNT,VALUE           VALUE everywhere
//   bits,COUNT,SEED                the low bits of one draw per element
//   uniform,COUNT,SEED[,LO,HI]     integers: LO + draw mod (HI - LO + 1), both ends included (default 0,99);
//                                  floats: fma(HI - LO, (draw >> 11) * 2^-53, LO) in double, then one rounding to
//                                  the type (default 0,1)
//   offsets,COUNT,SEED,LO,HI       row offsets: first 0, then each one more than the last by an integer uniform
//                                  in LO..HI (integer types)
//   floats,COUNT,SEED,E,LO,HI[,N]  bits of floats with E exponent bits, whatever the type: a draw's sign and mantissa,
//                                  and an exponent field uniform in LO..HI; with N, every N-th draw on average
//                                  is one of zero, the smallest and largest subnormal and finite numbers,
//                                  infinity and NaN (as far as the format has them), with either sign
//   permutation,COUNT,SEED         0..COUNT-1 shuffled: for i = COUNT-1 down to 1 swap with draw mod (i + 1)
//   edges,COUNT,STRIDE             the type's edge values (edges.h), each STRIDE times, repeated
//   fewedges,COUNT,STRIDE          the same with at most eight of them
// clang-format on
//
// A draw is one step of splitmix64 from state SEED.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/result.h"
#include "tools/record/spec.h"

namespace ptx2cpu::rt {

// The splitmix64 sequence (Steele, Lea, Flood 2014).
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }

 private:
  uint64_t state_;
};

// `call` is the text between the parentheses of gen(...).
Result<std::vector<std::byte>> Generate(const ScalarType& type, std::string_view call);

}  // namespace ptx2cpu::rt
