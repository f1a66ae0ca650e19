// A folder for a cache that a test fills.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/scratch_folder.h"

namespace ptx2cpu::cache_test {

// Other users may enter it.
class Scratch : public test::ScratchFolder {
 public:
  Scratch() {
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all |
                                             std::filesystem::perms::group_exec |
                                             std::filesystem::perms::others_exec);
  }
  std::filesystem::path operator/(const std::string& name) const { return path() / name; }
};

inline std::string Bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace ptx2cpu::cache_test
