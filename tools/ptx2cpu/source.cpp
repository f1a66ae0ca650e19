// What verbs share: sources, files, progress.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

namespace {
double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
}  // namespace

Result<std::string> ReadWholeFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) return Fail(ErrorCode::kFile, fmt::format("cannot read '{}'", path));
  return std::move(text).str();
}

Status WriteFileAtomically(const std::string& path, std::string_view bytes) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return Fail(ErrorCode::kFile, fmt::format("cannot write '{}'", path));
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool closed = std::fclose(file) == 0;
  std::error_code error;
  if (written && closed) std::filesystem::rename(temporary, path, error);
  if (!written || !closed || error) {
    std::filesystem::remove(temporary, error);
    return Fail(ErrorCode::kFile, fmt::format("cannot write '{}'", path));
  }
  return {};
}

Result<std::vector<Source>> LoadSources(const std::string& file, std::optional<std::string> kernel, const Arguments& arguments) {
  ptx::Device device;
  device.sm = static_cast<uint32_t>(TRY(arguments.Number("--sm", 0, 999)));
  ptx::Extraction extraction = TRY(ptx::ExtractFile(file));
  std::optional<std::string_view> wanted;
  if (kernel) wanted = *kernel;
  std::vector<ptx::PtxImage> images = TRY(ptx::PtxImages(extraction, wanted, device));
  std::vector<Source> sources;
  for (ptx::PtxImage& image : images) {
    Source source;
    const bool plain = extraction.file_kind == ptx::Extraction::FileKind::kPtx;
    source.name = plain ? file : fmt::format("{}({},{})", file, extraction.containers[image.image->container_index].Where(), image.image->Target());
    source.text = std::move(image.text);
    source.options = std::move(image.options);
    source.kernels = std::move(image.kernels);
    sources.push_back(std::move(source));
  }
  return sources;
}

Result<KernelChoice> ChooseKernel(const Arguments& arguments) {
  const std::string file = TRY(arguments.OnlyFile());
  const std::optional<std::string> wanted = arguments.Value("--kernel");
  std::vector<Source> sources = TRY(LoadSources(file, wanted, arguments));
  if (wanted) {
    const std::optional<std::string> name = ptx::MatchKernel(sources.front().kernels, *wanted);
    if (name) return KernelChoice{std::move(sources.front()), *name};
    return Fail(ErrorCode::kNotFound, fmt::format("no kernel '{}' in {}", *wanted, file));
  }
  std::string names;
  size_t count = 0;
  for (const Source& source : sources) {
    for (const std::string& name : source.kernels) names += fmt::format("{}{}", count++ == 0 ? "" : ", ", name);
  }
  if (count == 1) {
    for (Source& source : sources) {
      if (source.kernels.empty()) continue;
      std::string name = source.kernels[0];
      return KernelChoice{std::move(source), std::move(name)};
    }
  }
  Error error{ErrorCode::kNotFound, count == 0 ? fmt::format("{} defines no kernel", file) : fmt::format("{} has {} kernels: say which with --kernel", file, count)};
  error.hint = names;
  return Fail(std::move(error));
}

bool ColoursWanted() { return isatty(STDOUT_FILENO) && std::getenv("NO_COLOR") == nullptr; }

Progress::Progress(std::string what) : what_(std::move(what)), started_(Now()) {}

Progress::~Progress() {
  if (shown_ != 0) std::fputs("\r\033[K", stderr);
}

void Progress::Step(size_t done, size_t total, std::string_view detail) {
  const double now = Now();
  if (now - started_ < 2 || now - shown_ < 0.1 || !isatty(STDERR_FILENO)) return;
  shown_ = now;
  fmt::print(stderr, "\r\033[K{} {}/{} {}", what_, done, total, detail.substr(0, 60));
  std::fflush(stderr);
}

}  // namespace ptx2cpu::tool
