// Processes that end with kernels in flight.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "tests/driver/stream_program.h"

using namespace driver_stream_test;

namespace {

constexpr const char* kEndlessPtx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry endless(.param .u64 p)
{
  .reg .b64 %d<1>;
  .reg .b32 %r<1>;
  .reg .pred %p<1>;
  ld.param.u64 %d0, [p];
again:
  ld.volatile.global.u32 %r0, [%d0];
  setp.eq.u32 %p0, %r0, 0;
  @%p0 bra again;
  ret;
}
)";

void StartEndless() {
  CUcontext context;
  CUmodule module;
  CUfunction endless;
  CUdeviceptr word;
  CUstream stream;
  const bool ready = cuInit(0) == CUDA_SUCCESS && cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS &&
                     cuModuleLoadData(&module, kEndlessPtx) == CUDA_SUCCESS &&
                     cuModuleGetFunction(&endless, module, "endless") == CUDA_SUCCESS &&
                     cuMemAlloc_v2(&word, 4) == CUDA_SUCCESS && cuMemsetD32_v2(word, 0, 1) == CUDA_SUCCESS &&
                     cuStreamCreate(&stream, 0) == CUDA_SUCCESS;
  void* parameters[] = {&word};
  if (!ready || cuLaunchKernel(endless, 100, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr) != CUDA_SUCCESS)
    std::_Exit(99);
  usleep(20000);  // it runs now
  if (cuStreamQuery(stream) != CUDA_ERROR_NOT_READY) std::_Exit(98);
}

// Runs a hidden test of this program in a process of its own.
int RunSelf(const char* tag) {
  char program[4096] = {};
  REQUIRE(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
  const int status = std::system(
      (std::string("ASAN_OPTIONS=detect_leaks=0 timeout 60 '") + program + "' '" + tag + "' >/dev/null")
          .c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("a process that ends with an endless kernel: its own part", "[.child-endless]") {
  StartEndless();
  std::exit(7);
}

TEST_CASE("a process that ends at once with an endless kernel: its own part", "[.child-quick]") {
  StartEndless();
  std::quick_exit(8);
}

TEST_CASE("a forked child of a process with an endless kernel: its own part", "[.child-fork]") {
  StartEndless();
  const pid_t child = fork();
  if (child == 0) std::exit(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED ? 3 : 4);
  int status = 0;
  waitpid(child, &status, 0);
  std::exit(WEXITSTATUS(status) == 3 ? 9 : 1);
}

TEST_CASE("processes end with kernels in flight") {
  CHECK(RunSelf("[.child-endless]") == 7);
  CHECK(RunSelf("[.child-quick]") == 8);
#if !defined(__has_feature) || !__has_feature(thread_sanitizer)  // which allows no threads after a fork
  CHECK(RunSelf("[.child-fork]") == 9);
#endif
}
