#include "runtime/check/shadow.h"

namespace ptx2cpu::rt::check {

// The first thread's read takes the first place if what is there is its own or ordered before it. The others
// find it there, and it is ordered before none of them. Otherwise all find another thread's.
bool EnterReads(Cell& cell, const CellAccess& first, const ThreadGroup& threads, const BlockClock& clock) {
  const Stamp &write = cell.write, &read = cell.reads[0];
  if (write.is_copy != 0 || read.is_copy != 0) return false;
  const bool strong = first.stamp.strong != 0;
  if (strong && cell.plain.block != 0) return false;
  if (CountsBeside(read, first.stamp) || CountsBeside(cell.reads[1], first.stamp)) return false;
  const bool is_free = write.block == 0 || (write.strong != 0 && strong) ||
                       clock.IsOrderedForAll(write.block, write.epoch, write.time, threads);
  if (!is_free) return false;
  const auto put = [&](size_t place, uint32_t thread) {
    cell.reads[place] = first.stamp;
    cell.reads[place].thread = thread;
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
