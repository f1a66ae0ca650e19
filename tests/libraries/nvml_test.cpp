// NVML: devices as the runtime reports them.
#include <cstring>
#include <string>

#include "cudart_api.h"
#include "driver_api.h"
#include "runtime/cuda/abi/nvml_types.h"
#include "tests/libraries/dropin.h"
#include "tools/api_table/api_table.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

const DropIn& Nvml() {
  static const DropIn library("libnvidia-ml.so.1");
  return library;
}

}  // namespace

TEST_CASE("nvml: devices agree with the runtime") {
  unsigned count = 0;
  CHECK(Nvml().Call("nvmlDeviceGetCount_v2", &count) == NVML_ERROR_UNINITIALIZED);
  REQUIRE(Nvml().Call("nvmlInit_v2") == 0);
  REQUIRE(Nvml().Call("nvmlDeviceGetCount_v2", &count) == 0);
  int expected = 0;
  REQUIRE(cudart::cudaGetDeviceCount(&expected) == cudaSuccess);
  REQUIRE(count == static_cast<unsigned>(expected));
  nvmlDevice_t device = nullptr, same = nullptr;
  CHECK(Nvml().Call("nvmlDeviceGetHandleByIndex_v2", count, &device) == NVML_ERROR_INVALID_ARGUMENT);
  REQUIRE(Nvml().Call("nvmlDeviceGetHandleByIndex_v2", 0u, &device) == 0);

  char name[96] = {}, runtime_name[256] = {};
  REQUIRE(Nvml().Call("nvmlDeviceGetName", device, static_cast<char*>(name), 96u) == 0);
  REQUIRE(driver::cuDeviceGetName(runtime_name, sizeof runtime_name, 0) == CUDA_SUCCESS);
  CHECK(std::string(name) == runtime_name);
  CHECK(Nvml().Call("nvmlDeviceGetName", device, static_cast<char*>(name), 2u) ==
        NVML_ERROR_INSUFFICIENT_SIZE);

  char uuid[96] = {};
  REQUIRE(Nvml().Call("nvmlDeviceGetUUID", device, static_cast<char*>(uuid), 96u) == 0);
  CHECK(std::strlen(uuid) == 40);
  REQUIRE(Nvml().Call("nvmlDeviceGetHandleByUUID", static_cast<const char*>(uuid), &same) == 0);
  CHECK(same == device);
  nvmlPciInfo_t pci{};
  REQUIRE(Nvml().Call("nvmlDeviceGetPciInfo_v3", device, &pci) == 0);
  for (const char* old : {"nvmlDeviceGetPciInfo", "nvmlDeviceGetPciInfo_v2"}) {
    nvmlPciInfo_t part{};
    std::memset(part.busId, '?', sizeof part.busId);  // not part of the structure before version 3
    REQUIRE(Nvml().Call(old, device, &part) == 0);
    CHECK(std::string(part.busIdLegacy) == pci.busIdLegacy);
    CHECK(part.device == pci.device);
    CHECK(part.busId[0] == '?');
  }
  REQUIRE(Nvml().Call("nvmlDeviceGetHandleByPciBusId_v2", static_cast<const char*>(pci.busIdLegacy), &same) ==
          0);
  CHECK(same == device);

  int major = 0, minor = 0, attribute = 0;
  REQUIRE(Nvml().Call("nvmlDeviceGetCudaComputeCapability", device, &major, &minor) == 0);
  REQUIRE(driver::cuDeviceGetAttribute(&attribute, static_cast<CUdevice_attribute>(75), 0) == CUDA_SUCCESS);
  CHECK(major == attribute);

  nvmlMemory_t before{}, during{};
  REQUIRE(Nvml().Call("nvmlDeviceGetMemoryInfo", device, &before) == 0);
  size_t total = 0;
  REQUIRE(driver::cuDeviceTotalMem_v2(&total, 0) == CUDA_SUCCESS);
  CHECK(before.total == total);
  CHECK(before.used + before.free == before.total);
  void* memory = nullptr;
  constexpr size_t kBytes = 64 << 20;
  REQUIRE(cudart::cudaMalloc(&memory, kBytes) == cudaSuccess);
  REQUIRE(Nvml().Call("nvmlDeviceGetMemoryInfo", device, &during) == 0);
  CHECK(during.used >= before.used + kBytes);
  REQUIRE(cudart::cudaFree(memory) == cudaSuccess);

  nvmlUtilization_t utilization{101, 101};
  REQUIRE(Nvml().Call("nvmlDeviceGetUtilizationRates", device, &utilization) == 0);
  CHECK(utilization.gpu <= 100);
  CHECK(utilization.memory <= 100);
  unsigned temperature = 0;
  CHECK(Nvml().Call("nvmlDeviceGetTemperature", device, 0, &temperature) == NVML_ERROR_NOT_SUPPORTED);
  CHECK(std::string(Nvml().Call<const char*>("nvmlErrorString", 3)) == "Not Supported");
  REQUIRE(Nvml().Call("nvmlShutdown") == 0);
  CHECK(Nvml().Call("nvmlShutdown") == NVML_ERROR_UNINITIALIZED);
}

TEST_CASE("nvml: the library exports what its table states") {
  const auto table = api_table::Read(PTX2CPU_SOURCE_DIR "/runtime/cuda/libraries/ml/nvml.api");
  REQUIRE(table);
  for (const api_table::Function& function : table->functions) CHECK(Nvml().Find(function.name) != nullptr);
}
