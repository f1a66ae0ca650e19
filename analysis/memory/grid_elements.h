// Addresses that give each thread of a launch elements of its own: p + s * (n * (%ctaid.x * %ntid.x + %tid.x)
// + k) + c with p a parameter of the kernel and n a power of two. Where grid and blocks have one dimension,
// and at most PTX2CPU_OWN_ELEMENTS_MAX_THREADS threads, such accesses can be apart for any two threads.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/values/uniformity.h"
#include "ir/function.h"

namespace ptx2cpu::analysis {

struct GridElement {
  uint64_t parameter = 0;  // where p is, in bytes from the begin of the parameters
  int64_t stride = 0;      // s * n, from one thread to the next
  int64_t offset = 0;      // c; where n > 1 (then k < n) with s * k
  uint32_t first = 0;      // k, where n is 1: the sum has 32 bits, and may wrap
  bool is_signed = false;  // how it was widened
};

// What an address is, if it is of this form. `launch`: the shape of the block, where it is known.
std::optional<GridElement> GridElementAt(const ir::Function& f, ir::ValueId address,
                                         const std::optional<LaunchShape>& launch);
// So many bytes at one element of a thread and so many at the other one of any other thread never meet.
bool AreApart(const GridElement& a, uint64_t a_bytes, const GridElement& b, uint64_t b_bytes);

}  // namespace ptx2cpu::analysis
