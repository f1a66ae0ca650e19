// An entry has room for a near jump only: it goes to a slot of a page that we map close by, and the slot
// jumps far.
#include "runtime/cuda/redirect/patch.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace ptx2cpu::redirect {

namespace {

constexpr size_t kSlotBytes = 16;
// Half of what the near jump reaches, so that every entry of the object does.
#if defined(__x86_64__)
constexpr uintptr_t kReach = 1u << 30;
#else
constexpr uintptr_t kReach = 1u << 26;
#endif

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

uint8_t* MapNear(uint8_t* place, size_t bytes) {
  const uintptr_t step = 16 * PageBytes(), from = reinterpret_cast<uintptr_t>(place) & ~(step - 1);
  for (uintptr_t distance = step; distance < kReach; distance += step) {
    for (const uintptr_t at : {from - distance, from + distance}) {
      void* mapped = mmap(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (mapped == MAP_FAILED) continue;
      if (mapped == reinterpret_cast<void*>(at)) return static_cast<uint8_t*>(mapped);
      munmap(mapped, bytes);  // a kernel that does not know the flag
    }
  }
  return nullptr;
}

#if defined(__x86_64__)
void WriteSlot(uint8_t* slot, const void* target) {
  if (target == nullptr) {
    slot[0] = 0xc3;  // ret
    return;
  }
  constexpr uint8_t kJump[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *0(%rip)
  std::memcpy(slot, kJump, sizeof kJump);
  std::memcpy(slot + sizeof kJump, &target, sizeof target);
}
void WriteEntry(uint8_t* entry, const uint8_t* slot) {
  const auto distance = static_cast<int32_t>(slot - (entry + kPatchBytes));
  uint8_t jump[kPatchBytes] = {0xe9};
  std::memcpy(jump + 1, &distance, sizeof distance);
  // In one store where the entry is aligned, as those of functions are: other threads may call it now.
  const size_t offset = reinterpret_cast<uintptr_t>(entry) % sizeof(uint64_t);
  if (offset + kPatchBytes > sizeof(uint64_t)) {
    std::memcpy(entry, jump, kPatchBytes);
    return;
  }
  auto* const word = reinterpret_cast<uint64_t*>(entry - offset);
  uint64_t changed = *word;
  std::memcpy(reinterpret_cast<uint8_t*>(&changed) + offset, jump, kPatchBytes);
  // Not __atomic_store_n: ThreadSanitizer's record of code cannot be written.
  asm volatile("movq %1, %0" : "=m"(*word) : "r"(changed) : "memory");
}
// endbr64; mov last, %rcx; jmp *0(%rip)
constexpr uint8_t kThunk[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0,
                              0xff, 0x25, 0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0};
constexpr size_t kThunkLast = 6, kThunkTarget = 20;
#elif defined(__aarch64__)
void WriteSlot(uint8_t* slot, const void* target) {
  const uint32_t code[2] = {target == nullptr ? 0xd65f03c0u : 0x58000050u,
                            0xd61f0200u};  // ret, or ldr x16, .+8; br x16
  std::memcpy(slot, code, sizeof code);
  std::memcpy(slot + sizeof code, &target, sizeof target);
}
void WriteEntry(uint8_t* entry, const uint8_t* slot) {
  const uint32_t code = 0x14000000u | (static_cast<uint32_t>((slot - entry) / 4) & 0x03ffffffu);  // b
  std::memcpy(entry, &code, sizeof code);
}
// bti c; ldr x3, .+12; ldr x16, .+16; br x16
constexpr uint8_t kThunk[] = {0x5f, 0x24, 0x03, 0xd5, 0x63, 0, 0, 0x58, 0x90, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6,
                              0,    0,    0,    0,    0,    0, 0, 0,    0,    0, 0, 0,    0, 0,    0,    0};
constexpr size_t kThunkLast = 16, kThunkTarget = 24;
#else
#error "redirection is written for x86-64 and AArch64"
#endif

}  // namespace

Slots Apply(const std::vector<Patch>& patches, Busy busy) {
  if (patches.empty()) return {};
  const auto [low, high] = std::minmax_element(
      patches.begin(), patches.end(), [](const auto& a, const auto& b) { return a.entry < b.entry; });
  const size_t page = PageBytes();
  const uintptr_t begin = reinterpret_cast<uintptr_t>(low->entry) & ~(page - 1);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(high->entry) + kPatchBytes + page - 1) & ~(page - 1);
  if (end - begin > kReach) return {};
  const size_t bytes = (patches.size() * kSlotBytes + page - 1) & ~(page - 1);
  uint8_t* slots = MapNear(low->entry, bytes);
  if (slots == nullptr) return {};
  if (mprotect(reinterpret_cast<void*>(begin), end - begin,
               PROT_READ | PROT_WRITE | (busy == Busy::kYes ? PROT_EXEC : 0)) != 0) {
    munmap(slots, bytes);
    return {};
  }
  for (size_t i = 0; i < patches.size(); ++i) WriteSlot(slots + i * kSlotBytes, patches[i].target);
  mprotect(slots, bytes, PROT_READ | PROT_EXEC);
  __builtin___clear_cache(reinterpret_cast<char*>(slots), reinterpret_cast<char*>(slots + bytes));
  for (size_t i = 0; i < patches.size(); ++i) WriteEntry(patches[i].entry, slots + i * kSlotBytes);
  mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_EXEC);
  __builtin___clear_cache(reinterpret_cast<char*>(begin), reinterpret_cast<char*>(end));
  return {slots, bytes};
}

void* MakeThunk(void (*target)(int, char**, char**, void*), void* last) {
  const size_t bytes = PageBytes();
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* code = static_cast<uint8_t*>(memory);
  std::memcpy(code, kThunk, std::size(kThunk));
  std::memcpy(code + kThunkLast, &last, sizeof last);
  std::memcpy(code + kThunkTarget, &target, sizeof target);
  if (mprotect(memory, bytes, PROT_READ | PROT_EXEC) != 0) {
    munmap(memory, bytes);
    return nullptr;
  }
  __builtin___clear_cache(reinterpret_cast<char*>(code), reinterpret_cast<char*>(code + std::size(kThunk)));
  return memory;
}

}  // namespace ptx2cpu::redirect
