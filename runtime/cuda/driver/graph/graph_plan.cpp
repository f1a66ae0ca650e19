#include "runtime/cuda/driver/graph/graph_plan.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <unordered_map>

#include "runtime/cuda/driver/launch/kernel_work.h"
#include "runtime/cuda/driver/stream/event.h"
#include "runtime/stream/arrange.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

// Conditions that are given their default value when a launch begins; null: none is.
rt::Work DefaultValues(const std::vector<GraphCondition>& conditions) {
  std::vector<GraphCondition> assigned;
  std::ranges::copy_if(conditions, std::back_inserter(assigned), &GraphCondition::assign_default);
  if (assigned.empty()) return {};
  return rt::CallWork{[assigned] {
    for (const GraphCondition& given : assigned) given.condition->Set(given.default_value);
  }};
}

class PlanMaker {
 public:
  explicit PlanMaker(GraphPlan& plan) : plan_(plan) {}

  rt::Steps StepsOf(const Graph& graph) {
    std::vector<rt::GraphItem> items;
    Add(graph, {}, items);
    std::ranges::copy(graph.conditions, std::back_inserter(conditions_));
    return rt::Arrange(std::move(items));
  }

  // Conditions of bodies, too, get theirs once a launch, not each time that the body begins.
  rt::Steps StepsOfLaunch(const Graph& graph) {
    rt::Steps steps = StepsOf(graph);
    rt::Work defaults = DefaultValues(conditions_);
    if (!std::holds_alternative<std::monostate>(defaults)) steps.insert(steps.begin(), std::move(defaults));
    return steps;
  }

  void FindLeft() {
    for (const MemoryStep& step : plan_.memory) {
      if (step.bytes != 0) {
        plan_.left.push_back(step.address);
      } else if (std::erase(plan_.left, step.address) == 0) {
        plan_.taken.push_back(step.address);
      }
    }
  }

 private:
  using Items = std::vector<rt::GraphItem>;
  using Indices = std::vector<uint32_t>;

  // The items of all nodes; those that depend on none are after `before`. Returns those that nothing depends
  // on.
  Indices Add(const Graph& graph, const Indices& before, Items& items) {
    const auto order = graph.Order();
    if (!order) return before;
    std::unordered_map<const GraphNode*, uint32_t> ends;
    Indices sinks;
    for (const GraphNode* node : *order) {
      Indices after;
      for (const GraphEdge& edge : node->dependencies) after.push_back(ends[edge.node]);
      AddSetters(*node, *order, ends, after);
      if (after.empty()) after = before;
      if (node->type() == CU_GRAPH_NODE_TYPE_GRAPH)
        after = Add(*node->content.children.front(), after, items);
      ends[node] = static_cast<uint32_t>(items.size());
      items.push_back({node->enabled ? WorksOf(*node) : rt::Steps{}, std::move(after)});
      if (node->dependents.empty()) sinks.push_back(ends[node]);
    }
    return sinks.empty() ? before : sinks;
  }

  // A kernel that was made before and receives the condition's handle will set it, so the node reads it
  // afterwards, also where the edge between them is missing: programs forget it, as GPUs run the two in the
  // order of their making.
  static void AddSetters(const GraphNode& node, const std::vector<GraphNode*>& order,
                         const std::unordered_map<const GraphNode*, uint32_t>& ends, Indices& after) {
    if (node.type() != CU_GRAPH_NODE_TYPE_CONDITIONAL) return;
    for (const GraphNode* other : order) {
      if (other == &node) return;
      const uint32_t end = ends.at(other);
      if (MayGive(*other, node.content.condition->handle()) && std::ranges::find(after, end) == after.end())
        after.push_back(end);
    }
  }

  static bool MayGive(const GraphNode& node, CUgraphConditionalHandle handle) {
    return std::ranges::any_of(node.content.works, [&](const rt::Work& work) {
      const auto* kernel = std::get_if<rt::KernelWork>(&work);
      if (kernel == nullptr) return false;
      for (size_t at = 0; at + sizeof handle <= kernel->params.size(); at += sizeof handle) {
        if (std::memcmp(kernel->params.data() + at, &handle, sizeof handle) == 0) return true;
      }
      return false;
    });
  }

  rt::Steps WorksOf(const GraphNode& node) {
    const NodeContent& content = node.content;
    switch (node.type()) {
      case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        plan_.waits.push_back(content.params.eventWait.event);
        return {rt::LaunchWaitWork{static_cast<uint32_t>(plan_.waits.size() - 1)}};
      case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        if (EventObject* event = From<EventObject>(content.params.eventRecord.event)) {
          plan_.records.push_back(content.params.eventRecord.event);
          return {event->event().WorkForGraph(static_cast<uint32_t>(plan_.records.size() - 1))};
        }
        return {};
      case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return {ConditionalOf(content)};
      case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
        const auto& alloc = content.params.alloc;
        const bool on_device = alloc.poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
        plan_.memory.push_back({alloc.dptr, alloc.bytesize, on_device ? alloc.poolProps.location.id : 0});
        break;
      }
      case CU_GRAPH_NODE_TYPE_MEM_FREE:
        plan_.memory.push_back({content.params.free.dptr});
        break;
      case CU_GRAPH_NODE_TYPE_KERNEL:  // from here on: what the node has is its work
      case CU_GRAPH_NODE_TYPE_MEMCPY:
      case CU_GRAPH_NODE_TYPE_MEMSET:
      case CU_GRAPH_NODE_TYPE_HOST:
      case CU_GRAPH_NODE_TYPE_GRAPH:
      case CU_GRAPH_NODE_TYPE_EMPTY:
      case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
      case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        break;
    }
    rt::Steps works = content.works;
    for (rt::Work& work : works) {
      if (auto* kernel = std::get_if<rt::KernelWork>(&work)) kernel->latest = LatestCode;
    }
    return works;
  }

  rt::Work ConditionalOf(const NodeContent& content) {
    rt::ConditionalWork work;
    switch (content.params.conditional.type) {
      case CU_GRAPH_COND_TYPE_IF:
        work.kind = rt::ConditionalWork::Kind::kIf;
        break;
      case CU_GRAPH_COND_TYPE_WHILE:
        work.kind = rt::ConditionalWork::Kind::kWhile;
        break;
      case CU_GRAPH_COND_TYPE_SWITCH:
        work.kind = rt::ConditionalWork::Kind::kSwitch;
        break;
    }
    work.condition = content.condition;
    for (const auto& body : content.children)
      work.bodies.push_back(std::make_shared<const rt::Steps>(StepsOf(*body)));
    return work;
  }

  GraphPlan& plan_;
  std::vector<GraphCondition> conditions_;
};

// The nodes of each condition, graphs within included.
void CountConditions(const Graph& graph, std::unordered_map<const rt::Condition*, size_t>& nodes) {
  for (const GraphCondition& made : graph.conditions) nodes[made.condition.get()];
  for (const auto& node : graph.nodes()) {
    if (node->content.condition != nullptr) ++nodes[node->content.condition.get()];
    for (const auto& child : node->content.children) CountConditions(*child, nodes);
  }
}

bool MayBeInBody(CUgraphNodeType type) {
  return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_EMPTY ||
         type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET ||
         type == CU_GRAPH_NODE_TYPE_GRAPH || type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

CUgraphInstantiateResult CheckNodes(const Graph& graph, bool in_body) {
  if (!graph.Order()) return CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
  for (const auto& node : graph.nodes()) {
    if (in_body && !MayBeInBody(node->type())) return CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
    for (const auto& child : node->content.children) {
      const auto result = CheckNodes(*child, in_body || node->type() == CU_GRAPH_NODE_TYPE_CONDITIONAL);
      if (result != CUDA_GRAPH_INSTANTIATE_SUCCESS) return result;
    }
  }
  return CUDA_GRAPH_INSTANTIATE_SUCCESS;
}

}  // namespace

GraphPlan MakePlan(const Graph& graph) {
  GraphPlan plan;
  PlanMaker maker(plan);
  plan.steps = std::make_shared<const rt::Steps>(maker.StepsOfLaunch(graph));
  maker.FindLeft();
  return plan;
}

CUgraphInstantiateResult CheckStructure(const Graph& graph) {
  const CUgraphInstantiateResult nodes = CheckNodes(graph, false);
  if (nodes != CUDA_GRAPH_INSTANTIATE_SUCCESS) return nodes;
  std::unordered_map<const rt::Condition*, size_t> conditions;
  CountConditions(graph, conditions);
  const bool all = std::ranges::all_of(conditions, [](const auto& entry) { return entry.second == 1; });
  return all ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
}

}  // namespace ptx2cpu::driver
