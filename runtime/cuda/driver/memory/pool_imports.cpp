#include "runtime/cuda/driver/memory/pool_imports.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ptx2cpu::driver {

PoolImports::~PoolImports() {
  for (const auto& [block, mapping] : used_) munmap(mapping.base, mapping.bytes);
  for (const Mapping& mapping : freed_) munmap(mapping.base, mapping.bytes);
}

// Called under the lock.
void PoolImports::UnmapDone() {
  std::erase_if(freed_, [](const Mapping& mapping) {
    if (!mapping.freed.Done()) return false;
    munmap(mapping.base, mapping.bytes);
    return true;
  });
}

std::byte* PoolImports::Map(size_t offset, size_t bytes) {
  static const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  struct stat about = {};
  if (fstat(file_.number(), &about) != 0) return nullptr;
  const auto end = static_cast<size_t>(about.st_size);
  if (offset > end || bytes > end - offset) return nullptr;
  const size_t before = offset % page;
  const std::lock_guard lock(mutex_);
  UnmapDone();
  void* const base = mmap(nullptr, before + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(),
                          static_cast<off_t>(offset - before));
  if (base == MAP_FAILED) return nullptr;
  auto* const block = static_cast<std::byte*>(base) + before;
  used_.emplace(block, Mapping{base, before + bytes});
  return block;
}

void PoolImports::Free(std::byte* block, rt::Ticket freed) {
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(block);
  if (found == used_.end()) return;
  Mapping mapping = found->second;
  used_.erase(found);
  mapping.freed = std::move(freed);
  freed_.push_back(std::move(mapping));
  UnmapDone();
}

}  // namespace ptx2cpu::driver
