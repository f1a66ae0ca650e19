#include "runtime/cuda/driver/context/memory_limits.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace ptx2cpu::driver {

namespace {

// The number in a file; nothing for "max" and unreadable files.
std::optional<size_t> NumberIn(const std::string& path) {
  std::ifstream in(path);
  size_t value = 0;
  return in >> value ? std::optional(value) : std::nullopt;
}

std::optional<size_t> MemInfo(const std::string& key) {
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string name;
    size_t kibibytes = 0;
    if (fields >> name >> kibibytes && name == key + ":") return kibibytes * 1024;
  }
  return std::nullopt;
}

struct Limit {
  size_t most = SIZE_MAX, used = 0;
};

// The control group's limit, version 2 or 1. Inside a container the group's own files are at the root.
Limit GroupLimit() {
  std::string group;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  Limit limit;
  for (const std::string& folder : {"/sys/fs/cgroup" + group, std::string("/sys/fs/cgroup")}) {
    const auto most = NumberIn(folder + "/memory.max");
    if (most && *most < limit.most) limit = {*most, NumberIn(folder + "/memory.current").value_or(0)};
  }
  const auto old = NumberIn("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  if (old && *old < limit.most)
    limit = {*old, NumberIn("/sys/fs/cgroup/memory/memory.usage_in_bytes").value_or(0)};
  return limit;
}

}  // namespace

MemoryLimits::MemoryLimits(size_t total, size_t free)
    : total_(total), free_at_start_(std::min(total, free)) {}

MemoryLimits& MemoryLimits::Get() {
  static auto* limits = [] {
    const size_t pages = static_cast<size_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L)) *
                         static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const Limit group = GroupLimit();
    const size_t total = std::min(MemInfo("MemTotal").value_or(pages), group.most);
    const size_t in_group = group.most - std::min(group.used, group.most);
    return new MemoryLimits(total, std::min(MemInfo("MemAvailable").value_or(total), in_group));
  }();
  return *limits;
}

size_t MemoryLimits::free() const {
  const size_t taken = taken_.load(std::memory_order_relaxed);
  return taken < free_at_start_ ? free_at_start_ - taken : 0;
}

bool MemoryLimits::Take(size_t bytes) {
  size_t taken = taken_.load(std::memory_order_relaxed);
  do {
    if (bytes > total_ || taken > total_ - bytes) return false;
  } while (!taken_.compare_exchange_weak(taken, taken + bytes, std::memory_order_relaxed));
  return true;
}

}  // namespace ptx2cpu::driver
