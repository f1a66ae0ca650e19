#include "runtime/engine/cache/kernel_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/engine/cache/entry_file.h"

namespace ptx2cpu::rt {

namespace {

constexpr time_t kUnfinishedSeconds = 3600;  // an unfinished file of this age has lost its writer

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Kept {
  std::string name;
  timespec used;
  uint64_t bytes;
};

template <typename Visit>
void ForEachName(int parent, const char* folder, const Visit& visit) {
  const int descriptor = openat(parent, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return;
  DIR* listing = fdopendir(descriptor);
  if (listing == nullptr) {
    close(descriptor);
    return;
  }
  while (const dirent* entry = readdir(listing)) {
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      visit(std::string(entry->d_name));
  }
  closedir(listing);
}

// Lists all files that have an entry's name; removes files that a dead writer left.
std::vector<Kept> ListEntries(int directory) {
  std::vector<Kept> entries;
  const time_t now = std::time(nullptr);
  ForEachName(directory, ".", [&](const std::string& folder) {
    if (folder.size() != 2) return;
    ForEachName(directory, folder.c_str(), [&](const std::string& file) {
      const EntryNameKind kind = KindOfEntryName(folder, file);
      if (kind == EntryNameKind::kForeign) return;
      struct stat status{};
      const std::string name = folder + "/" + file;
      if (fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
        return;
      if (kind == EntryNameKind::kUnfinished) {
        if (now - status.st_mtim.tv_sec > kUnfinishedSeconds) unlinkat(directory, name.c_str(), 0);
        return;
      }
      entries.push_back({name, status.st_mtim, static_cast<uint64_t>(status.st_size)});
    });
  });
  return entries;
}

// Opened for one operation: if a program closes all descriptors, the number of a kept one becomes that of
// another file.
class OpenDirectory {
 public:
  explicit OpenDirectory(int descriptor) : descriptor_(descriptor) {}
  ~OpenDirectory() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenDirectory(const OpenDirectory&) = delete;
  OpenDirectory& operator=(const OpenDirectory&) = delete;
  int get() const { return descriptor_; }

 private:
  const int descriptor_;
};

}  // namespace

struct KernelCache::State {
  std::mutex mutex;
  bool refused = false;   // the directory is not ours: reported once, not tried again
  uint64_t estimate = 0;  // bytes on disk: as last counted, and what this process has added
  uint64_t added = 0;     // since counting
  bool counted = false;
  bool warned = false;
  std::atomic<uint64_t> hits = 0, misses = 0, stored = 0, damaged = 0, refusals = 0, evicted = 0;
};

KernelCache::Settings KernelCache::FromEnvironment() {
  Settings settings;
  if (const std::string disable = Variable("CUDA_CACHE_DISABLE"); !disable.empty() && disable != "0")
    return settings;
  if (const std::string path = Variable("CUDA_CACHE_PATH"); !path.empty()) {
    settings.directory = std::filesystem::path(path) / "ptx2cpu";
  } else if (const std::string xdg = Variable("XDG_CACHE_HOME"); xdg.starts_with('/')) {
    settings.directory = std::filesystem::path(xdg) / "ptx2cpu";
  } else if (const std::string home = Variable("HOME"); home.starts_with('/')) {
    settings.directory = std::filesystem::path(home) / ".cache" / "ptx2cpu";
  }
  const std::string size = Variable("CUDA_CACHE_MAXSIZE");
  uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), bytes);
  if (!size.empty() && error == std::errc() && end == size.data() + size.size()) settings.most_bytes = bytes;
  return settings;
}

KernelCache* KernelCache::Get() {
  // Never destroyed: kernels may compile while the process ends.
  static KernelCache* cache = [] {
    Settings settings = FromEnvironment();
    return settings.directory.empty() || settings.most_bytes == 0 ? nullptr
                                                                  : new KernelCache(std::move(settings));
  }();
  return cache;
}

namespace {

// The program may change its working directory later.
KernelCache::Settings WithWholePath(KernelCache::Settings settings) {
  std::error_code ignored;
  if (auto whole = std::filesystem::absolute(settings.directory, ignored); !ignored)
    settings.directory = std::move(whole);
  return settings;
}

}  // namespace

KernelCache::KernelCache(Settings settings)
    : settings_(WithWholePath(std::move(settings))), state_(std::make_unique<State>()) {}

KernelCache::~KernelCache() = default;

KernelCache::Counts KernelCache::counts() const {
  return {state_->hits, state_->misses, state_->stored, state_->damaged, state_->refusals, state_->evicted};
}

void KernelCache::Warn(const std::string& what) {
  if (std::exchange(state_->warned, true)) return;
  std::fprintf(stderr, "ptx2cpu: compiled kernels are not cached on disk: %s\n", what.c_str());
}

// With the lock held. Negative: no usable directory.
int KernelCache::Open(bool make) {
  State& s = *state_;
  if (s.refused) return -1;
  const char* path = settings_.directory.c_str();
  if (make) {
    if (mkdir(path, 0700) != 0 && errno == ENOENT) {
      std::error_code ignored;
      std::filesystem::create_directories(settings_.directory.parent_path(), ignored);
      static_cast<void>(mkdir(path, 0700));
    }
  }
  const int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    // A missing or read-only home is nothing to talk about.
    s.refused = make;
    return -1;
  }
  struct stat status{};
  if (fstat(descriptor, &status) != 0 || status.st_uid != geteuid() ||
      (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    close(descriptor);
    s.refused = true;
    Warn(settings_.directory.string() + " belongs to or can be written by another user");
    return -1;
  }
  return descriptor;
}

std::optional<std::string> KernelCache::Find(const Digest& key) {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  const OpenDirectory directory(Open(false));
  lock.unlock();
  if (directory.get() < 0) {
    ++s.misses;
    return std::nullopt;
  }
  std::string content;
  const EntryState state = ReadEntry(directory.get(), EntryName(key), key, content);
  if (state == EntryState::kGood) {
    ++s.hits;
    return content;
  }
  ++s.misses;
  if (state == EntryState::kDamaged) ++s.damaged;
  if (state == EntryState::kForeign) ++s.refusals;
  return std::nullopt;
}

bool KernelCache::Has(const Digest& key) {
  std::unique_lock lock(state_->mutex);
  const OpenDirectory directory(Open(false));
  lock.unlock();
  return directory.get() >= 0 && faccessat(directory.get(), EntryName(key).c_str(), R_OK, 0) == 0;
}

void KernelCache::Keep(const Digest& key, const std::string& content) {
  State& s = *state_;
  const uint64_t bytes = EntryFileBytes(content.size());
  if (bytes > settings_.most_bytes) return;
  std::unique_lock lock(s.mutex);
  const OpenDirectory directory(Open(true));
  if (directory.get() < 0) return;
  MakeRoom(directory.get(), bytes);
  lock.unlock();
  if (!WriteEntry(directory.get(), EntryName(key), key, content)) return;
  ++s.stored;
  lock.lock();
  s.estimate += bytes;
  s.added += bytes;
}

// With the lock held. Other processes add too, so the sum is taken anew now and then.
void KernelCache::MakeRoom(int directory, uint64_t bytes) {
  State& s = *state_;
  if (s.counted && s.added < settings_.most_bytes / 16 && s.estimate + bytes <= settings_.most_bytes) return;
  std::vector<Kept> entries = ListEntries(directory);
  s.counted = true;
  s.added = s.estimate = 0;
  for (const Kept& entry : entries) s.estimate += entry.bytes;
  if (s.estimate + bytes <= settings_.most_bytes) return;
  // One process at a time makes room; the others continue meanwhile.
  const int lock = openat(directory, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0) {
    std::ranges::sort(entries, [](const Kept& a, const Kept& b) {
      return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec : a.used.tv_nsec < b.used.tv_nsec;
    });
    // Some room more than requested, so that not every entry needs this.
    const uint64_t target =
        settings_.most_bytes - std::min(settings_.most_bytes, std::max(bytes, settings_.most_bytes / 8));
    for (const Kept& entry : entries) {
      if (s.estimate <= target) break;
      if (RemoveEntry(directory, entry.name)) ++s.evicted;
      s.estimate -= entry.bytes;
    }
  }
  if (lock >= 0) close(lock);
}

}  // namespace ptx2cpu::rt
