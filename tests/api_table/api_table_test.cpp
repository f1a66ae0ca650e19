// The reader of API tables and what is generated from them.
#include "tools/api_table/api_table.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

using namespace ptx2cpu;
using namespace ptx2cpu::api_table;

namespace {

const Target kDriver{"driver", "cuda.api", "types.h", "folder", "CUDA_SUCCESS", "The driver"};

Result<Table> ReadText(const std::string& text) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("api_table_test_" + std::to_string(std::hash<std::string>()(text)) + ".api");
  std::ofstream(file) << text;
  auto table = Read(file.string());
  std::filesystem::remove(file);
  return table;
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("api table: declarations of every kind are taken apart") {
  const auto table = ReadText(
      "# a comment\n"
      "implemented 3020 - CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize)  # after\n"
      "refused:CUDA_ERROR_NOT_SUPPORTED 12000 ptsz CUresult cuFoo(const void* const* list, void (*fn)(void*, "
      "int), int a[3], unsigned flags = 0)\n"
      "ignored 11- - const char* name(void)\n");
  REQUIRE(table);
  REQUIRE(table->functions.size() == 3);
  const Function& alloc = table->functions[0];
  CHECK(alloc.BaseName() == "cuMemAlloc");
  CHECK(alloc.ArgumentList() == "dptr, bytesize");
  CHECK(alloc.result == "CUresult");
  const Function& foo = table->functions[1];
  CHECK(foo.ArgumentList() == "list, fn, a, flags");
  CHECK(foo.ParameterList() == "const void* const* list, void (*fn)(void*, int), int a[3], unsigned flags");
  CHECK(foo.code == "CUDA_ERROR_NOT_SUPPORTED");
  CHECK(table->functions[2].result == "const char*");
  CHECK(table->functions[2].parameters.empty());
}

TEST_CASE("api table: versions choose what a library exports") {
  const auto table = ReadText(
      "implemented 11 - int a(int x)\n"
      "implemented 12- ptds int a(int x, int y)\n"
      "implemented 11-12 - int b()\n");
  REQUIRE(table);
  const std::string eleven = WriteVersionScript(*table, 11, "lib.so.11"),
                    thirteen = WriteVersionScript(*table, 13, "lib.so.13");
  CHECK(Contains(eleven, "lib.so.11 {"));
  CHECK(Contains(eleven, " b;"));
  CHECK_FALSE(Contains(eleven, "a_ptds"));
  CHECK(Contains(thirteen, "a_ptds"));
  CHECK_FALSE(Contains(thirteen, " b;"));
  // A library that also defines functions of the C library.
  CHECK(WriteVersionScript(*table, 11, "lib.so.11", "GLIBC_2.2.5").starts_with("GLIBC_2.2.5 {\n"));
  CHECK(Contains(WriteVersionScript(*table, 0, "", "GLIBC_2.2.5"), " sigaction;"));
  CHECK_FALSE(Contains(WriteVersionScript(*table, 0, "", "GLIBC_2.2.5"), "GLIBC"));
  CHECK_FALSE(Contains(eleven, " sigaction;"));
  CHECK(Contains(WriteExports(*table, kDriver, 11), "driver::a(x)"));
  CHECK(Contains(WriteExports(*table, kDriver, 13), "driver::a(x, y)"));
  CHECK_FALSE(Contains(WriteExports(*table, kDriver, 13), "driver::a(x)"));
}

TEST_CASE("api table: only what is not implemented gets a definition") {
  const auto table = ReadText(
      "implemented 1 - int a(int x)\nimplemented:reports 1 - int r()\nrefused:NO 1 - int b(int x)\nignored 1 "
      "- int c()\nignored 1 - void d()\n");
  REQUIRE(table);
  const std::string refused = WriteRefused(*table, kDriver);
  CHECK_FALSE(Contains(refused, "int a("));
  CHECK(Contains(refused, "return NO;"));
  CHECK(Contains(refused, "int c() {\n  return CUDA_SUCCESS;"));
  CHECK(Contains(refused, "void d() {\n}"));
  CHECK(Contains(WriteExports(*table, kDriver, 0), "return Report(kInfo"));
  const std::string page = WriteCoverage(*table, kDriver);
  CHECK(Contains(page, "| implemented | 2 |"));
  CHECK(Contains(page, "refused: `NO`"));
}

TEST_CASE("api table: what is wrong is named with its line") {
  const auto message = [](const std::string& text) {
    const auto table = ReadText(text);
    REQUIRE_FALSE(table);
    return table.error().message;
  };
  CHECK(Contains(message("\nmaybe 1 - int a()\n"), ":2: 'maybe' is not a state"));
  CHECK(Contains(message("implemented x - int a()\n"), "'x' is not a version"));
  CHECK(Contains(message("implemented 1 pts int a()\n"), "'pts' is not a variant"));
  CHECK(Contains(message("implemented 1 - int a(int)\n"), "has no name"));
  CHECK(Contains(message("implemented 1 - int a(int x);\n"), "ends in ')'"));
  CHECK(Contains(message("implemented 1- - int a(int x)\nimplemented 2 - int a(int y)\n"),
                 "is in line 1 already"));
}

TEST_CASE("api table: a row with letters and the variant 64 is several functions of one template") {
  const auto table = ReadText(
      "family:Scale 11- 64 Status lib[S|Cs]scale(Handle h, Int n, const R* by, T* x)\n"
      "family:Total 11- - int libTotal(Handle h, T* x)\n");
  REQUIRE(table);
  REQUIRE(table->functions.size() == 5);
  const Function &plain = table->functions[0], &wide = table->functions[3];
  CHECK(plain.name == "libSscale");
  CHECK(plain.ParameterList() == "Handle h, int n, const float* by, float* x");
  CHECK(plain.family == "Scale<float>");
  CHECK(wide.name == "libCsscale_64");
  CHECK(wide.ParameterList() == "Handle h, int64_t n, const float* by, cuComplex* x");
  CHECK(wide.family == "Scale<cuComplex>");
  CHECK(plain.In(11));
  CHECK_FALSE(wide.In(11));
  CHECK(table->functions[4].ParameterList() == "Handle h, T* x");  // no letters, no substitution
  const std::string families = WriteFamilies(*table, kDriver);
  CHECK(Contains(families, "return Scale<cuComplex>(\"libCsscale_64\", h, n, by, x);"));
  CHECK(Contains(families, "return Total(\"libTotal\", h, x);"));
  CHECK(WriteRefused(*table, kDriver).find("scale") == std::string::npos);
  const auto wrong = ReadText("family:Scale 11- - int lib[Q]x(int a)\n");
  REQUIRE_FALSE(wrong);
  CHECK(Contains(wrong.error().message, "'Q' is not a type letter"));
}
