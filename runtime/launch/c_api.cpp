#include <string>

#include "runtime/launch/launch.h"
#include "runtime/launch/ptx2cpu_rt.h"
#include "runtime/worker/failure.h"
#include "runtime/worker/per_thread.h"

namespace {

using ptx2cpu::Dim3;
using namespace ptx2cpu::rt;

struct LastMessage;
std::string& Message() { return PerThread<std::string, LastMessage>(); }

Dim3 Three(const uint32_t* values) { return {values[0], values[1], values[2]}; }

int Run(const ptx2cpu_kernel& kernel, const LaunchShape& shape, const void* params,
        const LaunchOptions& options) {
  std::optional<LaunchError> error;
  try {
    error = Launch(kernel, shape, {static_cast<const std::byte*>(params), kernel.parameter_bytes}, options);
  } catch (...) {  // C has no exceptions
    error = LaunchError{LaunchError::Kind::kResources, CurrentFailure().text};
  }
  Message() = error ? error->message : std::string();
  if (!error) return 0;
  return error->kind == LaunchError::Kind::kFault ? 10 : 9;
}

}  // namespace

extern "C" {

int ptx2cpu_launch(const ptx2cpu_kernel* kernel, const uint32_t grid[3], const uint32_t block[3],
                   uint32_t dynamic_shared_bytes, const void* params) {
  return Run(*kernel, {Three(grid), Three(block), dynamic_shared_bytes}, params, {});
}

int ptx2cpu_launch_cooperative(const ptx2cpu_kernel* kernel, const uint32_t grid[3], const uint32_t block[3],
                               uint32_t dynamic_shared_bytes, const void* params) {
  LaunchOptions options;
  options.cooperative = true;
  return Run(*kernel, {Three(grid), Three(block), dynamic_shared_bytes}, params, options);
}

uint64_t ptx2cpu_max_cooperative_blocks(const ptx2cpu_kernel* kernel, const uint32_t block[3],
                                        uint32_t dynamic_shared_bytes) {
  LaunchShape shape{{}, Three(block), dynamic_shared_bytes};
  shape.grid = WithCluster(*kernel, shape).cluster;
  return MaxCooperativeBlocks(*kernel, shape);
}

int ptx2cpu_launch_clusters(const ptx2cpu_kernel* kernel, const uint32_t grid[3], const uint32_t block[3],
                            const uint32_t cluster[3], uint32_t dynamic_shared_bytes, const void* params) {
  return Run(*kernel, {Three(grid), Three(block), dynamic_shared_bytes, Three(cluster)}, params, {});
}

const char* ptx2cpu_message(void) { return Message().c_str(); }

}  // extern "C"
