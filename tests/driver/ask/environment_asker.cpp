// Prints what the environment makes of the devices: one line for the driver, one per device. With an argument: what a
// launch of a kernel that traps says (trap), a forked child (fork), two devices about each other (peers).
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "driver_api.h"

using namespace ptx2cpu::cuda;
using namespace ptx2cpu::driver;

namespace {

// A kernel that traps: what its launch says, and what the next synchronisation says.
void Trap() {
  static constexpr char kPtx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry traps() { trap; }\n";
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

// What a child says that was forked after its parent had initialised the driver, and what the parent says then.
void Fork() {
  cuInit(0);
  std::fflush(stdout);
  const pid_t child = fork();
  int count = 0;
  if (child == 0) {
    const CUresult init = cuInit(0);
    std::printf("child: init %d count %d\n", static_cast<int>(init), static_cast<int>(cuDeviceGetCount(&count)));
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("parent: init %d count %d\n", static_cast<int>(cuInit(0)), static_cast<int>(cuDeviceGetCount(&count)));
}

// Peer access between two devices, asked for once and twice.
void Peers() {
  CUcontext first, second;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&first, 0);
  cuDevicePrimaryCtxRetain(&second, 1);
  cuCtxSetCurrent(first);
  const CUresult answers[] = {cuCtxDisablePeerAccess(second), cuCtxEnablePeerAccess(second, 0), cuCtxEnablePeerAccess(second, 0), cuCtxDisablePeerAccess(second), cuCtxDisablePeerAccess(second)};
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
