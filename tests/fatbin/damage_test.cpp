// Damaged files: each is an error or a warning, and nothing is read outside the bytes (the sanitizers watch).
#include <catch2/catch.hpp>
#include <random>

#include "ptx-parser/fatbin/fatbin.h"
#include "tests/fatbin/file_builder.h"
#include "tests/quick.h"

namespace ptx2cpu::fatbin_test {
namespace {

using ptx::Image;

// Everything a user of the library may do with a file. Bytes are copied to a block of exactly their size, so
// that reading past them is seen.
void UseAll(std::string_view bytes, const std::string& name) {
  const std::vector<char> exact(bytes.begin(), bytes.end());
  const auto extraction = ptx::Extract(std::as_bytes(std::span(exact)), name);
  if (!extraction) {
    CHECK_FALSE(extraction.error().message.empty());
    return;
  }
  size_t images = 0;
  for (const auto& container : extraction->containers) {
    for (const Image& image : container.images) {
      ++images;
      const auto decoded = image.Decode();
      if (decoded) CHECK(decoded->size() <= image.size);
      if (!decoded) CHECK_FALSE(decoded.error().message.empty());
    }
  }
  CHECK(ptx::RenderTable(*extraction).size() > images);
  CHECK(ptx::RenderJson(*extraction).size() > images);
  const auto ptx_images = ptx::PtxImages(*extraction, "alpha");
  if (!ptx_images) CHECK_FALSE(ptx_images.error().message.empty());
}

Error ErrorOf(const std::string& bytes) {
  const auto extraction = ptx::Extract(AsBytes(bytes), "file");
  if (extraction) FAIL("extracted");
  return extraction.error();
}

Error DecodeErrorOf(const std::string& container) {
  const auto extraction = ptx::Extract(AsBytes(container), "file");
  if (!extraction) FAIL(extraction.error().Render());
  const auto decoded = extraction->containers.at(0).images.at(0).Decode();
  if (decoded) FAIL("decoded");
  return decoded.error();
}

TEST_CASE("a file cut anywhere is an error or a shorter list") {
  for (const MemberSpec& file : OneOfEach()) {
    for (size_t size = 0; size < file.data.size(); size += test::IsQuick() ? 7 : 1)
      UseAll(std::string_view(file.data).substr(0, size), file.name);
  }
}

TEST_CASE("a cut container is refused whole") {
  const std::string file = BuildContainer({CubinSpec(), PtxSpec({"alpha"}, 80, kZstd)});
  for (size_t size = 1; size < file.size(); ++size)
    CHECK(ErrorOf(file.substr(0, size)).code == (size < 4 ? ErrorCode::kNoPtx : ErrorCode::kContainer));
}

TEST_CASE("random bytes in every file crash nothing") {
  std::mt19937 random(20240607);
  for (const MemberSpec& file : OneOfEach()) {
    for (int round = 0; round < test::QuickPart(400); ++round) {
      std::string bytes = file.data;
      for (uint32_t i = 0; i < 1 + random() % 4; ++i) {
        const size_t at = random() % bytes.size();
        switch (random() % 3) {
          case 0:
            bytes[at] = static_cast<char>(random());
            break;
          case 1:
            bytes[at] = '\xFF';
            break;
          default:
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
            break;
        }
      }
      UseAll(bytes, file.name);
    }
  }
}

TEST_CASE("every field of the headers may lie") {
  const std::string sound = BuildContainer({PtxSpec({"alpha"}, 80, kZstd), PtxSpec({"alpha"})});
  const auto value =
      GENERATE(as<uint32_t>{}, 0, 1, 7, 63, 64, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF);
  for (size_t at = 4; at + 4 <= 16 + 80; at += 4) {
    std::string bytes = sound;
    Patch(bytes, at, U32(value));
    UseAll(bytes, "lying.fatbin");
  }
}

TEST_CASE("a damaged container hides none of its neighbours") {
  const std::string good = BuildContainer({PtxSpec({"alpha"})});
  std::string bad = BuildContainer({CubinSpec(), PtxSpec({"beta"})});
  SECTION("entry version") { Patch(bad, 16 + 2, U16(0x0102)); }
  SECTION("entry header too small") { Patch(bad, 16 + 4, U32(8)); }
  SECTION("payload beyond the container") { Patch(bad, 16 + 8, U64(1 << 20)); }
  SECTION("payload that wraps around") { Patch(bad, 16 + 8, U64(~uint64_t{0} - 63)); }
  SECTION("container that swallows its neighbour") { Patch(bad, 8, U64(bad.size() - 16 + good.size())); }
  SECTION("container that ends in an entry") { Patch(bad, 8, U64(bad.size() - 24)); }
  SECTION("size that wraps around") { Patch(bad, 8, U64(~uint64_t{0} - 7)); }
  SECTION("container version, in its section") { Patch(bad, 4, U16(2)); }
  const std::string file = BuildElf({{.name = ".nv_fatbin", .data = good + bad + good}});
  const auto extraction = ptx::Extract(AsBytes(file), "file");
  REQUIRE(extraction.has_value());
  REQUIRE(extraction->containers.size() == 2);
  REQUIRE(extraction->warnings.size() == 1);
  CHECK(extraction->warnings[0].offset == extraction->containers[0].offset + good.size());
  CHECK_THAT(ptx::RenderTable(*extraction), Catch::Contains("warning: 0x"));
  CHECK(ptx::PtxImages(*extraction, "alpha").has_value());
}

TEST_CASE("a file with only damaged parts reports where and what to do") {
  std::string bad = BuildContainer({PtxSpec({"beta"})});
  Patch(bad, 16 + 2, U16(0));
  const Error error = ErrorOf(bad);
  CHECK(error.code == ErrorCode::kContainer);
  CHECK_THAT(error.message, Catch::Contains("0x10") && Catch::Contains("entry version"));
  CHECK_FALSE(error.hint.empty());
}

TEST_CASE("a damaged image hides none of its neighbours and does not decode") {
  std::string bad = BuildImage(PtxSpec({"alpha"}, 90, kZstd));
  std::string expected;
  SECTION("compressed size beyond the payload") {
    Patch(bad, 16, U32(1 << 20));
    expected = "compressed size";
  }
  SECTION("no compressed size") {
    Patch(bad, 16, U32(0));
    expected = "compressed size";
  }
  SECTION("two compressions") {
    Patch(bad, 40, U64(0xA011));
    expected = "two compressions";
  }
  SECTION("options outside the header: they may change results") {
    Patch(bad, 20, U32(0x10000));
    expected = "JIT options";
  }
  SECTION("option text outside the header") {
    Patch(bad, 64, U32(72) + U32(0xFFFFFFFF));
    expected = "JIT options";
  }
  SECTION("a size beyond all bounds") {
    Patch(bad, 56, U64(ptx::kMaxImageSize + 1));
    expected = "implausible";
  }
  SECTION("a bomb within the absolute bound") {
    Patch(bad, 56, U64(ptx::kMaxImageSize));
    expected = "implausible";
  }
  const std::string file = ContainerOf(bad + BuildImage(PtxSpec({"alpha"}, 80)));
  const auto extraction = ptx::Extract(AsBytes(file), "file");
  REQUIRE(extraction.has_value());
  REQUIRE(extraction->containers.at(0).images.size() == 2);
  REQUIRE(extraction->warnings.size() == 1);
  CHECK_THAT(extraction->warnings[0].message, Catch::Contains(expected));
  CHECK_THAT(DecodeErrorOf(file).message, Catch::Contains(expected));
  // The sound sm_80 image is taken although the damaged one has the higher target.
  const auto images = ptx::PtxImages(*extraction, "alpha");
  REQUIRE(images.has_value());
  CHECK(images->at(0).image->sm == 80);
}

TEST_CASE("payloads must decode to their stated size exactly") {
  const auto flag = GENERATE(as<uint64_t>{}, kLz4, kZstd);
  const std::string sound = BuildContainer({PtxSpec({"alpha"}, 80, flag)});
  const auto stated = SamplePtx({"alpha"}).size() + 1;
  for (const size_t lie : {size_t{0}, size_t{1}, stated - 1, stated + 1, stated * 10}) {
    std::string bytes = sound;
    Patch(bytes, 16 + 56, U64(lie));
    CHECK(DecodeErrorOf(bytes).code == ErrorCode::kContainer);
  }
  std::string garbled = sound;
  Patch(garbled, 16 + 80, std::string(12, '\xEE'));
  CHECK(DecodeErrorOf(garbled).code == ErrorCode::kContainer);
}

TEST_CASE("a real bomb is stopped at the size it states") {
  const auto flag = GENERATE(as<uint64_t>{}, kLz4, kZstd);
  ImageSpec bomb{.flags = flag, .data = std::string(size_t{64} << 20, ' ')};
  std::string bytes = BuildContainer({bomb});
  Patch(bytes, 16 + 56, U64(4096));
  const Error error = DecodeErrorOf(bytes);
  CHECK(error.code == ErrorCode::kContainer);
}

TEST_CASE("old compression and obfuscation are refused by name") {
  ImageSpec spec = PtxSpec({"alpha"});
  spec.flags = kLegacy;
  std::string legacy = BuildContainer({spec});
  Patch(legacy, 16 + 16, U32(8));
  const auto extraction = ptx::Extract(AsBytes(legacy), "file");
  REQUIRE(extraction.has_value());
  CHECK(extraction->containers.at(0).images.at(0).compression == Image::Compression::kLegacy);
  CHECK(DecodeErrorOf(legacy).code == ErrorCode::kUnsupported);
  CHECK_THAT(DecodeErrorOf(legacy).message, Catch::Contains("0x1000"));
  CHECK(
      DecodeErrorOf(BuildContainer({{.kind = kLtoIr, .flags = kZstd | kObfuscated, .data = "bits"}})).code ==
      ErrorCode::kUnsupported);
}

TEST_CASE("ELF headers that lie cost names, never containers") {
  const std::string container = BuildContainer({PtxSpec({"alpha"})});
  const std::string sound =
      BuildElf({{.name = ".nv_fatbin", .data = container, .address = 0x1000},
                {.name = ".nvFatBinSegment", .data = Wrapper(0x1000), .address = 0x2000}});
  const auto table = static_cast<size_t>(64 + container.size());
  std::string bytes = sound;
  SECTION("section table far outside") { Patch(bytes, 40, U64(~uint64_t{0} - 10)); }
  SECTION("section count") { Patch(bytes, 60, U16(0xFFFF)); }
  SECTION("count in the first header") {
    Patch(bytes, 60, U16(0));
    Patch(bytes, bytes.size() - 64 * 4 + 32, U64(~uint64_t{0}));
  }
  SECTION("section header size") { Patch(bytes, 58, U16(1)); }
  SECTION("cut off") { bytes.resize(table + 8); }
  const auto extraction = ptx::Extract(AsBytes(bytes), "file");
  REQUIRE(extraction.has_value());
  CHECK(extraction->containers.size() == 1);
  CHECK_FALSE(extraction->warnings.empty());
}

TEST_CASE("a damaged archive still gives its containers") {
  const std::string object =
      BuildElf({{.name = ".nv_fatbin", .data = BuildContainer({PtxSpec({"alpha"})})}}, kObject);
  std::string bytes = BuildArchive({{"one.o", object}, {"two.o", object}});
  const size_t second = bytes.rfind("two.o/");
  SECTION("end mark") { Patch(bytes, second + 58, "xx"); }
  SECTION("size that is no number") { Patch(bytes, second + 48, "-1        "); }
  SECTION("size beyond the file") { Patch(bytes, second + 48, "9999999999"); }
  const auto extraction = ptx::Extract(AsBytes(bytes), "file");
  REQUIRE(extraction.has_value());
  CHECK(extraction->containers.size() == 2);
  CHECK(extraction->containers[0].member == "one.o");
  CHECK(extraction->warnings.size() == 1);
}

TEST_CASE("warnings are bounded, and so is the work on nested false containers") {
  // Entries that each hide the header of a container reaching almost to the end: every walk is long and
  // fails.
  std::string entries;
  constexpr size_t kEntries = 20000, kEntry = 80;
  for (size_t i = 0; i < kEntries; ++i) {
    std::string entry = U16(kCubin) + U16(0x0101) + U32(64) + U64(16) + std::string(48, '\0');
    entries += entry + U32(0xBA55ED50) + U16(1) + U16(16) + U64((kEntries - i - 1) * kEntry + 1);
  }
  std::string file = ContainerOf(entries);
  Patch(file, 8, U64(entries.size() + 1));
  const auto extraction = ptx::Extract(AsBytes(file + std::string(100, ' ')), "file");
  REQUIRE_FALSE(extraction.has_value());
  CHECK(extraction.error().code == ErrorCode::kContainer);
}

}  // namespace
}  // namespace ptx2cpu::fatbin_test
