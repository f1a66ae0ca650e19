#include "ir/interpret/private_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ptx2cpu::ir::interpret {

namespace {

// Calls the kernel's write directly: it returns EFAULT where nothing is mapped, while the write of a
// sanitizer reads the bytes first.
ssize_t WriteIfMapped(int pipe, uint64_t address, size_t bytes) {
  return syscall(SYS_write, pipe, reinterpret_cast<const void*>(address), bytes);
}

}  // namespace

PrivateMemory::PrivateMemory() {
  if (pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0) pipe_[0] = pipe_[1] = -1;
}

PrivateMemory::~PrivateMemory() {
  for (const auto& [number, region] : regions_) munmap(region.copies, kRegionBytes);
  for (const int end : pipe_) {
    if (end >= 0) close(end);
  }
}

bool PrivateMemory::CopyPage(uint64_t page, std::byte* to) const {
  const ssize_t written = WriteIfMapped(pipe_[1], page, kPageBytes);
  if (written <= 0) return false;
  const ssize_t got = read(pipe_[0], to, static_cast<size_t>(written));
  return written == static_cast<ssize_t>(kPageBytes) && got == written;
}

bool PrivateMemory::CanRead(uint64_t address) const {
  std::byte byte;
  return WriteIfMapped(pipe_[1], address, 1) == 1 && read(pipe_[0], &byte, 1) == 1;
}

std::byte* PrivateMemory::At(uint64_t address, uint64_t bytes) {
  const uint64_t number = address / kRegionBytes, offset = address % kRegionBytes;
  if (bytes > kRegionBytes - offset) return nullptr;
  auto found = regions_.find(number);
  if (found == regions_.end()) {
    if (regions_.size() == kMaxRegions) return nullptr;
    void* const copies = mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copies == MAP_FAILED) return nullptr;
    found = regions_.emplace(number, Region{static_cast<std::byte*>(copies), {}}).first;
  }
  Region& region = found->second;
  for (uint64_t page = offset / kPageBytes; page * kPageBytes < offset + bytes; ++page) {
    if (region.copied[page]) continue;
    CopyPage(number * kRegionBytes + page * kPageBytes, region.copies + page * kPageBytes);
    region.copied.set(page);
  }
  return region.copies + offset;
}

}  // namespace ptx2cpu::ir::interpret
