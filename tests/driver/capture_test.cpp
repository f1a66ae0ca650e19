#include "tests/driver/stream_program.h"

using namespace driver_stream_test;

namespace {

CUstream NewStream(unsigned flags = CU_STREAM_NON_BLOCKING) {
  CUstream stream;
  REQUIRE_OK(cuStreamCreate(&stream, flags));
  return stream;
}

CUevent NewEvent() {
  CUevent event;
  REQUIRE_OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  return event;
}

CUstreamCaptureStatus StatusOf(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  REQUIRE_OK(cuStreamIsCapturing(stream, &status));
  return status;
}

size_t NodesOf(CUgraph graph) {
  size_t count = 0;
  REQUIRE_OK(cuGraphGetNodes(graph, nullptr, &count));
  return count;
}

void Launch(CUgraph graph, CUstream stream, int times = 1) {
  CUgraphExec exec;
  REQUIRE_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < times; ++i) REQUIRE_OK(cuGraphLaunch(exec, stream));
  REQUIRE_OK(cuStreamSynchronize(stream));
  REQUIRE_OK(cuGraphExecDestroy(exec));
}

}  // namespace

TEST_CASE("capture: nothing runs, and the graph does it as often as it is launched") {
  Program program;
  Log log(program);
  const CUstream stream = NewStream();
  REQUIRE_OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(StatusOf(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  int host = 0;
  uint32_t cell = 9;
  REQUIRE_OK(log.Append(stream, 1));
  REQUIRE_OK(cuLaunchHostFunc(stream, [](void* data) { ++*static_cast<int*>(data); }, &host));
  REQUIRE_OK(cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(&cell), 21, 1, stream));
  CUdeviceptr cell_address = reinterpret_cast<CUdeviceptr>(&cell);
  void* parameters[] = {&cell_address};
  REQUIRE_OK(cuLaunchKernel(program.double_it, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  cell_address = 0;  // parameters were taken at the launch
  REQUIRE_OK(log.Append(stream, 2));
  CUgraph graph = nullptr;
  REQUIRE_OK(cuStreamEndCapture(stream, &graph));
  CHECK(StatusOf(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
  CHECK(log.Take().empty());
  CHECK(NodesOf(graph) == 5);
  size_t edges = 0;
  REQUIRE_OK(cuGraphGetEdges(graph, nullptr, nullptr, &edges));
  CHECK(edges == 4);
  Launch(graph, stream, 3);
  CHECK(log.Take() == Values{1, 2, 1, 2, 1, 2});
  CHECK(host == 3);
  CHECK(cell == 42);
  REQUIRE_OK(cuGraphDestroy(graph));
}

TEST_CASE("capture: fork and join through events") {
  Program program;
  Log log(program);
  const CUstream a = NewStream(), b = NewStream();
  const CUevent fork = NewEvent(), join = NewEvent();
  REQUIRE_OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  REQUIRE_OK(log.Append(a, 1));
  REQUIRE_OK(cuEventRecord(fork, a));
  REQUIRE_OK(cuStreamWaitEvent(b, fork, 0));
  CHECK(StatusOf(b) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  cuuint64_t id_a = 0, id_b = 1;
  CUstreamCaptureStatus status;
  REQUIRE_OK(cuStreamGetCaptureInfo(a, &status, &id_a));
  REQUIRE_OK(cuStreamGetCaptureInfo(b, &status, &id_b));
  CHECK(id_a == id_b);
  REQUIRE_OK(log.Append(a, 2));
  REQUIRE_OK(log.Append(b, 3));
  REQUIRE_OK(cuEventRecord(join, b));
  REQUIRE_OK(cuStreamWaitEvent(a, join, 0));
  CUgraph building = nullptr;
  const CUgraphNode* dependencies = nullptr;
  size_t count = 0;
  REQUIRE_OK(cuStreamGetCaptureInfo_v2(a, &status, nullptr, &building, &dependencies, &count));
  CHECK(count == 2);
  CHECK(NodesOf(building) == 3);
  REQUIRE_OK(log.Append(a, 4));
  CUgraph graph = nullptr;
  REQUIRE_OK(cuStreamEndCapture(a, &graph));
  CHECK(StatusOf(b) == CU_STREAM_CAPTURE_STATUS_NONE);
  size_t edges = 0;
  REQUIRE_OK(cuGraphGetEdges(graph, nullptr, nullptr, &edges));
  CHECK(edges == 4);
  Launch(graph, b);
  const Values values = log.Take();
  REQUIRE(values.size() == 4);
  CHECK(values.front() == 1);
  CHECK(values.back() == 4);
}

TEST_CASE("capture: work that is not joined, and ends in the wrong place") {
  Program program;
  Log log(program);
  const CUstream a = NewStream(), b = NewStream();
  const CUevent fork = NewEvent();
  CUgraph graph = nullptr;
  CHECK(cuStreamEndCapture(a, &graph) == CUDA_ERROR_ILLEGAL_STATE);
  REQUIRE_OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_ERROR_ILLEGAL_STATE);
  REQUIRE_OK(cuEventRecord(fork, a));
  REQUIRE_OK(cuStreamWaitEvent(b, fork, 0));
  REQUIRE_OK(log.Append(b, 3));
  CHECK(cuStreamEndCapture(a, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  CHECK(graph == nullptr);
  CHECK(StatusOf(a) == CU_STREAM_CAPTURE_STATUS_NONE);
  CHECK(StatusOf(b) == CU_STREAM_CAPTURE_STATUS_NONE);
  REQUIRE_OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
  REQUIRE_OK(cuEventRecord(fork, a));
  REQUIRE_OK(cuStreamWaitEvent(b, fork, 0));
  CHECK(cuStreamEndCapture(b, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  CHECK(cuStreamEndCapture(a, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  REQUIRE_OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUresult elsewhere = CUDA_SUCCESS;
  std::thread([&] {
    cuCtxSetCurrent(program.context);
    elsewhere = cuStreamEndCapture(a, &graph);
  }).join();
  CHECK(elsewhere == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  CHECK(StatusOf(a) == CU_STREAM_CAPTURE_STATUS_NONE);
  REQUIRE_OK(log.Append(a, 1));
  REQUIRE_OK(cuStreamSynchronize(a));
  CHECK(log.Take() == Values{1});
}

TEST_CASE("capture: a stream that joined may be destroyed, what it did must be joined all the same") {
  Program program;
  Log log(program);
  const CUstream a = NewStream();
  const CUevent fork = NewEvent(), join = NewEvent();
  for (const bool joined : {true, false}) {
    const CUstream b = NewStream();
    REQUIRE_OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    REQUIRE_OK(log.Append(a, 1));
    REQUIRE_OK(cuEventRecord(fork, a));
    REQUIRE_OK(cuStreamWaitEvent(b, fork, 0));
    REQUIRE_OK(log.Append(b, 2));
    if (joined) {
      REQUIRE_OK(cuEventRecord(join, b));
      REQUIRE_OK(cuStreamWaitEvent(a, join, 0));
    }
    REQUIRE_OK(cuStreamDestroy_v2(b));
    CUgraph graph = nullptr;
    CHECK(cuStreamEndCapture(a, &graph) == (joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED));
    if (!joined) continue;
    Launch(graph, a);
    CHECK(log.Take() == Values{1, 2});
  }
}

TEST_CASE("capture: what is refused invalidates it") {
  Program program;
  Log log(program);
  const CUstream a = NewStream(), b = NewStream();
  const CUevent outside = NewEvent(), inside = NewEvent();
  REQUIRE_OK(cuEventRecord(outside, b));
  REQUIRE_OK(cuStreamSynchronize(b));
  CUgraph graph = nullptr;
  const auto begin = [&] { REQUIRE_OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED)); };
  const auto invalidated = [&] {
    CHECK(StatusOf(a) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    CHECK(log.Append(a, 1) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(cuStreamEndCapture(a, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(graph == nullptr);
    CHECK(StatusOf(a) == CU_STREAM_CAPTURE_STATUS_NONE);
  };
  SECTION("synchronising the stream") {
    begin();
    CHECK(cuStreamSynchronize(a) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    invalidated();
  }
  SECTION("asking the stream") {
    begin();
    CHECK(cuStreamQuery(a) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    invalidated();
  }
  SECTION("asking an event that was recorded in it") {
    begin();
    REQUIRE_OK(cuEventRecord(inside, a));
    CHECK(cuEventQuery(inside) == CUDA_ERROR_CAPTURED_EVENT);
    invalidated();
  }
  SECTION("waiting for an event from outside") {
    begin();
    CHECK(cuStreamWaitEvent(a, outside, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    invalidated();
  }
  SECTION("merging two captures") {
    begin();
    REQUIRE_OK(cuStreamBeginCapture_v2(b, CU_STREAM_CAPTURE_MODE_RELAXED));
    REQUIRE_OK(cuEventRecord(inside, b));
    CHECK(cuStreamWaitEvent(a, inside, 0) == CUDA_ERROR_STREAM_CAPTURE_MERGE);
    CHECK(cuStreamEndCapture(b, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    invalidated();
  }
  SECTION("calls that a capture would not see, by its mode") {
    REQUIRE_OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuStreamQuery(b) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    invalidated();
    begin();
    CHECK_OK(cuStreamQuery(b));
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    REQUIRE_OK(cuStreamEndCapture(a, &graph));
    CHECK_OK(cuGraphDestroy(graph));
    REQUIRE_OK(cuThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
    REQUIRE_OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK_OK(cuStreamQuery(b));
    REQUIRE_OK(cuThreadExchangeStreamCaptureMode(&mode));
    REQUIRE_OK(cuStreamEndCapture(a, &graph));
  }
}

TEST_CASE("capture: the legacy stream is neither captured nor usable beside a blocking stream's capture") {
  Program program;
  Log log(program);
  CHECK(cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL) ==
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  const CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  REQUIRE_OK(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(log.Append(nullptr, 1) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CUstreamCaptureStatus status;
  CHECK(cuStreamIsCapturing(nullptr, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CUgraph graph = nullptr;
  cuStreamEndCapture(blocking, &graph);
  CHECK_OK(log.Append(nullptr, 1));
  CHECK_OK(cuStreamSynchronize(nullptr));
  CHECK(log.Take() == Values{1});
}

TEST_CASE("capture: into a graph that is there, and with dependencies changed by hand") {
  Program program;
  Log log(program);
  const CUstream stream = NewStream();
  CUgraph graph;
  REQUIRE_OK(cuGraphCreate(&graph, 0));
  CUgraphNode first, second;
  REQUIRE_OK(log.AddNode(&first, graph, {}, 1));
  REQUIRE_OK(log.AddNode(&second, graph, {}, 2));
  REQUIRE_OK(cuStreamBeginCaptureToGraph(stream, graph, &first, nullptr, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuGraphDestroy(nullptr) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE_OK(cuStreamUpdateCaptureDependencies(stream, &second, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
  REQUIRE_OK(log.Append(stream, 3));
  CUgraph captured = nullptr;
  REQUIRE_OK(cuStreamEndCapture(stream, &captured));
  CHECK(captured == graph);
  size_t edges = 0;
  REQUIRE_OK(cuGraphGetEdges(graph, nullptr, nullptr, &edges));
  CHECK(edges == 2);
  Launch(graph, stream);
  const Values values = log.Take();
  REQUIRE(values.size() == 3);
  CHECK(values.back() == 3);
  CHECK(cuStreamUpdateCaptureDependencies(stream, &second, 1, 0) == CUDA_ERROR_ILLEGAL_STATE);
}

TEST_CASE("capture: a graph launched into it becomes a child, and events that stay outside become nodes") {
  Program program;
  Log log(program);
  const CUstream stream = NewStream(), other = NewStream();
  CUgraph inner;
  REQUIRE_OK(cuGraphCreate(&inner, 0));
  CUgraphNode node;
  REQUIRE_OK(log.AddNode(&node, inner, {}, 7));
  CUgraphExec inner_exec;
  REQUIRE_OK(cuGraphInstantiateWithFlags(&inner_exec, inner, 0));
  const CUevent before = NewEvent(), after = NewEvent();
  Gate gate;
  REQUIRE_OK(gate.Hold(other));
  REQUIRE_OK(log.Append(other, 1));
  REQUIRE_OK(cuEventRecord(before, other));
  REQUIRE_OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  REQUIRE_OK(cuStreamWaitEvent(stream, before, CU_EVENT_WAIT_EXTERNAL));
  REQUIRE_OK(cuGraphLaunch(inner_exec, stream));
  REQUIRE_OK(cuEventRecordWithFlags(after, stream, CU_EVENT_RECORD_EXTERNAL));
  CUgraph graph;
  REQUIRE_OK(cuStreamEndCapture(stream, &graph));
  REQUIRE_OK(cuGraphExecDestroy(inner_exec));
  REQUIRE_OK(cuGraphDestroy(inner));
  std::vector<CUgraphNode> nodes(3);
  size_t count = 3;
  REQUIRE_OK(cuGraphGetNodes(graph, nodes.data(), &count));
  REQUIRE(count == 3);
  CUgraphNodeType type;
  REQUIRE_OK(cuGraphNodeGetType(nodes[1], &type));
  CHECK(type == CU_GRAPH_NODE_TYPE_GRAPH);
  CUgraphExec exec;
  REQUIRE_OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  REQUIRE_OK(cuGraphLaunch(exec, stream));
  CHECK(cuEventQuery(after) == CUDA_ERROR_NOT_READY);
  gate.Open();
  REQUIRE_OK(cuEventSynchronize(after));
  CHECK(log.Take() == Values{1, 7});
}
