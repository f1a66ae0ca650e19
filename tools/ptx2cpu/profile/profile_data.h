// The files that profiled processes left (runtime/profile/profile_file.h).
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"
#include "lowering/load/kernel_image.h"
#include "runtime/profile/profile_file.h"

namespace ptx2cpu::tool::profile {

using namespace rt::profile;

class Process {
 public:
  // Errors: kFile (no profile, or one of another build).
  static Result<std::unique_ptr<Process>> Open(const std::filesystem::path& file);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const File& file() const { return *file_; }
  std::string_view Text(uint32_t offset) const;
  std::span<const CodeRow> codes() const {
    return {file_->codes, std::min<size_t>(file_->code_count, kMaxCodes)};
  }
  std::span<const CallRow> calls() const {
    return {file_->calls, std::min<size_t>(file_->call_count, kMaxCalls)};
  }
  std::span<const CompileRow> compiles() const {
    return {file_->compiles, std::min<size_t>(file_->compile_count, kMaxCompiles)};
  }
  std::span<const EventRow> events() const {
    return {file_->event_rows, static_cast<size_t>(std::min<uint64_t>(file_->events, kMaxEvents))};
  }
  // The samples of one code: offset and count.
  std::vector<std::pair<uint32_t, uint64_t>> SamplesOf(size_t code) const;
  Result<std::vector<std::string>> ModuleTexts(const CodeRow& row) const;
  Result<lowering::KernelImage> ImageOf(size_t code) const;

 private:
  Process() = default;
  std::string prefix_;  // of the files beside it
  const File* file_ = nullptr;
};

// All processes of a folder, the first one first. Errors: kFile (there is none).
Result<std::vector<std::unique_ptr<Process>>> OpenFolder(const std::filesystem::path& folder);

}  // namespace ptx2cpu::tool::profile
