// Extraction of sound files of every form.
#include <catch2/catch.hpp>

#include "ptx-parser/fatbin/fatbin.h"
#include "tests/fatbin/extracted.h"
#include "tests/fatbin/file_builder.h"

namespace ptx2cpu::fatbin_test {
namespace {

using ptx::Image;

std::string Decoded(const Image& image) {
  auto text = image.Decode();
  if (!text) FAIL(text.error().Render());
  return *std::move(text);
}

TEST_CASE("stored, LZ4 and zstd images decode to the same text") {
  const std::string text = SamplePtx({"alpha", "beta"});
  const std::string file = BuildContainer({PtxSpec({"alpha", "beta"}), PtxSpec({"alpha", "beta"}, 80, kLz4),
                                           PtxSpec({"alpha", "beta"}, 80, kZstd)});
  const auto extraction = Extracted(file, "file");
  CHECK(extraction.file_kind == ptx::Extraction::FileKind::kFatbin);
  REQUIRE(extraction.containers.size() == 1);
  CHECK(extraction.containers[0].size == file.size());
  CHECK(extraction.containers[0].Where() == "file");
  const auto& images = extraction.containers[0].images;
  REQUIRE(images.size() == 3);
  CHECK(images[0].compression == Image::Compression::kNone);
  CHECK(images[1].compression == Image::Compression::kLz4);
  CHECK(images[2].compression == Image::Compression::kZstd);
  for (const Image& image : images) {
    CHECK(Decoded(image) == text);
    CHECK(image.PtxVersion() == "9.0");
    CHECK(image.Kernels().value() == std::vector<std::string>{"alpha", "beta"});
    if (image.compression != Image::Compression::kNone) CHECK(image.size == text.size() + 1);
  }
}

TEST_CASE("an image header describes the image") {
  ImageSpec spec = PtxSpec({"k"}, 100, kZstd | kFamilySpecific);
  spec.options = " --fmad false -maxrregcount=32 ";
  spec.identifier = "dir/source.cu";
  spec.major = 8;
  spec.minor = 7;
  const std::string file = BuildContainer({CubinSpec(75),
                                           spec,
                                           {.kind = kLtoIr, .sm = 90, .data = "bits"},
                                           PtxSpec({"k"}, 90, kArchSpecific),
                                           {.kind = 77, .data = "x"}});
  const auto extraction = Extracted(file);
  const auto& images = extraction.containers.at(0).images;
  REQUIRE(images.size() == 5);
  CHECK(images[0].kind == Image::Kind::kCubin);
  CHECK(images[0].Target() == "sm_75");
  CHECK(images[0].PtxVersion().empty());
  CHECK(images[0].Kernels().value().empty());
  CHECK(images[1].Target() == "sm_100f");
  CHECK(images[1].PtxVersion() == "8.7");
  CHECK(images[1].options == spec.options);
  CHECK_FALSE(images[1].Jit().fmad);
  CHECK(images[1].Jit().maxrregcount == 32);
  CHECK(images[1].identifier == "dir/source.cu");
  CHECK(images[2].kind == Image::Kind::kLtoIr);
  CHECK(images[3].Target() == "sm_90a");
  CHECK(images[4].kind == Image::Kind::kUnknown);
  CHECK(images[4].raw_kind == 77);
  CHECK(images[1].file_offset == images[0].file_offset + 64 + images[0].stored_size);
}

TEST_CASE("containers are found anywhere, at any alignment, and named by section") {
  const std::string one = BuildContainer({PtxSpec({"one"})}),
                    two = BuildContainer({PtxSpec({"two"}, 75, kLz4)});
  // The magic alone, as compilers put it into code, is no container and no complaint.
  const std::string immediate = "\x48\xB8" + U32(0xBA55ED50) + "\xC3 some code";
  const std::string file = BuildElf({{.name = ".text", .data = immediate},
                                     {.name = ".nv_fatbin", .data = one},
                                     {.name = ".ldata", .data = std::string(5003, 'x') + two},
                                     {.name = ".bss", .data = "", .type = 8}});
  const auto extraction = Extracted(file);
  CHECK(extraction.file_kind == ptx::Extraction::FileKind::kElf);
  CHECK(extraction.warnings.empty());
  REQUIRE(extraction.containers.size() == 2);
  CHECK(extraction.containers[0].Where() == ".nv_fatbin");
  CHECK(extraction.containers[1].Where() == ".ldata");
  CHECK(extraction.containers[1].images.at(0).container_index == 1);
  CHECK(extraction.containers[1].images.at(0).Kernels().value() == std::vector<std::string>{"two"});

  const auto bare = Extracted("MZ no known format " + one + two + "tail");
  CHECK(bare.file_kind == ptx::Extraction::FileKind::kOther);
  CHECK(bare.containers.size() == 2);
}

TEST_CASE("wrappers are followed in shared objects, fixed executables and objects") {
  const std::string first = BuildContainer({PtxSpec({"first"})}), second = BuildContainer({CubinSpec()});
  const std::string both = first + second;
  auto check = [&](const std::string& file) {
    const auto extraction = Extracted(file);
    CHECK(extraction.warnings.empty());
    REQUIRE(extraction.wrappers.size() == 2);
    CHECK(extraction.wrappers[0].version == 1);
    CHECK(extraction.wrappers[0].container_index == 0);
    CHECK(extraction.wrappers[1].version == 2);
    CHECK(extraction.wrappers[1].container_index == 1);
  };
  SECTION("relative relocations") {
    check(BuildElf({{.name = ".nv_fatbin", .data = both, .address = 0x4000},
                    {.name = ".nvFatBinSegment", .data = Wrapper(0) + Wrapper(0, 2), .address = 0x9000},
                    {.name = ".rela.dyn",
                     .data = Rela(0x100, 8, 0, 1) + Rela(0x9008, 8, 0, 0x4000) +
                             Rela(0x9020, 8, 0, 0x4000 + first.size()),
                     .type = 4}}));
  }
  SECTION("fixed addresses") {
    check(BuildElf({{.name = ".nv_fatbin", .data = both, .address = 0x4000},
                    {.name = ".nvFatBinSegment",
                     .data = Wrapper(0x4000) + Wrapper(0x4000 + first.size(), 2),
                     .address = 0x9000}},
                   kExecutable));
  }
  SECTION("relocatable object, inside an archive") {
    const std::string object = BuildElf({{.name = ".nv_fatbin", .data = both},
                                         {.name = ".nvFatBinSegment", .data = Wrapper(0) + Wrapper(0, 2)},
                                         {.name = ".rela.nvFatBinSegment",
                                          .data = Rela(8, 1, 1, 0) + Rela(32, 1, 2, 16),
                                          .type = 4,
                                          .flags = 0,
                                          .link = 4,
                                          .info = 2},
                                         {.name = ".symtab",
                                          .data = Symbol(0, 0) + Symbol(1, 0) + Symbol(1, first.size() - 16),
                                          .type = 2,
                                          .flags = 0}},
                                        kObject);
    check(object);
    check(BuildArchive({{"readme.txt", "odd"}, {"object.o", object}}));
  }
}

TEST_CASE("a wrapper that leads nowhere is a warning") {
  const std::string good = BuildContainer({PtxSpec({"k"})});
  const auto extraction =
      Extracted(BuildElf({{.name = ".nv_fatbin", .data = good, .address = 0x4000},
                          {.name = ".nvFatBinSegment", .data = Wrapper(0x4008), .address = 0x9000}},
                         kExecutable));
  REQUIRE(extraction.wrappers.size() == 1);
  CHECK_FALSE(extraction.wrappers[0].container_index.has_value());
  REQUIRE(extraction.warnings.size() == 1);
  CHECK_THAT(extraction.warnings[0].message, Catch::Contains("there is no sound one"));
}

TEST_CASE("archive members are named: short, long, BSD and nested") {
  const std::string object =
      BuildElf({{.name = "__nv_relfatbin", .data = BuildContainer({PtxSpec({"k"})})}}, kObject);
  const std::string long_name = "a_name_that_does_not_fit_sixteen_bytes.o";
  const auto gnu = Extracted(BuildArchive({{"odd", "123"}, {"short.o", object}, {long_name, object}}));
  CHECK(gnu.file_kind == ptx::Extraction::FileKind::kArchive);
  REQUIRE(gnu.containers.size() == 2);
  CHECK(gnu.containers[0].Where() == "short.o:__nv_relfatbin");
  CHECK(gnu.containers[1].member == long_name);
  CHECK(gnu.containers[1].images.at(0).relocatable);

  const auto nested =
      Extracted(BuildBsdArchive({{"outer name.o", object}, {"inner.a", BuildArchive({{"deep.o", object}})}}));
  REQUIRE(nested.containers.size() == 2);
  CHECK(nested.containers[0].member == "outer name.o");
  CHECK(nested.containers[1].member == "inner.a/deep.o");
}

TEST_CASE("relocatable images are known by section or by option") {
  ImageSpec option = PtxSpec({"k"});
  option.options = "--compile-only  ";
  const std::string file =
      BuildElf({{.name = ".nv_fatbin", .data = BuildContainer({PtxSpec({"a"}), option})},
                {.name = "__nv_relfatbin", .data = BuildContainer({CubinSpec(), PtxSpec({"b"})})}});
  const auto extraction = Extracted(file);
  REQUIRE(extraction.containers.size() == 2);
  CHECK_FALSE(extraction.containers[0].images[0].relocatable);
  CHECK(extraction.containers[0].images[1].relocatable);
  CHECK(extraction.containers[1].images[0].relocatable);
  CHECK(extraction.containers[1].images[1].relocatable);
}

TEST_CASE("bare PTX text of any version is one image") {
  const auto version = GENERATE(as<std::string>{}, "1.4", "3.2", "6.0", "9.0", "9.1");
  const auto lead =
      GENERATE(as<std::string>{}, "", "\n\n", "// .version 5.5\n/* .target sm_10 */ ", "\xEF\xBB\xBF");
  const auto tail = GENERATE(as<std::string>{}, "", std::string(1, '\0'), std::string(7, '\0'));
  const std::string text = lead + SamplePtx({"kernel"}, "sm_90a, texmode_independent", version);
  const std::string file = text + tail;
  const auto extraction = Extracted(file, "some.name");
  CHECK(extraction.file_kind == ptx::Extraction::FileKind::kPtx);
  const Image& image = extraction.containers.at(0).images.at(0);
  CHECK(image.PtxVersion() == version);
  CHECK(image.Target() == "sm_90a");
  CHECK(Decoded(image) == text);
}

TEST_CASE("a .ptx file without a version is left to the parser to judge") {
  const std::string text = ".visible .entry k() { ret; }\n";
  CHECK(Extracted(text, "broken.ptx").containers.at(0).images.at(0).Target() == "sm_?");
  const auto other = ptx::Extract(AsBytes(text), "broken.txt");
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().code == ErrorCode::kNoPtx);
}

TEST_CASE("a cubin file is machine code and nothing else") {
  std::string file = BuildElf({}, kExecutable, 190);
  Patch(file, 48, U32(0x06005a04));
  Patch(file, 7, "\x41");
  auto extraction = Extracted(file);
  CHECK(extraction.file_kind == ptx::Extraction::FileKind::kCubin);
  CHECK(extraction.containers.at(0).images.at(0).Target() == "sm_90");
  Patch(file, 48, U32(0x00460546));  // before ABI 8 the number was in the first byte
  Patch(file, 7, "\x33");
  CHECK(Extracted(file).containers.at(0).images.at(0).Target() == "sm_70");
}

TEST_CASE("an empty container is listed and harmless") {
  const auto extraction = Extracted(ContainerOf("") + BuildContainer({PtxSpec({"k"})}));
  REQUIRE(extraction.containers.size() == 2);
  CHECK(extraction.containers[0].images.empty());
  CHECK(extraction.containers[1].images.size() == 1);
}

TEST_CASE("a missing file, a folder and an empty file have different errors") {
  const auto missing = ptx::ExtractFile("/nonexistent/file");
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().code == ErrorCode::kFile);
  const auto folder = ptx::ExtractFile("/");
  REQUIRE_FALSE(folder.has_value());
  CHECK(folder.error().code == ErrorCode::kFile);
  const auto empty = ptx::ExtractFile("/dev/null");
  REQUIRE_FALSE(empty.has_value());
  CHECK(empty.error().code == ErrorCode::kContainer);
}

}  // namespace
}  // namespace ptx2cpu::fatbin_test
