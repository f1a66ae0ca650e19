// PTX2CPU_SAVE_PTX: the images that a process loads, as files and lines of an index. Whether to save is
// decided once a process, so each test asks a process of its own.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "tests/driver/driver_session.h"
#include "tests/scratch_folder.h"

using namespace driver_test;
namespace fs = std::filesystem;

namespace {

const std::string kCaller = kHead + R"(
.extern .func (.param .b32 r) callee();
.visible .entry caller(.param .u64 out) { ret; }
)";
const std::string kCallee = kHead + ".visible .func (.param .b32 r) callee() { st.param.b32 [r], 1; ret; }\n";

std::string Contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Line {
  std::string file, call, process, name;
};

std::vector<Line> Index(const fs::path& folder) {
  std::istringstream in(Contents(folder / "index.tsv"));
  std::vector<Line> lines;
  for (std::string line; std::getline(in, line);) {
    std::istringstream columns(line);
    Line& made = lines.emplace_back();
    for (std::string* column : {&made.file, &made.call, &made.process, &made.name})
      std::getline(columns, *column, '\t');
  }
  return lines;
}

int RunSaving(const std::string& test, const fs::path& folder, const std::string& errors = "/dev/null") {
  const std::string self = fs::read_symlink("/proc/self/exe");
  return std::system(("PTX2CPU_SAVE_PTX='" + folder.string() + "' '" + self + "' '" + test +
                      "' > /dev/null 2> '" + errors + "'")
                         .c_str());
}

}  // namespace

// Called by the next one.
TEST_CASE("saved images: loads in every way", "[.saving]") {
  Session session;
  CUmodule module;
  REQUIRE(cuModuleLoadData(&module, kBump.c_str()) == CUDA_SUCCESS);
  REQUIRE(cuModuleLoadDataEx(&module, kBump.c_str(), 0, nullptr, nullptr) == CUDA_SUCCESS);
  CUlibrary library;
  REQUIRE(cuLibraryLoadData(&library, kBump.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0) ==
          CUDA_SUCCESS);
  CHECK(cuModuleLoadData(&module, "no image") != CUDA_SUCCESS);
  CUlinkState state;
  REQUIRE(cuLinkCreate_v2(0, nullptr, nullptr, &state) == CUDA_SUCCESS);
  for (const auto& [text, name] : {std::pair(kCaller, "caller.ptx"), std::pair(kCallee, "callee.ptx")}) {
    REQUIRE(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, const_cast<char*>(text.c_str()), text.size() + 1, name,
                             0, nullptr, nullptr) == CUDA_SUCCESS);
  }
  void* image;
  REQUIRE(cuLinkComplete(state, &image, nullptr) == CUDA_SUCCESS);
  REQUIRE(cuModuleLoadFatBinary(&module, image) == CUDA_SUCCESS);
  const std::string file = std::string(std::getenv("PTX2CPU_SAVE_PTX")) + ".ptx";
  std::ofstream(file) << kBump;
  REQUIRE(cuModuleLoad(&module, file.c_str()) == CUDA_SUCCESS);
  fs::remove(file);
}

TEST_CASE("saved images: a file for each text, a line for each load with the call it came by") {
  const ptx2cpu::test::ScratchFolder folder;
  REQUIRE(RunSaving("saved images: loads in every way", folder.path() / "deep" / "down") == 0);
  const fs::path saved = folder.path() / "deep" / "down";
  const std::vector<Line> lines = Index(saved);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"cuModuleLoadData", kBump},        {"cuModuleLoadDataEx", kBump},      {"cuLibraryLoadData", kBump},
      {"cuModuleLoadData", "-"},          {"cuLinkAddData", kCaller},         {"cuLinkAddData", kCallee},
      {"cuModuleLoadFatBinary", kCaller}, {"cuModuleLoadFatBinary", kCallee}, {"cuModuleLoad", kBump}};
  REQUIRE(lines.size() == expected.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    INFO(i << " " << lines[i].call << " " << lines[i].name);
    CHECK(lines[i].call == expected[i].first);
    CHECK(lines[i].process == lines[0].process);
    CHECK((lines[i].file == "-" ? "-" : Contents(saved / lines[i].file)) == expected[i].second);
  }
  CHECK(lines[3].name.find("neither") != std::string::npos);
  CHECK(lines[4].name == "caller.ptx");
  CHECK(std::distance(fs::directory_iterator(saved), {}) == 4);  // three texts and the index
}

TEST_CASE("saved images: a folder that cannot be written is reported once, and the program runs") {
  const ptx2cpu::test::ScratchFolder folder;
  const fs::path file = folder.path() / "file";
  std::ofstream(file) << "no folder";
  CHECK(RunSaving("saved images: loads in every way", file, file.string() + ".err") == 0);
  const std::string errors = Contents(file.string() + ".err");
  CHECK(errors.find("PTX cannot be saved in " + file.string()) != std::string::npos);
  CHECK(errors.find("PTX cannot be saved", errors.find("PTX cannot be saved") + 1) == std::string::npos);
}
