// The table, the JSON and the files written.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "ptx-parser/fatbin/fatbin.h"
#include "ptx-parser/fatbin/json_writer.h"
#include "ptx-parser/fatbin/printable.h"
#include "tests/fatbin/extracted.h"
#include "tests/fatbin/file_builder.h"
#include "tests/scratch_folder.h"

namespace ptx2cpu::fatbin_test {
namespace {

namespace fs = std::filesystem;

std::string Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

size_t FilesIn(const fs::path& path) {
  return std::distance(fs::directory_iterator(path), fs::directory_iterator());
}

// Accepts exactly the JSON grammar (RFC 8259); the position it stops at is the end where the text is one
// value.
class JsonChecker {
 public:
  explicit JsonChecker(std::string_view text) : rest_(text) {}
  bool Check() {
    const bool value = Value();
    Blanks();
    return value && rest_.empty();
  }

 private:
  void Blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n\r\t"), rest_.size())); }
  bool Take(char c) {
    Blanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool Word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool Value() {
    Blanks();
    if (rest_.starts_with('{')) return Items('{', '}', true);
    if (rest_.starts_with('[')) return Items('[', ']', false);
    if (rest_.starts_with('"')) return String();
    const size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    rest_.remove_prefix(digits);
    return digits != 0 || Word("true") || Word("false") || Word("null");
  }
  bool Items(char open, char close, bool keyed) {
    if (!Take(open)) return false;
    if (Take(close)) return true;
    do {
      Blanks();
      if (keyed && !(String() && Take(':'))) return false;
      if (!Value()) return false;
    } while (Take(','));
    return Take(close);
  }
  bool String() {
    if (!Take('"')) return false;
    while (!rest_.empty() && rest_.front() != '"') {
      if (static_cast<unsigned char>(rest_.front()) < 0x20) return false;
      if (rest_.front() == '\\') {
        rest_.remove_prefix(1);
        if (rest_.empty() || std::string_view("\"\\/bfnrtu").find(rest_.front()) == std::string_view::npos)
          return false;
      }
      rest_.remove_prefix(1);
    }
    return Take('"');
  }
  std::string_view rest_;
};

TEST_CASE("the table has a row per image with all that a reader asks") {
  ImageSpec strict = PtxSpec({"a", "b", "c", "d", "e", "f"}, 90, kZstd | kArchSpecific);
  strict.options = " --fmad false ";
  const std::string file =
      BuildElf({{.name = ".nv_fatbin", .data = BuildContainer({CubinSpec(75), strict})}});
  const std::string table = ptx::RenderTable(Extracted(file));
  CHECK(std::ranges::count(table, '\n') == 3);
  for (const char* word : {".nv_fatbin", "cubin", "sm_75", "PTX", "sm_90a", "9.0", "zstd", "--fmad false",
                           "a, b, c, d, and 2 more"}) {
    CHECK_THAT(table, Catch::Contains(word));
  }
  CHECK_THAT(ptx::RenderTable(Extracted(file), {.kernel_names = 0}), Catch::Contains("a, b, c, d, e, f"));
  CHECK_THAT(ptx::RenderTable(Extracted(file), {.kernels = false}), !Catch::Contains("a, b"));
}

TEST_CASE("nothing from a file reaches the terminal unescaped") {
  ImageSpec evil = PtxSpec({"k"});
  evil.options = "\x1b[2J\xff\"";
  evil.identifier = "a\nb\"\\\x01";
  const std::string file =
      BuildArchive({{"\x1b]0;x.o", BuildElf({{.name = "\x07sect\n", .data = BuildContainer({evil})}})}});
  const auto extraction = Extracted(file, "we\"ird\nname");
  const std::string table = ptx::RenderTable(extraction);
  CHECK(std::ranges::all_of(table, [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7F); }));
  const std::string json = ptx::RenderJson(extraction);
  CHECK(JsonChecker(json).Check());
  CHECK_THAT(json,
             Catch::Contains("\"a\\nb\\\"\\\\\\u0001\"") && Catch::Contains("\\u001b[2J\xEF\xBF\xBD\\\""));
}

TEST_CASE("JSON is valid for every kind of file, sound or damaged") {
  for (const MemberSpec& file : OneOfEach()) {
    INFO(file.name);
    const std::string json = ptx::RenderJson(Extracted(file.data, file.name));
    CHECK(JsonChecker(json).Check());
    CHECK_THAT(json, Catch::Contains("\"containers\": [") && Catch::Contains("\"where\""));
  }
  std::string bad = BuildContainer({PtxSpec({"k"}, 80, kZstd)});
  Patch(bad, bad.size() - 24, std::string(8, '\xAA'));
  const std::string json = ptx::RenderJson(Extracted(bad + BuildContainer({PtxSpec({"k"})}).substr(0, 60)));
  CHECK(JsonChecker(json).Check());
  CHECK_THAT(json, Catch::Contains("\"error\": \"") && Catch::Contains("damaged container"));
}

TEST_CASE("UTF-8 passes, anything else becomes a replacement character") {
  CHECK(ptx::fatbin::ToUtf8("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x8E\x89") ==
        "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x8E\x89");
  CHECK(ptx::fatbin::ToUtf8("\xC3") == "\xEF\xBF\xBD");
  CHECK(ptx::fatbin::ToUtf8("\xC0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD");                  // overlong
  CHECK(ptx::fatbin::ToUtf8("\xED\xA0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // surrogate
  CHECK(ptx::fatbin::ToUtf8("\xF4\x90\x80\x80x").ends_with("x"));
}

TEST_CASE("the JSON writer separates and nests") {
  ptx::fatbin::JsonWriter json;
  json.BeginObject();
  json.Key("empty");
  json.BeginArray();
  json.EndArray();
  json.Key("list");
  json.BeginArray();
  json.Number(1U);
  json.Null();
  json.Bool(true);
  json.EndArray();
  json.EndObject();
  CHECK(json.Take() == "{\n  \"empty\": [],\n  \"list\": [\n    1,\n    null,\n    true\n  ]\n}\n");
}

TEST_CASE("each PTX image is written to a file of its own") {
  const test::ScratchFolder folder;
  const std::string object =
      BuildElf({{.name = ".nv_fatbin",
                 .data = BuildContainer({PtxSpec({"k"}, 80), PtxSpec({"l"}, 80), CubinSpec()})}});
  const std::string file =
      BuildArchive({{"one.o", object}, {"../two.o", BuildContainer({PtxSpec({"m"}, 90, kArchSpecific)})}});
  const fs::path dir = folder.path() / "deep" / "er";
  const auto report = ptx::WritePtx(Extracted(file, "/some/where/lib.a"), dir);
  REQUIRE(report.has_value());
  CHECK(report->failures.empty());
  CHECK(report->files == std::vector<fs::path>{dir / "lib.one.o.0.sm_80.ptx", dir / "lib.one.o.0.sm_80-2.ptx",
                                               dir / "lib._._two.o.1.sm_90a.ptx"});
  CHECK(FilesIn(dir) == 3);
  CHECK(Contents(report->files[1]) == SamplePtx({"l"}));
  CHECK(ptx::WritePtx(Extracted(file, "/some/where/lib.a"), dir).has_value());  // again, over the old ones
  CHECK(FilesIn(dir) == 3);
}

TEST_CASE("an image that cannot be decoded is reported and the rest written") {
  const test::ScratchFolder folder;
  std::string bad = BuildContainer({PtxSpec({"k"}, 80, kZstd)});
  Patch(bad, bad.size() - 24, std::string(8, '\xAA'));
  const auto report = ptx::WritePtx(Extracted(bad + BuildContainer({PtxSpec({"k"})})), folder.path());
  REQUIRE(report.has_value());
  CHECK(report->files.size() == 1);
  CHECK(report->failures.size() == 1);
}

TEST_CASE("a failure leaves no files and no folder") {
  const test::ScratchFolder folder;
  const std::string file = BuildContainer({PtxSpec({"k"}, 80), PtxSpec({"k"}, 90)});
  SECTION("nothing to write") {
    const auto report = ptx::WritePtx(Extracted(BuildContainer({CubinSpec()})), folder.path() / "out");
    REQUIRE_FALSE(report.has_value());
    CHECK(report.error().code == ErrorCode::kNoPtx);
    CHECK(FilesIn(folder.path()) == 0);
  }
  SECTION("nothing that decodes") {
    std::string bad = BuildContainer({PtxSpec({"k"}, 80, kZstd)});
    Patch(bad, bad.size() - 24, std::string(8, '\xAA'));
    const auto report = ptx::WritePtx(Extracted(bad), folder.path() / "out");
    REQUIRE_FALSE(report.has_value());
    CHECK(report.error().code == ErrorCode::kContainer);
    CHECK(FilesIn(folder.path()) == 0);
  }
  SECTION("a target that cannot be replaced") {
    fs::create_directories(folder.path() / "program.0.sm_90.ptx" / "occupied");
    const auto report = ptx::WritePtx(Extracted(file), folder.path());
    REQUIRE_FALSE(report.has_value());
    CHECK(report.error().code == ErrorCode::kFile);
    CHECK(FilesIn(folder.path()) == 1);
  }
  SECTION("a folder that is a file") {
    std::ofstream(folder.path() / "out") << "x";
    const auto report = ptx::WritePtx(Extracted(file), folder.path() / "out");
    REQUIRE_FALSE(report.has_value());
    CHECK(report.error().code == ErrorCode::kFile);
    CHECK(FilesIn(folder.path()) == 1);
  }
}

TEST_CASE("a mapped file keeps its bytes while the extraction lives") {
  const test::ScratchFolder folder;
  const fs::path path = folder.path() / "a.fatbin";
  {
    std::ofstream file(path, std::ios::binary);
    file << BuildContainer({PtxSpec({"k"})});
  }
  const auto extraction = ptx::ExtractFile(path);
  REQUIRE(extraction.has_value());
  fs::remove(path);
  CHECK(extraction->containers.at(0).images.at(0).Decode().value() == SamplePtx({"k"}));
}

}  // namespace
}  // namespace ptx2cpu::fatbin_test
