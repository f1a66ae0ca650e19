#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "ptx-parser/fatbin/fatbin.h"
#include "ptx-parser/fatbin/file_error.h"
#include "ptx-parser/fatbin/guard.h"

namespace ptx2cpu::ptx {
namespace {

constexpr uint64_t kMaxPipe = uint64_t{4} << 30;  // bytes taken from a file that cannot be mapped

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct FileBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> storage;
};

Result<FileBytes> ReadStream(int fd, const std::filesystem::path& path) {
  auto buffer = std::make_shared<std::vector<std::byte>>();
  constexpr size_t kStep = size_t{1} << 20;
  while (true) {
    const size_t had = buffer->size();
    if (had > kMaxPipe) return Fail(fatbin::FileError(path, "read so much from a stream", EFBIG));
    buffer->resize(had + kStep);
    const ssize_t got = ::read(fd, buffer->data() + had, kStep);
    buffer->resize(had + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Fail(fatbin::FileError(path, "read", errno));
    if (got == 0) return FileBytes{*buffer, buffer};
  }
}

Result<FileBytes> MapFile(int fd, size_t size, const std::filesystem::path& path) {
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) return Fail(fatbin::FileError(path, "map", errno));
  std::shared_ptr<const void> storage(
      address, [size](const void* mapped) { ::munmap(const_cast<void*>(mapped), size); });
  ::madvise(address, size, MADV_SEQUENTIAL);
  return FileBytes{{static_cast<const std::byte*>(address), size}, std::move(storage)};
}

Result<FileBytes> ReadFile(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return Fail(fatbin::FileError(path, "open", errno));
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return Fail(fatbin::FileError(path, "examine", errno));
  if (S_ISDIR(status.st_mode)) return Fail(fatbin::FileError(path, "read", EISDIR));
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    return MapFile(file.get(), static_cast<size_t>(status.st_size), path);
  }
  return ReadStream(file.get(), path);
}

}  // namespace

Result<Extraction> ExtractFile(const std::filesystem::path& path) {
  return fatbin::Guarded("reading a file", [&]() -> Result<Extraction> {
    FileBytes file = TRY(ReadFile(path));
    Extraction extraction = TRY(Extract(file.bytes, path.string()));
    extraction.storage = std::move(file.storage);
    return extraction;
  });
}

}  // namespace ptx2cpu::ptx
