// Questions about graphs: see stream_questions.h.
#pragma once

#include "stream_questions.h"

namespace stream_questions {

// A chain of kernel nodes.
inline CUgraph Chain(Scene& scene, const std::vector<CUfunction>& functions,
                     std::vector<CUgraphNode>* nodes = nullptr) {
  CUgraph graph = nullptr;
  cuGraphCreate(&graph, 0);
  CUgraphNode last = nullptr;
  for (const CUfunction function : functions) {
    const CUDA_KERNEL_NODE_PARAMS kernel = scene.Kernel(function);
    CUgraphNode node = nullptr;
    cuGraphAddKernelNode(&node, graph, &last, last == nullptr ? 0 : 1, &kernel);
    if (nodes != nullptr) nodes->push_back(node);
    last = node;
  }
  return graph;
}

inline void AskNodes(Answers& answers) {
  Scene scene;
  CUgraph graph = nullptr, other = nullptr;
  answers.Add("graph flags 1", cuGraphCreate(&graph, 1));
  answers.Add("graph null", cuGraphCreate(nullptr, 0));
  answers.Add("graph", cuGraphCreate(&graph, 0));
  cuGraphCreate(&other, 0);
  CUgraphNode a = nullptr, b = nullptr, c = nullptr, foreign = nullptr;
  cuGraphAddEmptyNode(&a, graph, nullptr, 0);
  cuGraphAddEmptyNode(&b, graph, &a, 1);
  cuGraphAddEmptyNode(&foreign, other, nullptr, 0);
  const CUgraphNode twice[] = {a, a};
  answers.Add("empty with a node of another graph", cuGraphAddEmptyNode(&c, graph, &foreign, 1));
  answers.Add("empty with a dependency twice", cuGraphAddEmptyNode(&c, graph, twice, 2));
  answers.Add("dependency that is there", cuGraphAddDependencies(graph, &a, &b, nullptr, 1));
  answers.Add("dependency on itself", cuGraphAddDependencies(graph, &a, &a, nullptr, 1));
  answers.Add("dependency of another graph", cuGraphAddDependencies(graph, &a, &foreign, nullptr, 1));
  answers.Add("no dependency", cuGraphAddDependencies(graph, nullptr, nullptr, nullptr, 0));
  answers.Add("remove what is not there", cuGraphRemoveDependencies(graph, &b, &a, nullptr, 1));
  answers.Add("circle", cuGraphAddDependencies(graph, &b, &a, nullptr, 1));
  CUgraphExec exec = nullptr;
  answers.Add("instantiate a circle", cuGraphInstantiate(&exec, graph, 0));
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  const CUresult with_params = cuGraphInstantiateWithParams(&exec, graph, &params);
  answers.Add("instantiate a circle with params", CUDA_SUCCESS, static_cast<int>(with_params),
              static_cast<int>(params.result_out), params.hErrNode_out != nullptr);
  size_t count = 0;
  answers.Add("count of nodes", cuGraphGetNodes(graph, nullptr, &count), std::cref(count));
  CUgraphNode nodes[8];
  count = 1;
  answers.Add("one of the nodes", cuGraphGetNodes(graph, nodes, &count), std::cref(count));
  count = 8;
  answers.Add("all nodes", cuGraphGetNodes(graph, nodes, &count), std::cref(count));
  CUDA_HOST_NODE_PARAMS host{};
  answers.Add("host node of nothing", cuGraphAddHostNode(&c, other, nullptr, 0, &host));
  host.fn = [](void*) {};
  CUgraphNode host_node = nullptr;
  answers.Add("host node", cuGraphAddHostNode(&host_node, other, nullptr, 0, &host));
  CUDA_MEMSET_NODE_PARAMS fill = scene.Fill();
  CUgraphNode fill_node = nullptr;
  answers.Add("set node", cuGraphAddMemsetNode(&fill_node, other, nullptr, 0, &fill, scene.context));
  fill.elementSize = 3;
  answers.Add("set node of 3 bytes", cuGraphAddMemsetNode(&c, other, nullptr, 0, &fill, scene.context));
  fill = scene.Fill();
  fill.width = 0;
  answers.Add("set node of nothing", cuGraphAddMemsetNode(&c, other, nullptr, 0, &fill, scene.context));
  fill = scene.Fill();
  answers.Add("set node without context", cuGraphAddMemsetNode(&c, other, nullptr, 0, &fill, nullptr));
  CUDA_KERNEL_NODE_PARAMS kernel = scene.Kernel(scene.first);
  CUgraphNode kernel_node = nullptr;
  answers.Add("kernel node", cuGraphAddKernelNode(&kernel_node, other, nullptr, 0, &kernel));
  kernel.gridDimX = 0;
  answers.Add("kernel node of no blocks", cuGraphAddKernelNode(&c, other, nullptr, 0, &kernel));
  kernel = scene.Kernel(nullptr);
  answers.Add("kernel node without function", cuGraphAddKernelNode(&c, other, nullptr, 0, &kernel));
  answers.Add("child of nothing", cuGraphAddChildGraphNode(&c, other, nullptr, 0, nullptr));
  answers.Add("event node of nothing", cuGraphAddEventRecordNode(&c, other, nullptr, 0, nullptr));
  CUgraphNodeType type;
  answers.Add("type", cuGraphNodeGetType(host_node, &type), std::cref(type));
  answers.Add("kernel parameters of a host node", cuGraphKernelNodeGetParams(host_node, &kernel));
  answers.Add("host parameters", cuGraphHostNodeGetParams(host_node, &host));
  CUkernelNodeAttrValue value{};
  for (const int id : {1, 2, 3, 4, 8, 9, 10}) {
    value = {};
    answers.Add("kernel attribute " + std::to_string(id),
                cuGraphKernelNodeGetAttribute(kernel_node, static_cast<CUkernelNodeAttrID>(id), &value),
                value.pad[0]);
  }
  CUgraphNode copy_of = nullptr;
  CUgraph clone = nullptr;
  answers.Add("clone", cuGraphClone(&clone, other));
  answers.Add("find in clone", cuGraphNodeFindInClone(&copy_of, host_node, clone));
  answers.Add("find in another", cuGraphNodeFindInClone(&copy_of, host_node, graph));
  answers.Add("nodes of a clone's clone", [&] {
    CUgraph second = nullptr;
    cuGraphClone(&second, clone);
    return cuGraphNodeFindInClone(&copy_of, host_node, second);
  }());
  answers.Add("destroy a node", cuGraphDestroyNode(foreign));
  CUgraphNode parent_node = nullptr;
  CUgraph parent = nullptr, inner = nullptr;
  cuGraphCreate(&parent, 0);
  answers.Add("child", cuGraphAddChildGraphNode(&parent_node, parent, nullptr, 0, other));
  answers.Add("graph of a child", cuGraphChildGraphNodeGetGraph(parent_node, &inner));
  answers.Add("set a kernel attribute", [&] {
    value = {};
    value.priority = -2;
    return cuGraphKernelNodeSetAttribute(kernel_node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value);
  }());
  answers.Add("set a cluster", [&] {
    value = {};
    value.clusterDim.x = value.clusterDim.y = value.clusterDim.z = 1;
    return cuGraphKernelNodeSetAttribute(kernel_node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value);
  }());
  CUDA_KERNEL_NODE_PARAMS read{};
  answers.Add("kernel parameters", cuGraphKernelNodeGetParams(kernel_node, &read));
  answers.Add("kernel parameters: function and context", CUDA_SUCCESS, read.func == scene.first,
              read.kern == nullptr, read.ctx == scene.context, read.extra == nullptr);
  read.func = scene.second;
  answers.Add("set kernel parameters", cuGraphKernelNodeSetParams(kernel_node, &read));
  answers.Add("instantiate for device launch",
              cuGraphInstantiate(&exec, parent, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
  answers.Add("instantiate flags 16", cuGraphInstantiate(&exec, other, 16));
  answers.Add("destroy no graph", cuGraphDestroy(nullptr));
  CUuserObject object = nullptr;
  const CUhostFn nothing = [](void*) {};
  answers.Add("user object flags 0", cuUserObjectCreate(&object, &scene, nothing, 1, 0));
  answers.Add("user object without references",
              cuUserObjectCreate(&object, &scene, nothing, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  answers.Add("user object",
              cuUserObjectCreate(&object, &scene, nothing, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  answers.Add("graph takes one", cuGraphRetainUserObject(other, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  answers.Add("graph gives back two", cuGraphReleaseUserObject(other, object, 2));
  answers.Add("graph gives back one", cuGraphReleaseUserObject(other, object, 1));
}

inline void AskEdges(Answers& answers) {
  Scene scene;
  std::vector<CUgraphNode> nodes;
  CUgraph graph = Chain(scene, {scene.first, scene.first}, &nodes);
  CUgraphNode empty = nullptr, third = nullptr;
  cuGraphAddEmptyNode(&empty, graph, nullptr, 0);
  const CUDA_KERNEL_NODE_PARAMS kernel = scene.Kernel(scene.first);
  cuGraphAddKernelNode(&third, graph, nullptr, 0, &kernel);
  CUgraphEdgeData data{};
  data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  answers.Add("programmatic edge to an empty node",
              cuGraphAddDependencies(graph, &nodes[0], &empty, &data, 1));
  answers.Add("programmatic edge", cuGraphAddDependencies(graph, &nodes[1], &third, &data, 1));
  CUgraphNode from[8], to[8];
  CUgraphEdgeData edges[8];
  size_t count = 8;
  answers.Add("edges without data", cuGraphGetEdges(graph, from, to, nullptr, &count));
  count = 8;
  answers.Add("edges", cuGraphGetEdges(graph, from, to, edges, &count), std::cref(count));
  count = 8;
  answers.Add("dependencies without data", cuGraphNodeGetDependencies(third, from, nullptr, &count));
  count = 0;
  answers.Add("count of edges without data", cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &count),
              std::cref(count));
}

inline void AskUpdates(Answers& answers) {
  Scene scene;
  std::vector<CUgraphNode> nodes;
  CUgraph graph = Chain(scene, {scene.first, scene.first}, &nodes);
  CUgraphExec exec = nullptr, fork_exec = nullptr;
  answers.Add("instantiate", cuGraphInstantiate(&exec, graph, 0));
  const auto update = [&](const std::string& label, CUgraph with) {
    CUgraphExecUpdateResultInfo info{};
    const CUresult result = cuGraphExecUpdate(exec, with, &info);
    answers.Add("update: " + label, CUDA_SUCCESS, static_cast<int>(result), static_cast<int>(info.result),
                info.errorNode != nullptr, info.errorFromNode != nullptr);
  };
  update("the same", Chain(scene, {scene.first, scene.first}));
  update("another function", Chain(scene, {scene.first, scene.second}));
  update("more nodes", Chain(scene, {scene.first, scene.first, scene.first}));
  CUgraph loose = Chain(scene, {scene.first});
  CUgraphNode node = nullptr;
  CUDA_KERNEL_NODE_PARAMS kernel = scene.Kernel(scene.first);
  cuGraphAddKernelNode(&node, loose, nullptr, 0, &kernel);
  update("no edge", loose);
  CUgraph typed = Chain(scene, {scene.first});
  size_t count = 1;
  CUgraphNode root = nullptr;
  cuGraphGetNodes(typed, &root, &count);
  cuGraphAddEmptyNode(&node, typed, &root, 1);
  update("another type", typed);
  CUgraph backwards = nullptr;
  cuGraphCreate(&backwards, 0);
  CUgraphNode later = nullptr, earlier = nullptr;
  cuGraphAddKernelNode(&later, backwards, nullptr, 0, &kernel);
  cuGraphAddKernelNode(&earlier, backwards, nullptr, 0, &kernel);
  cuGraphAddDependencies(backwards, &earlier, &later, nullptr, 1);
  update("made in the other order", backwards);
  // Two sinks after one root, in both orders; one host function, one kernel.
  const auto fork = [&](bool host_first) {
    CUgraph made = Chain(scene, {scene.first});
    size_t one = 1;
    CUgraphNode begin = nullptr, end = nullptr;
    cuGraphGetNodes(made, &begin, &one);
    const CUDA_KERNEL_NODE_PARAMS launch = scene.Kernel(scene.first);
    const CUDA_HOST_NODE_PARAMS call{[](void*) {}, nullptr};
    if (host_first) cuGraphAddHostNode(&end, made, &begin, 1, &call);
    cuGraphAddKernelNode(&end, made, &begin, 1, &launch);
    if (!host_first) cuGraphAddHostNode(&end, made, &begin, 1, &call);
    return made;
  };
  std::swap(exec, fork_exec);
  cuGraphInstantiate(&exec, fork(true), 0);
  update("fork, the same", fork(true));
  update("fork, sinks in the other order", fork(false));
  std::swap(exec, fork_exec);
  CUgraph wide = Chain(scene, {scene.first, scene.first});
  cuGraphAddKernelNode(&node, wide, nullptr, 0, &kernel);
  update("more sinks", wide);
  kernel = scene.Kernel(scene.second);
  answers.Add("exec kernel: another function", cuGraphExecKernelNodeSetParams(exec, nodes[0], &kernel));
  kernel = scene.Kernel(scene.first);
  kernel.gridDimX = 7;
  answers.Add("exec kernel: another grid", cuGraphExecKernelNodeSetParams(exec, nodes[0], &kernel));
  CUDA_HOST_NODE_PARAMS host{[](void*) {}, nullptr};
  answers.Add("exec host on a kernel node", cuGraphExecHostNodeSetParams(exec, nodes[0], &host));
  answers.Add("exec kernel: a node of another graph", cuGraphExecKernelNodeSetParams(exec, root, &kernel));
  unsigned enabled = 9;
  answers.Add("disable", cuGraphNodeSetEnabled(exec, nodes[0], 0));
  answers.Add("disabled", cuGraphNodeGetEnabled(exec, nodes[0], &enabled), std::cref(enabled));
  answers.Add("launch with a disabled node", cuGraphLaunch(exec, scene.a));
  CUgraph mixed = nullptr;
  cuGraphCreate(&mixed, 0);
  CUgraphNode fill_node = nullptr, host_node = nullptr, empty = nullptr;
  CUDA_MEMSET_NODE_PARAMS fill = scene.Fill();
  cuGraphAddMemsetNode(&fill_node, mixed, nullptr, 0, &fill, scene.context);
  cuGraphAddHostNode(&host_node, mixed, nullptr, 0, &host);
  cuGraphAddEmptyNode(&empty, mixed, nullptr, 0);
  CUgraphExec mixed_exec = nullptr;
  cuGraphInstantiate(&mixed_exec, mixed, 0);
  answers.Add("disable a host node", cuGraphNodeSetEnabled(mixed_exec, host_node, 0));
  answers.Add("disable an empty node", cuGraphNodeSetEnabled(mixed_exec, empty, 0));
  answers.Add("is a host node enabled", cuGraphNodeGetEnabled(mixed_exec, host_node, &enabled));
  fill.width = 4;
  answers.Add("exec set: shorter",
              cuGraphExecMemsetNodeSetParams(mixed_exec, fill_node, &fill, scene.context));
  fill.width = 64;
  answers.Add("exec set: longer",
              cuGraphExecMemsetNodeSetParams(mixed_exec, fill_node, &fill, scene.context));
  fill.elementSize = 1;
  answers.Add("exec set: other elements",
              cuGraphExecMemsetNodeSetParams(mixed_exec, fill_node, &fill, scene.context));
  cuuint64_t flags = 9;
  answers.Add("flags of exec", cuGraphExecGetFlags(mixed_exec, &flags), std::cref(flags));
  cuStreamSynchronize(scene.a);
}

inline void AskGraphMemory(Answers& answers) {
  Scene scene;
  CUgraph graph = nullptr;
  cuGraphCreate(&graph, 0);
  CUDA_MEM_ALLOC_NODE_PARAMS allocation{};
  allocation.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  allocation.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUgraphNode alloc = nullptr, release = nullptr, node = nullptr;
  answers.Add("allocation node of nothing", cuGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &allocation));
  allocation.bytesize = 4096;
  answers.Add("allocation node", cuGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &allocation));
  answers.Add("free node of nothing", cuGraphAddMemFreeNode(&node, graph, &alloc, 1, 0));
  answers.Add("free node of other memory", cuGraphAddMemFreeNode(&node, graph, &alloc, 1, scene.memory));
  CUgraph clone = nullptr, parent = nullptr;
  answers.Add("clone with memory", cuGraphClone(&clone, graph));
  cuGraphCreate(&parent, 0);
  answers.Add("child with memory", cuGraphAddChildGraphNode(&node, parent, nullptr, 0, graph));
  answers.Add("destroy an allocation node", cuGraphDestroyNode(alloc));
  CUgraphExec exec = nullptr, second = nullptr;
  answers.Add("instantiate without free", cuGraphInstantiate(&exec, graph, 0));
  answers.Add("instantiate twice", cuGraphInstantiate(&second, graph, 0));
  answers.Add("launch", cuGraphLaunch(exec, scene.a));
  answers.Add("launch again without free", cuGraphLaunch(exec, scene.a));
  answers.Add("free outside", cuMemFreeAsync(allocation.dptr, scene.a));
  answers.Add("launch again", cuGraphLaunch(exec, scene.a));
  cuStreamSynchronize(scene.a);
  CUgraph freed = nullptr;
  cuGraphCreate(&freed, 0);
  cuGraphAddMemAllocNode(&alloc, freed, nullptr, 0, &allocation);
  answers.Add("free node that does not wait",
              cuGraphAddMemFreeNode(&release, freed, nullptr, 0, allocation.dptr));
  answers.Add("free node", cuGraphAddMemFreeNode(&release, freed, &alloc, 1, allocation.dptr));
  answers.Add("free node twice", cuGraphAddMemFreeNode(&node, freed, &alloc, 1, allocation.dptr));
  answers.Add("remove the edge between", cuGraphRemoveDependencies(freed, &alloc, &release, nullptr, 1));
  answers.Add("instantiate with free", cuGraphInstantiate(&second, freed, 0));
  answers.Add("launch with free", cuGraphLaunch(second, scene.a));
  answers.Add("launch with free again", cuGraphLaunch(second, scene.a));
  answers.Add("free outside what is freed inside", cuMemFreeAsync(allocation.dptr, scene.a));
  answers.Add("done", cuStreamSynchronize(scene.a));
  CUgraphExec third = nullptr;
  answers.Add("destroy exec", cuGraphExecDestroy(second));
  answers.Add("instantiate again behind destroy", cuGraphInstantiate(&third, freed, 0));
  CUgraph automatic = nullptr;
  cuGraphCreate(&automatic, 0);
  cuGraphAddMemAllocNode(&alloc, automatic, nullptr, 0, &allocation);
  answers.Add("instantiate with automatic free",
              cuGraphInstantiate(&second, automatic, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  answers.Add("launch with automatic free", cuGraphLaunch(second, scene.a));
  answers.Add("launch with automatic free again", cuGraphLaunch(second, scene.a));
  answers.Add("all done", cuStreamSynchronize(scene.a));
}

}  // namespace stream_questions
