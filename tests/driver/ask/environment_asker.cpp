// Prints the devices that the environment sets: one line for the driver, one per device. With an argument:
// what a launch of a kernel that traps returns (trap), a forked child (fork), a child forked with work in
// flight (busy_fork), two devices about each other (peers), what loading machine code returns (cubin).
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "driver_api.h"

using namespace ptx2cpu::cuda;
using namespace ptx2cpu::driver;

namespace {

// A kernel that traps: what its launch returns, and what the next synchronisation returns.
void Trap() {
  static constexpr char kPtx[] =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry traps() { trap; }\n";
  CUcontext context;
  CUmodule module;
  CUfunction function;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  cuModuleLoadData(&module, kPtx);
  cuModuleGetFunction(&function, module, "traps");
  const CUresult launch = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  std::printf("launch %d synchronise %d\n", static_cast<int>(launch), static_cast<int>(cuCtxSynchronize()));
}

// The results of a child that was forked after its parent had initialised the driver, and those of the parent
// then.
void Fork() {
  cuInit(0);
  std::fflush(stdout);
  const pid_t child = fork();
  int count = 0;
  if (child == 0) {
    const CUresult init = cuInit(0);
    std::printf("child: init %d count %d\n", static_cast<int>(init),
                static_cast<int>(cuDeviceGetCount(&count)));
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("parent: init %d count %d\n", static_cast<int>(cuInit(0)),
              static_cast<int>(cuDeviceGetCount(&count)));
}

// The same with a context, memory and work in flight: every call of the child is refused, none waits for
// threads that it does not have, and the parent's work continues.
void BusyFork() {
  static constexpr char kPtx[] =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry adds(.param .u64 p) { .reg .b64 %a; "
      ".reg .b32 %r; ld.param.u64 %a, [p]; atom.global.add.u32 %r, [%a], 1; ret; }\n";
  constexpr unsigned kBlocks = 1000, kThreads = 128, kLaunches = 20;
  CUcontext context;
  CUmodule module;
  CUfunction function;
  CUdeviceptr memory = 0;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  cuModuleLoadData(&module, kPtx);
  cuModuleGetFunction(&function, module, "adds");
  cuMemAlloc_v2(&memory, 4);
  cuMemsetD32_v2(memory, 0, 1);
  void* params[] = {&memory};
  for (unsigned i = 0; i < kLaunches; ++i)
    cuLaunchKernel(function, kBlocks, 1, 1, kThreads, 1, 1, 0, nullptr, params, nullptr);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    unsigned word = 0;
    CUdeviceptr more = 0;
    const CUresult answers[] = {cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr),
                                cuCtxSynchronize(), cuMemcpyDtoH_v2(&word, memory, 4),
                                cuMemAlloc_v2(&more, 4), cuMemFree_v2(memory)};
    std::printf("child:");
    for (const CUresult answer : answers) std::printf(" %d", static_cast<int>(answer));
    std::printf("\n");
    exit(0);  // with the destructors of the process
  }
  int status = 0;
  waitpid(child, &status, 0);
  unsigned word = 0;
  const CUresult copied = cuMemcpyDtoH_v2(&word, memory, 4);
  std::printf("child ended %d, parent: %d, %s\n", status, static_cast<int>(copied),
              word == kBlocks * kThreads * kLaunches ? "all added" : "wrong");
}

// Machine code of sm_90, as far as its header goes, without and with a log.
void Cubin() {
  unsigned char image[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x41, 8};
  image[18] = 190, image[49] = 90;
  CUcontext context;
  CUmodule module;
  char log[200] = {};
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  std::printf("with log %d\n", static_cast<int>(cuModuleLoadDataEx(&module, image, 2, names, values)));
  std::fflush(stdout);
  for (int i = 0; i < 2; ++i) {
    std::printf("without %d\n", static_cast<int>(cuModuleLoadData(&module, image)));
    std::fflush(stdout);
  }
}

// Peer access between two devices, asked for once and twice.
void Peers() {
  CUcontext first, second;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&first, 0);
  cuDevicePrimaryCtxRetain(&second, 1);
  cuCtxSetCurrent(first);
  const CUresult answers[] = {cuCtxDisablePeerAccess(second), cuCtxEnablePeerAccess(second, 0),
                              cuCtxEnablePeerAccess(second, 0), cuCtxDisablePeerAccess(second),
                              cuCtxDisablePeerAccess(second)};
  int possible = 0;
  cuDeviceCanAccessPeer(&possible, 0, 1);
  std::printf("peers %d:", possible);
  for (const CUresult answer : answers) std::printf(" %d", static_cast<int>(answer));
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) {
    const std::string_view what = argv[1];
    if (what == "trap") Trap();
    if (what == "fork") Fork();
    if (what == "busy_fork") BusyFork();
    if (what == "cubin") Cubin();
    if (what == "peers") Peers();
    return 0;
  }
  int count = 0;
  CUmoduleLoadingMode mode = CU_MODULE_LAZY_LOADING;
  const CUresult init = cuInit(0);
  if (init == CUDA_SUCCESS) {
    cuDeviceGetCount(&count);
    cuModuleGetLoadingMode(&mode);
  }
  std::printf("init %d devices %d mode %d\n", static_cast<int>(init), count, static_cast<int>(mode));
  for (int i = 0; i < count; ++i) {
    int major = 0, minor = 0, bus = 0, multiprocessors = 0;
    char name[200] = {};
    CUuuid uuid;
    cuDeviceComputeCapability(&major, &minor, i);
    cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i);
    cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, i);
    cuDeviceGetName(name, sizeof name, i);
    cuDeviceGetUuid_v2(&uuid, i);
    std::printf("bus %d capability %d.%d multiprocessors %d uuid ", bus, major, minor, multiprocessors);
    for (const char byte : uuid.bytes) std::printf("%02x", static_cast<unsigned char>(byte));
    std::printf(" name %.9s\n", name);
  }
  return 0;
}
