#include "runtime/launch/later_code.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <string_view>

#include "runtime/abi/flushing.h"
#include "runtime/abi/joined_blocks.h"
#include "runtime/abi/lone_launches.h"
#include "runtime/abi/swapped_axes.h"

namespace ptx2cpu::rt {

namespace {

// Compares two descriptors, by the kinds of kernel_fields.def, in the fields that decide on the memory of a
// block.
namespace same {

template <typename Function>
bool Block(Function one, Function other) {
  return (one == nullptr) == (other == nullptr);
}
template <typename Function>
bool Step(Function one, Function other) {
  return one == nullptr && other == nullptr;
}
bool Word(uint32_t one, uint32_t other) { return one == other; }
bool Version(uint32_t one, uint32_t other) { return one == other; }
bool Three(const uint32_t (&one)[3], const uint32_t (&other)[3]) { return std::ranges::equal(one, other); }
bool Name(const char* one, const char* other) { return std::string_view(one) == other; }
bool ParameterCount(uint32_t one, uint32_t other) { return one == other; }
bool PointCount(uint32_t one, uint32_t other) { return one == other; }
// Parameters follow from the kernel; alignments are the later code's own.
bool AlignmentCount(uint32_t, uint32_t) { return true; }
bool ParameterTable(const void*, const void*) { return true; }
bool PointTable(const void*, const void*) { return true; }
bool AlignmentTable(const void*, const void*) { return true; }

}  // namespace same

}  // namespace

bool AreAligned(const ptx2cpu_kernel& kernel, const std::byte* parameters) {
  static_assert(std::endian::native == std::endian::little);
  return std::ranges::all_of(std::span(kernel.alignments, kernel.alignment_count),
                             [&](const ptx2cpu_alignment& needed) {
                               uint8_t low = 0;
                               std::memcpy(&low, parameters + needed.offset, 1);
                               return ((low + needed.addend) & needed.mask) == 0;
                             });
}

bool MayReplace(const ptx2cpu_kernel& kernel, const ptx2cpu_kernel& later, const std::byte* parameters) {
  // Code that can join blocks can also run them one by one, in a launch that began that way.
  ptx2cpu_kernel first = kernel;
  first.flags |= later.flags & (PTX2CPU_KERNEL_JOINS_BLOCKS | PTX2CPU_KERNEL_JOINS_LONG_ROWS);
  // A launch that began beside others never runs alone later.
  first.flags |= later.flags & PTX2CPU_KERNEL_MAY_RUN_ALONE;
  // The launcher takes these flags from the code that it runs.
  first.flags ^= (first.flags ^ later.flags) & (PTX2CPU_KERNEL_SWAPS_AXES | PTX2CPU_KERNEL_FLUSHES);
  return true
#define KERNEL_FIELD(kind, name, meaning) &&same::kind(first.name, later.name)
#include "runtime/abi/kernel_fields.def"
         && AreAligned(later, parameters);
}

}  // namespace ptx2cpu::rt
