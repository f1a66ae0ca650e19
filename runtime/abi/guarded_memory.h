// Memory of a block that guard pages surround: a faulting address may lie just outside of it.
#pragma once

#include <cstdint>

namespace ptx2cpu {

enum class GuardedMemory : uint8_t { kNone, kShared, kLocal };

}  // namespace ptx2cpu
