// Bytes that end where memory does.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstddef>

namespace ptx2cpu::llvm_test {

class EndOfMemory {
 public:
  explicit EndOfMemory(size_t bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t pages = (bytes + page - 1) / page * page + page;
    mapped_ = pages + page;
    base_ = static_cast<std::byte*>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(base_ != MAP_FAILED);
    REQUIRE(mprotect(base_ + page, pages - page, PROT_READ | PROT_WRITE) == 0);
    begin_ = base_ + pages - bytes;
  }
  ~EndOfMemory() { munmap(base_, mapped_); }
  EndOfMemory(const EndOfMemory&) = delete;
  EndOfMemory& operator=(const EndOfMemory&) = delete;
  template <typename T>
  T* As() const {
    return reinterpret_cast<T*>(begin_);
  }

 private:
  size_t mapped_;
  std::byte *base_, *begin_;
};

}  // namespace ptx2cpu::llvm_test
