// cuOccupancy*: how many blocks a multiprocessor has at once. A multiprocessor is a worker thread here, which
// has one block at a time; programs size grids by the answer, so it is a GPU's, and never more than a
// cooperative launch can have.
#include <algorithm>

#include "driver_api.h"
#include "runtime/cuda/driver/code/function.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"

namespace ptx2cpu::driver {

namespace {

constexpr size_t kThreadsPerMultiprocessor = 2048, kBlocksPerMultiprocessor = 32;
constexpr size_t kSharedPerMultiprocessor = 233472, kSharedReservedPerBlock = 1024;
constexpr size_t kPortableCluster = 8;

size_t Volume(const Dim3& d) { return size_t{d.x} * d.y * d.z; }

// A function whose code exists.
struct Compiled {
  Function* function = nullptr;
  const ptx2cpu_kernel* kernel = nullptr;
  int max_threads = 0;
};

CUresult Find(CUfunction handle, Compiled& found) {
  Context* context;
  const rt::KernelCode* code;
  if (const CUresult error = WorkingContext(context)) return error;
  if (const CUresult error = FunctionOf(handle, *context, found.function)) return error;
  if (const CUresult error = found.function->Code(code)) return error;
  found.kernel = &code->kernel();
  return found.function->Attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, found.max_threads);
}

int BlocksPerMultiprocessor(const Compiled& f, int threads, size_t dynamic_shared) {
  if (threads > static_cast<int>(kMaxThreads) || dynamic_shared > f.function->MaxDynamicShared(*f.kernel))
    return 0;
  const size_t rounded = (static_cast<size_t>(threads) + 31) / 32 * 32;
  const size_t shared = f.kernel->static_shared_bytes + dynamic_shared + kSharedReservedPerBlock;
  size_t blocks = std::min(
      {kBlocksPerMultiprocessor, kThreadsPerMultiprocessor / rounded, kSharedPerMultiprocessor / shared});
  rt::LaunchShape shape;
  shape.block = {static_cast<uint32_t>(threads), 1, 1};
  shape.dynamic_shared_bytes = static_cast<uint32_t>(dynamic_shared);
  if (f.kernel->max_threads[0] != 0)
    shape.block = {static_cast<uint32_t>(std::min(threads, f.max_threads)), 1, 1};
  if (f.kernel->required_threads[0] != 0)
    shape.block = {f.kernel->required_threads[0], std::max(1u, f.kernel->required_threads[1]),
                   std::max(1u, f.kernel->required_threads[2])};
  shape.grid = rt::WithCluster(*f.kernel, shape).cluster;
  const size_t resident = rt::MaxCooperativeBlocks(*f.kernel, shape);
  const size_t multiprocessors = static_cast<size_t>(f.function->context().device().multiprocessors());
  return static_cast<int>(std::min(blocks, std::max<size_t>(resident / multiprocessors, 1)));
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
  return f.function->settings().non_portable_cluster != 0 ? kMaxClusterBlocks : kPortableCluster;
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
