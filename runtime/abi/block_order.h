/* Of kernels whose results depend on the order in which their blocks run: global atomics that round, exchange
 * or whose result is used, and reads of what other blocks write meanwhile. In C. */
#ifndef PTX2CPU_BLOCK_ORDER_H
#define PTX2CPU_BLOCK_ORDER_H

#define PTX2CPU_KERNEL_ORDER_MATTERS 64u /* of ptx2cpu_kernel.flags */

#endif
