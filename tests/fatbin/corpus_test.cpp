// nvcc's output in the corpus: the images found in each file are those that the manifest lists.
#include <catch2/catch.hpp>
#include <fstream>
#include <set>
#include <sstream>

#include "ptx-parser/fatbin/fatbin.h"

namespace ptx2cpu::fatbin_test {
namespace {

namespace fs = std::filesystem;

struct CorpusFile {
  fs::path path;
  std::string kind;
  std::set<std::string> ptx, kernels;
};

// The "file" entries of the manifest; its other entries are not about containers.
std::vector<CorpusFile> CorpusFiles() {
  const fs::path corpus = fs::path(PTX2CPU_SOURCE_DIR) / "corpus";
  std::ifstream manifest(corpus / "manifest.txt");
  std::vector<CorpusFile> files;
  bool in_file = false;
  for (std::string line; std::getline(manifest, line);) {
    std::istringstream words(line);
    std::string word, value;
    if (!(words >> word) || word.starts_with('#')) continue;
    if (word == "file" || word == "kernel") {
      in_file = word == "file";
      words >> value;
      if (in_file) files.push_back({.path = corpus / value, .kind = {}, .ptx = {}, .kernels = {}});
    } else if (in_file && word == "kind") {
      words >> files.back().kind;
    } else if (in_file && (word == "ptx" || word == "kernels")) {
      auto& list = word == "ptx" ? files.back().ptx : files.back().kernels;
      while (words >> value) list.insert(value);
    }
  }
  return files;
}

ptx::Extraction::FileKind KindOf(const std::string& kind) {
  using enum ptx::Extraction::FileKind;
  return kind == "fatbin" ? kFatbin : kind == "ptx" ? kPtx : kind == "archive" ? kArchive : kElf;
}

TEST_CASE("every corpus file contains what the manifest lists") {
  const auto files = CorpusFiles();
  REQUIRE(files.size() >= 30);
  for (const CorpusFile& file : files) {
    INFO(file.path.string());
    const auto extraction = ptx::ExtractFile(file.path);
    REQUIRE(extraction.has_value());
    CHECK(extraction->file_kind == KindOf(file.kind));
    CHECK(extraction->warnings.empty());
    std::set<std::string> targets, kernels;
    for (const auto& container : extraction->containers) {
      for (const ptx::Image& image : container.images) {
        if (image.kind != ptx::Image::Kind::kPtx) continue;
        const auto text = image.Decode();
        REQUIRE(text.has_value());
        CHECK_THAT(*text, Catch::Contains(".version " + image.PtxVersion()) &&
                              Catch::Contains(".target " + image.Target()));
        const auto names = ptx::EntryNames(*text);
        kernels.insert(names.begin(), names.end());
        targets.insert(image.Target());
      }
    }
    CHECK(targets == file.ptx);
    if (!targets.empty()) CHECK(kernels == file.kernels);
    for (const ptx::Wrapper& wrapper : extraction->wrappers) CHECK(wrapper.container_index.has_value());
    const bool has_wrapper = file.kind != "fatbin" && file.kind != "ptx";
    CHECK(extraction->wrappers.empty() != has_wrapper);
  }
}

TEST_CASE("a corpus file without PTX is reported as such") {
  size_t without = 0;
  for (const CorpusFile& file : CorpusFiles()) {
    if (!file.ptx.empty()) continue;
    ++without;
    const auto extraction = ptx::ExtractFile(file.path);
    REQUIRE(extraction.has_value());
    const auto images = ptx::PtxImages(*extraction);
    REQUIRE_FALSE(images.has_value());
    CHECK(images.error().code == ErrorCode::kNoPtx);
    CHECK_THAT(images.error().message, Catch::StartsWith("only "));
  }
  CHECK(without >= 1);
}

TEST_CASE("each corpus kernel is found by name, relocatable ones with their pieces") {
  for (const CorpusFile& file : CorpusFiles()) {
    if (file.ptx.empty()) continue;
    INFO(file.path.string());
    const auto extraction = ptx::ExtractFile(file.path);
    REQUIRE(extraction.has_value());
    for (const std::string& kernel : file.kernels) {
      const auto images = ptx::PtxImages(*extraction, kernel);
      REQUIRE(images.has_value());
      CHECK(std::ranges::count(images->front().kernels, kernel) == 1);
      CHECK((images->size() == 1 || images->front().image->relocatable));
    }
  }
}

}  // namespace
}  // namespace ptx2cpu::fatbin_test
