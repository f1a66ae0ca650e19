// Who accessed each word of memory last: four bytes a cell, with the last write and the last reads by two
// threads. line.h has the shadow of stretches of memory, with cells only where rows do not suffice.
#pragma once

#include <cstdint>

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
  bool is_unfenced = false;  // ordered, but not made visible to the copy
};

struct CellAccess {
  Stamp stamp;
  uint8_t bytes = 0;  // of the word
  bool writes = false, strong = false, lockstep = false;
  bool is_bulk = false;  // a copy with a view of memory of its own
};
// Compares an access with the cell and enters it there. False: it races, and `conflict` is with what.
bool Enter(Cell& cell, const CellAccess& access, const BlockClock& clock, Conflict& conflict);
// The same of reads by two or more threads of a group, the first of whom makes this access, in one step.
// False: one step does not show what they leave in the cell, or one may race; nothing has been entered.
bool EnterReads(Cell& cell, const CellAccess& first, const ThreadGroup& threads, const BlockClock& clock);

}  // namespace ptx2cpu::rt::check
