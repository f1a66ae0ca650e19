// Which sources the preset quick compiles as one (tools/cmake/unity_groups.awk).
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tests/run_shell.h"
#include "tests/scratch_folder.h"

namespace {

// The group of the second source, 1 where it is that of the first.
int GroupOfSecond(const std::string& first, const std::string& second) {
  const ptx2cpu::test::ScratchFolder folder;
  std::ofstream(folder / "first.cpp") << first;
  std::ofstream(folder / "second.cpp") << second;
  const ptx2cpu::test::Outcome outcome =
      ptx2cpu::test::RunShell("awk -v most=2 -f " PTX2CPU_SOURCE_DIR "/tools/cmake/unity_groups.awk " +
                                  folder / "first.cpp" + " " + folder / "second.cpp",
                              10);
  INFO(outcome.text);
  REQUIRE(outcome.code == 0);
  std::istringstream lines(outcome.text);
  std::map<std::string, int> groups;
  std::string name;
  for (int group = 0; lines >> group >> name;) groups[name] = group;
  REQUIRE(groups.size() == 2);
  CHECK(groups[folder / "first.cpp"] == 1);
  return groups[folder / "second.cpp"];
}

std::string Own(const std::string& text) {
  return "namespace house {\nnamespace {\n" + text + "\n}  // namespace\n}  // namespace house\n";
}

}  // namespace

TEST_CASE("sources without a name in common are compiled as one") {
  CHECK(GroupOfSecond(Own("struct A {};"), Own("struct B {};")) == 1);
  CHECK(GroupOfSecond(Own("int One() { return 1; }"), Own("int Two() { return other::One(); }")) == 1);
  // Calls of what another source exports, and comments.
  CHECK(GroupOfSecond("int Exported(int x) {\n  return x;\n}\n",
                      Own("int Two() { return Exported(2); }  // One")) == 1);
  CHECK(GroupOfSecond("using ir::Type;\n", "using ir::Type;\n") == 1);
}

TEST_CASE("sources that declare a name of another are compiled apart") {
  CHECK(GroupOfSecond(Own("struct A {};"), Own("class A {};")) == 2);
  CHECK(GroupOfSecond(Own("int One() { return 1; }"), Own("int Two() { return One(); }")) == 2);
  CHECK(GroupOfSecond(Own("int Two() { return One(); }"), Own("int One() { return 1; }")) == 2);
  CHECK(GroupOfSecond(Own("constexpr int kDepth = 4;"), Own("constexpr uint32_t kDepth = 8;")) == 2);
  CHECK(GroupOfSecond(Own("std::vector<a::B> All(int x) {"), Own("auto& All = x;")) == 2);
  CHECK(GroupOfSecond("#define ROW 1\n", "#define ROW 2\n") == 2);
  CHECK(GroupOfSecond("using llvm::Value;\n", "using Value = ir::Value;\n") == 2);
  CHECK(GroupOfSecond("using namespace llvm;\n", "int a;\n") == 2);
}
