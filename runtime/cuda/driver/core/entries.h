// The list that cuGetProcAddress searches: all functions of libcuda.so.1 with the version that introduced
// each form.
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

// The inner functions are known from the start; the exported ones of libcuda.so.1 replace them once it is
// loaded, so that a function has the address that dlsym returns.
enum class EntrySource : uint8_t { kInner, kExported };
void RegisterEntries(std::span<const Entry> entries, EntrySource source);
std::span<const Entry> Entries();

}  // namespace ptx2cpu::driver
