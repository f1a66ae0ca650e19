// cuGraphDebugDotPrint: a graph as Graphviz reads it.
#include <cstdio>
#include <memory>
#include <string>

#include "runtime/cuda/driver/graph/graph.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

using Params = CUgraphNodeParams;

std::string Hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string KernelText(const GraphNode& node, unsigned flags) {
  const auto& kernel = node.content.params.kernel;
  std::string text = "KERNEL";
  for (const rt::Work& work : node.content.works) {
    if (const auto* launch = std::get_if<rt::KernelWork>(&work))
      text += std::string("\\n") + launch->kernel->name;
  }
  if ((flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS)) == 0)
    return text;
  char shape[160];
  std::snprintf(shape, sizeof shape, "\\ngrid %u,%u,%u block %u,%u,%u shared %u", kernel.gridDimX,
                kernel.gridDimY, kernel.gridDimZ, kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ,
                kernel.sharedMemBytes);
  return text + shape;
}

std::string TypeText(const GraphNode& node, unsigned flags) {
  const Params& params = node.content.params;
  const bool all = (flags & CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE) != 0;
  const auto with = [&](CUgraphDebugDot_flags flag, std::string name, const std::string& more) {
    return all || (flags & flag) != 0 ? name + "\\n" + more : name;
  };
  switch (node.type()) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return KernelText(node, flags);
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
      const CUDA_MEMCPY3D& copy = params.memcpy.copyParams;
      return with(CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS, "MEMCPY",
                  std::to_string(copy.WidthInBytes) + " x " + std::to_string(copy.Height) + " x " +
                      std::to_string(copy.Depth));
    }
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return with(CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS, "MEMSET",
                  Hex(params.memset.dst) + " value " + std::to_string(params.memset.value) + " x " +
                      std::to_string(params.memset.width));
    case CU_GRAPH_NODE_TYPE_HOST:
      return with(CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS, "HOST",
                  Hex(reinterpret_cast<uint64_t>(params.host.fn)));
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return "CHILD GRAPH";
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return "EMPTY";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return with(CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS, "EVENT WAIT",
                  Hex(reinterpret_cast<uint64_t>(params.eventWait.event)));
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return with(CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS, "EVENT RECORD",
                  Hex(reinterpret_cast<uint64_t>(params.eventRecord.event)));
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return with(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS, "MEM ALLOC",
                  Hex(params.alloc.dptr) + " " + std::to_string(params.alloc.bytesize));
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return with(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS, "MEM FREE", Hex(params.free.dptr));
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return with(CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS, "BATCH MEM OP",
                  std::to_string(params.memOp.count));
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: {
      constexpr const char* kKinds[] = {"IF", "WHILE", "SWITCH"};
      return with(CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS, "CONDITIONAL",
                  kKinds[params.conditional.type] + std::string(" handle ") + Hex(params.conditional.handle));
    }
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      break;  // refused: no graph has such a node
  }
  return "NODE";
}

void Print(std::FILE* file, const Graph& graph, unsigned flags, int depth) {
  std::fprintf(file, depth == 0 ? "digraph graph_%d {\n" : "subgraph cluster_%d {\n", depth);
  for (const auto& node : graph.nodes()) {
    std::string label = TypeText(*node, flags);
    if ((flags & CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES) != 0)
      label += "\\n" + Hex(reinterpret_cast<uint64_t>(node.get()));
    const auto id = static_cast<unsigned long long>(node->id());
    std::fprintf(file, "  n%llu [shape=box, label=\"%s\"];\n", id, label.c_str());
    for (const GraphEdge& edge : node->dependencies) {
      std::fprintf(file, "  n%llu -> n%llu;\n", static_cast<unsigned long long>(edge.node->id()), id);
    }
  }
  int inner = depth;
  for (const auto& node : graph.nodes()) {
    for (const auto& child : node->content.children) Print(file, *child, flags, ++inner);
  }
  std::fprintf(file, "}\n");
}

}  // namespace

CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char* path, unsigned int flags) {
  const Graph* const graph = From<Graph>(hGraph);
  if (graph == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "w"), std::fclose);
  if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
  Print(file.get(), *graph, flags, 0);
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
