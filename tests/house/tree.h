// The files that the rules of the house are about.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ptx2cpu::house_test {

namespace fs = std::filesystem;

inline const fs::path kRoot = PTX2CPU_SOURCE_DIR;

// Sources, headers and tables of the product, the tools and the tests, relative to kRoot.
std::vector<fs::path> Sources();
// The sources of the product and the tools; where `extension` is given, only those with it (".h").
std::vector<fs::path> ProductSources(std::string_view extension = {});
// All pages, those of the root among them.
std::vector<fs::path> Pages();
std::vector<fs::path> Readmes();
// The lines of a file; the path is relative to kRoot.
std::vector<std::string> Lines(const fs::path& file);
std::string TextOf(const fs::path& file);

}  // namespace ptx2cpu::house_test
