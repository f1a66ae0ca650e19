#include <fmt/format.h>

#include <filesystem>

#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

namespace fs = std::filesystem;

Result<std::string> DropInFolder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  fs::path folder;
  for (const char* place : {PTX2CPU_DROP_IN_FOLDER, "../lib/ptx2cpu"}) {  // as installed, as built
    folder = (self.parent_path() / place).lexically_normal();
    if (fs::exists(folder / kRedirectLibrary, error)) return folder.string();
  }
  return Fail(Error{ErrorCode::kFile,
                    fmt::format("the CUDA libraries are not in '{}'", folder.string()),
                    {},
                    {},
                    "they are installed with the program: install or build all of it"});
}

}  // namespace ptx2cpu::tool
