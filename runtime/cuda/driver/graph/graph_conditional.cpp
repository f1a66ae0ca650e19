// Conditions and the nodes that they control.
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/graph/graph.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

std::shared_ptr<rt::Condition> FindCondition(const Graph& graph, CUgraphConditionalHandle handle) {
  for (const Graph* place = &graph; place != nullptr; place = place->around) {
    for (const GraphCondition& made : place->conditions) {
      if (made.condition->handle() == handle) return made.condition;
    }
  }
  return nullptr;
}

// In the outermost graph that contains this one.
bool HasNode(const Graph& graph, const rt::Condition& condition) {
  for (const auto& node : graph.nodes()) {
    if (node->content.condition.get() == &condition) return true;
    for (const auto& child : node->content.children) {
      if (HasNode(*child, condition)) return true;
    }
  }
  return false;
}

bool HasRightSize(const CUDA_CONDITIONAL_NODE_PARAMS& params) {
  switch (params.type) {
    case CU_GRAPH_COND_TYPE_IF:
      return params.size == 1 || params.size == 2;
    case CU_GRAPH_COND_TYPE_WHILE:
      return params.size == 1;
    case CU_GRAPH_COND_TYPE_SWITCH:
      return params.size != 0;
  }
  return false;
}

}  // namespace

CUresult MakeConditional(Graph& graph, CUgraphNodeParams& params, NodeContent& content) {
  if (!HasRightSize(params.conditional)) return CUDA_ERROR_INVALID_VALUE;
  NodeContent made;
  made.params = params;
  made.condition = FindCondition(graph, params.conditional.handle);
  if (made.condition == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Graph* outermost = &graph;
  while (outermost->around != nullptr) outermost = outermost->around;
  if (HasNode(*outermost, *made.condition)) return CUDA_ERROR_INVALID_VALUE;  // a condition is of one node
  if (made.params.conditional.ctx == nullptr) {
    Context* context;
    if (const CUresult error = WorkingContext(context)) return error;
    made.params.conditional.ctx = HandleOf(context);
  } else if (From<Context>(made.params.conditional.ctx) == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  for (unsigned i = 0; i < params.conditional.size; ++i) {
    made.children.push_back(std::make_shared<Graph>());
    made.children.back()->inner = true;
    made.children.back()->around = &graph;
  }
  NameChildren(made);
  params.conditional.phGraph_out = made.params.conditional.phGraph_out;
  content = std::move(made);
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
