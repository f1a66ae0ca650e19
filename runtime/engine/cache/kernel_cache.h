// Compiled kernels on disk. Every operation may fail silently: then the kernel is compiled, as without a
// cache.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "runtime/engine/cache/content_hash.h"

namespace ptx2cpu::rt {

class KernelCache {
 public:
  struct Settings {
    std::filesystem::path directory;  // made when first written to; empty: no cache
    uint64_t most_bytes = uint64_t{1} << 30;
  };
  // Settings from the environment variables that README.md lists.
  static Settings FromEnvironment();
  // The process's cache; null if there is none.
  static KernelCache* Get();

  explicit KernelCache(Settings settings);
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  std::optional<std::string> Find(const Digest& key);
  // Whether there is an entry; it may be damaged. Not counted.
  bool Has(const Digest& key);
  void Keep(const Digest& key, const std::string& content);

  const std::filesystem::path& directory() const { return settings_.directory; }
  struct Counts {
    uint64_t hits = 0, misses = 0, stored = 0, damaged = 0, refused = 0, evicted = 0;
  };
  Counts counts() const;

 private:
  int Open(bool make);
  void MakeRoom(int directory, uint64_t bytes);
  void Warn(const std::string& what);

  const Settings settings_;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ptx2cpu::rt
