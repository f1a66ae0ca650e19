// Which sources the preset quick compiles as one (tools/cmake/unity_groups.awk).
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tests/run_shell.h"
#include "tests/scratch_folder.h"

namespace {

struct Grouped {
  int group = 0;
  std::string renamed;  // names, each after a space
};

// By source, in groups of at most so many.
std::map<std::string, Grouped> GroupsOf(int most, bool rename,
                                        const std::map<std::string, std::string>& sources) {
  const ptx2cpu::test::ScratchFolder folder;
  std::string command = "awk -v most=" + std::to_string(most) + " -v rename=" + (rename ? "1" : "0") +
                        " -f " PTX2CPU_SOURCE_DIR "/tools/cmake/unity_groups.awk";
  for (const auto& [name, text] : sources) {
    std::ofstream(folder / name) << text;
    command += " " + folder / name;
  }
  const ptx2cpu::test::Outcome outcome = ptx2cpu::test::RunShell(command, 10);
  INFO(outcome.text);
  REQUIRE(outcome.code == 0);
  std::istringstream lines(outcome.text);
  std::map<std::string, Grouped> groups;
  std::string path;
  for (Grouped one; lines >> one.group >> path; groups[path.substr(path.rfind('/') + 1)] = one)
    std::getline(lines, one.renamed);
  REQUIRE(groups.size() == sources.size());
  return groups;
}

// The group of the second source, 1 where it is that of the first.
int GroupOfSecond(const std::string& first, const std::string& second) {
  const auto groups = GroupsOf(2, false, {{"first.cpp", first}, {"second.cpp", second}});
  CHECK(groups.at("first.cpp").group == 1);
  return groups.at("second.cpp").group;
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
  CHECK(GroupOfSecond("const Row& RowOf(int x) {\n  return rows[x];\n}\n",
                      "int Two() { return RowOf(2); }\n") == 1);
  // A namespace of one line has no comment at its end.
  CHECK(GroupOfSecond("namespace {\nint one;\n}\nint Two() {\n  return one;\n}\n",
                      Own("int Three() { return Two(); }")) == 1);
  CHECK(GroupOfSecond("namespace {\nconstexpr int kOne =\n    1;\n}\nint Two() {\n  return kOne;\n}\n",
                      Own("int Three() { return Two(); }")) == 1);
  CHECK(GroupOfSecond("namespace {\nconst int kOnes[] = {\n    1, 1};\n}\nint Two() {\n  return 1;\n}\n",
                      Own("int Three() { return Two(); }")) == 1);
  CHECK(GroupOfSecond("namespace matrix = ir::matrix;\n",
                      Own("int Rows(const Matrix& matrix) { return 1; }")) == 1);
  // Tables undefine the macros that read them.
  const std::string reads_table = "#define ROW(name) name,\\\n\n#include \"rows.def\"\nint a;\n";
  CHECK(GroupOfSecond(reads_table, reads_table) == 1);
}

TEST_CASE("sources that meet most others choose their group first") {
  auto groups = GroupsOf(3, false,
                         {{"a.cpp", Own("int A();")},
                          {"b.cpp", Own("int B();")},
                          {"c.cpp", Own("int C() { return A(); }\nint D() { return B(); }")},
                          {"d.cpp", Own("int E();")}});
  CHECK(groups["c.cpp"].group == 1);
  CHECK(groups["d.cpp"].group == 1);
  CHECK(groups["a.cpp"].group == 2);
  CHECK(groups["b.cpp"].group == 2);
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

TEST_CASE("names that meet others get another one, unless a source has them in another scope too") {
  const auto grouped = [](const std::string& first, const std::string& second) {
    return GroupsOf(2, true, {{"first.cpp", first}, {"second.cpp", second}});
  };
  const std::string calls = Own("int Two() { return One(); }");
  auto groups = grouped(Own("int One() { return 1; }"), calls);
  CHECK(groups["second.cpp"].group == 1);
  CHECK(groups["first.cpp"].renamed == " One");
  CHECK(groups["second.cpp"].renamed.empty());
  for (const char* other : {"x.One()", "x->One()", "A::One()"}) {
    INFO(other);
    CHECK(grouped(Own("int One() { return " + std::string(other) + "; }"), calls)["second.cpp"].group == 2);
  }
  // Other sources may call it.
  CHECK(grouped(Own("int One(int x);") + "int One() {\n  return One(1);\n}\n", calls)["second.cpp"].group ==
        2);
  CHECK(grouped("#define ROW 1\n", "#define ROW 2\n")["second.cpp"].group == 2);
  CHECK(grouped("using Value = llvm::Value;\n", "using Value = ir::Value;\n")["second.cpp"].group == 2);
}
