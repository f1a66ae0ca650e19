#include "lowering/load/relocation.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace ptx2cpu::lowering {

namespace {

using To = Relocation::To;
using Form = RelocationForm;

constexpr Relocation kRelocations[] = {
    {EM_X86_64, R_X86_64_64, To::kSymbol, false, Form::kWord64},
    {EM_X86_64, R_X86_64_PC64, To::kSymbol, true, Form::kWord64},
    {EM_X86_64, R_X86_64_PC32, To::kSymbol, true, Form::kWord32},
    {EM_X86_64, R_X86_64_PLT32, To::kCall, true, Form::kWord32},
    {EM_X86_64, R_X86_64_GOTPCREL, To::kSlot, true, Form::kWord32},
    {EM_X86_64, R_X86_64_GOTPCRELX, To::kSlot, true, Form::kWord32},
    {EM_X86_64, R_X86_64_REX_GOTPCRELX, To::kSlot, true, Form::kWord32},
    {EM_AARCH64, R_AARCH64_ABS64, To::kSymbol, false, Form::kWord64},
    {EM_AARCH64, R_AARCH64_PREL64, To::kSymbol, true, Form::kWord64},
    {EM_AARCH64, R_AARCH64_PREL32, To::kSymbol, true, Form::kWord32},
    {EM_AARCH64, R_AARCH64_CALL26, To::kCall, true, Form::kCall26},
    {EM_AARCH64, R_AARCH64_JUMP26, To::kCall, true, Form::kCall26},
    {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, To::kSymbol, true, Form::kPage21},
    {EM_AARCH64, R_AARCH64_ADD_ABS_LO12_NC, To::kSymbol, false, Form::kLow12},
    {EM_AARCH64, R_AARCH64_LDST8_ABS_LO12_NC, To::kSymbol, false, Form::kLow12Of, 0},
    {EM_AARCH64, R_AARCH64_LDST16_ABS_LO12_NC, To::kSymbol, false, Form::kLow12Of, 1},
    {EM_AARCH64, R_AARCH64_LDST32_ABS_LO12_NC, To::kSymbol, false, Form::kLow12Of, 2},
    {EM_AARCH64, R_AARCH64_LDST64_ABS_LO12_NC, To::kSymbol, false, Form::kLow12Of, 3},
    {EM_AARCH64, R_AARCH64_LDST128_ABS_LO12_NC, To::kSymbol, false, Form::kLow12Of, 4},
    {EM_AARCH64, R_AARCH64_ADR_GOT_PAGE, To::kSlot, true, Form::kPage21},
    {EM_AARCH64, R_AARCH64_LD64_GOT_LO12_NC, To::kSlot, false, Form::kLow12Of, 3},
};

constexpr uint64_t kPage = 4096;

template <typename T>
void Write(std::byte* place, T value) {
  std::memcpy(place, &value, sizeof value);
}

// Puts bits into fields of the instruction at `place` that are zero so far, as assemblers leave them.
void Insert(std::byte* place, uint32_t bits) {
  uint32_t instruction;
  std::memcpy(&instruction, place, sizeof instruction);
  Write(place, instruction | bits);
}

bool Fits(int64_t value, unsigned bits) {
  return value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1);
}

uint32_t PageBits(int64_t pages) {
  return static_cast<uint32_t>(pages & 3) << 29 | static_cast<uint32_t>(pages >> 2 & 0x7ffff) << 5;
}

}  // namespace

const Relocation* FindRelocation(uint32_t machine, uint32_t type) {
  const auto found = std::ranges::find_if(kRelocations, [&](const Relocation& relocation) {
    return relocation.machine == machine && relocation.type == type;
  });
  return found == std::end(kRelocations) ? nullptr : found;
}

bool Relocate(const Relocation& relocation, std::byte* place, uint64_t address, uint64_t value) {
  const auto distance = static_cast<int64_t>(relocation.is_relative ? value - address : value);
  const auto in_page = static_cast<uint32_t>(value % kPage);
  switch (relocation.form) {
    case Form::kWord64:
      Write(place, distance);
      return true;
    case Form::kWord32:
      Write(place, static_cast<int32_t>(distance));
      return Fits(distance, 32);
    case Form::kCall26:
      Insert(place, static_cast<uint32_t>(distance >> 2) & 0x3ffffff);
      return distance % 4 == 0 && Fits(distance, 28);
    case Form::kPage21: {
      const auto pages = static_cast<int64_t>(value / kPage) - static_cast<int64_t>(address / kPage);
      Insert(place, PageBits(pages));
      return Fits(pages, 21);
    }
    case Form::kLow12:
      Insert(place, in_page << 10);
      return true;
    case Form::kLow12Of:
      Insert(place, in_page >> relocation.shift << 10);
      return in_page % (1u << relocation.shift) == 0;
  }
  return false;
}

void WriteStub(uint32_t machine, std::byte* place, uint64_t address, uint64_t slot) {
  if (machine == EM_X86_64) {
    constexpr uint8_t kJump[] = {0xff, 0x25};  // jmp *distance(%rip)
    std::memcpy(place, kJump, sizeof kJump);
    Write(place + 2, static_cast<int32_t>(slot - (address + 6)));
    return;
  }
  const auto pages = static_cast<int64_t>(slot / kPage) - static_cast<int64_t>(address / kPage);
  Write(place, uint32_t{0x90000010} | PageBits(pages));  // adrp x16, slot
  Write(place + 4,
        uint32_t{0xf9400210} | static_cast<uint32_t>(slot % kPage) / 8 << 10);  // ldr x16, [x16, ..]
  Write(place + 8, uint32_t{0xd61f0200});                                       // br x16
}

std::optional<uint32_t> MachineOfProcess() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#else
  return std::nullopt;
#endif
}

}  // namespace ptx2cpu::lowering
