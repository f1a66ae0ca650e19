// A compiled kernel as plain data: the object file and everything a loader needs. It can be written to a file
// and read back (runtime/engine/cache does). Neither the IR nor LLVM appears here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lowering/load/kernel_description.h"

namespace ptx2cpu::lowering {

// A .global or .const variable with its first contents. The address of a function is also that of a variable:
// its identity, 16 bytes that begin with ir::FunctionIdentity of its name. So the address is the same in all
// kernels of a program, each of which has code of its own for the function and finds it by that number.
struct VariableImage {
  // `size` bytes at `offset` receive (address of `symbol` + addend) >> shift.
  struct Address {
    uint32_t offset = 0, size = 8, shift = 0;
    int64_t addend = 0;
    std::string symbol;  // the name of a variable; empty: a number
  };
  std::string name;
  uint64_t size = 0;
  uint32_t align = 1;
  bool is_extern = false;         // declared: another module or KernelLoader::Bind provides it
  bool waits_for_kernel = false;  // its contents hold shared addresses, which only a kernel's image has
  std::vector<uint8_t> initial;   // shorter than size: the rest is zero
  std::vector<Address> addresses;
};

// The name of the variable whose address is a function's address.
inline std::string IdentityName(std::string_view function) {
  return "ptx2cpu.identity." + std::string(function);
}

struct KernelImage : KernelDescription {
  std::string entry;               // symbol of the block or step function
  bool is_quick = false;           // made quickly where better code was requested, and is worth its time
  bool for_many_blocks = false;    // quick code that a launch of few blocks must not run (CompileControl)
  bool serves_all_shapes = false;  // code for one block shape would be no better
  double better_milliseconds = 0;  // quick code: what making better code takes, about
  std::vector<VariableImage> variables;  // those the kernel reaches
  std::string ptx_name;                  // of the PTX module, as the object's line table names it
  std::vector<std::string> source_files;
  std::string object;
};

// The image of a kernel that shares its code with `first`, completed by the parts that only `first` holds.
inline KernelImage WithCommonOf(const KernelImage& first, const KernelImage& other) {
  KernelImage image = other;
  image.variables = first.variables;
  image.ptx_name = first.ptx_name;
  image.source_files = first.source_files;
  image.object = first.object;
  return image;
}

}  // namespace ptx2cpu::lowering
