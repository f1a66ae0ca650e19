/* Kernels whose launches may run alone. In C.
 *
 * Atomics of scope gpu and below are atomic for the threads of the device. Where one host thread runs a
 * launch and no other launch runs beside it, there is none that could come between a load and a store: the
 * launcher sets ptx2cpu_block.alone then, and code with this flag takes no lock. Another launch that wants to
 * begin waits until the one that is alone has heard of it, at the end of its block at the latest. So such a
 * kernel never waits for what others do, nor starts other kernels. Atomics of scope sys keep their locks. */
#ifndef PTX2CPU_LONE_LAUNCHES_H
#define PTX2CPU_LONE_LAUNCHES_H

#define PTX2CPU_KERNEL_MAY_RUN_ALONE 2048u /* of ptx2cpu_kernel.flags */

#endif
