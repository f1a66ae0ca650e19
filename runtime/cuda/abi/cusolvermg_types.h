// The cuSOLVERMg ABI: handles, grids of devices, descriptors of matrices that lie on several of them.
#pragma once

#include "runtime/cuda/abi/cusolver_types.h"

namespace ptx2cpu::cuda {

using cusolverMgHandle_t = struct cusolverMgContext*;
using cudaLibMgGrid_t = void*;
using cudaLibMgMatrixDesc_t = void*;

enum cusolverMgGridMapping_t : int {
  CUDALIBMG_GRID_MAPPING_COL_MAJOR = 0,
  CUDALIBMG_GRID_MAPPING_ROW_MAJOR = 1,
};

}  // namespace ptx2cpu::cuda
