/* The contract between generated code and the runtime, in C: one block context, one kernel descriptor, one
 * table of entry points (entry_points.def). Emitter, JIT, ahead-of-time objects and the runtime all read this
 * header.
 *
 * Generated code has one function per kernel. Either it runs one complete CUDA block on the calling thread
 * and returns (run_block), or, in resumable kernels, it runs lanes of one warp until each of them suspends or
 * exits (run_step), and the runtime's scheduler decides which lanes continue (runtime/scheduler/README.md);
 * or it runs a block until that yields (PTX2CPU_KERNEL_RESUMES_BLOCKS). Nothing is passed in thread-locals:
 * the block context is an argument.
 */
#ifndef PTX2CPU_ABI_H
#define PTX2CPU_ABI_H

#include <stdint.h>

#include "runtime/abi/limits.h"
#include "runtime/abi/texture.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PTX2CPU_ABI_VERSION 5u

/* Linear thread id t -> packed (x | y << 10 | z << 20); CUDA's limits 1024, 1024, 64 fit. */
#define PTX2CPU_TID_Y_SHIFT 10
#define PTX2CPU_TID_Z_SHIFT 20

/* Shared addresses of the cluster: an offset in a window below 1 << 24, and above it 0 for the own window or
 * 1 + the rank of the block whose window it is. */
#define PTX2CPU_CLUSTER_NUMBER_SHIFT 24

/* Everything a block needs. Filled by the launcher; one per worker, reused for every block it runs.
 * Field order is ABI: the emitter addresses the fields by the offsets of this struct. */
struct ptx2cpu_block {
  const uint8_t* params; /* kernel parameter buffer, read only */
  uint8_t* shared;       /* shared window: static part first, then the dynamic part; 128-byte aligned */
  uint8_t* local;        /* local memory: thread t's window starts at local + t * local_stride */
  uint8_t* slots;        /* storage of values that cross regions, 64-byte aligned */
  uint32_t* live;        /* one word per warp: bit l set while lane l has not exited */
  const uint32_t* tid;   /* packed thread ids, thread_padded entries */
  uint64_t local_stride; /* bytes per thread */
  uint64_t grid_id;
  uint32_t ctaid[3];
  uint32_t nctaid[3];
  uint32_t ntid[3];
  uint32_t thread_count;  /* ntid.x * ntid.y * ntid.z, 1..1024 */
  uint32_t thread_padded; /* thread_count rounded up to 32 */
  uint32_t warp_count;    /* thread_padded / 32 */
  uint32_t shared_bytes;  /* static + dynamic */
  uint32_t dynamic_shared_bytes;
  uint32_t worker;               /* index of the worker that runs the block: %smid */
  uint32_t worker_count;         /* %nsmid */
  struct ptx2cpu_launch* launch; /* the launch this block belongs to (opaque to generated code) */
  /* Resumable kernels: where thread t is, and its words to and from the scheduler. */
  uint32_t* points; /* resume point of thread t at points[t], thread_padded entries */
  uint32_t* words;  /* word i of thread t at words[i * PTX2CPU_MAX_THREADS_PER_BLOCK + t] */
  /* Clusters. A launch without clusters has clusters of one block. */
  uint8_t* const* cluster_shared; /* shared window of each block of the cluster, by rank */
  uint32_t cluster_ctaid[3];      /* position in the cluster; %clusterid is ctaid / cluster_nctaid */
  uint32_t cluster_nctaid[3];     /* blocks of the cluster in x, y, z */
  uint32_t cluster_ctarank;       /* linear position in the cluster, x first */
  uint32_t cluster_nctarank;      /* blocks of the cluster */
  uint32_t cluster_is_explicit;   /* the launch or the kernel has cluster dimensions */
  /* Cooperative launches: what grid barriers count in, %envreg1:%envreg2 (high and low word); zeroed at the
   * launch. */
  uint8_t* grid_workspace; /* PTX2CPU_GRID_WORKSPACE_BYTES on 64 bytes; null in other launches */
  uint32_t
      window_bytes; /* the shared window: shared_bytes, then tensor memory (tensor_core.h), if it is used */
  struct ptx2cpu_check_range* check_ranges; /* checked code: PTX2CPU_CHECK_RANGES entries (check.h) */
  uint32_t alone;                           /* no other thread runs code of kernels (lone_launches.h) */
};
#define PTX2CPU_GRID_WORKSPACE_BYTES 64u

typedef void (*ptx2cpu_block_function)(struct ptx2cpu_block*);

/* Resumable kernels: the scheduler sets block->live[warp] to the lanes to run and calls the step with
 *   PTX2CPU_ENTRY_RESUME          each of these lanes continues after its own point until it suspends (writes
 * points[t] and the words of that point's kind) or exits (its bit in live[warp] is cleared), or
 *   PTX2CPU_ENTRY_COLLECTIVE + c  the collective of class c is executed by exactly these lanes, which wait at
 * points of that class; its operands and results are in slots. */
typedef void (*ptx2cpu_step_function)(struct ptx2cpu_block*, uint32_t warp, uint32_t entry);
#define PTX2CPU_ENTRY_RESUME 0u
#define PTX2CPU_ENTRY_COLLECTIVE 1u
#define PTX2CPU_WORDS_PER_THREAD 4u

/* What a thread waits for at a resume point, and which words it leaves there. */
enum ptx2cpu_point_kind {
  PTX2CPU_POINT_START = 0,      /* the kernel's first instruction: point number 0, continues at once */
  PTX2CPU_POINT_YIELD = 1,      /* continues after the others have run */
  PTX2CPU_POINT_COLLECTIVE = 2, /* all live lanes of word 0, the membermask, at points of the same class */
  PTX2CPU_POINT_CONVERGED =
      3, /* collective of the lanes that are converged here: when no other lane of the warp runs */
  PTX2CPU_POINT_BARRIER = 4,  /* word 0: barrier 0..15, word 1: threads expected or 0 for all of the block */
  PTX2CPU_POINT_RED_POPC = 5, /* as BARRIER; word 2: predicate (0 or not); word 0 becomes the result */
  PTX2CPU_POINT_RED_AND = 6,
  PTX2CPU_POINT_RED_OR = 7,
  PTX2CPU_POINT_BARRIER_ARRIVE = 8, /* words as BARRIER; continues as soon as its warp is counted */
  PTX2CPU_POINT_CLUSTER_ARRIVE = 9, /* continues at once */
  PTX2CPU_POINT_CLUSTER_WAIT = 10   /* all live threads of the cluster have arrived */
};

/* The kernel descriptor and the rows of its tables: kernel_fields.def has the fields and what they mean.
 * Ahead-of-time objects export one descriptor per kernel. Resume points are numbered in the order of the
 * program (reverse post order): a lower number is earlier. */
typedef uint32_t ptx2cpu_field_Version;
typedef uint32_t ptx2cpu_field_Word;
typedef uint8_t ptx2cpu_field_Byte;
typedef uint32_t ptx2cpu_field_Three[3];
typedef const char* ptx2cpu_field_Name;
typedef ptx2cpu_block_function ptx2cpu_field_Block;
typedef ptx2cpu_step_function ptx2cpu_field_Step;
typedef const struct ptx2cpu_parameter* ptx2cpu_field_ParameterTable;
typedef const struct ptx2cpu_point* ptx2cpu_field_PointTable;
typedef const struct ptx2cpu_alignment* ptx2cpu_field_AlignmentTable;
typedef uint32_t ptx2cpu_field_ParameterCount;
typedef uint32_t ptx2cpu_field_PointCount;
typedef uint32_t ptx2cpu_field_AlignmentCount;
typedef uint8_t ptx2cpu_field_Unused[2];

struct ptx2cpu_parameter {
#define PARAMETER_FIELD(kind, name, meaning) ptx2cpu_field_##kind name;
#include "runtime/abi/kernel_fields.def"
};
struct ptx2cpu_point {
#define POINT_FIELD(kind, name, meaning) ptx2cpu_field_##kind name;
#include "runtime/abi/kernel_fields.def"
};
struct ptx2cpu_alignment {
#define ALIGNMENT_FIELD(kind, name, meaning) ptx2cpu_field_##kind name;
#include "runtime/abi/kernel_fields.def"
};
struct ptx2cpu_kernel {
#define KERNEL_FIELD(kind, name, meaning) ptx2cpu_field_##kind name;
#include "runtime/abi/kernel_fields.def"
};
#define PTX2CPU_KERNEL_HAS_EARLY_EXIT 1u /* reads and writes live masks */
/* run_step runs the whole block (warp and entry are 0) from the point points[0] until it yields, when
 * points[0] is where it continues, or has ended, when points[0] is PTX2CPU_BLOCK_ENDED. */
#define PTX2CPU_KERNEL_RESUMES_BLOCKS 2u
#define PTX2CPU_BLOCK_ENDED 0xffffffffu
#define PTX2CPU_KERNEL_HAS_TENSOR_MEMORY 8u /* 4 and 16: deferred_atomics.h */
#define PTX2CPU_KERNEL_IS_CHECKED 128u      /* informs runtime/check of what it does (check.h) */

/* Why a kernel faulted. Generated code reports through ptx2cpu_fault and does not return from it. */
enum ptx2cpu_fault_kind {
  PTX2CPU_FAULT_TRAP = 1,   /* trap instruction */
  PTX2CPU_FAULT_ASSERT = 2, /* __assertfail */
  PTX2CPU_FAULT_DIVERGENT_BRANCH =
      3, /* lanes disagree on a branch that decides whether a warp collective is reached */
  PTX2CPU_FAULT_DIVERGENT_BARRIER =
      4, /* threads disagree on a branch that decides whether a block barrier is reached */
  PTX2CPU_FAULT_MISSING_MEMBERS = 5, /* a collective's membermask names live lanes that are not here */
  PTX2CPU_FAULT_BAD_ADDRESS = 6,     /* hardware fault at an address */
  PTX2CPU_FAULT_MISALIGNED = 7,
  PTX2CPU_FAULT_STACK = 8,
  PTX2CPU_FAULT_UNREACHABLE = 9,
  PTX2CPU_FAULT_DEADLOCK = 10,     /* no thread of the block (or cluster) can continue */
  PTX2CPU_FAULT_BAD_BARRIER = 11,  /* a barrier number, count or mix of kinds that PTX does not allow */
  PTX2CPU_FAULT_NOT_A_MEMBER = 12, /* a lane executes a collective whose membermask does not name it */
  PTX2CPU_FAULT_BAD_FUNCTION =
      13, /* an indirect call of an address that is not a function of the program, or is of another type */
  PTX2CPU_FAULT_BAD_DESCRIPTOR = 14 /* of a tensor core's operation: see tensor_core.h */
};

/* Functions of ptx2cpu_device_runtime. */
enum ptx2cpu_device_function {
#define DEVICE_RUNTIME(name, arguments, meaning) PTX2CPU_DEVICE_##name,
#include "runtime/abi/device_runtime.def"
#undef DEVICE_RUNTIME
  PTX2CPU_DEVICE_FUNCTIONS
};

#define ENTRY(result, name, parameters, meaning) result name parameters;
#include "runtime/abi/entry_points.def"
#undef ENTRY

/* One of these functions by name, for a JIT that links them. */
struct ptx2cpu_entry_point {
  const char* name;
  void* address;
};

#ifdef __cplusplus
}
#endif
#endif
