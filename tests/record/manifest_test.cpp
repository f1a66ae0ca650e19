// The manifest reader and the rules of comparison; and that the corpus folder matches its manifest.
#include "tools/record/manifest.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/scratch_folder.h"
#include "tools/record/compare.h"

namespace ptx2cpu::rt {
namespace {

Result<Manifest> Read(const std::string& text) {
  const test::ScratchFolder folder;  // tests run side by side
  const std::string path = folder / "manifest.txt";
  std::ofstream(path) << text;
  return ReadManifest(path);
}

std::vector<std::byte> Data(std::string_view spec) { return ParseSpec(spec).value().data; }

}  // namespace

TEST_CASE("a manifest is read into files, kernels and launches") {
  const Result<Manifest> manifest = Read(
      "ptx2cpu-corpus 1\n# remark\nfile a.fatbin\n kind fatbin\n ptx sm_75 sm_90\n kernels k\n size 12\n"
      "kernel k\n shows two words\n in a.fatbin\n param x out f32\n param n value u32\n"
      "case c\n grid 2 1 1\n block 3 4 5\n shared 16\n constant t in:u8:[1]\n arg out:f32:4\n arg u32:4\n"
      " expect 0 abs 0.5 e.bin\n stdout any-order o.txt\n"
      "case d\n cooperative\n cluster 2 1 3\n");
  REQUIRE(manifest.has_value());
  REQUIRE(manifest->kernels.size() == 1);
  const CorpusKernel& kernel = manifest->kernels[0];
  CHECK(kernel.shows == "two words");
  CHECK(manifest->FindFile("a.fatbin")->ptx == std::vector<std::string>{"sm_75", "sm_90"});
  CHECK(manifest->FindFile("a.fatbin")->size == 12);
  REQUIRE(kernel.cases.size() == 2);
  CHECK_FALSE(kernel.cases[0].cooperative);
  CHECK(kernel.cases[0].cluster == std::array<uint32_t, 3>{1, 1, 1});
  CHECK(kernel.cases[1].cooperative);
  CHECK(kernel.cases[1].cluster == std::array<uint32_t, 3>{2, 1, 3});
  CHECK(kernel.cases[0].block == std::array<uint32_t, 3>{3, 4, 5});
  CHECK(kernel.cases[0].shared_bytes == 16);
  CHECK(kernel.cases[0].stdout_rule == StdoutRule::kAnyOrder);
  CHECK(kernel.cases[0].expectations[0].tolerance == 0.5);
  CHECK(ParseArguments(*manifest, kernel, kernel.cases[0]).has_value());
}

TEST_CASE("a wrong manifest names its line") {
  const Result<Manifest> manifest = Read("ptx2cpu-corpus 1\nkernel k\ncase c\ngrid 1 x 1\n");
  REQUIRE_FALSE(manifest.has_value());
  CHECK(manifest.error().at.line == 4);
  CHECK_FALSE(Read("something else\n").has_value());
  CHECK_FALSE(Read("ptx2cpu-corpus 1\nkernel k\nkernel k\n").has_value());
  CHECK_FALSE(Read("ptx2cpu-corpus 1\ncase c\n").has_value());
  CHECK_FALSE(Read("ptx2cpu-corpus 1\nkernel k\ncase c\ncooperative yes\n").has_value());
  CHECK_FALSE(Read("ptx2cpu-corpus 1\nkernel k\ncase c\ncluster 2\n").has_value());
}

TEST_CASE("arguments must fit the parameters") {
  const std::string head = "ptx2cpu-corpus 1\nkernel k\nparam x out f32\ncase c\n";
  const std::string lines = GENERATE("", "arg out:f64:1\nexpect 0 bits e", "arg out:f32:1", "arg in:f32:[1]");
  const Result<Manifest> manifest = Read(head + lines + "\n");
  REQUIRE(manifest.has_value());
  CHECK_FALSE(ParseArguments(*manifest, manifest->kernels[0], manifest->kernels[0].cases[0]).has_value());
}

TEST_CASE("results are compared by bits, by units in the last place, by distance") {
  const ScalarType& f32 = *FindScalarType("f32");
  const Expectation bits{.rule = CompareRule::kBits}, ulp{.rule = CompareRule::kUlp, .tolerance = 1},
      distance{.rule = CompareRule::kAbs, .tolerance = 0.25};
  CHECK_FALSE(FindDifference(bits, f32, Data("in:f32:[1,nan]"), Data("in:f32:[1,nan]")));
  CHECK(FindDifference(bits, f32, Data("in:f32:[0]"), Data("in:f32:[-0.0]")));
  CHECK(FindDifference(bits, f32, Data("in:f32:[0x7fc00000]"), Data("in:f32:[nan]")));
  CHECK_FALSE(FindDifference(ulp, f32, Data("in:f32:[0x7fc00000]"), Data("in:f32:[nan]")));
  CHECK_FALSE(FindDifference(ulp, f32, Data("in:f32:[0x3f800001,0x80000000]"), Data("in:f32:[1,1e-45]")));
  CHECK(FindDifference(ulp, f32, Data("in:f32:[0x3f800002]"), Data("in:f32:[1]")));
  CHECK_FALSE(FindDifference(distance, f32, Data("in:f32:[1.25]"), Data("in:f32:[1]")));
  CHECK(FindDifference(distance, f32, Data("in:f32:[1.5]"), Data("in:f32:[1]")));
  CHECK(FindDifference(distance, f32, Data("in:f32:[nan]"), Data("in:f32:[1]")));
  CHECK(FindDifference(bits, f32, Data("in:f32:[1]"), Data("in:f32:[1,2]")));
  CHECK_FALSE(FindStdoutDifference(StdoutRule::kAnyOrder, "b\na\n", "a\nb\n"));
  CHECK(FindStdoutDifference(StdoutRule::kExact, "b\na\n", "a\nb\n"));
  CHECK(FindStdoutDifference(StdoutRule::kAnyOrder, "a\n", "a\na\n"));
}

TEST_CASE("the corpus folder matches its manifest") {
  const std::filesystem::path folder = std::filesystem::path(PTX2CPU_SOURCE_DIR) / "corpus";
  const Result<Manifest> manifest = ReadManifest(folder / "manifest.txt");
  REQUIRE(manifest.has_value());
  CHECK(manifest->kernels.size() >= 30);
  std::set<std::filesystem::path> listed;
  for (const CorpusFile& file : manifest->files) {
    INFO(file.path);
    CHECK(std::filesystem::file_size(folder / file.path) == file.size);
    listed.insert(folder / file.path);
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder / "bin")) {
    INFO(entry.path());
    CHECK(listed.contains(entry.path()));
  }
  std::set<std::string> wanted;
  for (const CorpusKernel& kernel : manifest->kernels) {
    for (const LaunchCase& launch : kernel.cases) {
      for (const Expectation& expectation : launch.expectations) wanted.insert(expectation.path);
      if (!launch.stdout_path.empty()) wanted.insert(launch.stdout_path);
    }
  }
  for (const std::string& path : wanted) {
    INFO(path);
    CHECK(std::filesystem::exists(folder / path));
  }
}

}  // namespace ptx2cpu::rt
