/* Of kernels that run with x86's flush to zero (lowering/llvm/kernel/flush_to_zero.h): their function sets it,
 * unless its caller has, who does so once for many blocks. In C. */
#ifndef PTX2CPU_FLUSHING_H
#define PTX2CPU_FLUSHING_H

#define PTX2CPU_KERNEL_FLUSHES 1024u     /* of ptx2cpu_kernel.flags */
#define PTX2CPU_FLUSH_TO_ZERO (1u << 15) /* of MXCSR */

#endif
