// Data of the checks `memory` and `leak`: the memory that programs have freed, which is not allocated again
// for a while, and the call of the program that made each allocation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/driver/memory/allocations.h"
#include "runtime/stream/stream.h"

namespace ptx2cpu::driver {

class CheckedMemory {
 public:
  static CheckedMemory& Get();
  // `keeps_freed`: freed memory is held back; `finds_leaks`: calls of the program are noted.
  CheckedMemory(bool keeps_freed, bool finds_leaks) : keeps_freed_(keeps_freed), finds_leaks_(finds_leaks) {}

  bool keeps_freed() const { return keeps_freed_; }
  // Called on the thread that made the range, before other threads know it.
  void Made(const Range& range);
  // The range has rows: the program requested `width` bytes of each `pitch` bytes from its beginning.
  void HasRows(uintptr_t base, size_t pitch, size_t width);
  struct Rows {
    size_t pitch = 0, width = 0;
  };
  Rows RowsOf(uintptr_t base) const;  // of a range; zero: none
  // The program has freed the range. Returns the ranges whose memory may be allocated again: this one where
  // nothing is kept, else the oldest of the kept ranges, until at most kMaxKept bytes are kept.
  std::vector<Range> Freed(const Range& range);
  // Returns all kept ranges; called when memory is short.
  std::vector<Range> DropKept();
  // The program has freed the range, and its owner may allocate it again at any time.
  void FreedToPool(const Range& range);
  // The range was freed in a stream: launches before that may access it. `when` is done when its turn has
  // come.
  void FreedInStream(const Range& range, rt::Ticket when);
  // A range with the address whose turn has not come.
  std::optional<Range> FindLeaving(uintptr_t address);
  // Changes when a turn has come.
  uint64_t LeavingVersion();
  // "8 bytes into 400 bytes at 0x7f.., which have been freed"; empty: the address is in no freed range.
  std::string Describe(uintptr_t address) const;
  // Reports a call that frees memory which is not allocated.
  void ReportBadFree(const char* function, uintptr_t address) const;
  // Reports ranges that the program has not freed when their context or the process ends.
  void ReportLeaks(const std::vector<Range>& ranges);

  static constexpr size_t kMaxKept = size_t{256} << 20;  // bytes
  static constexpr size_t kMaxKnown = 4096;              // ranges

 private:
  const Range* Find(uintptr_t address) const;
  void DropLeft();  // the mutex is held

  const bool keeps_freed_, finds_leaks_;
  mutable std::mutex mutex_;
  std::deque<Range> kept_, pooled_;  // freed; oldest first, at most kMaxKnown each
  size_t kept_bytes_ = 0;
  struct Leaving {
    Range range;
    rt::Ticket when;
  };
  std::vector<Leaving> leaving_;
  std::atomic<size_t> leaving_count_ = 0;
  std::atomic<uint64_t> leaving_version_ = 0;
  std::map<uintptr_t, std::string> makers_;  // by base
  std::map<uintptr_t, Rows> rows_;           // by base
};

}  // namespace ptx2cpu::driver
