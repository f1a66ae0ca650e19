// The machine that code is generated for. No LLVM type appears here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/result.h"

namespace ptx2cpu::lowering {

struct Target {
  std::string name;  // as requested: "native", "x86-64-v3", "aarch64-linux-gnu" ...
  std::string triple;
  std::string cpu;
  std::string
      features;  // "+avx512f,-sse4a,...": the native list is explicit, CPU names lie under virtualisation
};

// "native", "x86-64-v2", "x86-64-v3", "x86-64-v4", or a triple of x86-64, AArch64 or 64-bit RISC-V:
// the machines that runtime/warp and runtime/math are compiled for. Below x86-64-v2 rounding has no
// instruction.
Result<Target> ResolveTarget(std::string_view name);

// For this process: what PTX2CPU_TARGET names, else this machine; PTX2CPU_WIDTH as in EmitOptions, else 0.
Result<Target> TargetWanted();
uint32_t LaneWidthWanted();

enum class WarpLibrary { kPlain, kAvx2, kAvx512 };
// What the emitter must know of a target.
struct TargetTraits {
  bool is_x86 = false, is_aarch64 = false, is_riscv = false;
  bool has_half_conversion = false;  // f16 <-> f32 in hardware
  bool has_native_half_fma = false;
  bool has_fma = false;  // of f32 and f64
  bool has_atomic_128 = false;
  bool has_avx512 = false;
  bool has_vnni = false;          // sums of products of bytes; has_avx512 too, as for the next
  bool has_bf16_dot = false;      // of pairs of bf16
  bool has_vbmi = false;          // permutations of bytes; has_avx512 too
  bool has_byte_tiles = false;    // AMX, of bytes, and VNNI where the system does not permit it
  bool has_masked_words = false;  // masked accesses of vectors of 32- and 64-bit elements
  unsigned vector_bytes = 0;      // of a register; 0: none that the emitter uses
  WarpLibrary warp_library = WarpLibrary::kPlain;
};
TargetTraits TraitsOf(const Target& target);

}  // namespace ptx2cpu::lowering
