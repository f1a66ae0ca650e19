// Who accessed each word of memory last: four bytes a cell, with the last write and the last reads by two
// threads. 56 bytes of shadow for each four that a checked kernel accesses.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime/check/clocks.h"

namespace ptx2cpu::rt::check {

struct Cell {
  Stamp write, reads[2];
  uint8_t write_bytes = 0, read_bytes[2] = {};  // a bit for each byte of the word
  bool write_strong = false, read_strong[2] = {};
};

// Which access of a cell the next one races with.
struct Conflict {
  Stamp with;
  bool was_write = false;
};

struct CellAccess {
  Stamp stamp;
  uint8_t bytes = 0;  // of the word
  bool writes = false, strong = false, lockstep = false;
};
// Compares an access with the cell and enters it there. False: it races, and `conflict` is with what.
bool Enter(Cell& cell, const CellAccess& access, const BlockClock& clock, Conflict& conflict);

// Shadow of global memory, by pages of 4 KiB. A page belongs to the launch that accessed it last: launches
// are ordered by their streams.
class GlobalShadow {
 public:
  static constexpr size_t kWords = 1024;
  struct Page {
    std::mutex mutex;
    uint64_t launch = 0;
    Cell cells[kWords];
  };
  // Never removed; may be used without a lock of the table. There is one shadow a process.
  Page& PageOf(uint64_t address);

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace ptx2cpu::rt::check
