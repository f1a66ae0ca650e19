#include "runtime/recording/replay_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ptx2cpu::rt::recording {

namespace {

// The bytes that the driver leaves accessible before and after an allocation
// (runtime/cuda/driver/memory/memory_heap).
constexpr uint64_t kAround = uint64_t{2} << 20;

// False: something is there, or the system has no memory.
bool Map(uint64_t begin, uint64_t end) {
  void* const wanted = reinterpret_cast<void*>(begin);
  void* const got = mmap(wanted, end - begin, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == wanted) return true;
  if (got != MAP_FAILED) munmap(got, end - begin);  // a system that does not know the flag
  return false;
}

struct Pages {
  uint64_t begin = 0, end = 0;
};

// The pages of all areas, in order; those that touch are one.
std::vector<Pages> PagesOf(std::span<const LaunchRecord> launches, uint64_t around) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::vector<Pages> all;
  for (const LaunchRecord& launch : launches) {
    for (const Area& area : launch.areas) {
      const uint64_t begin = area.address - std::min(area.address, around);
      all.push_back({begin / page * page, (area.address + area.bytes + around + page - 1) / page * page});
    }
  }
  std::ranges::sort(all, {}, &Pages::begin);
  std::vector<Pages> joined;
  for (const Pages& pages : all) {
    if (!joined.empty() && pages.begin <= joined.back().end)
      joined.back().end = std::max(joined.back().end, pages.end);
    else
      joined.push_back(pages);
  }
  return joined;
}

}  // namespace

Result<ReplayMemory> ReplayMemory::Reserve(std::span<const LaunchRecord> launches) {
  ReplayMemory memory;
  const std::vector<Pages> needed = PagesOf(launches, 0);
  for (const Pages& pages : needed) {
    if (!Map(pages.begin, pages.end))
      return Fail(ErrorCode::kNotFound, "a recorded address is not free in this process");
    memory.mappings_.push_back({pages.begin, pages.end});
  }
  // What is around them, where it is free.
  size_t next = 0;
  for (const Pages& wide : PagesOf(launches, kAround)) {
    uint64_t begin = wide.begin;
    for (; next < needed.size() && needed[next].begin < wide.end; ++next) {
      if (needed[next].begin > begin && Map(begin, needed[next].begin))
        memory.mappings_.push_back({begin, needed[next].begin});
      begin = needed[next].end;
    }
    if (begin < wide.end && Map(begin, wide.end)) memory.mappings_.push_back({begin, wide.end});
  }
  return memory;
}

ReplayMemory::~ReplayMemory() {
  for (const Mapping& mapping : mappings_)
    munmap(reinterpret_cast<void*>(mapping.begin), mapping.end - mapping.begin);
}

Status ReplayMemory::Clear() {
  for (const Mapping& mapping : mappings_) {
    if (madvise(reinterpret_cast<void*>(mapping.begin), mapping.end - mapping.begin, MADV_DONTNEED) != 0)
      return Fail(ErrorCode::kInternal, std::string("cannot clear memory: ") + std::strerror(errno));
  }
  return {};
}

}  // namespace ptx2cpu::rt::recording
