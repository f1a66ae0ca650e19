/* What the compiler, generated code and the runtime must agree on about the device: the warp, the limits of a
 * launch, and the shape of grids and blocks. C, and nothing but <stdint.h>: every room may include it.
 *
 * The limits are those of compute capability 9.0 (CUDA C++ Programming Guide, "Technical specifications").
 */
#ifndef PTX2CPU_LIMITS_H
#define PTX2CPU_LIMITS_H

#include <stdint.h>

#define PTX2CPU_WARP_SIZE 32u
#define PTX2CPU_MAX_THREADS_PER_BLOCK 1024u

#ifdef __cplusplus
namespace ptx2cpu {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
};

inline constexpr uint32_t kWarpSize = PTX2CPU_WARP_SIZE;
inline constexpr uint32_t kMaxThreads = PTX2CPU_MAX_THREADS_PER_BLOCK; /* of a block */
inline constexpr uint32_t kMaxWarps = kMaxThreads / kWarpSize;         /* of a block */
inline constexpr uint32_t kMaxGridX = 2147483647, kMaxGridYZ = 65535;
inline constexpr uint32_t kMaxBlockXY = 1024, kMaxBlockZ = 64;
inline constexpr uint32_t kMaxSharedBytes = 232448; /* 227 KiB per block */
inline constexpr uint32_t kMaxParameterBytes = 32764;
inline constexpr uint32_t kMaxClusterBlocks = 16; /* 8 is portable */
inline constexpr uint32_t kNamedBarriers = 16;    /* of a block */

}  // namespace ptx2cpu
#endif

#endif
