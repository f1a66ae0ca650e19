// Writes PTX files so that a failure leaves none: all are complete under temporary names in the target
// folder before the first one is renamed.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <system_error>

#include "ptx-parser/fatbin/fatbin.h"
#include "ptx-parser/fatbin/file_error.h"
#include "ptx-parser/fatbin/guard.h"
#include "ptx-parser/fatbin/printable.h"

namespace ptx2cpu::ptx {
namespace {

namespace fs = std::filesystem;

// Temporary files of one call; those not committed are removed, and so is a folder that this call made.
class Batch {
 public:
  Batch() = default;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch() {
    if (committed_) return;
    std::error_code ignored;
    for (const auto& file : files_) fs::remove(file.second, ignored);
    // Deepest first; a folder that got other files meanwhile stays.
    for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) fs::remove(*folder, ignored);
  }

  Status MakeFolder(const fs::path& dir) {
    std::error_code problem;
    fs::path missing = dir.lexically_normal();
    std::vector<fs::path> chain;
    for (; !missing.empty() && !fs::exists(missing, problem); missing = missing.parent_path())
      chain.push_back(missing);
    for (auto folder = chain.rbegin(); folder != chain.rend(); ++folder) {
      if (fs::create_directory(*folder, problem)) made_.push_back(*folder);
      if (problem) return Fail(fatbin::FileError(*folder, "make the folder", problem.value()));
    }
    if (!fs::is_directory(dir, problem)) return Fail(fatbin::FileError(dir, "write into it", ENOTDIR));
    return {};
  }

  Status Add(const fs::path& target, std::string_view text) {
    fs::path temporary =
        target.parent_path() / fmt::format(".{}.{}.part", target.filename().string(), ::getpid());
    std::FILE* const file = std::fopen(temporary.c_str(), "wbx");
    if (file == nullptr) return Fail(fatbin::FileError(temporary, "create", errno));
    files_.emplace_back(target, temporary);
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const int write_error = errno;
    if (std::fclose(file) != 0) return Fail(fatbin::FileError(temporary, "write", errno));
    if (!written) return Fail(fatbin::FileError(temporary, "write", write_error));
    return {};
  }

  Result<std::vector<fs::path>> Commit() {
    std::vector<fs::path> done;
    for (auto& [target, temporary] : files_) {
      std::error_code problem;
      fs::rename(temporary, target, problem);
      if (problem) {
        std::error_code ignored;
        for (const fs::path& renamed : done) fs::remove(renamed, ignored);
        return Fail(fatbin::FileError(target, "write", problem.value()));
      }
      done.push_back(target);
    }
    committed_ = true;
    return done;
  }

  bool empty() const { return files_.empty(); }

 private:
  std::vector<std::pair<fs::path, fs::path>> files_;  // target, temporary
  std::vector<fs::path> made_;
  bool committed_ = false;
};

std::string BaseName(const Extraction& extraction, const Container& container, const Image& image) {
  std::string name = fatbin::ForFileName(fs::path(extraction.name).stem().string());
  if (!container.member.empty()) name += "." + fatbin::ForFileName(container.member);
  const std::string target = image.sm == 0 ? "sm_unknown" : image.Target();
  return fmt::format("{}.{}.{}", name, image.container_index, target);
}

bool HasPtx(const Extraction& extraction) {
  for (const Container& container : extraction.containers) {
    for (const Image& image : container.images) {
      if (image.kind == Image::Kind::kPtx) return true;
    }
  }
  return false;
}

Result<WriteReport> WriteUnguarded(const Extraction& extraction, const fs::path& dir) {
  // Without any PTX, this is the error that names what the file has instead.
  if (!HasPtx(extraction)) return Fail(PtxImages(extraction).error());
  Batch batch;
  TRY_STATUS(batch.MakeFolder(dir));
  WriteReport report;
  std::map<std::string, size_t> used;
  for (const Container& container : extraction.containers) {
    for (const Image& image : container.images) {
      if (image.kind != Image::Kind::kPtx) continue;
      auto text = image.Decode();
      if (!text) {
        report.failures.push_back(std::move(text).error());
        continue;
      }
      const std::string base = BaseName(extraction, container, image);
      const size_t same = ++used[base];
      TRY_STATUS(batch.Add(dir / (same == 1 ? base + ".ptx" : fmt::format("{}-{}.ptx", base, same)), *text));
    }
  }
  if (batch.empty()) {
    Error first = std::move(report.failures.front());
    first.more.assign(std::make_move_iterator(report.failures.begin() + 1),
                      std::make_move_iterator(report.failures.end()));
    return Fail(std::move(first));
  }
  report.files = TRY(batch.Commit());
  return report;
}

}  // namespace

Result<WriteReport> WritePtx(const Extraction& extraction, const fs::path& dir) {
  return fatbin::Guarded("writing PTX", [&]() { return WriteUnguarded(extraction, dir); });
}

}  // namespace ptx2cpu::ptx
