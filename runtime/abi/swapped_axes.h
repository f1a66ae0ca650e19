/* Kernels whose code has x and y exchanged, since its threads walk memory along y: tid, ntid, ctaid and
 * nctaid of ptx2cpu_block are those of a launch with x and y of grid, block and cluster exchanged.
 * required_threads are those of the program. In C. */
#ifndef PTX2CPU_SWAPPED_AXES_H
#define PTX2CPU_SWAPPED_AXES_H

#define PTX2CPU_KERNEL_SWAPS_AXES 512u /* of ptx2cpu_kernel.flags */

#endif
