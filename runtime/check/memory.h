// The memory that device code may access, as its owner reports it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace ptx2cpu::rt::check {

struct MemoryRange {
  uintptr_t base = 0;
  size_t bytes = 0;
  size_t pitch = 0,
         width = 0;  // of rows, where the allocation has them: of each `pitch` bytes the first `width`
  bool is_written_by_host = false;  // by plain stores of the program, which no check sees
};

struct MemorySource {
  // The allocation with the address in it.
  std::function<std::optional<MemoryRange>(uintptr_t)> find;
  // Of an address in none: "12 bytes after allocation 0x7f.. of 400 bytes"; may be empty.
  std::function<std::string(uintptr_t)> near;
  // Changes whenever allocations do: what find returned holds as long as this does not change.
  std::function<uint64_t()> version;
  // Of an address in memory that has been freed: "8 bytes into 400 bytes at 0x7f.., which have been freed".
  std::function<std::string(uintptr_t)> freed = {};
};
// To be called before the first launch; without a source, real addresses are not checked.
void SetMemorySource(MemorySource source);

// Fresh memory is filled with this word, which a load recognises: reads of memory that nothing has written.
// A word that equals it by chance is reported wrongly: one in 2^32, and of a byte beside written ones, one in
// 256. No byte of it is an ASCII character.
inline constexpr uint32_t kUninitialised = 0xb1eb9ad5;
void FillUninitialised(void* memory, size_t bytes);
// Of memory that a program has just received, where the check `init` is wanted: fills it and follows what is
// written to it (written_bytes.h).
void MarkUninitialised(void* memory, size_t bytes);

}  // namespace ptx2cpu::rt::check
