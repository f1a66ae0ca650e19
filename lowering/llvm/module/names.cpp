#include "lowering/llvm/module/names.h"

namespace ptx2cpu::lowering {

std::string EntryName(const ir::Function& kernel) { return EntryName(kernel, kernel.resumes); }

std::string EntryName(const ir::Function& kernel, ir::Resumes resumes) {
  return (resumes == ir::Resumes::kNever ? "ptx2cpu_block_" : "ptx2cpu_step_") + CName(kernel.name);
}

std::string CName(std::string_view ptx_name) {
  std::string name(ptx_name);
  for (char& c : name) {
    bool legal = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!legal) c = '_';
  }
  return name;
}

}  // namespace ptx2cpu::lowering
