// For debuggers (tools/gdb): which host thread runs which block, readable as plain memory while the process
// is stopped. Kept where PTX2CPU_GDB=1.
#pragma once

#include <cstdint>

extern "C" {
// A host thread that has run blocks; a later one may have the number of one that has ended.
struct ptx2cpu_running_thread {
  const ptx2cpu_running_thread* next;
  int64_t number;              // gettid
  const void* const* landing;  // the thread's own variable; null: it runs no block
};
// Offsets are in bytes: of the pointer to the block in what `landing` points to, of three words each in the
// block, of the pointer to local memory and the bytes of it that each thread has.
struct ptx2cpu_running_threads {
  const ptx2cpu_running_thread* first;
  uint64_t block, place, grid, threads, local, local_stride;
};
extern __attribute__((visibility("default"))) ptx2cpu_running_threads ptx2cpu_running;
}

namespace ptx2cpu::rt {

// The calling thread is in the list from now on. `landing`: see above; `block`: that offset.
void ListForDebugger(const void* const* landing, uint64_t block);
bool ListsForDebugger();

}  // namespace ptx2cpu::rt
