#include "tools/ptx2cpu/version.h"

#include <string_view>

#include "commit.h"

namespace ptx2cpu::tool {

std::string Version() {
  std::string text = "ptx2cpu " PTX2CPU_VERSION " (";
  if (!std::string_view(PTX2CPU_COMMIT).empty()) text += "commit " PTX2CPU_COMMIT ", ";
  return text + "LLVM " PTX2CPU_LLVM_VERSION ")";
}

}  // namespace ptx2cpu::tool
