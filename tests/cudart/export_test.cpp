// Each library exports what the table lists, with the version node of its soname, and nothing else.
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "tests/cudart/face.h"
#include "tools/api_table/api_table.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cudart_test;

TEST_CASE("the libraries export the table's functions", "[cudart]") {
  const auto table = api_table::Read(PTX2CPU_SOURCE_DIR "/runtime/cuda/cudart/cudart.api");
  if (!table) FAIL(table.error().message);
  for (const int major : kMajors) {
    INFO("CUDA " << major);
    const Face& face = Face::Of(major);
    const std::string node = major == 11 ? "libcudart.so.11.0" : "libcudart.so." + std::to_string(major);
    void* const library =
        dlopen((std::string(PTX2CPU_BINARY_DIR "/lib/ptx2cpu/") + node).c_str(), RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(library != nullptr);
    std::set<std::string> names;
    for (const api_table::Function& function : table->functions) {
      if (!function.In(major)) continue;
      names.insert(function.name);
      if (!function.variant.empty()) names.insert(function.name + "_" + function.variant);
    }
    for (const std::string& name : names) {
      INFO(name);
      REQUIRE(dlvsym(library, name.c_str(), node.c_str()) != nullptr);
    }
    // Functions that came or went between the majors.
    for (const api_table::Function& function : table->functions) {
      if (!names.contains(function.name)) REQUIRE_FALSE(face.Has(function.name.c_str()));
    }
    dlclose(library);
  }
  REQUIRE(Face::Of(11).Has("cudaBindTexture"));
  REQUIRE_FALSE(Face::Of(12).Has("cudaBindTexture"));
  REQUIRE(Face::Of(12).Has("cudaThreadSynchronize"));
  REQUIRE_FALSE(Face::Of(13).Has("cudaThreadSynchronize"));
  REQUIRE_FALSE(Face::Of(11).Has("cudaLibraryLoadData"));
}
