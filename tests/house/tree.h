// The files that the rules of the house are about.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ptx2cpu::house_test {

namespace fs = std::filesystem;

inline const fs::path kRoot = PTX2CPU_SOURCE_DIR;

// Sources, headers and tables of the product, the tools and the tests, relative to kRoot.
std::vector<fs::path> Sources();
std::vector<fs::path> Readmes();
// Of a file relative to kRoot.
std::vector<std::string> Lines(const fs::path& file);
std::string TextOf(const fs::path& file);

}  // namespace ptx2cpu::house_test
