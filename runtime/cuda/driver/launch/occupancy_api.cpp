// cuOccupancy*: how many blocks a multiprocessor has at once.
#include <algorithm>

#include "driver_api.h"
#include "runtime/abi/launch_shape.h"
#include "runtime/cuda/driver/code/function.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"
#include "runtime/cuda/driver/launch/occupancy.h"

namespace ptx2cpu::driver {

namespace {

CUresult Find(CUfunction handle, Compiled& found) {
  if (const CUresult error = FunctionOf(handle, found.function)) return error;
  if (const CUresult error = found.function->Description(found.kernel)) return error;
  return found.function->Attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, found.max_threads);
}

Dim3 ClusterOf(const Compiled& f, const CUlaunchConfig& config) {
  rt::LaunchShape shape;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      shape.cluster = {attribute.value.clusterDim.x, attribute.value.clusterDim.y,
                       attribute.value.clusterDim.z};
  }
  return rt::WithCluster(*f.kernel, shape).cluster;
}

size_t MostClusterBlocks(const Compiled& f) {
  return f.function->settings().non_portable_cluster != 0 ? kMaxClusterBlocks : kPortableClusterBlocks;
}

}  // namespace

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, CUfunction func, int blockSize,
                                                              size_t dynamicSMemSize, unsigned int flags) {
  Compiled f;
  if (const CUresult error = Find(func, f)) return error;
  if (numBlocks == nullptr || blockSize <= 0 ||
      (flags & ~static_cast<unsigned>(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  *numBlocks = BlocksPerMultiprocessor(f, blockSize, dynamicSMemSize);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func, int blockSize,
                                                     size_t dynamicSMemSize) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize, 0);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* minGridSize, int* blockSize, CUfunction func,
                                                   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                   size_t dynamicSMemSize, int blockSizeLimit,
                                                   unsigned int flags) {
  Compiled f;
  if (const CUresult error = Find(func, f)) return error;
  if (minGridSize == nullptr || blockSize == nullptr || blockSizeLimit < 0 ||
      (flags & ~static_cast<unsigned>(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  const int most = blockSizeLimit == 0 ? f.max_threads : std::min(blockSizeLimit, f.max_threads);
  int best_threads = 0, best_size = 0, best_blocks = 0;
  for (int size = most; size > 0; size = (size - 1) / 32 * 32) {
    const size_t shared =
        blockSizeToDynamicSMemSize != nullptr ? blockSizeToDynamicSMemSize(size) : dynamicSMemSize;
    const int blocks = BlocksPerMultiprocessor(f, size, shared);
    if (blocks * size <= best_threads) continue;  // of equal ones the larger block
    best_threads = blocks * size;
    best_size = size;
    best_blocks = blocks;
  }
  *blockSize = best_size;
  *minGridSize = best_blocks * f.function->context().device().multiprocessors();
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, CUfunction func,
                                          CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                          size_t dynamicSMemSize, int blockSizeLimit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func, blockSizeToDynamicSMemSize,
                                                   dynamicSMemSize, blockSizeLimit, 0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize, CUfunction func, int numBlocks,
                                                 int blockSize) {
  Compiled f;
  if (const CUresult error = Find(func, f)) return error;
  if (dynamicSmemSize == nullptr || numBlocks <= 0 || blockSize <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (numBlocks > BlocksPerMultiprocessor(f, blockSize, 0)) return CUDA_ERROR_INVALID_VALUE;
  const size_t share =
      std::min<size_t>(kSharedPerMultiprocessor / static_cast<size_t>(numBlocks) / 1024 * 1024,
                       kMaxSharedBytes + kSharedReservedPerBlock);
  const size_t taken = f.kernel->static_shared_bytes + kSharedReservedPerBlock;
  *dynamicSmemSize = share > taken ? share - taken : 0;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialClusterSize(int* clusterSize, CUfunction func, const CUlaunchConfig* config) {
  Compiled f;
  if (const CUresult error = Find(func, f)) return error;
  if (clusterSize == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *clusterSize = static_cast<int>(MostClusterBlocks(f));
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int* numClusters, CUfunction func, const CUlaunchConfig* config) {
  Compiled f;
  if (const CUresult error = Find(func, f)) return error;
  if (numClusters == nullptr || config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  const size_t cluster = Volume(ClusterOf(f, *config));
  if (cluster == 0 || cluster > MostClusterBlocks(f)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  const size_t threads = size_t{config->blockDimX} * config->blockDimY * config->blockDimZ;
  if (threads == 0 || threads > kMaxThreads) return CUDA_ERROR_INVALID_VALUE;
  const int blocks = BlocksPerMultiprocessor(f, static_cast<int>(threads), config->sharedMemBytes) *
                     f.function->context().device().multiprocessors();
  *numClusters = blocks / static_cast<int>(cluster);
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
