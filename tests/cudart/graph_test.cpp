// Graphs: nodes of the runtime's structures, capture, the forms of each major.
#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "tests/cudart/face.h"

using namespace ptx2cpu::cudart_test;

namespace {

const std::string kAdd = Module(R"(
.visible .entry add(.param .u64 p, .param .u32 by) {
  .reg .u64 %rd<2>; .reg .u32 %r<4>;
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [by]; ld.global.u32 %r2, [%rd1]; add.u32 %r3, %r2, %r1; st.global.u32 [%rd1], %r3; ret;
}
.visible .global .align 4 .u32 symbol = 1000;
)");

struct Setup {
  explicit Setup(const Face& of) : face(of), binary(of, {kAdd}) {
    binary.Function(&stub, "add");
    binary.Variable(&symbol, "symbol", 4);
    binary.End();
    REQUIRE(face.Call("cudaMalloc", reinterpret_cast<void**>(&device), size_t{4}) == cudaSuccess);
    REQUIRE(face.Call("cudaStreamCreate", &stream) == cudaSuccess);
  }
  ~Setup() {
    face.Call("cudaFree", static_cast<void*>(device));
    face.Call("cudaStreamDestroy", stream);
  }
  // Instantiates in the form of the major.
  cudaGraphExec_t Instantiate(cudaGraph_t graph) {
    cudaGraphExec_t exec = nullptr;
    const cudaError_t error = face.major() == 11 ? face.Call("cudaGraphInstantiate", &exec, graph,
                                                             static_cast<cudaGraphNode_t*>(nullptr),
                                                             static_cast<char*>(nullptr), size_t{0})
                                                 : face.Call("cudaGraphInstantiate", &exec, graph, 0ull);
    REQUIRE(error == cudaSuccess);
    return exec;
  }
  uint32_t Run(cudaGraphExec_t exec) {
    REQUIRE(face.Call("cudaGraphLaunch", exec, stream) == cudaSuccess);
    REQUIRE(face.Call("cudaStreamSynchronize", stream) == cudaSuccess);
    uint32_t host = 0;
    REQUIRE(face.Call("cudaMemcpy", static_cast<void*>(&host), static_cast<const void*>(device), size_t{4},
                      cudaMemcpyDeviceToHost) == cudaSuccess);
    return host;
  }
  const Face& face;
  Registered binary;
  char stub = 0;
  uint32_t symbol = 0;
  uint32_t* device = nullptr;
  cudaStream_t stream = nullptr;
};

}  // namespace

TEST_CASE("a graph of a fill, a kernel and a copy into a symbol", "[cudart]") {
  for (const int major : kMajors) {
    INFO("CUDA " << major);
    Setup setup(Face::Of(major));
    const Face& face = setup.face;
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t fill = nullptr, kernel = nullptr, copy = nullptr;
    REQUIRE(face.Call("cudaGraphCreate", &graph, 0u) == cudaSuccess);
    const cudaMemsetParams zero{setup.device, 0, 7, 4, 1, 1};
    REQUIRE(face.Call("cudaGraphAddMemsetNode", &fill, graph, static_cast<const cudaGraphNode_t*>(nullptr),
                      size_t{0}, &zero) == cudaSuccess);
    uint32_t by = 30;
    void* arguments[] = {&setup.device, &by};
    cudaKernelNodeParams params{&setup.stub, {1, 1, 1}, {1, 1, 1}, 0, arguments, nullptr};
    REQUIRE(face.Call("cudaGraphAddKernelNode", &kernel, graph, static_cast<const cudaGraphNode_t*>(&fill),
                      size_t{1}, &params) == cudaSuccess);
    by = 999;  // arguments were taken when the node was made
    REQUIRE(face.Call("cudaGraphAddMemcpyNodeToSymbol", &copy, graph,
                      static_cast<const cudaGraphNode_t*>(&kernel), size_t{1},
                      static_cast<const void*>(&setup.symbol), static_cast<const void*>(setup.device),
                      size_t{4}, size_t{0}, cudaMemcpyDeviceToDevice) == cudaSuccess);
    cudaGraphExec_t exec = setup.Instantiate(graph);
    REQUIRE(setup.Run(exec) == 37);
    uint32_t symbol = 0;
    REQUIRE(face.Call("cudaMemcpyFromSymbol", static_cast<void*>(&symbol),
                      static_cast<const void*>(&setup.symbol), size_t{4}, size_t{0},
                      cudaMemcpyDeviceToHost) == cudaSuccess);
    REQUIRE(symbol == 37);

    // What a node was made of; the kernel by its stub, as the program knows it.
    cudaKernelNodeParams got{};
    REQUIRE(face.Call("cudaGraphKernelNodeGetParams", kernel, &got) == cudaSuccess);
    REQUIRE((got.func == &setup.stub && got.blockDim.x == 1));
    REQUIRE(*static_cast<uint32_t*>(got.kernelParams[1]) == 30);
    cudaMemsetParams filled{};
    REQUIRE(face.Call("cudaGraphMemsetNodeGetParams", fill, &filled) == cudaSuccess);
    REQUIRE((filled.dst == setup.device && filled.value == 7 && filled.elementSize == 4));
    unsigned type = 99;
    REQUIRE(face.Call("cudaGraphNodeGetType", copy, &type) == cudaSuccess);
    REQUIRE(type == cudaGraphNodeTypeMemcpy);

    by = 100;
    REQUIRE(face.Call("cudaGraphExecKernelNodeSetParams", exec, kernel,
                      static_cast<const cudaKernelNodeParams*>(&params)) == cudaSuccess);
    REQUIRE(setup.Run(exec) == 107);
    REQUIRE(face.Call("cudaGraphExecDestroy", exec) == cudaSuccess);
    REQUIRE(face.Call("cudaGraphDestroy", graph) == cudaSuccess);
  }
}

TEST_CASE("edges in the form of each major", "[cudart]") {
  for (const int major : kMajors) {
    INFO("CUDA " << major);
    const Face& face = Face::Of(major);
    cudaGraph_t graph = nullptr;
    std::array<cudaGraphNode_t, 2> nodes{}, from{}, to{};
    REQUIRE(face.Call("cudaGraphCreate", &graph, 0u) == cudaSuccess);
    for (cudaGraphNode_t& node : nodes) {
      REQUIRE(face.Call("cudaGraphAddEmptyNode", &node, graph, static_cast<const cudaGraphNode_t*>(nullptr),
                        size_t{0}) == cudaSuccess);
    }
    size_t count = 2;
    std::array<cudaGraphEdgeData, 2> data{};
    if (major < 13) {
      REQUIRE(face.Call("cudaGraphAddDependencies", graph, nodes.data(), nodes.data() + 1, size_t{1}) ==
              cudaSuccess);
      REQUIRE(face.Call("cudaGraphGetEdges", graph, from.data(), to.data(), &count) == cudaSuccess);
    } else {
      REQUIRE(face.Call("cudaGraphAddDependencies", graph, nodes.data(), nodes.data() + 1,
                        static_cast<const cudaGraphEdgeData*>(nullptr), size_t{1}) == cudaSuccess);
      REQUIRE(face.Call("cudaGraphGetEdges", graph, from.data(), to.data(), data.data(), &count) ==
              cudaSuccess);
    }
    REQUIRE((count == 1 && from[0] == nodes[0] && to[0] == nodes[1]));
    REQUIRE(face.Call("cudaGraphDestroy", graph) == cudaSuccess);
  }
}

TEST_CASE("capture of launches and copies, nodes of any kind", "[cudart]") {
  Setup setup(Face::Of(13));
  const Face& face = setup.face;
  cudaGraph_t graph = nullptr;
  uint32_t by = 3;
  void* arguments[] = {&setup.device, &by};
  REQUIRE(face.Call("cudaStreamBeginCapture", setup.stream, 0u) == cudaSuccess);
  REQUIRE(face.Call("cudaMemsetAsync", static_cast<void*>(setup.device), 0, size_t{4}, setup.stream) ==
          cudaSuccess);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(face.Call("cudaLaunchKernel", static_cast<const void*>(&setup.stub), dim3{1, 1, 1}, dim3{1, 1, 1},
                      static_cast<void**>(arguments), size_t{0}, setup.stream) == cudaSuccess);
  }
  unsigned status = 0;
  REQUIRE(face.Call("cudaStreamIsCapturing", setup.stream, &status) == cudaSuccess);
  REQUIRE(status == cudaStreamCaptureStatusActive);
  REQUIRE(face.Call("cudaStreamEndCapture", setup.stream, &graph) == cudaSuccess);
  size_t count = 0;
  REQUIRE(face.Call("cudaGraphGetNodes", graph, static_cast<cudaGraphNode_t*>(nullptr), &count) ==
          cudaSuccess);
  REQUIRE(count == 3);
  std::vector<cudaGraphNode_t> nodes(count);
  REQUIRE(face.Call("cudaGraphGetNodes", graph, nodes.data(), &count) == cudaSuccess);

  // One more kernel after all, as a node of any kind.
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeKernel;
  by = 50;
  params.kernel = {&setup.stub, {1, 1, 1}, {1, 1, 1}, 0, arguments, nullptr};
  cudaGraphNode_t added = nullptr;
  REQUIRE(face.Call("cudaGraphAddNode", &added, graph, static_cast<const cudaGraphNode_t*>(nodes.data()),
                    static_cast<const cudaGraphEdgeData*>(nullptr), count, &params) == cudaSuccess);
  cudaGraphExec_t exec = setup.Instantiate(graph);
  REQUIRE(setup.Run(exec) == 56);
  REQUIRE(setup.Run(exec) == 56);
  REQUIRE(face.Call("cudaGraphExecDestroy", exec) == cudaSuccess);
  REQUIRE(face.Call("cudaGraphDestroy", graph) == cudaSuccess);
}

TEST_CASE("what a capture forbids, as on a GPU", "[cudart]") {
  const Face& face = Face::Of(13);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  void* memory = nullptr;
  REQUIRE(face.Call("cudaStreamBeginCapture", cudaStream_t{}, 0u) == cudaErrorStreamCaptureUnsupported);
  REQUIRE(face.Call("cudaStreamEndCapture", cudaStream_t{}, &graph) == cudaErrorIllegalState);
  REQUIRE(face.Call("cudaStreamCreate", &stream) == cudaSuccess);
  REQUIRE(face.Call("cudaStreamBeginCapture", stream, 0u) == cudaSuccess);
  REQUIRE(face.Call("cudaStreamSynchronize", stream) == cudaErrorStreamCaptureUnsupported);
  REQUIRE(face.Call("cudaStreamEndCapture", stream, &graph) == cudaErrorStreamCaptureInvalidated);
  REQUIRE(face.Call("cudaStreamBeginCapture", stream, 0u) == cudaSuccess);
  REQUIRE(face.Call("cudaMalloc", &memory, size_t{4}) == cudaErrorStreamCaptureUnsupported);
  REQUIRE(face.Call("cudaStreamEndCapture", stream, &graph) == cudaErrorStreamCaptureInvalidated);
  REQUIRE(face.Last() == cudaErrorStreamCaptureInvalidated);
  REQUIRE(face.Call("cudaStreamDestroy", stream) == cudaSuccess);
  REQUIRE(face.Call("cudaGraphDestroy", cudaGraph_t{}) == cudaErrorInvalidValue);
  REQUIRE(face.Last() == cudaErrorInvalidValue);
}

namespace {

const std::string kSetCondition = Module(R"(
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry count_down(.param .u64 handle, .param .u64 p) {
  .reg .u64 %rd<3>; .reg .u32 %r<3>;
  ld.param.u64 %rd1, [handle]; ld.param.u64 %rd2, [p]; ld.global.u32 %r1, [%rd2]; sub.u32 %r2, %r1, 1; st.global.u32 [%rd2], %r2;
  { .param .b64 a; st.param.b64 [a], %rd1; .param .b32 b; st.param.b32 [b], %r2; call.uni cudaGraphSetConditional, (a, b); }
  ret;
}
)");

}  // namespace

TEST_CASE("a conditional node loops until a kernel in its body ends it", "[cudart]") {
  for (const int major : {12, 13}) {
    INFO("CUDA " << major);
    const Face& face = Face::Of(major);
    Registered binary(face, {kSetCondition});
    const char stub = 0;
    binary.Function(&stub, "count_down");
    binary.End();
    uint32_t* words = nullptr;
    cudaGraph_t graph = nullptr;
    cudaStream_t stream = nullptr;
    REQUIRE(face.Call("cudaMalloc", reinterpret_cast<void**>(&words), size_t{4}) == cudaSuccess);
    REQUIRE(face.Call("cudaStreamCreate", &stream) == cudaSuccess);
    REQUIRE(face.Call("cudaGraphCreate", &graph, 0u) == cudaSuccess);
    unsigned long long handle = 0;
    REQUIRE(face.Call("cudaGraphConditionalHandleCreate", &handle, graph, 1u, 1u) == cudaSuccess);
    cudaGraphNodeParams loop{};
    loop.type = cudaGraphNodeTypeConditional;
    loop.conditional.handle = handle;
    loop.conditional.type = static_cast<cudaGraphConditionalNodeType>(1);
    loop.conditional.size = 1;
    const auto add = [&](cudaGraph_t to, cudaGraphNodeParams* params) {
      cudaGraphNode_t node = nullptr;
      const auto none = static_cast<const cudaGraphNode_t*>(nullptr);
      return major == 12 ? face.Call("cudaGraphAddNode", &node, to, none, size_t{0}, params)
                         : face.Call("cudaGraphAddNode", &node, to, none,
                                     static_cast<const cudaGraphEdgeData*>(nullptr), size_t{0}, params);
    };
    REQUIRE(add(graph, &loop) == cudaSuccess);
    REQUIRE(loop.conditional.phGraph_out != nullptr);
    void* arguments[] = {&handle, &words};
    cudaGraphNodeParams kernel{};
    kernel.type = cudaGraphNodeTypeKernel;
    kernel.kernel.func = const_cast<char*>(&stub);
    kernel.kernel.gridDim = kernel.kernel.blockDim = {1, 1, 1};
    kernel.kernel.kernelParams = arguments;
    REQUIRE(add(loop.conditional.phGraph_out[0], &kernel) == cudaSuccess);
    cudaGraphExec_t exec = nullptr;
    REQUIRE(face.Call("cudaGraphInstantiate", &exec, graph, 0ull) == cudaSuccess);
    for (uint32_t turns : {5u, 1u}) {
      REQUIRE(face.Call("cudaMemcpy", static_cast<void*>(words), static_cast<const void*>(&turns), size_t{4},
                        cudaMemcpyHostToDevice) == cudaSuccess);
      REQUIRE(face.Call("cudaGraphLaunch", exec, stream) == cudaSuccess);
      uint32_t left = 99;
      REQUIRE(face.Call("cudaStreamSynchronize", stream) == cudaSuccess);
      REQUIRE(face.Call("cudaMemcpy", static_cast<void*>(&left), static_cast<const void*>(words), size_t{4},
                        cudaMemcpyDeviceToHost) == cudaSuccess);
      REQUIRE(left == 0);
    }
    REQUIRE(face.Call("cudaGraphExecDestroy", exec) == cudaSuccess);
    REQUIRE(face.Call("cudaGraphDestroy", graph) == cudaSuccess);
    REQUIRE(face.Call("cudaStreamDestroy", stream) == cudaSuccess);
    REQUIRE(face.Call("cudaFree", static_cast<void*>(words)) == cudaSuccess);
  }
}
