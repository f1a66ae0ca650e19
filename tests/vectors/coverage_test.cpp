// Every row of the instruction table that is translated has a vector file; most are recorded on a GPU.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "ptx-parser/match/table.h"
#include "tests/vectors/vector_files.h"

using namespace ptx2cpu;
using namespace ptx2cpu::vectors_test;

namespace {

// Rows whose effect cannot be a value in memory, and why.
const std::map<std::string_view, const char*> kNoVector = {
    {"trap", "ends the kernel with a fault: tests/tool"},
};

}  // namespace

TEST_CASE("every translated row has a vector file") {
  if (std::getenv("PTX2CPU_VECTOR") != nullptr) return;
  std::set<std::string> covered, recorded, recordable;  // recordable: by a GPU that this project can use
  for (const auto& path : VectorFiles()) {
    auto file = rt::ReadVectorFile(path);
    REQUIRE(file);
    const auto record = rt::ReadVectorRecord(path);
    REQUIRE(record);
    for (const std::string& row : file->rows) {
      covered.insert(row);
      if (*record) recorded.insert(row);
      if (file->text.find(".target sm_100") == std::string::npos) recordable.insert(row);
    }
    INFO(path);
    CHECK_FALSE(file->rows.empty());
  }
  size_t translated = 0, wanted = 0;
  for (const ptx::Row& row : ptx::Rows()) {
    if (!row.translated) continue;
    ++translated;
    wanted += recordable.contains(std::string(row.name)) ? 1 : 0;
    if (!covered.contains(std::string(row.name)) && !kNoVector.contains(row.name))
      FAIL_CHECK("no vector file has `// row: " << row.name << "`");
  }
  for (const std::string& row : covered) {
    const auto rows = ptx::Rows();
    const bool known =
        std::any_of(rows.begin(), rows.end(), [&](const ptx::Row& r) { return r.name == row; });
    if (!known) FAIL_CHECK("a vector file names row " << row << ", which the table does not have");
  }
  WARN(translated << " rows are translated, " << covered.size() << " have vectors, " << recorded.size()
                  << " are recorded on a GPU");
  CHECK(recorded.size() * 10 >= wanted * 9);
}
