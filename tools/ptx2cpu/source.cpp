// What verbs share: sources, files, progress.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

namespace {
double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
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

namespace {

Source MakeSource(std::vector<ptx::PtxImage> images, const std::string& file,
                  const ptx::Extraction& extraction) {
  Source source;
  source.linked = images.front().image->relocatable;
  source.options = images.front().options;
  source.kernels = ptx::KernelsOf(images);
  for (ptx::PtxImage& image : images) {
    const bool plain = extraction.file_kind == ptx::Extraction::FileKind::kPtx;
    source.texts.push_back(
        {std::move(image.text),
         plain ? file
               : fmt::format("{}({},{})", file, extraction.containers[image.image->container_index].Where(),
                             image.image->Target())});
  }
  return source;
}

// Several files are one program.
std::vector<Source> Join(std::vector<Source> parts) {
  Source whole = std::move(parts.front());
  whole.linked = true;
  for (size_t i = 1; i < parts.size(); ++i) {
    whole.texts.insert(whole.texts.end(), std::move_iterator(parts[i].texts.begin()),
                       std::move_iterator(parts[i].texts.end()));
    for (std::string& kernel : parts[i].kernels) {
      if (std::ranges::find(whole.kernels, kernel) == whole.kernels.end())
        whole.kernels.push_back(std::move(kernel));
    }
  }
  parts.resize(1);
  parts[0] = std::move(whole);
  return parts;
}

}  // namespace

Result<std::vector<Source>> LoadSourcesOf(const std::string& file, const Arguments& arguments) {
  ptx::Device device;
  device.sm = static_cast<uint32_t>(TRY(arguments.Number("--sm", 0, 999)));
  const ptx::Extraction extraction = TRY(ptx::ExtractFile(file));
  std::vector<Source> sources;
  for (std::vector<ptx::PtxImage>& images :
       ptx::ByProgram(TRY(ptx::PtxImages(extraction, std::nullopt, device))))
    sources.push_back(MakeSource(std::move(images), file, extraction));
  return sources;
}

Result<std::vector<Source>> LoadSources(std::optional<std::string> kernel, const Arguments& arguments) {
  if (arguments.plain().empty()) return Fail(ErrorCode::kUsage, "which FILE?");
  const bool one_file = arguments.plain().size() == 1;
  ptx::Device device;
  device.sm = static_cast<uint32_t>(TRY(arguments.Number("--sm", 0, 999)));
  std::optional<std::string_view> wanted;
  if (kernel && one_file) wanted = *kernel;
  std::vector<Source> sources;
  for (const std::string& file : arguments.plain()) {
    const ptx::Extraction extraction = TRY(ptx::ExtractFile(file));
    for (std::vector<ptx::PtxImage>& images : ptx::ByProgram(TRY(ptx::PtxImages(extraction, wanted, device))))
      sources.push_back(MakeSource(std::move(images), file, extraction));
  }
  return one_file ? std::move(sources) : Join(std::move(sources));
}

Result<KernelChoice> ChooseKernel(const Arguments& arguments) {
  const std::optional<std::string> wanted = arguments.Value("--kernel");
  std::vector<Source> sources = TRY(LoadSources(wanted, arguments));
  const std::string& file = arguments.plain()[0];
  if (wanted) {
    const std::optional<std::string> name = ptx::MatchKernel(sources.front().kernels, *wanted);
    if (name) return KernelChoice{std::move(sources.front()), *name};
    return Fail(ErrorCode::kNotFound, fmt::format("no kernel '{}' in {}", *wanted, file));
  }
  std::string names;
  size_t count = 0;
  for (const Source& source : sources) {
    for (const std::string& name : source.kernels)
      names += fmt::format("{}{}", count++ == 0 ? "" : ", ", name);
  }
  if (count == 1) {
    for (Source& source : sources) {
      if (source.kernels.empty()) continue;
      std::string name = source.kernels[0];
      return KernelChoice{std::move(source), std::move(name)};
    }
  }
  Error error{ErrorCode::kNotFound,
              count == 0 ? fmt::format("{} defines no kernel", file)
                         : fmt::format("{} has {} kernels: choose one with --kernel", file, count)};
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
