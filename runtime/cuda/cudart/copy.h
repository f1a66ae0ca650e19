// From the runtime's copy parameters to the driver's.
#pragma once

#include "runtime/cuda/cudart/context.h"

namespace ptx2cpu::cudart {

struct MemoryTypes {
  cuda::CUmemorytype from, to;
};
// The types of memory that a copy kind implies for its ends; `from_array`, `to_array`: that end is an array
// whatever the kind is. cudaErrorInvalidMemcpyDirection.
cuda::cudaError_t TypesOf(cuda::cudaMemcpyKind kind, MemoryTypes& types);
// An end that is the device's by the kind must be memory that CUDA allocated or registered, also the host's.
bool Fits(cuda::CUmemorytype type, const void* pointer);
// The reverse, for parameters that the driver returns.
cuda::cudaMemcpyKind KindOf(cuda::CUmemorytype from, cuda::CUmemorytype to);

// Bytes of an array's element. cudaErrorInvalidResourceHandle.
cuda::cudaError_t ElementBytes(cuda::CUarray array, size_t& bytes);

cuda::cudaError_t FromParms(const cuda::cudaMemcpy3DParms& parms, cuda::CUDA_MEMCPY3D& copy);
cuda::cudaError_t ToParms(const cuda::CUDA_MEMCPY3D& copy, cuda::cudaMemcpy3DParms& parms);
cuda::cudaError_t FromPeerParms(const cuda::cudaMemcpy3DPeerParms* parms, cuda::CUDA_MEMCPY3D_PEER& copy);
bool IsEmpty(const cuda::cudaExtent& extent);
// A row of `count` bytes.
cuda::CUDA_MEMCPY3D RowCopy(void* to, const void* from, size_t count, MemoryTypes types);

// One side of a 2D copy.
struct Side {
  cuda::CUmemorytype type;
  const void* pointer = nullptr;
  cuda::CUarray array = nullptr;
  size_t pitch = 0, x = 0, y = 0;  // bytes, bytes, rows
};
cuda::CUDA_MEMCPY2D RectCopy(const Side& to, const Side& from, size_t width, size_t height);

}  // namespace ptx2cpu::cudart
