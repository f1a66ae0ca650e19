// Who accessed each word of memory last: its cell has the last write and the last reads by two threads. Where
// accesses of parts of words come, each byte is such a word. line.h has the shadow of stretches of memory,
// with cells only where rows do not suffice.
#pragma once

#include <cstdint>

#include "runtime/check/clocks.h"

namespace ptx2cpu::rt::check {

struct CellAccess {
  Stamp stamp;
  bool writes = false, strong = false, lockstep = false;
  bool is_bulk = false;  // a copy with a view of memory of its own
};

struct Cell {
  Stamp write, reads[2];
  bool write_strong = false, read_strong[2] = {};

  // Of a word that has not been accessed before.
  void Start(const CellAccess& access) {
    write.block = reads[0].block = reads[1].block = 0;
    (access.writes ? write : reads[0]) = access.stamp;
    (access.writes ? write_strong : read_strong[0]) = access.strong;
  }
};

// Which access of a cell the next one races with.
struct Conflict {
  Stamp with;
  bool was_write = false;
  bool is_unfenced = false;  // ordered, but not made visible to the copy
};

inline bool SameThread(const Stamp& a, const Stamp& b) {
  return a.block == b.block && a.thread == b.thread && a.is_copy == b.is_copy &&
         (a.is_copy == 0 || a.time == b.time);
}

// A thread's plain access remains where a strong one of its follows at the same time: what is ordered with
// neither races with the first.
inline bool Remains(const Stamp& known, bool strong, const CellAccess& access) {
  return !strong && access.strong && SameThread(known, access.stamp) && known.time == access.stamp.time &&
         known.epoch == access.stamp.epoch;
}

// A strong access is ordered with its like at each byte.
inline bool Races(const Stamp& before, bool strong, const CellAccess& access, const BlockClock& clock) {
  if (before.block == 0 || (strong && access.strong)) return false;
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
  if (Remains(cell.reads[place], cell.read_strong[place], access)) return;
  cell.reads[place] = access.stamp;
  cell.read_strong[place] = access.strong;
}

// Compares an access with the cell and enters it there. False: it races, and `conflict` is with what.
inline bool Enter(Cell& cell, const CellAccess& access, const BlockClock& clock, Conflict& conflict) {
  bool races = Races(cell.write, cell.write_strong, access, clock);
  if (races) conflict = {cell.write, true};
  if (!races && access.is_bulk && cell.write.block != 0 && !clock.IsFenced(cell.write, access.stamp.thread)) {
    races = true;
    conflict = {cell.write, true, true};
  }
  if (!access.writes) {
    EnterRead(cell, access, clock);
    return !races;
  }
  for (size_t i = 0; i < 2 && !races; ++i) {
    races = Races(cell.reads[i], cell.read_strong[i], access, clock);
    if (races) conflict = {cell.reads[i], false};
  }
  if (Remains(cell.write, cell.write_strong, access)) return !races;
  cell.write = access.stamp;
  cell.write_strong = access.strong;
  return !races;
}

// The same of reads by two or more threads of a group, the first of whom makes this access, in one step.
// False: one step does not show what they leave in the cell, or one may race; nothing has been entered.
bool EnterReads(Cell& cell, const CellAccess& first, const ThreadGroup& threads, const BlockClock& clock);

}  // namespace ptx2cpu::rt::check
