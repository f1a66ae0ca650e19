// Makes functions of the running process begin with a jump to other functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ptx2cpu::redirect {

struct Patch {
  uint8_t* entry = nullptr;
  const void* target = nullptr;  // null: the function returns at once
};

// Bytes that a patch writes at an entry.
inline constexpr size_t kPatchBytes =
#if defined(__x86_64__)
    5;
#else
    4;
#endif

// All patches lie in one object, less than a gigabyte long. Before any of it runs on another thread. False: the system
// does not let us write there; then nothing has changed.
bool Apply(const std::vector<Patch>& patches);

}  // namespace ptx2cpu::redirect
