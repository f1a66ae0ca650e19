// The start of tests of streams and graphs: a context, a module with small kernels, memory that both sides
// see.
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <thread>
#include <vector>

#include "driver_api.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/device.h"

namespace driver_stream_test {

using namespace ptx2cpu::driver;  // NOLINT: the functions under test
using namespace ptx2cpu::cuda;    // NOLINT: CUDA's names

#define REQUIRE_OK(call) REQUIRE((call) == CUDA_SUCCESS)
#define CHECK_OK(call) CHECK((call) == CUDA_SUCCESS)

// append(log, value): log[++log[0]] = value. double_it(p): *p *= 2. trap(): a fault.
inline constexpr const char* kPtx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry append(.param .u64 log, .param .u32 value)
{
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [log];
  ld.param.u32 %r0, [value];
  atom.global.add.u32 %r1, [%d0], 1;
  mul.wide.u32 %d1, %r1, 4;
  add.s64 %d2, %d0, %d1;
  st.global.u32 [%d2+4], %r0;
  ret;
}
.visible .entry double_it(.param .u64 p)
{
  .reg .b32 %r<2>;
  .reg .b64 %d<1>;
  ld.param.u64 %d0, [p];
  ld.global.u32 %r0, [%d0];
  add.u32 %r1, %r0, %r0;
  st.global.u32 [%d0], %r1;
  ret;
}
.visible .entry empty()
{
  ret;
}
.visible .entry fault()
{
  trap;
  ret;
}
)";

class Program {
 public:
  Program() {
    REQUIRE_OK(cuInit(0));
    REQUIRE_OK(cuCtxCreate_v2(&context, 0, 0));
    REQUIRE_OK(cuModuleLoadData(&module, kPtx));
    REQUIRE_OK(cuModuleGetFunction(&append, module, "append"));
    REQUIRE_OK(cuModuleGetFunction(&double_it, module, "double_it"));
    REQUIRE_OK(cuModuleGetFunction(&empty, module, "empty"));
    REQUIRE_OK(cuModuleGetFunction(&fault, module, "fault"));
  }
  ~Program() { cuCtxDestroy_v2(context); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction append = nullptr, double_it = nullptr, empty = nullptr, fault = nullptr;
};

// A kernel node of one thread.
inline CUDA_KERNEL_NODE_PARAMS OneThread(CUfunction function, void** parameters) {
  CUDA_KERNEL_NODE_PARAMS kernel{};
  kernel.func = function;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = kernel.blockDimX = kernel.blockDimY =
      kernel.blockDimZ = 1;
  kernel.kernelParams = parameters;
  return kernel;
}

// What ran, in order.
class Log {
 public:
  explicit Log(Program& program) : program_(program), words_(1024) {}
  CUdeviceptr address() { return reinterpret_cast<CUdeviceptr>(words_.data()); }
  CUresult Append(CUstream stream, uint32_t value) {
    CUdeviceptr log = address();
    void* parameters[] = {&log, &value};
    return cuLaunchKernel(program_.append, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  }
  // A kernel node that appends.
  CUresult AddNode(CUgraphNode* node, CUgraph graph, const std::vector<CUgraphNode>& after, uint32_t value) {
    CUdeviceptr log = address();
    void* parameters[] = {&log, &value};
    const CUDA_KERNEL_NODE_PARAMS kernel = OneThread(program_.append, parameters);
    return cuGraphAddKernelNode_v2(node, graph, after.data(), after.size(), &kernel);
  }
  std::vector<uint32_t> Take() {
    std::vector<uint32_t> values(words_.begin() + 1, words_.begin() + 1 + words_[0]);
    std::fill(words_.begin(), words_.end(), 0);
    return values;
  }

 private:
  Program& program_;
  std::vector<uint32_t> words_;
};

using Values = std::vector<uint32_t>;

// Holds a stream until released.
class Gate {
 public:
  CUresult Hold(CUstream stream) {
    return cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(&word_), 1, CU_STREAM_WAIT_VALUE_EQ);
  }
  void Open() { std::atomic_ref(word_).store(1); }

 private:
  alignas(8) uint32_t word_ = 0;
};

}  // namespace driver_stream_test
