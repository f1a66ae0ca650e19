#include "lowering/load/debugger.h"

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

// Debuggers define the names, types and order of members.
extern "C" {
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;  // 1: `relevant_entry` was added, 2: it is about to go
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
// Debuggers have a breakpoint here. Not inlined, and not removed as a call that does nothing.
__attribute__((noinline, visibility("default"))) void __jit_debug_register_code() {
  __asm__ volatile("" ::: "memory");
}
__attribute__((visibility("default"))) jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
}

namespace ptx2cpu::lowering {

namespace {

std::mutex& Mutex() {
  static auto* const mutex = new std::mutex;  // modules are unloaded until the process ends
  return *mutex;
}

void Announce(uint32_t action, jit_code_entry& entry) {
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_descriptor.relevant_entry = &entry;
  __jit_debug_register_code();
  __jit_debug_descriptor.action_flag = 0;
}

}  // namespace

bool DebuggerWanted() {
  static const bool wanted = [] {
    const char* text = std::getenv("PTX2CPU_GDB");
    return text != nullptr && std::string_view(text) == "1";
  }();
  return wanted;
}

struct DebuggerEntry::State {
  std::string object;
  jit_code_entry entry = {};
};

DebuggerEntry::DebuggerEntry(std::string object) : state_(std::make_unique<State>()) {
  state_->object = std::move(object);
  jit_code_entry& entry = state_->entry;
  entry.symfile_addr = state_->object.data();
  entry.symfile_size = state_->object.size();
  const std::lock_guard lock(Mutex());
  entry.next_entry = __jit_debug_descriptor.first_entry;
  if (entry.next_entry != nullptr) entry.next_entry->prev_entry = &entry;
  __jit_debug_descriptor.first_entry = &entry;
  Announce(1, entry);
}

DebuggerEntry::~DebuggerEntry() {
  jit_code_entry& entry = state_->entry;
  const std::lock_guard lock(Mutex());
  if (entry.next_entry != nullptr) entry.next_entry->prev_entry = entry.prev_entry;
  (entry.prev_entry != nullptr ? entry.prev_entry->next_entry : __jit_debug_descriptor.first_entry) =
      entry.next_entry;
  Announce(2, entry);
}

std::string WithAddresses(std::string_view object, std::span<const uint64_t> addresses) {
  std::string copy(object);
  Elf64_Ehdr header;
  std::memcpy(&header, copy.data(), sizeof header);
  for (size_t i = 0; i < addresses.size(); ++i) {
    char* const at = copy.data() + header.e_shoff + i * sizeof(Elf64_Shdr);
    std::memcpy(at + offsetof(Elf64_Shdr, sh_addr), &addresses[i], sizeof addresses[i]);
  }
  return copy;
}

}  // namespace ptx2cpu::lowering
