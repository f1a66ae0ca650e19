#include "tools/ptx2cpu/temporary_folder.h"

#include <cstdlib>
#include <filesystem>

namespace ptx2cpu::tool {

Result<TemporaryFolder> TemporaryFolder::Make(const std::string& name) {
  std::string path = (std::filesystem::temp_directory_path() / ("ptx2cpu-" + name + ".XXXXXX")).string();
  if (mkdtemp(path.data()) == nullptr) return Fail(ErrorCode::kFile, "cannot make a temporary folder");
  return TemporaryFolder(std::move(path));
}

void TemporaryFolder::Remove() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  path_.clear();
}

}  // namespace ptx2cpu::tool
