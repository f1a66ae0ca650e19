#include "runtime/check/shadow.h"

namespace ptx2cpu::rt::check {

namespace {

bool SameThread(const Stamp& a, const Stamp& b) {
  return a.block == b.block && a.thread == b.thread && a.is_copy == b.is_copy &&
         (a.is_copy == 0 || a.time == b.time);
}

// A strong access is ordered with its like at each byte.
bool Races(const Stamp& before, uint8_t bytes, bool strong, const CellAccess& access,
           const BlockClock& clock) {
  if (before.block == 0 || (bytes & access.bytes) == 0 || (strong && access.strong)) return false;
  if (before.is_copy != 0 && SameThread(before, access.stamp)) return false;
  return !clock.IsOrdered(before, access.stamp.thread, access.lockstep);
}

// Takes the place of the same thread's earlier read, of one that is ordered before, or of the older one.
void EnterRead(Cell& cell, const CellAccess& access, const BlockClock& clock) {
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

}  // namespace

bool Enter(Cell& cell, const CellAccess& access, const BlockClock& clock, Conflict& conflict) {
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

// The first thread's read takes the first place if what is there is its own or ordered before it. The others
// find it there, and it is ordered before none of them. Otherwise all find another thread's.
bool EnterReads(Cell& cell, const CellAccess& first, const ThreadGroup& threads, const BlockClock& clock) {
  const Stamp &write = cell.write, &read = cell.reads[0];
  if (write.is_copy != 0 || read.is_copy != 0 || first.bytes != 15) return false;
  const bool is_free = write.block == 0 || (cell.write_bytes & first.bytes) == 0 ||
                       (cell.write_strong && first.strong) ||
                       clock.IsOrderedForAll(write.block, write.epoch, write.time, threads);
  if (!is_free) return false;
  const auto put = [&](size_t place, uint32_t thread) {
    cell.reads[place] = first.stamp;
    cell.reads[place].thread = thread;
    cell.read_bytes[place] = first.bytes;
    cell.read_strong[place] = first.strong;
  };
  if (read.block == 0 || SameThread(read, first.stamp) ||
      clock.IsOrdered(read, first.stamp.thread, first.lockstep)) {
    put(0, threads.first);
  } else {
    const bool is_members =
        read.block == first.stamp.block && read.thread >= threads.first && read.thread <= threads.last;
    if (is_members || !clock.IsOrderedForNone(read.block, read.epoch, read.time, threads)) return false;
  }
  put(1, threads.last);
  return true;
}

}  // namespace ptx2cpu::rt::check
