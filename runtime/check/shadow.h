// Who accessed each word of memory last: its cell has the last write and the last reads by two threads. Where
// accesses of parts of words come, each byte is such a word. line.h has the shadow of stretches of memory,
// with cells only where rows do not suffice.
#pragma once

#include <cstdint>

#include "runtime/check/clocks.h"

namespace ptx2cpu::rt::check {

struct CellAccess {
  Stamp stamp;
  bool writes = false, lockstep = false;
  bool is_bulk = false;  // a copy with a view of memory of its own
};

// A line of the processor's.
struct alignas(64) Cell {
  Stamp write, reads[2];  // reads: since the last plain write
  Stamp plain;            // where `write` is strong, the last plain write before it

  // Of a word that has not been accessed before.
  void Start(const CellAccess& access) {
    write.block = reads[0].block = reads[1].block = plain.block = 0;
    (access.writes ? write : reads[0]) = access.stamp;
  }
};
static_assert(sizeof(Cell) == 64);

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

// A plain access counts beside a strong one that follows, of any thread: what is strong too, and ordered
// with neither, races with the first only.
inline bool CountsBeside(const Stamp& known, const Stamp& access) {
  return known.strong < access.strong && known.block != 0;
}
// Where the same thread's follows at the same time, the plain one suffices.
inline bool Suffices(const Stamp& known, const Stamp& access) {
  return SameThread(known, access) && known.time == access.time && known.epoch == access.epoch;
}

// A strong access is ordered with its like at each byte.
inline bool Races(const Stamp& before, const CellAccess& access, const BlockClock& clock) {
  if (before.block == 0 || (before.strong & access.stamp.strong) != 0) return false;
  if (before.is_copy != 0 && SameThread(before, access.stamp)) return false;
  return !clock.IsOrdered(before, access.stamp.thread, access.lockstep);
}

// Takes the place of the same thread's earlier read, of one that is ordered before, or of the older one. A
// strong read never takes that of a plain one.
inline void EnterRead(Cell& cell, const CellAccess& access, const BlockClock& clock) {
  size_t place = 1;
  for (size_t i = 0; i < 2; ++i) {
    const Stamp& known = cell.reads[i];
    if (CountsBeside(known, access.stamp)) {
      if (i == 1 || Suffices(known, access.stamp)) return;
      continue;
    }
    if (known.block != 0 && !SameThread(known, access.stamp) &&
        !clock.IsOrdered(known, access.stamp.thread, access.lockstep))
      continue;
    place = i;
    break;
  }
  cell.reads[place] = access.stamp;
}

// What comes after a plain write comes after the reads before it, or races with the write.
inline void EnterWrite(Cell& cell, const CellAccess& access) {
  if (access.stamp.strong == 0) {
    cell.reads[0].block = cell.reads[1].block = cell.plain.block = 0;
  } else if (CountsBeside(cell.write, access.stamp)) {
    if (Suffices(cell.write, access.stamp)) return;
    cell.plain = cell.write;
  }
  cell.write = access.stamp;
}

// Compares an access with the cell and enters it there. False: it races, and `conflict` is with what.
inline bool Enter(Cell& cell, const CellAccess& access, const BlockClock& clock, Conflict& conflict) {
  bool races = Races(cell.write, access, clock);
  if (races) conflict = {cell.write, true};
  if (!races && cell.plain.block != 0) [[unlikely]] {
    races = Races(cell.plain, access, clock);
    if (races) conflict = {cell.plain, true};
  }
  if (!races && access.is_bulk && cell.write.block != 0 && !clock.IsFenced(cell.write, access.stamp.thread)) {
    races = true;
    conflict = {cell.write, true, true};
  }
  if (!access.writes) {
    EnterRead(cell, access, clock);
    return !races;
  }
  for (size_t i = 0; i < 2 && !races; ++i) {
    races = Races(cell.reads[i], access, clock);
    if (races) conflict = {cell.reads[i], false};
  }
  EnterWrite(cell, access);
  return !races;
}

// The same of reads by two or more threads of a group, the first of whom makes this access, in one step.
// False: one step does not show what they leave in the cell, or one may race; nothing has been entered.
bool EnterReads(Cell& cell, const CellAccess& first, const ThreadGroup& threads, const BlockClock& clock);

}  // namespace ptx2cpu::rt::check
