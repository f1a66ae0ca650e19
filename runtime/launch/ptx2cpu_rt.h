/* The run-time library for kernels compiled ahead of time, from C. Link libptx2cpu_rt.a, the object file, and
 * -lpthread -lstdc++ -lm; LLVM is not needed at run time. `ptx2cpu compile` writes a header with a typed
 * launch function per kernel.
 *
 *     const uint32_t grid[3] = {64, 1, 1}, block[3] = {256, 1, 1};
 *     if (vecadd_launch(grid, block, 0, a, b, c, n) != 0) puts(ptx2cpu_message());
 */
#ifndef PTX2CPU_RT_H
#define PTX2CPU_RT_H

#include "runtime/abi/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the kernel to its end on the process's worker threads (PTX2CPU_THREADS, default: all processors).
 * grid is in blocks, block in threads, sizes in bytes; params is laid out as the kernel's parameter table
 * requires. Returns 0, or the exit code of `ptx2cpu run` for that failure (9 shape or resources, 10 fault).
 */
int ptx2cpu_launch(const struct ptx2cpu_kernel* kernel, const uint32_t grid[3], const uint32_t block[3],
                   uint32_t dynamic_shared_bytes, const void* params);

/* The same with all blocks of the grid resident at once, so that they may meet at grid barriers. The grid may
 * have ptx2cpu_max_cooperative_blocks(...) blocks at most; that is 0 when the block shape itself is not
 * legal. */
int ptx2cpu_launch_cooperative(const struct ptx2cpu_kernel* kernel, const uint32_t grid[3],
                               const uint32_t block[3], uint32_t dynamic_shared_bytes, const void* params);
uint64_t ptx2cpu_max_cooperative_blocks(const struct ptx2cpu_kernel* kernel, const uint32_t block[3],
                                        uint32_t dynamic_shared_bytes);

/* The same with clusters of `cluster` blocks in each direction; the grid must be a multiple. */
int ptx2cpu_launch_clusters(const struct ptx2cpu_kernel* kernel, const uint32_t grid[3],
                            const uint32_t block[3], const uint32_t cluster[3], uint32_t dynamic_shared_bytes,
                            const void* params);

/* What went wrong in this thread's last ptx2cpu_launch; "" after success. Valid until the next launch. */
const char* ptx2cpu_message(void);

#ifdef __cplusplus
}
#endif
#endif
