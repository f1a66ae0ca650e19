// Streams, events, callbacks and the order they promise.
#include <atomic>
#include <thread>
#include <vector>

#include "check.h"

__global__ void Add(int* data, int n, int value) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) data[i] = data[i] * 3 + value;
}

static std::atomic<int> called{0};
static void CUDART_CB OnHost(void* data) { called += *static_cast<int*>(data); }
static void CUDART_CB OnStream(cudaStream_t, cudaError_t status, void* data) { called += status == cudaSuccess ? *static_cast<int*>(data) : 1000; }

static void Chains() {
  constexpr int kStreams = 8, n = 10000;
  std::vector<cudaStream_t> streams(kStreams);
  std::vector<int*> host(kStreams), device(kStreams);
  int one = 1;
  for (int s = 0; s < kStreams; ++s) {
    OK(cudaStreamCreateWithFlags(&streams[s], s % 2 == 0 ? cudaStreamDefault : cudaStreamNonBlocking));
    OK(cudaMallocHost(&host[s], n * sizeof(int)));
    OK(cudaMalloc(&device[s], n * sizeof(int)));
    for (int i = 0; i < n; ++i) host[s][i] = i + s;
  }
  for (int round = 0; round < 3; ++round) {
    for (int s = 0; s < kStreams; ++s) {
      OK(cudaMemcpyAsync(device[s], host[s], n * sizeof(int), cudaMemcpyHostToDevice, streams[s]));
      Add<<<16, 128, 0, streams[s]>>>(device[s], n, s + round);
      OK(cudaLaunchHostFunc(streams[s], OnHost, &one));
      OK(cudaMemcpyAsync(host[s], device[s], n * sizeof(int), cudaMemcpyDeviceToHost, streams[s]));
      OK(cudaStreamAddCallback(streams[s], OnStream, &one, 0));
    }
  }
  for (int s = 0; s < kStreams; ++s) OK(cudaStreamSynchronize(streams[s]));
  for (int s = 0; s < kStreams; ++s) PrintDigest("chain", host[s], n * sizeof(int));
  std::printf("called %d\n", called.load());
  for (int s = 0; s < kStreams; ++s) {
    OK(cudaStreamDestroy(streams[s]));
    OK(cudaFreeHost(host[s]));
    OK(cudaFree(device[s]));
  }
}

static void Events() {
  constexpr int n = 1 << 20;
  cudaStream_t a, b;
  cudaEvent_t begin, middle, end;
  int* data;
  std::vector<int> host(n, 1);
  OK(cudaStreamCreate(&a));
  OK(cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, -1));
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreateWithFlags(&middle, cudaEventDisableTiming));
  OK(cudaEventCreate(&end));
  OK(cudaMalloc(&data, n * sizeof(int)));
  OK(cudaMemcpy(data, host.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  OK(cudaEventRecord(begin, a));
  for (int i = 0; i < 5; ++i) {
    Add<<<64, 256, 0, a>>>(data, n, i);
    OK(cudaEventRecord(middle, a));
    OK(cudaStreamWaitEvent(b, middle, 0));
    Add<<<64, 256, 0, b>>>(data, n, -i);
    OK(cudaEventRecord(middle, b));
    OK(cudaStreamWaitEvent(a, middle, 0));
  }
  OK(cudaEventRecord(end, a));
  OK(cudaEventSynchronize(end));
  SHOW(cudaEventQuery(end));
  float milliseconds = -1;
  OK(cudaEventElapsedTime(&milliseconds, begin, end));
  SHOW(cudaEventElapsedTime(&milliseconds, begin, middle));
  std::printf("time is positive: %d\n", milliseconds > 0);
  OK(cudaMemcpy(host.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost));
  PrintDigest("events", host.data(), n * sizeof(int));
  OK(cudaFree(data));
}

// The legacy stream waits for blocking streams and they for it.
static void Legacy() {
  constexpr int n = 1 << 20;
  cudaStream_t a, b;
  int* data;
  OK(cudaStreamCreate(&a));
  OK(cudaStreamCreate(&b));
  OK(cudaMalloc(&data, n * sizeof(int)));
  OK(cudaMemset(data, 0, n * sizeof(int)));
  for (int i = 1; i < 6; ++i) {
    Add<<<32, 256, 0, a>>>(data, n, i);
    Add<<<32, 256>>>(data, n, 2 * i);
    Add<<<32, 256, 0, b>>>(data, n, 3 * i);
    Add<<<32, 256>>>(data, n, 4 * i);
  }
  std::vector<int> host(n);
  OK(cudaMemcpy(host.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost));
  PrintDigest("legacy", host.data(), n * sizeof(int));
  OK(cudaFree(data));
}

static void Threads() {
  std::vector<std::thread> threads;
  std::vector<uint64_t> digests(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t, &digests] {
      constexpr int n = 5000;
      std::vector<int> host(n, t);
      int* data;
      OK(cudaMalloc(&data, n * sizeof(int)));
      OK(cudaMemcpyAsync(data, host.data(), n * sizeof(int), cudaMemcpyHostToDevice, cudaStreamPerThread));
      for (int i = 0; i < 50; ++i) Add<<<4, 128, 0, cudaStreamPerThread>>>(data, n, i);
      OK(cudaMemcpyAsync(host.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost, cudaStreamPerThread));
      OK(cudaStreamSynchronize(cudaStreamPerThread));
      digests[t] = Digest(host.data(), n * sizeof(int));
      OK(cudaFree(data));
    });
  }
  for (auto& thread : threads) thread.join();
  for (uint64_t digest : digests) std::printf("thread: %016llx\n", static_cast<unsigned long long>(digest));
}

int main() {
  Chains();
  Events();
#ifndef CUDA_API_PER_THREAD_DEFAULT_STREAM  // then nothing orders the launches of Legacy
  Legacy();
#endif
  Threads();
  OK(cudaDeviceSynchronize());
  return 0;
}
