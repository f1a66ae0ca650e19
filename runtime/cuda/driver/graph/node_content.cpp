// From the parameters of a graph node to the work that it does.
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "runtime/cuda/driver/code/function.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/copy/copy.h"
#include "runtime/cuda/driver/graph/graph.h"
#include "runtime/cuda/driver/graph/graph_memory.h"
#include "runtime/cuda/driver/launch/kernel_work.h"
#include "runtime/cuda/driver/memory/pool.h"
#include "runtime/cuda/driver/stream/event.h"
#include "runtime/cuda/driver/stream/memory_operation.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

// What kernelParams of a node points to.
struct KernelArguments {
  rt::ParameterBlock block;
  std::vector<void*> addresses;
};

void StoreArguments(const rt::KernelWork& work, NodeContent& content) {
  auto arguments = std::make_shared<KernelArguments>();
  arguments->block = work.params;
  const ptx2cpu_kernel& kernel = *work.kernel;
  for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
    arguments->addresses.push_back(arguments->block.data() + kernel.parameters[i].offset);
  }
  content.params.kernel.kernelParams = arguments->addresses.data();
  content.params.kernel.extra = nullptr;
  content.storage = std::move(arguments);
}

// Attributes and work agree.
void StoreAttributes(const rt::KernelWork& work, NodeContent& content) {
  if (work.cooperative) content.attributes[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].cooperative = 1;
  const Dim3& cluster = work.shape.cluster;
  if (cluster.x * cluster.y * cluster.z > 1) {
    content.attributes[CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION].clusterDim = {cluster.x, cluster.y, cluster.z};
  }
}

CUresult MakeKernel(const CUDA_KERNEL_NODE_PARAMS_v3& kernel, const KernelAttributes& attributes,
                    NodeContent& content) {
  Context* context = nullptr;
  if (kernel.ctx != nullptr) {
    context = From<Context>(kernel.ctx);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  } else if (const CUresult error = WorkingContext(context)) {
    return error;
  }
  Function* function = nullptr;
  const CUfunction handle = kernel.func != nullptr ? kernel.func : reinterpret_cast<CUfunction>(kernel.kern);
  if (const CUresult error = FunctionOf(handle, *context, function)) return error;
  LaunchRequest request;
  request.shape.grid = {kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ};
  request.shape.block = {kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ};
  request.shape.dynamic_shared_bytes = kernel.sharedMemBytes;
  if (const auto found = attributes.find(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION); found != attributes.end()) {
    const auto& cluster = found->second.clusterDim;
    request.shape.cluster = {std::max(1u, cluster.x), std::max(1u, cluster.y), std::max(1u, cluster.z)};
  }
  if (const auto found = attributes.find(CU_LAUNCH_ATTRIBUTE_COOPERATIVE); found != attributes.end()) {
    request.cooperative = found->second.cooperative != 0;
  }
  request.parameters = kernel.kernelParams;
  request.extra = kernel.extra;
  rt::KernelWork work;
  if (const CUresult error = MakeKernelWork(*function, request, work)) return error;
  content.attributes = attributes;
  content.params.kernel.ctx = HandleOf(context);
  StoreArguments(work, content);
  content.works.emplace_back(std::move(work));
  return CUDA_SUCCESS;
}

CUresult MakeChild(const CUDA_CHILD_GRAPH_NODE_PARAMS& params, NodeContent& content) {
  Graph* const graph = From<Graph>(params.graph);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (params.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
    if (graph->inner) return CUDA_ERROR_INVALID_VALUE;
    content.children.emplace_back(graph);
  } else if (params.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE) {
    if (graph->IsUnique()) return CUDA_ERROR_NOT_SUPPORTED;
    content.children.emplace_back(graph->Clone());
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  content.children.front()->inner = true;
  NameChildren(content);
  return CUDA_SUCCESS;
}

bool IsRight(const CUDA_MEM_ALLOC_NODE_PARAMS_v2& params) {
  return params.bytesize != 0 && (params.accessDescCount == 0 || params.accessDescs != nullptr);
}

void StoreAllocation(const CUDA_MEM_ALLOC_NODE_PARAMS_v2& params, NodeContent& content) {
  auto access = std::make_shared<std::vector<CUmemAccessDesc>>(params.accessDescs,
                                                               params.accessDescs + params.accessDescCount);
  content.params.alloc = params;
  content.params.alloc.accessDescs = access->data();
  content.storage = access;
}

CUresult MakeNewAllocation(CUDA_MEM_ALLOC_NODE_PARAMS_v2& params, NodeContent& content) {
  if (!IsRight(params)) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<const void> memory = AllocateForGraph(params.poolProps, params.bytesize, &params.dptr);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  std::shared_ptr<const void> note = NoteGraphAllocation(params.dptr);
  StoreAllocation(params, content);
  content.works.emplace_back(
      rt::CallWork{[memory, note] {}});  // keeps it as long as the node may be launched
  return CUDA_SUCCESS;
}

// An allocation node whose memory is free again when these nodes are done, and which no node allocates after
// that. Null: there is none. Memory of captured allocations is not used, since no work keeps it.
const GraphNode* FindFreedBefore(const Graph& graph, std::span<const GraphEdge> dependencies,
                                 const CUDA_MEM_ALLOC_NODE_PARAMS_v2& params) {
  std::unordered_set<const GraphNode*> seen;
  std::vector<const GraphNode*> open;
  const auto visit = [&](std::span<const GraphEdge> edges) {
    for (const GraphEdge& edge : edges) {
      if (seen.insert(edge.node).second) open.push_back(edge.node);
    }
  };
  visit(dependencies);
  std::unordered_map<CUdeviceptr, size_t> frees, allocations;
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (node->type() == CU_GRAPH_NODE_TYPE_MEM_FREE) ++frees[node->content.params.free.dptr];
    visit(node->dependencies);
  }
  if (frees.empty()) return nullptr;
  for (const auto& node : graph.nodes()) {
    if (node->type() == CU_GRAPH_NODE_TYPE_MEM_ALLOC) ++allocations[node->content.params.alloc.dptr];
  }
  const auto fits = [&](const auto& node) {
    if (node->type() != CU_GRAPH_NODE_TYPE_MEM_ALLOC || node->content.works.empty()) return false;
    const auto& alloc = node->content.params.alloc;
    const CUmemLocation &here = alloc.poolProps.location, &wanted = params.poolProps.location;
    return alloc.bytesize == params.bytesize && here.type == wanted.type && here.id == wanted.id &&
           frees[alloc.dptr] == allocations[alloc.dptr];
  };
  const auto found = std::ranges::find_if(graph.nodes(), fits);
  return found == graph.nodes().end() ? nullptr : found->get();
}

CUresult MakeBatch(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2& params, NodeContent& content) {
  if (params.flags != 0 || params.count > 256 || (params.count != 0 && params.paramArray == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  auto operations = std::make_shared<std::vector<CUstreamBatchMemOpParams>>(params.paramArray,
                                                                            params.paramArray + params.count);
  for (const CUstreamBatchMemOpParams& operation : *operations) {
    if (const CUresult error = MakeMemoryOperation(operation, content.works.emplace_back())) return error;
  }
  content.params.memOp.paramArray = operations->data();
  content.storage = operations;
  return CUDA_SUCCESS;
}

CUresult Make(CUgraphNodeParams& params, const KernelAttributes& attributes, NodeContent& content) {
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return MakeKernel(params.kernel, attributes, content);
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
      rt::CopyWork copy;
      if (const CUresult error = MakeCopyWork(params.memcpy.copyParams, &copy)) return error;
      content.works.emplace_back(copy);
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      if (params.memset.width == 0 || params.memset.height == 0) return CUDA_ERROR_INVALID_VALUE;
      rt::FillWork fill;
      if (const CUresult error = MakeFillWork(params.memset, &fill)) return error;
      content.works.emplace_back(fill);
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      if (params.host.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
      content.works.emplace_back(rt::HostWork{params.host.fn, params.host.userData});
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return MakeChild(params.graph, content);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: {
      EventObject* const event = From<EventObject>(params.eventRecord.event);
      if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
      return event->shared() == nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;  // of this process alone
    }
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return MakeNewAllocation(params.alloc, content);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return NoteGraphFree(params.free.dptr);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return MakeBatch(params.memOp, content);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:  // MakeConditional
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult MakeContent(CUgraphNodeParams& params, const KernelAttributes& attributes, NodeContent& content) {
  NodeContent made;
  made.params = params;
  if (const CUresult error = Make(params, attributes, made)) return error;
  content = std::move(made);
  return CUDA_SUCCESS;
}

CUresult MakeAllocation(const Graph& graph, std::span<const GraphEdge> dependencies,
                        CUgraphNodeParams& params, NodeContent& content) {
  const GraphNode* const before =
      IsRight(params.alloc) ? FindFreedBefore(graph, dependencies, params.alloc) : nullptr;
  if (before == nullptr) return MakeContent(params, {}, content);
  params.alloc.dptr = before->content.params.alloc.dptr;
  NoteGraphReuse(params.alloc.dptr);
  NodeContent made;
  made.params = params;
  StoreAllocation(params.alloc, made);
  made.works = before->content.works;  // what keeps the memory
  content = std::move(made);
  return CUDA_SUCCESS;
}

CUresult CapturedContent(const CUgraphNodeParams& params, rt::Work work, NodeContent& content) {
  NodeContent made;
  made.params = params;
  if (const auto* kernel = std::get_if<rt::KernelWork>(&work)) {
    StoreArguments(*kernel, made);
    StoreAttributes(*kernel, made);
  } else if (params.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP) {
    if (const CUresult error = MakeBatch(params.memOp, made)) return error;
  } else if (params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    made.params.alloc.accessDescs = nullptr;
    made.params.alloc.accessDescCount = 0;
    made.storage = NoteGraphAllocation(params.alloc.dptr);
  } else if (params.type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
    if (const CUresult error = NoteGraphFree(params.free.dptr)) return error;
  }
  if (!std::holds_alternative<std::monostate>(work)) made.works.push_back(std::move(work));
  content = std::move(made);
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
