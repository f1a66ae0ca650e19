#include "tests/house/tree.h"

#include <fstream>
#include <iterator>

namespace ptx2cpu::house_test {

std::vector<fs::path> Sources() {
  std::vector<fs::path> result;
  for (const char* top : {"ir", "analysis", "ptx-parser", "lowering", "runtime", "tools", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      const std::string extension = entry.path().extension();
      if (entry.is_regular_file() &&
          (extension == ".cpp" || extension == ".h" || extension == ".def" || extension == ".c")) {
        result.push_back(fs::relative(entry.path(), kRoot));
      }
    }
  }
  return result;
}

std::vector<fs::path> ProductSources(std::string_view extension) {
  std::vector<fs::path> files = Sources();
  std::erase_if(files, [&](const fs::path& file) {
    return *file.begin() == "tests" || (!extension.empty() && file.extension() != extension);
  });
  return files;
}

std::vector<std::string> Lines(const fs::path& file) {
  std::ifstream in(kRoot / file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string TextOf(const fs::path& file) {
  std::ifstream in(kRoot / file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> Pages() {
  std::vector<fs::path> result = {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"};
  for (const char* top :
       {"ir", "analysis", "ptx-parser", "lowering", "runtime", "tests", "corpus", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      if (entry.path().extension() == ".md") result.push_back(fs::relative(entry.path(), kRoot));
    }
  }
  return result;
}

std::vector<fs::path> Readmes() {
  std::vector<fs::path> pages = Pages();
  std::erase_if(
      pages, [](const fs::path& page) { return !page.has_parent_path() || page.filename() != "README.md"; });
  return pages;
}

}  // namespace ptx2cpu::house_test
