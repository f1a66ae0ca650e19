// Handles of conditions.
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/graph/graph.h"

namespace ptx2cpu::driver {

using namespace cuda;

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* pHandle_out, CUgraph hGraph, CUcontext ctx,
                                        unsigned int defaultLaunchValue, unsigned int flags) {
  Graph* const graph = From<Graph>(hGraph);
  if (pHandle_out == nullptr || graph == nullptr || (flags & ~unsigned{CU_GRAPH_COND_ASSIGN_DEFAULT}) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  if (ctx != nullptr && From<Context>(ctx) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (ctx == nullptr) {
    if (const CUresult error = WorkingContext(context)) return error;
  }
  std::shared_ptr<rt::Condition> condition = rt::Condition::New();
  if (condition == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *pHandle_out = condition->handle();
  graph->conditions.push_back(
      {std::move(condition), defaultLaunchValue, flags == CU_GRAPH_COND_ASSIGN_DEFAULT});
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
