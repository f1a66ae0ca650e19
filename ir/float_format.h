// The binary formats of floats (PTX 5.2), and where packed ones lie: facts that the interpreter and the
// emitter share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/type.h"

namespace ptx2cpu::ir {

struct FloatFormat {
  int exponent_bits;
  int fraction_bits;
  int bias;
  int unused_bits;    // low bits of the storage that the format does not use (tf32)
  bool has_infinity;  // encoded just above `largest`
  bool has_nan;
  uint64_t largest;   // encoding of the largest finite value, without unused bits
  uint64_t nan;       // canonical NaN of PTX instructions
  uint64_t sign_bit;  // in the storage
};
const FloatFormat& FormatOf(Type type);            // f16, bf16, f32, f64
const FloatFormat& FormatOf(NarrowFormat format);  // all but ue8m0, which has neither sign nor zero

// ue8m0: powers of two. 0 is 2^-127.
constexpr int kUE8M0Bias = 127;
constexpr uint32_t kUE8M0Nan = 0xFF, kUE8M0Largest = 0xFE;

// The number of bits of one value in a packed register.
int FieldBits(NarrowFormat format);

struct RandomField {
  int shift, count;  // bits
};
// Which of the 32 random bits value `position` (0: highest) of four uses (cvt.rs): halves are shared by pairs
// of eight- and six-bit values, e2m1 takes a byte each.
RandomField RandomFieldOf(NarrowFormat format, size_t position);

}  // namespace ptx2cpu::ir
