/* Neighbouring blocks of a grid that run as one block.
 *
 * Code with PTX2CPU_KERNEL_JOINS_BLOCKS was made for one block shape, and its threads depend on where they
 * are along x only by ctaid.x * ntid.x + tid.x. So blocks c, c + 1, ... of a row of the grid are one block at
 * ctaid.x = c whose rows are as many times as long: ptx2cpu_block.ntid[0], thread_count, thread_padded and
 * warp_count are those of all its threads, nctaid stays that of the grid.
 */
#ifndef PTX2CPU_JOINED_BLOCKS_H
#define PTX2CPU_JOINED_BLOCKS_H

#include <stdint.h>

#include "runtime/abi/limits.h"

#define PTX2CPU_KERNEL_JOINS_BLOCKS 32u /* of ptx2cpu_kernel.flags */

/* Beside it: rows may be as long as memory is walked along. The code keeps nothing of its threads in memory
 * and reads no live masks. */
#define PTX2CPU_KERNEL_JOINS_LONG_ROWS 256u
#define PTX2CPU_MAX_JOINED_THREADS 8192u

/* How many blocks of so many threads may run as one: at most those of the largest block, or of long rows. */
static inline uint32_t ptx2cpu_max_joined_blocks(uint32_t flags, uint32_t threads) {
  if ((flags & PTX2CPU_KERNEL_JOINS_BLOCKS) == 0) return 1;
  if ((flags & PTX2CPU_KERNEL_JOINS_LONG_ROWS) != 0) return PTX2CPU_MAX_JOINED_THREADS / threads;
  return PTX2CPU_MAX_THREADS_PER_BLOCK / threads;
}

#endif
