// Sizes a launcher must provide for a kernel, and where its shared variables and slots lie.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/function.h"
#include "ir/result.h"

namespace ptx2cpu::lowering {

// Where threads of a resumable kernel wait, as the descriptor says it (ptx2cpu_point).
struct PointRow {
  uint32_t kind = 0;
  uint32_t collective = 0;
  uint32_t ptx_line = 0;
  const char* name = "";  // of static storage
};

// What the code takes for granted of a parameter (ptx2cpu_alignment).
struct ParameterAlignment {
  uint32_t offset = 0;
  uint8_t addend = 0, mask = 0;
  friend bool operator==(const ParameterAlignment&, const ParameterAlignment&) = default;
};

struct KernelLayout {
  uint32_t static_shared_bytes = 0;
  uint32_t local_bytes = 0;  // per thread, multiple of 16
  uint32_t slot_bytes_per_thread = 0, slot_bytes_per_warp = 0, slot_bytes_per_block = 0, slot_count = 0;
  bool has_early_exit = false;
  std::vector<uint32_t>
      shared_offset;            // by variable; only .shared ones that the kernel reaches mean anything
  std::vector<bool> variables;  // by index: does the kernel reach it
  std::vector<uint32_t>
      functions;                 // indices of the functions the kernel reaches, callees and addresses taken
  std::vector<PointRow> points;  // resumable kernels
  std::vector<ParameterAlignment> alignments;  // with AlignmentChecks::kAssumed, found by code generation
};

// The one Collapsed kernel of the module, or the one of that name.
Result<const ir::Function*> FindKernel(const ir::Module& module, std::string_view name);
Result<KernelLayout> LayoutOf(const ir::Module& module, const ir::Function& kernel);
// The definition behind a declaration of the same name, itself when defined, nullptr when there is none.
const ir::Function* DefinitionOf(const ir::Module& module, const ir::Function& function);

}  // namespace ptx2cpu::lowering
