// Graphs: captured and made of nodes, updated, cloned, launched again and again.
#include <vector>

#include "check.h"

__global__ void Step(int* data, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * 5 + value;
}

constexpr int n = 4096;
static int calls = 0;
static void CUDART_CB OnHost(void* data) { calls += static_cast<int>(reinterpret_cast<intptr_t>(data)); }

static void Show(const char* what, const int* data) {
  std::vector<int> host(n);
  OK(cudaMemcpy(host.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost));
  PrintDigest(what, host.data(), n * sizeof(int));
}

static void Captured(int* data, int* other) {
  cudaStream_t a, b;
  cudaEvent_t fork, join;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  OK(cudaStreamCreate(&a));
  OK(cudaStreamCreate(&b));
  OK(cudaEventCreate(&fork));
  OK(cudaEventCreate(&join));
  OK(cudaMemset(data, 1, n * sizeof(int)));
  OK(cudaMemset(other, 2, n * sizeof(int)));
  OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  Step<<<n / 256, 256, 0, a>>>(data, n, 1);
  OK(cudaEventRecord(fork, a));
  OK(cudaStreamWaitEvent(b, fork, 0));
  Step<<<n / 256, 256, 0, b>>>(other, n, 2);
  OK(cudaLaunchHostFunc(b, OnHost, reinterpret_cast<void*>(1)));
  OK(cudaEventRecord(join, b));
  Step<<<n / 256, 256, 0, a>>>(data, n, 3);
  OK(cudaStreamWaitEvent(a, join, 0));
  OK(cudaMemcpyAsync(data, other, n / 2 * sizeof(int), cudaMemcpyDeviceToDevice, a));
  cudaStreamCaptureStatus status;
  OK(cudaStreamIsCapturing(a, &status));
  std::printf("capturing: %d\n", status == cudaStreamCaptureStatusActive);
  SHOW(cudaStreamSynchronize(a));
  OK(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureInvalidated ? cudaSuccess : cudaErrorUnknown);
  cudaGetLastError();
  OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed));
  Step<<<n / 256, 256, 0, a>>>(data, n, 1);
  OK(cudaEventRecord(fork, a));
  OK(cudaStreamWaitEvent(b, fork, 0));
  Step<<<n / 256, 256, 0, b>>>(other, n, 2);
  OK(cudaLaunchHostFunc(b, OnHost, reinterpret_cast<void*>(1)));
  OK(cudaEventRecord(join, b));
  Step<<<n / 256, 256, 0, a>>>(data, n, 3);
  OK(cudaStreamWaitEvent(a, join, 0));
  OK(cudaMemcpyAsync(data, other, n / 2 * sizeof(int), cudaMemcpyDeviceToDevice, a));
  OK(cudaStreamEndCapture(a, &graph));
  size_t nodes = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  std::printf("nodes %zu\n", nodes);
  OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 20; ++i) OK(cudaGraphLaunch(exec, a));
  OK(cudaStreamSynchronize(a));
  Show("captured", data);
  std::printf("calls %d\n", calls);
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
}

static void Made(int* data, int* other) {
  cudaGraph_t graph, clone, child;
  cudaGraphNode_t fill, kernel, copy, host, inner, empty;
  cudaGraphExec_t exec;
  OK(cudaGraphCreate(&graph, 0));
  cudaMemsetParams set = {};
  set.dst = data;
  set.value = 3;
  set.elementSize = 4;
  set.width = n;
  set.height = 1;
  OK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
  int count = n, value = 4;
  void* arguments[] = {&data, &count, &value};
  cudaKernelNodeParams launch = {};
  launch.func = reinterpret_cast<void*>(Step);
  launch.gridDim = dim3(n / 128);
  launch.blockDim = dim3(128);
  launch.kernelParams = arguments;
  OK(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &launch));
  OK(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, other, data, n * sizeof(int), cudaMemcpyDeviceToDevice));
  cudaHostNodeParams call = {OnHost, reinterpret_cast<void*>(100)};
  OK(cudaGraphAddHostNode(&host, graph, &copy, 1, &call));
  OK(cudaGraphAddEmptyNode(&empty, graph, &host, 1));
  OK(cudaGraphCreate(&child, 0));
  arguments[0] = &other;
  OK(cudaGraphAddKernelNode(&inner, child, nullptr, 0, &launch));
  OK(cudaGraphAddChildGraphNode(&inner, graph, &empty, 1, child));
  OK(cudaGraphClone(&clone, graph));
  OK(cudaGraphInstantiate(&exec, clone, 0));
  OK(cudaGraphLaunch(exec, 0));
  OK(cudaDeviceSynchronize());
  Show("made", data);
  Show("made, child", other);
  value = 9;
  arguments[0] = &data;
  OK(cudaGraphKernelNodeSetParams(kernel, &launch));
  cudaGraphExecUpdateResultInfo info;
  OK(cudaGraphExecUpdate(exec, graph, &info));
  std::printf("update result %d\n", static_cast<int>(info.result));
  OK(cudaGraphLaunch(exec, 0));
  OK(cudaDeviceSynchronize());
  Show("updated", data);
  std::printf("calls %d\n", calls);
  SHOW(cudaGraphAddMemsetNode(&fill, nullptr, nullptr, 0, &set));
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
  OK(cudaGraphDestroy(clone));
  OK(cudaGraphDestroy(child));
}

int main() {
  int *data, *other;
  OK(cudaMalloc(&data, n * sizeof(int)));
  OK(cudaMalloc(&other, n * sizeof(int)));
  Captured(data, other);
  Made(data, other);
  return 0;
}
