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

inline bool SameThread(const Stamp& a, const Stamp& b) {
  return a.block == b.block && a.thread == b.thread && a.is_copy == b.is_copy &&
         (a.is_copy == 0 || a.time == b.time);
}

// A strong access is ordered with its like at each byte.
inline bool Races(const Stamp& before, uint8_t bytes, bool strong, const CellAccess& access,
                  const BlockClock& clock) {
  if (before.block == 0 || (bytes & access.bytes) == 0 || (strong && access.strong)) return false;
  if (before.is_copy != 0 && SameThread(before, access.stamp)) return false;
  return !clock.IsOrdered(before, access.stamp.thread, access.lockstep);
}

// Takes the place of the same thread's earlier read, of one that is ordered before, or of the older one.
inline void EnterRead(Cell& cell, const CellAccess& access, const BlockClock& clock) {
  size_t place = 1;
  for (size_t i = 0; i < 2; ++i) {
    const Stamp& known = cell.reads[i];
    if (known.block != 0 && !SameThread(known, access.stamp) &&
        !clock.IsOrdered(known, access.stamp.thread, access.lockstep))
      continue;
    place = i;
    break;
  }
  const bool joins = SameThread(cell.reads[place], access.stamp) &&
                     cell.reads[place].time == access.stamp.time && cell.read_strong[place] == access.strong;
  cell.read_bytes[place] = joins ? cell.read_bytes[place] | access.bytes : access.bytes;
  cell.reads[place] = access.stamp;
  cell.read_strong[place] = access.strong;
}

// Compares an access with the cell and enters it there. False: it races, and `conflict` is with what.
inline bool Enter(Cell& cell, const CellAccess& access, const BlockClock& clock, Conflict& conflict) {
  bool races = Races(cell.write, cell.write_bytes, cell.write_strong, access, clock);
  if (races) conflict = {cell.write, true};
  if (!races && access.is_bulk && cell.write.block != 0 && (cell.write_bytes & access.bytes) != 0 &&
      !clock.IsFenced(cell.write, access.stamp.thread)) {
    races = true;
    conflict = {cell.write, true, true};
  }
  if (!access.writes) {
    EnterRead(cell, access, clock);
    return !races;
  }
  for (size_t i = 0; i < 2 && !races; ++i) {
    races = Races(cell.reads[i], cell.read_bytes[i], cell.read_strong[i], access, clock);
    if (races) conflict = {cell.reads[i], false};
  }
  const bool joins = SameThread(cell.write, access.stamp) && cell.write.time == access.stamp.time &&
                     cell.write_strong == access.strong;
  cell.write_bytes = joins ? cell.write_bytes | access.bytes : access.bytes;
  cell.write = access.stamp;
  cell.write_strong = access.strong;
  return !races;
}

// The same of reads by two or more threads of a group, the first of whom makes this access, in one step.
// False: one step does not show what they leave in the cell, or one may race; nothing has been entered.
bool EnterReads(Cell& cell, const CellAccess& first, const ThreadGroup& threads, const BlockClock& clock);

}  // namespace ptx2cpu::rt::check
