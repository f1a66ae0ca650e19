// Products of tcgen05 and their definition. The placement of matrices is written here from the tables of the
// manual (9.7.16.3, 9.7.16.10.5 and following) and does not use the header that the engines share. Numbers
// are small, so that sums are exact in every order.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/vectors/shared_matrix.h"

namespace ptx2cpu::vectors_test {

struct ElementType {
  const char* name;
  uint32_t code, bits;  // in the instruction descriptor; of an element
  int exponent_bits, mantissa_bits;
};
inline constexpr ElementType kF16{"f16", 0, 16, 5, 10}, kBF16{"bf16", 1, 16, 8, 7},
    kTF32{"tf32", 2, 32, 8, 23}, kE4M3{"e4m3", 0, 8, 4, 3}, kE5M2{"e5m2", 1, 8, 5, 2},
    kE2M3{"e2m3", 3, 6, 2, 3}, kE3M2{"e3m2", 4, 6, 3, 2}, kE2M1{"e2m1", 5, 4, 2, 1},
    kPackedE2M1{"packed e2m1", 1, 4, 2, 1}, kU8{"u8", 0, 8, 0, 0}, kS8{"s8", 1, 8, 0, 0};

struct ProductCase {
  const char* kind;
  ElementType a, b;
  uint32_t m, n;
  uint32_t blocks = 1;
  bool stationary = false, sparse = false, a_in_memory = false;
  Swizzle swizzle_a = Swizzle::kNone, swizzle_b = Swizzle::kNone;
  bool transposes_a = false, transposes_b = false;
  bool half_d = false;
  const char* scale = "";  // .scale_vec
  uint32_t scales = 0;     // of k
  bool powers = true;      // ue8m0
  uint32_t scale_id_a = 0, scale_id_b = 0;
  bool negates_a = false, negates_b = false;
  bool counts = true;
  uint32_t halvings = 0;  // scale-input-d
  bool masks_lanes = false;
  uint64_t column_mask = 0;  // zero-column mask descriptor
  uint32_t selector = 0;
};

// Runs each case in the interpreter and as compiled code; Catch fails where D is not as defined.
void CheckProducts(const std::vector<ProductCase>& cases);

}  // namespace ptx2cpu::vectors_test
