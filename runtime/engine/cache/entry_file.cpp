#include "runtime/engine/cache/entry_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <tuple>

namespace ptx2cpu::rt {

namespace {

constexpr char kMagic[8] = {'P', 'T', 'X', '2', 'C', 'P', 'U', 'K'};
constexpr uint32_t kFormat = 2;
constexpr uint64_t kMaxContent = uint64_t{1} << 30;
constexpr std::string_view kUnfinishedPrefix = ".unfinished-";
constexpr size_t kFolderDigits = 2;

struct Header {
  char magic[8];
  uint32_t format;
  uint32_t header_bytes;
  uint64_t content_bytes;
  Digest key;
  Digest checksum;  // of the content
};
static_assert(sizeof(Header) == 88);

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }

  bool Write(const void* data, size_t size) const {
    const auto* at = static_cast<const char*>(data);
    while (size != 0) {
      const ssize_t written = write(descriptor_, at, size);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      at += written;
      size -= static_cast<size_t>(written);
    }
    return true;
  }

  bool Read(void* data, size_t size) const {
    auto* at = static_cast<char*>(data);
    while (size != 0) {
      const ssize_t got = read(descriptor_, at, size);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      at += got;
      size -= static_cast<size_t>(got);
    }
    return true;
  }

 private:
  int descriptor_;
};

// A file beyond the process's limit on sizes would end the process by SIGXFSZ.
bool WithinFileLimit(uint64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

bool ReadHeader(const File& file, Header& header) {
  return file.Read(&header, sizeof header) && std::memcmp(header.magic, kMagic, sizeof kMagic) == 0;
}

bool ReadContent(const File& file, uint64_t file_bytes, const Digest& key, std::string& content) {
  Header header;
  if (!ReadHeader(file, header) || header.format != kFormat || header.header_bytes != sizeof header)
    return false;
  if (header.key != key || header.content_bytes > kMaxContent ||
      header.content_bytes + sizeof header != file_bytes)
    return false;
  content.resize(header.content_bytes);
  return file.Read(content.data(), content.size()) && HashOf(content) == header.checksum;
}

bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// "PROCESS-NUMBER", as WriteEntry makes it.
bool IsWriter(std::string_view text) {
  const auto is_number = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const size_t dash = text.find('-');
  return dash != std::string_view::npos && is_number(text.substr(0, dash)) &&
         is_number(text.substr(dash + 1));
}

// Not blocking: a pipe in its place would wait for ever.
int OpenToRead(int directory, const std::string& name) {
  return openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

}  // namespace

std::string EntryName(const Digest& key) {
  const std::string hex = Hex(key);
  return hex.substr(0, kFolderDigits) + "/" + hex.substr(kFolderDigits);
}

EntryNameKind KindOfEntryName(std::string_view folder, std::string_view file) {
  if (folder.size() != kFolderDigits || !IsHex(folder)) return EntryNameKind::kForeign;
  if (file.starts_with(kUnfinishedPrefix) && IsWriter(file.substr(kUnfinishedPrefix.size())))
    return EntryNameKind::kUnfinished;
  constexpr size_t kDigits = 2 * std::tuple_size_v<Digest>;
  return file.size() == kDigits - kFolderDigits && IsHex(file) ? EntryNameKind::kEntry
                                                               : EntryNameKind::kForeign;
}

bool RemoveEntry(int directory, const std::string& name) {
  {
    const File file(OpenToRead(directory, name));
    struct stat status{};
    Header header;
    if (file.get() < 0 || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_uid != geteuid() || !ReadHeader(file, header) || EntryName(header.key) != name)
      return false;
  }
  return unlinkat(directory, name.c_str(), 0) == 0;
}

uint64_t EntryFileBytes(uint64_t content) { return content + sizeof(Header); }

EntryState ReadEntry(int directory, const std::string& name, const Digest& key, std::string& content) {
  const File file(OpenToRead(directory, name));
  if (file.get() < 0) return errno == ENOENT || errno == ENOTDIR ? EntryState::kAbsent : EntryState::kForeign;
  struct stat status{};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
      (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return EntryState::kForeign;
  }
  if (!ReadContent(file, static_cast<uint64_t>(status.st_size), key, content)) {
    content.clear();
    unlinkat(directory, name.c_str(), 0);
    return EntryState::kDamaged;
  }
  futimens(file.get(), nullptr);  // used now; if that cannot be recorded, it is only removed earlier
  return EntryState::kGood;
}

bool WriteEntry(int directory, const std::string& name, const Digest& key, const std::string& content) {
  if (content.size() > kMaxContent || !WithinFileLimit(EntryFileBytes(content.size()))) return false;
  const size_t slash = name.rfind('/');
  const std::string folder = name.substr(0, slash);
  if (mkdirat(directory, folder.c_str(), 0700) != 0 && errno != EEXIST) return false;
  static std::atomic<unsigned> number = 0;
  const std::string unfinished = folder + "/" + std::string(kUnfinishedPrefix) + std::to_string(getpid()) +
                                 "-" + std::to_string(number++);
  unlinkat(directory, unfinished.c_str(), 0);  // of an earlier process of that number
  bool good = false;
  {
    const File file(
        openat(directory, unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.get() < 0) return false;
    Header header{};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.format = kFormat;
    header.header_bytes = sizeof header;
    header.content_bytes = content.size();
    header.key = key;
    header.checksum = HashOf(content);
    good = file.Write(&header, sizeof header) && file.Write(content.data(), content.size());
  }
  good = good && renameat(directory, unfinished.c_str(), directory, name.c_str()) == 0;
  if (!good) unlinkat(directory, unfinished.c_str(), 0);
  return good;
}

}  // namespace ptx2cpu::rt
