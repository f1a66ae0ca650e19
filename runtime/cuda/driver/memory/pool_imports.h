// A pool of another process: a file of which this process maps the parts whose addresses it receives.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/cuda/driver/core/local_socket.h"
#include "runtime/stream/stream.h"

namespace ptx2cpu::driver {

class PoolImports {
 public:
  explicit PoolImports(Descriptor file) : file_(std::move(file)) {}
  ~PoolImports();
  PoolImports(const PoolImports&) = delete;
  PoolImports& operator=(const PoolImports&) = delete;

  int file() const { return file_.number(); }
  // The bytes from `offset` on in the file; null: it has none there.
  std::byte* Map(size_t offset, size_t bytes);
  // Unmaps what Map returned when `freed` is done, or at a later call.
  void Free(std::byte* block, rt::Ticket freed);

 private:
  struct Mapping {
    void* base = nullptr;
    size_t bytes = 0;
    rt::Ticket freed = {};
  };
  void UnmapDone();

  const Descriptor file_;
  std::mutex mutex_;  // all below
  std::multimap<std::byte*, Mapping> used_;
  std::vector<Mapping> freed_;
};

}  // namespace ptx2cpu::driver
