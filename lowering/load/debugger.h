// Reports code that this process loads to gdb and lldb, by the JIT interface of gdb (its manual, chapter "JIT
// Compilation Interface"), where PTX2CPU_GDB=1 (ptx2cpu exec --gdb).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ptx2cpu::lowering {

bool DebuggerWanted();

// An object file that a debugger reads for as long as this exists: the bytes of the object, with the
// addresses of its sections in its section headers.
class DebuggerEntry {
 public:
  explicit DebuggerEntry(std::string object);
  ~DebuggerEntry();
  DebuggerEntry(const DebuggerEntry&) = delete;
  DebuggerEntry& operator=(const DebuggerEntry&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A copy of the object with these addresses of its sections, in their order; 0: not loaded. The object that
// the cache keeps stays as it is. The object is a complete ELF object of 64 bits.
std::string WithAddresses(std::string_view object, std::span<const uint64_t> addresses);

}  // namespace ptx2cpu::lowering
