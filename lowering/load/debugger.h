// How gdb and lldb learn of code that this process loads: the JIT interface of gdb (its manual, chapter "JIT
// Compilation Interface"). PTX2CPU_GDB=1 (ptx2cpu exec --gdb).
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

// The object with these addresses of its sections, in their order; 0: not loaded. A copy: what it was loaded
// from stays as it is kept in the cache. The object is a complete ELF object of 64 bits.
std::string WithAddresses(std::string_view object, std::span<const uint64_t> addresses);

}  // namespace ptx2cpu::lowering
