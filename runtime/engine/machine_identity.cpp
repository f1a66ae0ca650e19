#include "runtime/engine/machine_identity.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>

#include <fstream>
#endif

namespace ptx2cpu::rt {

namespace {

void Append(std::string& text, uint64_t number) { text += std::to_string(number) + ' '; }

#if defined(__x86_64__)

// The registers of a leaf that announce features; registers that differ between the cores of one processor
// are left out.
struct Leaf {
  uint32_t number, part;
  bool a, b, c, d;
};
constexpr Leaf kLeaves[] = {
    {0, 0, false, true, true, true},  // vendor
    {1, 0, true, false, true, true},  // family, model; b has the core's number
    {7, 0, false, true, true, true},
    {7, 1, true, true, true, true},
    {7, 2, true, true, true, true},
    {0xd, 1, true, false, false, false},   // xsave's kinds; b has sizes
    {0x14, 0, false, true, false, false},  // ptwrite
    {0x19, 0, false, true, false, false},  // key locker
    {0x24, 0, false, true, false, false},  // AVX10
    {0x80000001, 0, false, false, true, true},
    {0x80000008, 0, false, true, false, false},
};

uint64_t EnabledState() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

#endif

}  // namespace

#if defined(__x86_64__)

std::string MachineIdentity() {
  constexpr uint32_t kSystemUsesXsave = 1u << 27;
  std::string text = "x86-64 ";
  for (const Leaf& leaf : kLeaves) {
    uint32_t a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(leaf.number, leaf.part, &a, &b, &c, &d) == 0) a = b = c = d = 0;
    if (leaf.a) Append(text, a);
    if (leaf.b) Append(text, b);
    if (leaf.c) Append(text, c);
    if (leaf.d) Append(text, d);
    if (leaf.number == 1) Append(text, (c & kSystemUsesXsave) != 0 ? EnabledState() : 0);
  }
  return text;
}

#else

std::string MachineIdentity() {
  std::string text = "capabilities ";
  Append(text, getauxval(AT_HWCAP));
  Append(text, getauxval(AT_HWCAP2));
  // Vendor and part numbers: LLVM chooses its model of the processor by them.
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    if (line.starts_with("CPU ")) text += line + '\n';
  }
  return text;
}

#endif

}  // namespace ptx2cpu::rt
