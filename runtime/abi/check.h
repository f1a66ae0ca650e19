/* What checked code reports to the runtime of its accesses and synchronisation (ptx2cpu_check_accesses,
 * ptx2cpu_check_sync). The pass insert-checks makes these words, runtime/check reads them. */
#ifndef PTX2CPU_ABI_CHECK_H
#define PTX2CPU_ABI_CHECK_H

#include <stdint.h>

struct ptx2cpu_block;

/* Checked code looks here before it informs the runtime of an access that nothing but its bounds is asked of:
 * an address whose distance from `base`, rotated right by the bits that alignment makes zero, is below
 * `positions` is right. The runtime sets the entry to the allocation that the access of this number found. */
struct ptx2cpu_check_range {
  uint64_t base, positions;
};
/* A variable that an address was computed from, and should stay in. */
struct ptx2cpu_check_variable {
  const char* name;
  uint64_t bytes;
};
#define PTX2CPU_CHECK_RANGES 1024u
#define PTX2CPU_NO_CHECK_RANGE 0xffffffffu

/* Kinds of checks, as a set: --check=memory,race,sync,init,leak. */
#define PTX2CPU_CHECKS_MEMORY 1u
#define PTX2CPU_CHECKS_RACE 2u
#define PTX2CPU_CHECKS_SYNC 4u
#define PTX2CPU_CHECKS_INIT 8u
#define PTX2CPU_CHECKS_LEAK 16u  /* of the host's allocations; asks nothing of code */
#define PTX2CPU_CHECKS_ORDER 32u /* code for launches in other orders: lanes also yield before accesses */

/* The form of an access. STRONG: atomic, volatile or relaxed, which does not race with its like. RELEASES
 * orders what the thread did before, ACQUIRES what it does after. ASYNC: a copy engine does it, and no thread
 * knows that it is done before one has waited for it. BULK: that engine has a view of memory of its own, and
 * needs no alignment that the access would. MBARRIER: a change of an mbarrier object, which the third operand
 * has in place of words (runtime/abi/mbarrier.h; all ones: not known). LOCKSTEP: for a device older than
 * sm_70, whose warps run in lockstep. BOUNDS_ONLY: nothing else is asked of any access. */
#define PTX2CPU_ACCESS_READS 1u
#define PTX2CPU_ACCESS_WRITES 2u
#define PTX2CPU_ACCESS_STRONG 4u
#define PTX2CPU_ACCESS_RELEASES 8u
#define PTX2CPU_ACCESS_ACQUIRES 16u
#define PTX2CPU_ACCESS_ASYNC 32u
#define PTX2CPU_ACCESS_LOCKSTEP 64u
#define PTX2CPU_ACCESS_BOUNDS_ONLY 128u
/* The answer holds only where grid and blocks have one dimension, and at most so many threads: these have
 * elements of their own. */
#define PTX2CPU_ACCESS_OWN_ELEMENTS (1u << 26)
#define PTX2CPU_OWN_ELEMENTS_MAX_THREADS (1u << 24)
#define PTX2CPU_ACCESS_MBARRIER (1u << 27)
#define PTX2CPU_ACCESS_BULK (1u << 28)
/* Where the address points: enum ptx2cpu_access_space. */
#define PTX2CPU_ACCESS_SPACE_SHIFT 8
#define PTX2CPU_SPACE_OF_ACCESS(form) ((form) >> PTX2CPU_ACCESS_SPACE_SHIFT & 15u)
/* Bytes of one register of the access, 0 to 16; 0: they may be uninitialised. */
#define PTX2CPU_ACCESS_WORD_SHIFT 12
/* Lanes of the warp that access, from lane 0; 0: all. */
#define PTX2CPU_ACCESS_LANES_SHIFT 20

enum ptx2cpu_access_space {
  PTX2CPU_SPACE_REAL = 0,   /* generic addresses */
  PTX2CPU_SPACE_SHARED = 1, /* offset in the window */
  PTX2CPU_SPACE_LOCAL = 2,
  PTX2CPU_SPACE_GLOBAL = 3 /* real ones, of global or constant memory */
};

/* The steps of synchronisation, and their two operands. With this bit the step is one of an aligned barrier,
 * which all lanes of a warp execute together. */
#define PTX2CPU_SYNC_ALIGNED 256u
/* Of a warp operation: those lanes that happen to execute it together are its members. */
#define PTX2CPU_SYNC_CONVERGED 512u
/* Of a barrier of the whole block: all threads that have not left the kernel are together at it. Code that
 * runs the block's threads in turn up to each barrier then calls once, for the first thread. Of an operation
 * of the whole warp: such code calls only where lanes leave it, when all have arrived. */
#define PTX2CPU_SYNC_TOGETHER 1024u
/* Of a barrier with a count: the thread does not wait (bar.arrive). */
#define PTX2CPU_SYNC_PASSES 2048u
#define PTX2CPU_SYNC_STEP(step) ((step) & 255u)
enum ptx2cpu_sync_step {
  PTX2CPU_SYNC_BLOCK_ARRIVE = 0, /* barrier, threads expected (0: all of the block) */
  PTX2CPU_SYNC_BLOCK_LEAVE = 1,  /* the same */
  PTX2CPU_SYNC_WARP_ARRIVE = 2,  /* membermask */
  PTX2CPU_SYNC_WARP_LEAVE = 3,
  PTX2CPU_SYNC_CLUSTER_ARRIVE = 4,
  PTX2CPU_SYNC_CLUSTER_LEAVE = 5,
  PTX2CPU_SYNC_FENCE = 6,
  /* Of asynchronous copies, whose kind is the first operand: a group ends; the thread waits until at most so
   * many of its groups are not done (PTX2CPU_SYNC_ALL_COPIES: for all copies); its next change of an mbarrier
   * object is one that the end of its copies makes. */
  PTX2CPU_SYNC_COPY_COMMIT = 7,
  PTX2CPU_SYNC_COPY_WAIT = 8,
  PTX2CPU_SYNC_COPY_ARRIVE = 9,
  PTX2CPU_SYNC_PROXY_FENCE = 10, /* what threads did is visible to bulk copies */
  PTX2CPU_SYNC_TEST_PHASE =
      11,                 /* the thread's next load of an mbarrier object tests whether this phase is over */
  PTX2CPU_SYNC_KEEP = 12, /* a kernel with bulk copies: what was accessed before barriers matters */
  PTX2CPU_SYNC_STEPS
};
/* Kinds of asynchronous copies; of bulk copies a wait may be for their reads only. */
#define PTX2CPU_COPY_OF_THREAD 0u
#define PTX2CPU_COPY_BULK 1u
#define PTX2CPU_COPY_ONLY_READS 2u
#define PTX2CPU_SYNC_ALL_COPIES 0xffffffffu

#ifdef __cplusplus
extern "C" {
#endif
#define ENTRY(result, name, parameters, meaning) result name parameters;
#include "runtime/abi/check_entries.def"
#undef ENTRY
#ifdef __cplusplus
}
#endif

#endif
