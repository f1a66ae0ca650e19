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

// Code of ours that the patched entries go through. It belongs to the patched object: to be unmapped when
// that is gone.
struct Slots {
  void* memory = nullptr;
  size_t bytes = 0;
};

enum class Busy : uint8_t {
  kNo,   // nothing of the object runs now
  kYes,  // what patches may run through the pages that it patches: they stay executable meanwhile
};

// All patches lie in one object, less than a gigabyte long. Before any of it runs on another thread. Without
// memory in the result: the system does not let us write there; then nothing has changed.
Slots Apply(const std::vector<Patch>& patches, Busy busy = Busy::kNo);

// A function that calls target(a, b, c, `last`) with its own three arguments. Null: no memory. For ever.
void* MakeThunk(void (*target)(int, char**, char**, void*), void* last);

}  // namespace ptx2cpu::redirect
