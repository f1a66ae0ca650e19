/* Atomics on global memory that wait in a worker.
 *
 * Of relaxed atomics whose result is not read, a worker collects for each address what they add (or their
 * minimum ...), so that workers do not take cache lines from each other. A kernel with
 * PTX2CPU_KERNEL_DEFERS_ATOMICS has this table at the begin of its block slots (ptx2cpu_block.slots), in
 * slot_bytes_per_block. Where a launcher has not prepared the table, all atomics are done at once. Generated
 * code looks an address up at entries[(address >> 2) % PTX2CPU_DEFERRED_ENTRIES]. If another one is there, it
 * does the atomic at once and calls `enter`. In front of what may observe the difference it calls `apply`, as
 * the launcher does after the worker's last block.
 *
 * Lanes whose addresses are all in one short range, as those of a histogram are, need no entries: for each
 * word of the range, which begins at `window_first`, what waits is in `window`, window_shift bytes from the
 * word. `enter` widens the range. A word may wait in both places.
 *
 * With PTX2CPU_KERNEL_LOGS_ATOMICS it has a log there instead: of atomics on words that are the same for all
 * blocks, of which there are few in each. Their operands are kept in order, so that floats are added one by
 * one, as a GPU does, but without taking the line from another core for each. */
#ifndef PTX2CPU_DEFERRED_ATOMICS_H
#define PTX2CPU_DEFERRED_ATOMICS_H

#include <stdint.h>

#define PTX2CPU_KERNEL_DEFERS_ATOMICS 4u /* of ptx2cpu_kernel.flags */

#define PTX2CPU_KERNEL_LOGS_ATOMICS 16u

#define PTX2CPU_DEFERRED_ENTRIES 1024u
#define PTX2CPU_LOG_ENTRIES 252u
struct ptx2cpu_deferred_entry {
  uint64_t address; /* 0: none */
  uint64_t value;   /* to be combined with what is there; of 32-bit words the low half */
};

/* What table and log begin with. */
struct ptx2cpu_deferred_head {
  uint64_t prepared; /* PTX2CPU_DEFERRED_PREPARED, else nothing may wait here */
  /* All addresses with an entry are in [lowest, end); ~0 and 0: there is none. */
  uint64_t lowest, end;
  /* Below 0: as many atomics go to memory at once, since too many of the last ones found no entry. */
  int64_t credit;
  /* An entry for the address, empty; what waited in its place goes to memory. Of a log: the address is good.
   */
  void (*enter)(struct ptx2cpu_deferred_head*, uint64_t address, uint32_t form);
  /* All that wait go to memory. */
  void (*apply)(struct ptx2cpu_deferred_head*);
  uint32_t form;  /* ptx2cpu_deferred_form of all entries */
  uint32_t count; /* of `used`, of the log's entries */
  /* Of a log: one more entry. */
  void (*append)(struct ptx2cpu_deferred_head*, uint64_t address, uint32_t form, uint64_t value);
};

#define PTX2CPU_WINDOW_BYTES 32768u

struct ptx2cpu_deferred {
  struct ptx2cpu_deferred_head head;
  uint16_t used[PTX2CPU_DEFERRED_ENTRIES];
  struct ptx2cpu_deferred_entry entries[PTX2CPU_DEFERRED_ENTRIES];
  /* Words of the size that is in `form`. The last 64 bytes are for lanes that are not active. */
  uint8_t window[PTX2CPU_WINDOW_BYTES + 64];
  uint64_t window_first; /* address of the range's first word */
  int64_t window_last;   /* the last word's distance from it; below 0: the range is empty */
  uint64_t window_shift;
  uint64_t rest[5];
};

struct ptx2cpu_atomic_log {
  struct ptx2cpu_deferred_head head;
  struct ptx2cpu_deferred_entry entries[PTX2CPU_LOG_ENTRIES];
};
#define PTX2CPU_DEFERRED_PREPARED 0x7074783264656673u
#define PTX2CPU_DEFERRED_MAX_CREDIT 16384  /* found entries that are remembered */
#define PTX2CPU_DEFERRED_MISS 8            /* found entries that one not found costs */
#define PTX2CPU_DEFERRED_PENALTY (-262144) /* credit after too many that were not found */

/* What the atomics that wait do, and the bits of those on 64-bit words and, in a log, of floats that become
 * zero where they are subnormal. */
enum ptx2cpu_deferred_form {
  PTX2CPU_DEFERRED_ADD,
  PTX2CPU_DEFERRED_AND,
  PTX2CPU_DEFERRED_OR,
  PTX2CPU_DEFERRED_XOR,
  PTX2CPU_DEFERRED_MIN_S,
  PTX2CPU_DEFERRED_MIN_U,
  PTX2CPU_DEFERRED_MAX_S,
  PTX2CPU_DEFERRED_MAX_U,
  PTX2CPU_DEFERRED_64 = 8,
  PTX2CPU_DEFERRED_FADD = 16, /* of a log only */
  PTX2CPU_DEFERRED_FLUSH = 32
};

#endif
