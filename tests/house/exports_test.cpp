// In the driver and the runtime API, the functions of the API tables are in *_api.cpp and nothing else is.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path kCuda = fs::path(PTX2CPU_SOURCE_DIR) / "runtime/cuda";

std::set<std::string> NamesOf(const fs::path& table) {
  const std::regex pattern(
      "\\b(cu[A-Z]\\w*|_*cuda[A-Z]\\w*|nvml[A-Z]\\w*|nccl[A-Z]\\w*|cu(?:blas|dnn|fft|rand|solver|sparse)[A-Z]"
      "\\w*"
      ")\\(");
  std::ifstream in(kCuda / table);
  std::set<std::string> names;
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (!line.starts_with("//") && std::regex_search(line, match, pattern)) names.insert(match[1]);
  }
  return names;
}

// Functions that a source defines with linkage. The tree is formatted: a definition begins in column 1, what
// is in it does not.
std::vector<std::string> DefinedIn(const fs::path& source) {
  const std::regex begin(
      "^(?!using |namespace|struct |class |enum |template|constexpr |static_assert|extern )"
      "[A-Za-z_][\\w:<>,&* ]*?([~\\w:]+)\\(");
  std::ifstream in(source);
  std::vector<std::string> names;
  bool unnamed = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "namespace {") unnamed = true;
    if (line == "}  // namespace") unnamed = false;
    std::smatch match;
    if (!unnamed && std::regex_search(line, match, begin)) names.push_back(match[1]);
  }
  return names;
}

}  // namespace

TEST_CASE("exports are in *_api.cpp, and nothing else is there") {
  struct Face {
    const char *folder, *table;
    size_t exports;
  };
  for (const auto& [face, file, least] :
       {Face{"driver", "cuda.api", 200}, Face{"cudart", "cudart.api", 200},
        Face{"libraries/blas", "cublas.api", 15}, Face{"libraries/fft", "cufft.api", 25},
        Face{"libraries/rand", "curand.api", 15}, Face{"libraries/ml", "nvml.api", 25},
        Face{"libraries/sparse", "cusparse.api", 100}, Face{"libraries/solver", "cusolver.api", 40},
        Face{"libraries/mg", "cusolvermg.api", 18}, Face{"libraries/lt", "cublaslt.api", 35},
        Face{"libraries/nccl", "nccl.api", 35},
        Face{"libraries/dnn", "cudnn.api", 90}}) {  // and those of descriptors.def
    const std::set<std::string> table = NamesOf(fs::path(face) / file);
    REQUIRE(table.size() > least);
    size_t exports = 0;
    for (const auto& entry : fs::recursive_directory_iterator(kCuda / face)) {
      if (entry.path().extension() != ".cpp") continue;
      const bool api = entry.path().stem().string().ends_with("_api");
      for (const std::string& name : DefinedIn(entry.path())) {
        INFO(entry.path() << ": " << name);
        CHECK(table.contains(name) == api);
        exports += api;
      }
    }
    CHECK(exports >= least);
  }
}
