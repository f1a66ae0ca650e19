#include "runtime/cuda/driver/launch/occupancy.h"

#include <algorithm>

#include "runtime/abi/launch_shape.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {
constexpr size_t kThreadsPerMultiprocessor = 2048, kBlocksPerMultiprocessor = 32;
}  // namespace

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

uint64_t MaxCooperativeGrid(Function& function, const ptx2cpu_kernel& kernel, const rt::LaunchShape& shape) {
  Compiled f{.function = &function, .kernel = &kernel};
  if (function.Attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f.max_threads) != CUDA_SUCCESS) return 0;
  const auto threads = static_cast<int>(Volume(shape.block));
  const auto blocks = static_cast<uint64_t>(BlocksPerMultiprocessor(f, threads, shape.dynamic_shared_bytes));
  return blocks * static_cast<uint64_t>(function.context().device().multiprocessors());
}

}  // namespace ptx2cpu::driver
