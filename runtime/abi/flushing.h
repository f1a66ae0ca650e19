/* Kernels that run with x86's flush to zero (lowering/llvm/kernel/flush_to_zero.h). A kernel's function sets
 * the mode unless it is set: launches set it once for many blocks. This header is C. */
#ifndef PTX2CPU_FLUSHING_H
#define PTX2CPU_FLUSHING_H

#define PTX2CPU_KERNEL_FLUSHES 1024u     /* of ptx2cpu_kernel.flags */
#define PTX2CPU_FLUSH_TO_ZERO (1u << 15) /* of MXCSR */

#endif
