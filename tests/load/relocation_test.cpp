// The expected words of AArch64 are those that LLVM's assembler writes for the instructions named beside
// them.
#include "lowering/load/relocation.h"

#include <elf.h>

#include <catch2/catch.hpp>
#include <cstring>

using namespace ptx2cpu;

namespace {

// The word at `address` after the relocation; nothing: refused.
template <typename T>
std::optional<T> Relocated(uint32_t machine, uint32_t type, T before, uint64_t address, uint64_t value) {
  const lowering::Relocation* relocation = lowering::FindRelocation(machine, type);
  REQUIRE(relocation != nullptr);
  std::byte place[8] = {};
  std::memcpy(place, &before, sizeof before);
  if (!lowering::Relocate(*relocation, place, address, value)) return std::nullopt;
  T after;
  std::memcpy(&after, place, sizeof after);
  return after;
}

constexpr uint64_t kPlace = 0x7f0000401000;

}  // namespace

TEST_CASE("x86-64: words and distances") {
  CHECK(Relocated<uint64_t>(EM_X86_64, R_X86_64_64, 0, kPlace, 0x123456789abc) == 0x123456789abc);
  CHECK(Relocated<uint32_t>(EM_X86_64, R_X86_64_PC32, 0, kPlace, kPlace + 0x100 - 4) == 0xfc);
  CHECK(Relocated<uint32_t>(EM_X86_64, R_X86_64_PLT32, 0, kPlace, kPlace - 0x100) == 0xffffff00);
  CHECK(Relocated<uint32_t>(EM_X86_64, R_X86_64_REX_GOTPCRELX, 0, kPlace, kPlace + 0x7fffffff) == 0x7fffffff);
  CHECK_FALSE(Relocated<uint32_t>(EM_X86_64, R_X86_64_PC32, 0, kPlace, kPlace + 0x80000000));
  CHECK_FALSE(Relocated<uint32_t>(EM_X86_64, R_X86_64_PC32, 0, kPlace, 0x1000));
  CHECK(lowering::FindRelocation(EM_X86_64, R_X86_64_TPOFF32) == nullptr);
}

TEST_CASE("AArch64: fields of instructions") {
  // bl: words, forward and back; 128 MiB is too far.
  CHECK(Relocated<uint32_t>(EM_AARCH64, R_AARCH64_CALL26, 0x94000000, kPlace, kPlace + 0x1000) == 0x94000400);
  CHECK(Relocated<uint32_t>(EM_AARCH64, R_AARCH64_JUMP26, 0x14000000, kPlace, kPlace - 4) == 0x17ffffff);
  CHECK_FALSE(Relocated<uint32_t>(EM_AARCH64, R_AARCH64_CALL26, 0x94000000, kPlace, kPlace + 0x8000000));
  CHECK_FALSE(Relocated<uint32_t>(EM_AARCH64, R_AARCH64_CALL26, 0x94000000, kPlace, kPlace + 2));
  // adrp x0: 1 page, 6 pages, 1 page back.
  const uint32_t adrp = 0x90000000;
  CHECK(Relocated<uint32_t>(EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, adrp, kPlace + 0xffc, kPlace + 0x1000) ==
        0xb0000000);
  CHECK(Relocated<uint32_t>(EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, adrp, kPlace, kPlace + 0x6abc) ==
        0xd0000020);
  CHECK(Relocated<uint32_t>(EM_AARCH64, R_AARCH64_ADR_GOT_PAGE, adrp, kPlace, kPlace - 0x10) == 0xf0ffffe0);
  CHECK_FALSE(Relocated<uint32_t>(EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, adrp, kPlace,
                                  kPlace + (uint64_t{1} << 33)));
  // add x0, x0, #0xabc; ldr x0, [x0, #0xab8]; ldr q0, [x0, #0xab0].
  CHECK(Relocated<uint32_t>(EM_AARCH64, R_AARCH64_ADD_ABS_LO12_NC, 0x91000000, kPlace, kPlace + 0xabc) ==
        0x912af000);
  CHECK(Relocated<uint32_t>(EM_AARCH64, R_AARCH64_LDST64_ABS_LO12_NC, 0xf9400000, kPlace, kPlace + 0xab8) ==
        0xf9455c00);
  CHECK(Relocated<uint32_t>(EM_AARCH64, R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc00000, kPlace, kPlace + 0xab0) ==
        0x3dc2ac00);
  CHECK_FALSE(Relocated<uint32_t>(EM_AARCH64, R_AARCH64_LDST64_ABS_LO12_NC, 0xf9400000, kPlace, kPlace + 4));
}

TEST_CASE("a stub jumps to what its slot holds") {
  std::byte stub[lowering::kStubBytes] = {};
  lowering::WriteStub(EM_X86_64, stub, kPlace, kPlace + 0x1006);
  const uint8_t x86[] = {0xff, 0x25, 0x00, 0x10, 0x00, 0x00};  // jmp *0x1000(%rip)
  CHECK(std::memcmp(stub, x86, sizeof x86) == 0);
  lowering::WriteStub(EM_AARCH64, stub, kPlace, kPlace + 0x1008);
  const uint32_t arm[] = {0xb0000010, 0xf9400610,
                          0xd61f0200};  // adrp x16, 1 page; ldr x16, [x16, #8]; br x16
  CHECK(std::memcmp(stub, arm, sizeof arm) == 0);
}
