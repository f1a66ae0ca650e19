// Prints what the environment makes of the devices: one line for the driver, one per device.
#include <cstdio>

#include "driver_api.h"

using namespace ptx2cpu::cuda;
using namespace ptx2cpu::driver;

int main() {
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
