// Which image for which device, which kernel by which name, and the messages for files without PTX.
#include <catch2/catch.hpp>

#include "ptx-parser/fatbin/fatbin.h"
#include "tests/fatbin/extracted.h"
#include "tests/fatbin/file_builder.h"

namespace ptx2cpu::fatbin_test {
namespace {

std::string ChosenTarget(const std::string& bytes, ptx::Device device) {
  const auto extraction = Extracted(bytes);
  const ptx::Image* image = ptx::ChooseImage(extraction.containers.at(0), device);
  return image == nullptr ? "none" : image->Target();
}

TEST_CASE("the highest target not above the device is chosen") {
  const std::string file = BuildContainer({CubinSpec(90), PtxSpec({"k"}, 75), PtxSpec({"k"}, 90),
                                           PtxSpec({"k"}, 90, kArchSpecific),
                                           PtxSpec({"k"}, 100, kFamilySpecific), PtxSpec({"k"}, 80)});
  CHECK(ChosenTarget(file, {70}) == "none");
  CHECK(ChosenTarget(file, {75}) == "sm_75");
  CHECK(ChosenTarget(file, {89}) == "sm_80");
  CHECK(ChosenTarget(file, {90}) == "sm_90a");  // the same SM: its own code is the better fit
  CHECK(ChosenTarget(file, {100}) == "sm_100f");
  CHECK(ChosenTarget(file, {103}) == "sm_100f");
  CHECK(ChosenTarget(file, {120}) == "sm_90");  // neither sm_90a nor the family of sm_100
  CHECK(ChosenTarget(file, {}) == "sm_90");     // no device: the highest portable one
}

TEST_CASE("without a device a specific target is the last choice but a choice") {
  CHECK(ChosenTarget(
            BuildContainer({PtxSpec({"k"}, 90, kArchSpecific), PtxSpec({"k"}, 100, kFamilySpecific)}), {}) ==
        "sm_100f");
  CHECK(ChosenTarget(BuildContainer({PtxSpec({"k"}, 90, kArchSpecific)}), {}) == "sm_90a");
}

TEST_CASE("a kernel is found by its name or its plain C++ name") {
  const std::vector<std::string> kernels = {
      "plain",           "_Z6vecaddPKfS0_Pfi",     "_Z5scaleIdEvPT_S0_",       "_Z5twiceIdEvPT_",
      "_Z5twiceIfEvPT_", "_ZN3lib6detail4sortEPi", "_ZN12_GLOBAL__N_14hideEv", "_ZL6staticPi"};
  CHECK(ptx::MatchKernel(kernels, "plain") == "plain");
  CHECK(ptx::MatchKernel(kernels, "_Z6vecaddPKfS0_Pfi") == "_Z6vecaddPKfS0_Pfi");
  CHECK(ptx::MatchKernel(kernels, "vecadd") == "_Z6vecaddPKfS0_Pfi");
  CHECK(ptx::MatchKernel(kernels, "scale") == "_Z5scaleIdEvPT_S0_");
  CHECK(ptx::MatchKernel(kernels, "sort") == "_ZN3lib6detail4sortEPi");
  CHECK(ptx::MatchKernel(kernels, "lib::detail::sort") == "_ZN3lib6detail4sortEPi");
  CHECK(ptx::MatchKernel(kernels, "hide") == "_ZN12_GLOBAL__N_14hideEv");
  CHECK(ptx::MatchKernel(kernels, "static") == "_ZL6staticPi");
  CHECK_FALSE(ptx::MatchKernel(kernels, "twice").has_value());  // two of them
  CHECK_FALSE(ptx::MatchKernel(kernels, "vec").has_value());
  CHECK_FALSE(ptx::MatchKernel(kernels, "").has_value());
}

TEST_CASE("a missing kernel names the nearest ones") {
  const auto extraction = Extracted(BuildContainer({PtxSpec({"vector_add", "reduce", "transpose", "scan"})}));
  const auto images = ptx::PtxImages(extraction, "vectoradd");
  REQUIRE_FALSE(images.has_value());
  CHECK(images.error().code == ErrorCode::kNotFound);
  CHECK_THAT(images.error().hint, Catch::StartsWith("nearest: vector_add"));
  CHECK_THAT(images.error().hint, Catch::Contains("4 kernels"));
}

TEST_CASE("PtxImages gives every container its image, or the one with the kernel") {
  ImageSpec strict = PtxSpec({"beta"}, 80, kZstd);
  strict.options = "--fmad false";
  const auto extraction = Extracted(BuildContainer({PtxSpec({"alpha"}, 75), PtxSpec({"alpha"}, 80)}) +
                                    BuildContainer({CubinSpec()}) + BuildContainer({strict}));
  const auto all = ptx::PtxImages(extraction);
  REQUIRE(all.has_value());
  REQUIRE(all->size() == 2);
  CHECK(all->at(0).image->sm == 80);
  CHECK(all->at(1).image->container_index == 2);
  const auto one = ptx::PtxImages(extraction, "beta");
  REQUIRE(one.has_value());
  REQUIRE(one->size() == 1);
  CHECK_FALSE(one->at(0).options.fmad);
  CHECK(one->at(0).kernels == std::vector<std::string>{"beta"});
  CHECK_THAT(one->at(0).text, Catch::Contains(".entry beta"));
}

TEST_CASE("a relocatable kernel comes with the pieces it may need") {
  const std::string file = BuildElf(
      {{.name = ".nv_fatbin", .data = BuildContainer({CubinSpec()}) + BuildContainer({PtxSpec({"whole"})})},
       {.name = "__nv_relfatbin",
        .data = BuildContainer({PtxSpec({"first"})}) + BuildContainer({PtxSpec({"second"})}) +
                BuildContainer({PtxSpec({})})}});
  const auto extraction = Extracted(file);
  const auto pieces = ptx::PtxImages(extraction, "second");
  REQUIRE(pieces.has_value());
  REQUIRE(pieces->size() == 3);
  CHECK(pieces->at(0).kernels == std::vector<std::string>{"second"});
  CHECK(pieces->at(1).kernels == std::vector<std::string>{"first"});
  CHECK(ptx::PtxImages(extraction, "whole")->size() == 1);
}

TEST_CASE("a damaged image elsewhere does not keep a kernel from running") {
  std::string bad = BuildContainer({PtxSpec({"beta"}, 80, kZstd)});
  Patch(bad, bad.size() - 24, std::string(8, '\xAA'));
  const auto extraction = Extracted(BuildContainer({PtxSpec({"alpha"})}) + bad);
  CHECK(ptx::PtxImages(extraction, "alpha").has_value());
  const auto beta = ptx::PtxImages(extraction, "beta");
  REQUIRE_FALSE(beta.has_value());
  CHECK(beta.error().code == ErrorCode::kContainer);
}

TEST_CASE("machine code alone is named, and what to do") {
  const auto check = [](const std::string& file, ptx::Device device, const std::string& message) {
    const auto images = ptx::PtxImages(Extracted(file), std::nullopt, device);
    REQUIRE_FALSE(images.has_value());
    CHECK(images.error().code == ErrorCode::kNoPtx);
    CHECK_THAT(images.error().message, Catch::StartsWith(message));
    CHECK_FALSE(images.error().hint.empty());
  };
  check(BuildContainer({CubinSpec(80)}), {}, "only machine code for sm_80, no PTX");
  check(BuildContainer({CubinSpec(80), CubinSpec(90)}), {}, "only machine code for sm_80, sm_90, no PTX");
  check(BuildContainer({CubinSpec(80), {.kind = kLtoIr, .sm = 90, .data = "x"}}), {},
        "only machine code for sm_80, no PTX (and LTO IR for sm_90");
  check(BuildContainer({{.kind = kLtoIr, .sm = 90, .data = "x"}}), {}, "only LTO IR for sm_90, no PTX");
  check(BuildContainer({PtxSpec({"k"}, 90)}), {75}, "no PTX for sm_75: the file has PTX for sm_90");
  check(ContainerOf(""), {}, "no image of the file is PTX");
  const auto images = ptx::PtxImages(Extracted(BuildContainer({CubinSpec(86)})));
  CHECK_THAT(images.error().hint, Catch::Contains("-gencode arch=compute_86,code=compute_86"));
}

TEST_CASE("entry names are found by the scan and nowhere else") {
  CHECK(ptx::EntryNames("").empty());
  CHECK(ptx::EntryNames(".entry").empty());
  CHECK(ptx::EntryNames(".entry a").empty());
  CHECK(ptx::EntryNames(".entry a(){}") == std::vector<std::string>{"a"});
  CHECK(ptx::EntryNames(
            ".visible .entry a(.param .u64 p)\n.maxntid 1,1,1\n{ret;}\n.weak .entry\n  b$1_x()\n{\n}") ==
        std::vector<std::string>{"a", "b$1_x"});
  CHECK(ptx::EntryNames(".entry proto(.param .u64 p);\n.entry proto(.param .u64 p)\n{}") ==
        std::vector<std::string>{"proto"});
  CHECK(ptx::EntryNames(".entry only_declared();\n.func f(){}").empty());
  CHECK(ptx::EntryNames("// .entry a(){}\n/* .entry b(){} \n .entry c(){} */ .entry d(){}") ==
        std::vector<std::string>{"d"});
  CHECK(ptx::EntryNames(".file 1 \".entry a(){}\"\n.entry b() // {\n{}") == std::vector<std::string>{"b"});
  CHECK(ptx::EntryNames("$x.entry a(){} .entryb(){} %q.entry c(){}").empty());
}

TEST_CASE("JIT options are understood in every spelling, the rest kept verbatim") {
  auto options = ptx::ParseJitOptions("");
  CHECK(options.fmad);
  CHECK(options.unknown.empty());
  CHECK_FALSE(ptx::ParseJitOptions(" --fmad false ").fmad);
  CHECK_FALSE(ptx::ParseJitOptions("-fmad=false").fmad);
  CHECK(ptx::ParseJitOptions("--fmad true").fmad);
  CHECK(ptx::ParseJitOptions("--compile-only  ").compile_only);
  CHECK(ptx::ParseJitOptions("-c").compile_only);
  CHECK(ptx::ParseJitOptions("-maxrregcount=64").maxrregcount == 64);
  CHECK(ptx::ParseJitOptions("--maxrregcount 64").maxrregcount == 64);
  CHECK(ptx::ParseJitOptions("-O1").opt_level == 1);
  CHECK(ptx::ParseJitOptions("--opt-level 3").opt_level == 3);
  CHECK(ptx::ParseJitOptions("--generate-line-info").generate_line_info);
  options = ptx::ParseJitOptions(
      " -g --dont-merge-basicblocks --return-at-end --ext-desc-file=\"a b.txt\" --level three -fmad=maybe");
  CHECK(options.debug);
  CHECK(options.fmad);
  CHECK(options.unknown == std::vector<std::string>{"--dont-merge-basicblocks", "--return-at-end",
                                                    "--ext-desc-file=\"a b.txt\"", "--level three",
                                                    "-fmad=maybe"});
}

}  // namespace
}  // namespace ptx2cpu::fatbin_test
