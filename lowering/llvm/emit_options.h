// Choices of the emitter that its callers see. No LLVM type appears here.
#pragma once

#include <cstdint>

namespace ptx2cpu::lowering {

// How thread indices are known.
enum class ThreadIds : uint8_t {
  kAnyShape,        // from the block's table: blocks of one to three dimensions
  kOneDimensional,  // tid.x is the thread's number: right for blocks (n, 1, 1) only
  kBoth,            // both versions when the kernel reads %tid; the block's shape decides at run time
};

}  // namespace ptx2cpu::lowering
