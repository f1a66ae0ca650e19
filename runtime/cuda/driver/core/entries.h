// All functions of libcuda.so.1 with the version that introduced each form: what cuGetProcAddress searches.
#pragma once

#include <cstdint>
#include <span>

namespace ptx2cpu::driver {

struct Entry {
  const char* base_name;  // without _v2, _v3 ...
  int version;            // 3020: CUDA 3.2
  void* function;
  void* per_thread;  // variant whose null stream is the thread's own; null: there is none
};

// Ours are known from the start; those of libcuda.so.1 take their place once it is loaded, so that a function
// has the address that dlsym returns.
enum class EntrySource : uint8_t { kInner, kExported };
void RegisterEntries(std::span<const Entry> entries, EntrySource source);
std::span<const Entry> Entries();

}  // namespace ptx2cpu::driver
