// Makes the map that kernels read (runtime/abi/tensor_map.h) from the host's description of a tensor.
#pragma once

#include "runtime/abi/tensor_map.h"
#include "runtime/cuda/abi/driver_types.h"

namespace ptx2cpu::driver {

using namespace cuda;

// The parts of both kinds of maps.
struct TensorDescription {
  CUtensorMap* map;
  CUtensorMapDataType type;
  cuuint32_t rank;
  const void* address;
  const cuuint64_t *sizes, *strides;
  const cuuint32_t* element_strides;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

// The fields of tiles and of im2col stay zero. `row_elements`: of a row of the box. Errors: INVALID_VALUE;
// NOT_SUPPORTED for interleaved layouts.
CUresult DescribeTensor(const TensorDescription& description, cuuint64_t row_elements,
                        ptx2cpu_tensor_map& map);
// Writes the map to the host's memory.
CUresult PutTensorMap(const TensorDescription& description, const ptx2cpu_tensor_map& map);

}  // namespace ptx2cpu::driver
