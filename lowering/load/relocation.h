// The relocations of object files, for the two machines on which kernels run in this process. Sources: System
// V ABI, AMD64 supplement 1.0, section 4.4; ELF for the Arm 64-bit architecture, section 5.7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace ptx2cpu::lowering {

// How the value is written.
enum class RelocationForm : uint8_t {
  kWord64,
  kWord32,   // signed
  kCall26,   // AArch64: words, in a branch
  kPage21,   // AArch64: pages of 4 KiB from the instruction's page, in adrp
  kLow12,    // AArch64: the offset in the page, in add
  kLow12Of,  // the same in a load or store, in units of its size
};

struct Relocation {
  uint32_t machine, type;  // EM_, R_
  enum class To : uint8_t {
    kSymbol,
    kCall,  // a function: through a stub where it is not of the object
    kSlot,  // the word that holds the symbol's address
  } to;
  bool is_relative;  // to the place
  RelocationForm form;
  uint8_t shift = 0;  // of kLow12Of: log2 of the size
};

// Null: code generation does not write it.
const Relocation* FindRelocation(uint32_t machine, uint32_t type);

// Writes it at `place`, which will be at address `address`. False: the value is too far away.
bool Relocate(const Relocation& relocation, std::byte* place, uint64_t address, uint64_t value);

// A jump to the address that the word at `slot` holds; bytes that it takes.
inline constexpr size_t kStubBytes = 16;
void WriteStub(uint32_t machine, std::byte* place, uint64_t address, uint64_t slot);

// EM_ of this process; nothing: kernels cannot be loaded on it.
std::optional<uint32_t> MachineOfProcess();

}  // namespace ptx2cpu::lowering
