#include "tools/ptx2cpu/profile/profile_data.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "runtime/engine/cache/image_bytes.h"
#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool::profile {

namespace fs = std::filesystem;

Result<std::unique_ptr<Process>> Process::Open(const fs::path& path) {
  const auto bad = [&] {
    return Fail(ErrorCode::kFile, fmt::format("'{}' is no profile of this build", path.string()));
  };
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (file < 0 || fstat(file, &status) != 0 || static_cast<size_t>(status.st_size) != sizeof(File)) {
    if (file >= 0) close(file);
    return bad();
  }
  void* const mapped = mmap(nullptr, sizeof(File), PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return bad();
  std::unique_ptr<Process> process(new Process);
  process->file_ = static_cast<const File*>(mapped);
  process->prefix_ = path.string().substr(0, path.string().size() - std::strlen("profile"));
  if (process->file_->magic != kMagic || process->file_->bytes != sizeof(File)) return bad();
  return process;
}

Process::~Process() {
  if (file_ != nullptr) munmap(const_cast<File*>(file_), sizeof(File));
}

std::string_view Process::Text(uint32_t offset) const {
  return offset < kTextBytes
             ? std::string_view(file_->text + offset, strnlen(file_->text + offset, kTextBytes - offset))
             : std::string_view();
}

std::vector<std::pair<uint32_t, uint64_t>> Process::SamplesOf(size_t code) const {
  std::vector<std::pair<uint32_t, uint64_t>> samples;
  for (const SampleRow& row : file_->sample_rows) {
    if (row.code == code + 1 && row.count != 0) samples.emplace_back(row.offset, row.count);
  }
  return samples;
}

Result<std::vector<std::string>> Process::ModuleTexts(const CodeRow& row) const {
  std::vector<std::string> texts;
  for (uint32_t n = 0; n < row.module_texts; ++n)
    texts.push_back(TRY(ReadWholeFile(fmt::format("{}module-{}-{}.ptx", prefix_, row.module, n))));
  return texts;
}

Result<lowering::KernelImage> Process::ImageOf(size_t code) const {
  const std::string bytes = TRY(ReadWholeFile(fmt::format("{}code-{}.image", prefix_, code)));
  auto image = rt::FromBytes<lowering::KernelImage>(bytes);
  if (!image) return Fail(ErrorCode::kFile, "damaged image");
  return *std::move(image);
}

Result<std::vector<std::unique_ptr<Process>>> OpenFolder(const fs::path& folder) {
  std::vector<std::unique_ptr<Process>> processes;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".profile") processes.push_back(TRY(Process::Open(entry.path())));
  }
  if (processes.empty())
    return Fail(ErrorCode::kFile,
                fmt::format("no process left a profile in '{}': none launched a kernel or called CUDA",
                            folder.string()));
  std::ranges::sort(processes, {}, [](const auto& process) { return process->file().begin; });
  return processes;
}

}  // namespace ptx2cpu::tool::profile
