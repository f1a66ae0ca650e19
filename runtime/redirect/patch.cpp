// An entry has room for a near jump only: it goes to a slot of a page that we map close by, and the slot jumps far.
#include "runtime/redirect/patch.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

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
      void* mapped = mmap(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
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
  entry[0] = 0xe9;  // jmp
  std::memcpy(entry + 1, &distance, sizeof distance);
}
#elif defined(__aarch64__)
void WriteSlot(uint8_t* slot, const void* target) {
  const uint32_t code[2] = {target == nullptr ? 0xd65f03c0u : 0x58000050u, 0xd61f0200u};  // ret, or ldr x16, .+8; br x16
  std::memcpy(slot, code, sizeof code);
  std::memcpy(slot + sizeof code, &target, sizeof target);
}
void WriteEntry(uint8_t* entry, const uint8_t* slot) {
  const uint32_t code = 0x14000000u | (static_cast<uint32_t>((slot - entry) / 4) & 0x03ffffffu);  // b
  std::memcpy(entry, &code, sizeof code);
}
#else
#error "redirection is written for x86-64 and AArch64"
#endif

}  // namespace

bool Apply(const std::vector<Patch>& patches) {
  if (patches.empty()) return true;
  const auto [low, high] = std::minmax_element(patches.begin(), patches.end(), [](const auto& a, const auto& b) { return a.entry < b.entry; });
  const size_t page = PageBytes();
  const uintptr_t begin = reinterpret_cast<uintptr_t>(low->entry) & ~(page - 1);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(high->entry) + kPatchBytes + page - 1) & ~(page - 1);
  if (end - begin > kReach) return false;
  const size_t bytes = (patches.size() * kSlotBytes + page - 1) & ~(page - 1);
  uint8_t* slots = MapNear(low->entry, bytes);
  if (slots == nullptr) return false;
  if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) != 0) {
    munmap(slots, bytes);
    return false;
  }
  for (size_t i = 0; i < patches.size(); ++i) {
    WriteSlot(slots + i * kSlotBytes, patches[i].target);
    WriteEntry(patches[i].entry, slots + i * kSlotBytes);
  }
  mprotect(slots, bytes, PROT_READ | PROT_EXEC);
  mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_EXEC);
  __builtin___clear_cache(reinterpret_cast<char*>(begin), reinterpret_cast<char*>(end));
  __builtin___clear_cache(reinterpret_cast<char*>(slots), reinterpret_cast<char*>(slots + bytes));
  return true;
}

}  // namespace ptx2cpu::redirect
