#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "ptx-parser/fatbin/json_writer.h"
#include "runtime/engine/cache/kernel_cache.h"
#include "runtime/engine/warm.h"
#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

namespace {

namespace fs = std::filesystem;
using ptx::fatbin::QuotedJson;

constexpr uint64_t kReportedCapability = 90;  // of the devices that programs see, unless --sm is given

struct FileReport {
  std::string file;
  rt::WarmReport report;
};

// What a program would load; "9.0" means 90.
Result<uint32_t> CapabilityWanted(const Arguments& arguments) {
  uint64_t otherwise = kReportedCapability;
  if (const char* given = std::getenv("PTX2CPU_COMPUTE_CAPABILITY")) {
    std::string digits = given;
    std::erase(digits, '.');
    if (const int number = std::atoi(digits.c_str()); number > 0) otherwise = static_cast<uint64_t>(number);
  }
  return static_cast<uint32_t>(TRY(arguments.Number("--sm", otherwise, 999)));
}

// Plain files in name order; of a directory all below it.
Result<std::vector<std::string>> FilesOf(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const size_t first = files.size();
    for (auto entry =
             fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied, error);
         !error && entry != fs::end(entry); entry.increment(error)) {
      if (entry->is_regular_file(error) && !entry->is_symlink(error)) files.push_back(entry->path());
    }
    if (error) return Fail(ErrorCode::kFile, fmt::format("cannot list '{}': {}", path, error.message()));
    std::sort(files.begin() + static_cast<ptrdiff_t>(first), files.end());
  }
  return files;
}

void PrintText(const FileReport& one) {
  fmt::print("{}: {} kernels, {} already in the cache, {} compiled, {} refused\n", one.file,
             one.report.kernels, one.report.hits, one.report.compiled, one.report.refused.size());
  for (const auto& refusal : one.report.refused) {
    const std::string line =
        refusal.error.at.line == 0 ? "" : fmt::format(" (line {})", refusal.error.at.line);
    fmt::print("  refused {}: {}{}\n", refusal.kernel, refusal.error.message, line);
  }
}

std::string JsonOf(const FileReport& one) {
  std::string refused;
  for (const auto& refusal : one.report.refused) {
    refused += fmt::format("{}{{\"kernel\": {}, \"error\": {}, \"message\": {}, \"line\": {}}}",
                           refused.empty() ? "" : ", ", QuotedJson(refusal.kernel),
                           QuotedJson(Name(refusal.error.code)), QuotedJson(refusal.error.message),
                           refusal.error.at.line);
  }
  return fmt::format("{{\"file\": {}, \"kernels\": {}, \"hits\": {}, \"compiled\": {}, \"refused\": [{}]}}",
                     QuotedJson(one.file), one.report.kernels, one.report.hits, one.report.compiled, refused);
}

}  // namespace

Status RunWarm(const Arguments& arguments) {
  if (arguments.plain().empty()) return Fail(ErrorCode::kUsage, "warm needs a FILE or a directory");
  rt::KernelCache* cache = rt::KernelCache::Get();
  if (cache == nullptr) {
    return Fail(
        Error{.code = ErrorCode::kUsage,
              .message = "no cache to compile into",
              .hint = "CUDA_CACHE_DISABLE is set, or neither CUDA_CACHE_PATH, XDG_CACHE_HOME nor HOME is"});
  }
  const uint32_t sm = TRY(CapabilityWanted(arguments));
  const auto threads = static_cast<unsigned>(TRY(arguments.Number("--threads", 0, 4096)));
  const auto start = std::chrono::steady_clock::now();
  Progress progress("compiling");
  std::vector<FileReport> reports;
  std::optional<Error> failure;
  for (const std::string& file : TRY(FilesOf(arguments.plain()))) {
    auto sources = rt::SourcesInFile(file, sm);
    if (!sources) {  // in a directory most files are not CUDA files
      const bool named = std::ranges::find(arguments.plain(), file) != arguments.plain().end();
      if (named && !failure) failure = std::move(sources).error();
      continue;
    }
    reports.push_back({file, rt::Warm(*std::move(sources), threads,
                                      [&](size_t done, size_t total, std::string_view kernel) {
                                        progress.Step(done, total, kernel);
                                      })});
  }
  FileReport sum{"all", {}};
  std::string json;
  for (const FileReport& one : reports) {
    sum.report.kernels += one.report.kernels;
    sum.report.hits += one.report.hits;
    sum.report.compiled += one.report.compiled;
    sum.report.refused.insert(sum.report.refused.end(), one.report.refused.begin(), one.report.refused.end());
    json += (json.empty() ? "" : ", ") + JsonOf(one);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const uint64_t written = cache->counts().stored;
  if (arguments.Has("--json")) {
    fmt::print(
        "{{\"cache\": {}, \"files\": [{}], \"kernels\": {}, \"hits\": {}, \"compiled\": {}, \"written\": {}, "
        "\"refused\": {}, \"seconds\": {:.3f}}}\n",
        QuotedJson(cache->directory().string()), json, sum.report.kernels, sum.report.hits,
        sum.report.compiled, written, sum.report.refused.size(), seconds);
  } else {
    for (const FileReport& one : reports) PrintText(one);
    fmt::print(
        "{} kernels in {} files, {} already in the cache, {} compiled, {} refused, {:.1f} s; cache {}\n",
        sum.report.kernels, reports.size(), sum.report.hits, sum.report.compiled, sum.report.refused.size(),
        seconds, cache->directory().string());
  }
  if (failure) return Fail(*std::move(failure));
  if (reports.empty()) return Fail(ErrorCode::kNoPtx, "no file with PTX");
  if (written < sum.report.compiled)
    return Fail(ErrorCode::kFile,
                fmt::format("{} of {} compiled kernels could not be written to {}",
                            sum.report.compiled - written, sum.report.compiled, cache->directory().string()));
  return {};
}

}  // namespace ptx2cpu::tool
