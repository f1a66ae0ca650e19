// Conditional nodes of graphs.
#include <sstream>

#include "tests/driver/stream_program.h"

using namespace driver_stream_test;

namespace {

// set(handle, p): the condition is *p. count_down(handle, p): so is it after --*p.
constexpr const char* kSetters = R"(
.version 8.3
.target sm_70
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry set(.param .u64 handle, .param .u64 p)
{
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d0, [handle];
  ld.param.u64 %d1, [p];
  ld.global.u32 %r0, [%d1];
  { .param .b64 a; st.param.b64 [a], %d0; .param .b32 b; st.param.b32 [b], %r0; call.uni cudaGraphSetConditional, (a, b); }
  ret;
}
.visible .entry count_down(.param .u64 handle, .param .u64 p)
{
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d0, [handle];
  ld.param.u64 %d1, [p];
  ld.global.u32 %r0, [%d1];
  sub.u32 %r0, %r0, 1;
  st.global.u32 [%d1], %r0;
  { .param .b64 a; st.param.b64 [a], %d0; .param .b32 b; st.param.b32 [b], %r0; call.uni cudaGraphSetConditional, (a, b); }
  ret;
}
)";

struct Conditionals : Program {
  Conditionals() : log(*this) {
    REQUIRE_OK(cuModuleLoadData(&setters, kSetters));
    REQUIRE_OK(cuModuleGetFunction(&set, setters, "set"));
    REQUIRE_OK(cuModuleGetFunction(&count_down, setters, "count_down"));
    REQUIRE_OK(cuGraphCreate(&graph, 0));
    REQUIRE_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }

  CUgraphConditionalHandle NewHandle(unsigned value = 0, unsigned flags = 0) {
    return NewHandleIn(graph, value, flags);
  }
  CUgraphConditionalHandle NewHandleIn(CUgraph of, unsigned value = 0, unsigned flags = 0) {
    CUgraphConditionalHandle handle = 0;
    REQUIRE_OK(cuGraphConditionalHandleCreate(&handle, of, context, value, flags));
    return handle;
  }
  CUresult TryAdd(CUgraphNode* node, CUgraph to, const std::vector<CUgraphNode>& after,
                  CUgraphConditionalHandle handle, CUgraphConditionalNodeType type, unsigned size,
                  std::vector<CUgraph>* bodies = nullptr) {
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    params.conditional = {handle, type, size, nullptr, context};
    const CUresult result = cuGraphAddNode_v2(node, to, after.data(), nullptr, after.size(), &params);
    if (result == CUDA_SUCCESS && bodies != nullptr)
      bodies->assign(params.conditional.phGraph_out, params.conditional.phGraph_out + size);
    return result;
  }
  std::vector<CUgraph> Add(CUgraphNode* node, CUgraph to, const std::vector<CUgraphNode>& after,
                           CUgraphConditionalHandle handle, CUgraphConditionalNodeType type, unsigned size) {
    std::vector<CUgraph> bodies;
    REQUIRE_OK(TryAdd(node, to, after, handle, type, size, &bodies));
    return bodies;
  }
  CUgraphNode AddSetter(CUgraph to, const std::vector<CUgraphNode>& after, CUfunction function,
                        CUgraphConditionalHandle handle, uint32_t* from) {
    void* parameters[] = {&handle, &from};
    const CUDA_KERNEL_NODE_PARAMS kernel = OneThread(function, parameters);
    CUgraphNode node;
    REQUIRE_OK(cuGraphAddKernelNode_v2(&node, to, after.data(), after.size(), &kernel));
    return node;
  }
  CUgraphNode AddLog(CUgraph to, const std::vector<CUgraphNode>& after, uint32_t value) {
    CUgraphNode node;
    REQUIRE_OK(log.AddNode(&node, to, after, value));
    return node;
  }
  CUgraphExec Instantiate() {
    CUgraphExec exec;
    REQUIRE_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
  }
  Values Run(CUgraphExec exec) {
    REQUIRE_OK(cuGraphLaunch(exec, stream));
    REQUIRE_OK(cuStreamSynchronize(stream));
    return log.Take();
  }

  Log log;
  CUmodule setters = nullptr;
  CUfunction set = nullptr, count_down = nullptr;
  CUgraph graph = nullptr;
  CUstream stream = nullptr;
};

}  // namespace

TEST_CASE("conditional nodes: if, if with else, switch") {
  Conditionals c;
  uint32_t value = 0;
  const CUgraphConditionalHandle one = c.NewHandle(), two = c.NewHandle(), many = c.NewHandle();
  CUgraphNode if_node, else_node, switch_node;
  const CUgraphNode set_one = c.AddSetter(c.graph, {}, c.set, one, &value),
                    set_two = c.AddSetter(c.graph, {set_one}, c.set, two, &value),
                    set_many = c.AddSetter(c.graph, {set_two}, c.set, many, &value);
  const auto if_bodies = c.Add(&if_node, c.graph, {set_many}, one, CU_GRAPH_COND_TYPE_IF, 1);
  const auto else_bodies = c.Add(&else_node, c.graph, {if_node}, two, CU_GRAPH_COND_TYPE_IF, 2);
  const auto switch_bodies = c.Add(&switch_node, c.graph, {else_node}, many, CU_GRAPH_COND_TYPE_SWITCH, 3);
  c.AddLog(if_bodies[0], {}, 100);
  c.AddLog(else_bodies[0], {}, 200);
  c.AddLog(else_bodies[1], {c.AddLog(else_bodies[1], {}, 201)}, 202);
  for (uint32_t i = 0; i < 3; ++i) c.AddLog(switch_bodies[i], {}, 300 + i);
  c.AddLog(c.graph, {switch_node}, 1);
  const CUgraphExec exec = c.Instantiate();
  CHECK(c.Run(exec) == Values{201, 202, 300, 1});
  value = 1;
  CHECK(c.Run(exec) == Values{100, 200, 301, 1});
  value = 2;
  CHECK(c.Run(exec) == Values{100, 200, 302, 1});
  value = 3;
  CHECK(c.Run(exec) == Values{100, 200, 1});
  CUgraphNodeType type;
  REQUIRE_OK(cuGraphNodeGetType(if_node, &type));
  CHECK(type == CU_GRAPH_NODE_TYPE_CONDITIONAL);
  CHECK(cuGraphDestroy(if_bodies[0]) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE_OK(cuGraphDestroy(c.graph));  // the executable graph still runs
  CHECK(c.Run(exec) == Values{100, 200, 1});
}

TEST_CASE("conditional nodes: what sets the condition comes before, also without an edge") {
  Conditionals c;
  uint32_t value = 0;
  const CUgraphConditionalHandle handle = c.NewHandle();
  c.AddSetter(c.graph, {}, c.set, handle, &value);
  CUgraphNode node;
  const auto bodies = c.Add(&node, c.graph, {}, handle, CU_GRAPH_COND_TYPE_SWITCH, 2);
  for (uint32_t i = 0; i < 2; ++i) c.AddLog(bodies[i], {}, i);
  const CUgraphExec exec = c.Instantiate();
  for (uint32_t launch = 0; launch < 100; ++launch) {
    value = launch % 3;
    CHECK(c.Run(exec) == (value == 2 ? Values{} : Values{value}));
  }
}

TEST_CASE("conditional nodes: a loop whose body is captured, with a default value for each launch") {
  Conditionals c;
  uint32_t count = 4;
  const CUgraphConditionalHandle handle = c.NewHandle(1, CU_GRAPH_COND_ASSIGN_DEFAULT);
  CUgraphNode loop;
  const auto bodies = c.Add(&loop, c.graph, {}, handle, CU_GRAPH_COND_TYPE_WHILE, 1);
  REQUIRE_OK(
      cuStreamBeginCaptureToGraph(c.stream, bodies[0], nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
  REQUIRE_OK(c.log.Append(c.stream, 7));
  uint32_t* address = &count;
  CUgraphConditionalHandle given = handle;
  void* parameters[] = {&given, &address};
  REQUIRE_OK(cuLaunchKernel(c.count_down, 1, 1, 1, 1, 1, 1, 0, c.stream, parameters, nullptr));
  REQUIRE_OK(cuStreamEndCapture(c.stream, nullptr));
  const CUgraphExec exec = c.Instantiate();
  CHECK(c.Run(exec) == Values{7, 7, 7, 7});
  count = 2;
  CHECK(c.Run(exec) == Values{7, 7});
  CHECK(count == 0);
}

TEST_CASE("conditional nodes: in the middle of a capture, and within each other") {
  Conditionals c;
  uint32_t outer_count = 2, inner_count = 0;
  REQUIRE_OK(cuStreamBeginCapture_v2(c.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUstreamCaptureStatus status;
  CUgraph captured;
  const CUgraphNode* last = nullptr;
  size_t last_count = 0;
  REQUIRE_OK(c.log.Append(c.stream, 1));
  REQUIRE_OK(cuStreamGetCaptureInfo_v3(c.stream, &status, nullptr, &captured, &last, nullptr, &last_count));
  const CUgraphConditionalHandle outer = c.NewHandleIn(captured, 1, CU_GRAPH_COND_ASSIGN_DEFAULT),
                                 inner = c.NewHandleIn(captured);
  CUgraphNode outer_node, inner_node;
  const auto outer_body =
      c.Add(&outer_node, captured, {last, last + last_count}, outer, CU_GRAPH_COND_TYPE_WHILE, 1);
  REQUIRE_OK(cuStreamUpdateCaptureDependencies_v2(c.stream, &outer_node, nullptr, 1,
                                                  CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  REQUIRE_OK(c.log.Append(c.stream, 2));
  REQUIRE_OK(cuStreamEndCapture(c.stream, &c.graph));
  // Outer body: the inner loop runs twice each time.
  CUDA_MEMSET_NODE_PARAMS two{reinterpret_cast<CUdeviceptr>(&inner_count), 0, 2, 4, 1, 1};
  CUgraphNode reset;
  REQUIRE_OK(cuGraphAddMemsetNode(&reset, outer_body[0], nullptr, 0, &two, c.context));
  const CUgraphNode begin = c.AddSetter(outer_body[0], {reset}, c.set, inner, &inner_count);
  const auto inner_body = c.Add(&inner_node, outer_body[0], {begin}, inner, CU_GRAPH_COND_TYPE_WHILE, 1);
  c.AddSetter(outer_body[0], {inner_node}, c.count_down, outer, &outer_count);
  c.AddSetter(inner_body[0], {c.AddLog(inner_body[0], {}, 9)}, c.count_down, inner, &inner_count);
  const CUgraphExec exec = c.Instantiate();
  CHECK(c.Run(exec) == Values{1, 9, 9, 9, 9, 2});
  outer_count = 1;
  CHECK(c.Run(exec) == Values{1, 9, 9, 2});
}

// As on an H200: in the second turn of the outer loop the inner one finds the zero that its first run has
// left.
TEST_CASE("conditional nodes: a default value of a body's condition is given once a launch") {
  Conditionals c;
  uint32_t outer_count = 2, inner_count = 0;
  const CUgraphConditionalHandle outer = c.NewHandle(1, CU_GRAPH_COND_ASSIGN_DEFAULT);
  CUgraphNode outer_node, inner_node, reset;
  const auto outer_body = c.Add(&outer_node, c.graph, {}, outer, CU_GRAPH_COND_TYPE_WHILE, 1);
  const CUgraphConditionalHandle inner = c.NewHandleIn(outer_body[0], 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
  CUDA_MEMSET_NODE_PARAMS two{reinterpret_cast<CUdeviceptr>(&inner_count), 0, 2, 4, 1, 1};
  REQUIRE_OK(cuGraphAddMemsetNode(&reset, outer_body[0], nullptr, 0, &two, c.context));
  const auto inner_body = c.Add(&inner_node, outer_body[0], {reset}, inner, CU_GRAPH_COND_TYPE_WHILE, 1);
  c.AddSetter(outer_body[0], {inner_node}, c.count_down, outer, &outer_count);
  c.AddSetter(inner_body[0], {c.AddLog(inner_body[0], {}, 9)}, c.count_down, inner, &inner_count);
  const CUgraphExec exec = c.Instantiate();
  CHECK(c.Run(exec) == Values{9, 9});
  outer_count = 1;
  CHECK(c.Run(exec) == Values{9, 9});
}

TEST_CASE("conditional nodes: what is not allowed") {
  Conditionals c;
  CUgraphNode node, other;
  CUgraphConditionalHandle handle;
  CHECK(cuGraphConditionalHandleCreate(nullptr, c.graph, c.context, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuGraphConditionalHandleCreate(&handle, c.graph, c.context, 0, 2) == CUDA_ERROR_INVALID_VALUE);
  handle = c.NewHandle();
  CHECK(c.TryAdd(&node, c.graph, {}, handle + 1, CU_GRAPH_COND_TYPE_IF, 1) == CUDA_ERROR_INVALID_VALUE);
  CHECK(c.TryAdd(&node, c.graph, {}, handle, CU_GRAPH_COND_TYPE_IF, 3) == CUDA_ERROR_INVALID_VALUE);
  CHECK(c.TryAdd(&node, c.graph, {}, handle, CU_GRAPH_COND_TYPE_WHILE, 2) == CUDA_ERROR_INVALID_VALUE);
  CHECK(c.TryAdd(&node, c.graph, {}, handle, CU_GRAPH_COND_TYPE_SWITCH, 0) == CUDA_ERROR_INVALID_VALUE);
  CUDA_GRAPH_INSTANTIATE_PARAMS how{};
  CUgraphExec exec, second;
  CHECK(cuGraphInstantiateWithParams(&exec, c.graph, &how) == CUDA_ERROR_INVALID_VALUE);
  CHECK(how.result_out == CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
  const auto bodies = c.Add(&node, c.graph, {}, handle, CU_GRAPH_COND_TYPE_IF, 1);
  CHECK(c.TryAdd(&other, c.graph, {}, handle, CU_GRAPH_COND_TYPE_IF, 1) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE_OK(cuGraphInstantiateWithFlags(&exec, c.graph, 0));
  CHECK(cuGraphInstantiateWithFlags(&second, c.graph, 0) == CUDA_ERROR_NOT_SUPPORTED);
  REQUIRE_OK(cuGraphExecDestroy(exec));
  CUgraph copy, outside;
  CHECK(cuGraphClone(&copy, c.graph) == CUDA_ERROR_NOT_SUPPORTED);
  REQUIRE_OK(cuGraphCreate(&outside, 0));
  CHECK(cuGraphAddChildGraphNode(&other, outside, nullptr, 0, c.graph) == CUDA_ERROR_NOT_SUPPORTED);
  CUDA_HOST_NODE_PARAMS call{[](void*) {}, nullptr};
  REQUIRE_OK(cuGraphAddHostNode(&other, bodies[0], nullptr, 0, &call));
  CHECK(cuGraphInstantiateWithParams(&exec, c.graph, &how) == CUDA_ERROR_INVALID_VALUE);
  CHECK(how.result_out == CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
}

TEST_CASE("conditional nodes: an update brings the other graph's handles and defaults") {
  Conditionals c;
  const auto build = [&](unsigned value, uint32_t logged) {
    const CUgraphConditionalHandle handle = c.NewHandle(value, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraphNode node;
    const auto bodies = c.Add(&node, c.graph, {}, handle, CU_GRAPH_COND_TYPE_SWITCH, 2);
    c.AddLog(bodies[0], {}, logged);
    c.AddLog(bodies[1], {}, logged + 1);
  };
  build(0, 10);
  const CUgraphExec exec = c.Instantiate();
  CHECK(c.Run(exec) == Values{10});
  REQUIRE_OK(cuGraphCreate(&c.graph, 0));
  build(1, 20);
  CUgraphExecUpdateResultInfo info;
  REQUIRE_OK(cuGraphExecUpdate_v2(exec, c.graph, &info));
  CHECK(c.Run(exec) == Values{21});
}

TEST_CASE("conditional nodes: a handle that is none is a fault of the kernel") {
  Conditionals c;
  uint32_t value = 1;
  uint32_t* address = &value;
  CUgraphConditionalHandle wrong = 12345;
  void* parameters[] = {&wrong, &address};
  REQUIRE_OK(cuLaunchKernel(c.set, 1, 1, 1, 1, 1, 1, 0, c.stream, parameters, nullptr));
  CHECK(cuStreamSynchronize(c.stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
}
