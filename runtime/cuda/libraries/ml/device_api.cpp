// Devices as the driver reports them; a handle is the device's number plus 1.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "driver_api.h"
#include "nvml_api.h"
#include "runtime/cuda/driver/context/memory_limits.h"

namespace ptx2cpu::nvml {

namespace {

// nvmlInit calls less nvmlShutdown calls.
std::atomic<int> users{0};

nvmlReturn_t Begin() {
  if (driver::cuInit(0) != CUDA_SUCCESS) return NVML_ERROR_DRIVER_NOT_LOADED;
  ++users;
  return NVML_SUCCESS;
}
int Count() {
  int count = 0;
  return driver::cuDeviceGetCount(&count) == CUDA_SUCCESS ? count : 0;
}

// The device of a handle. UNINITIALIZED, INVALID_ARGUMENT.
nvmlReturn_t DeviceOf(nvmlDevice_t handle, CUdevice& device) {
  if (users.load() <= 0) return NVML_ERROR_UNINITIALIZED;
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number < 1 || number > static_cast<uintptr_t>(Count())) return NVML_ERROR_INVALID_ARGUMENT;
  device = static_cast<CUdevice>(number - 1);
  return NVML_SUCCESS;
}
nvmlDevice_t HandleOf(int device) {
  return reinterpret_cast<nvmlDevice_t>(static_cast<uintptr_t>(device) + 1);
}

nvmlReturn_t Write(const std::string& text, char* to, unsigned int length) {
  if (to == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  if (text.size() + 1 > length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return NVML_SUCCESS;
}

std::string UuidText(CUdevice device) {
  CUuuid uuid{};
  driver::cuDeviceGetUuid_v2(&uuid, device);
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

// What processors did and could have done since the machine began, in ticks.
struct Ticks {
  unsigned long long busy = 0, total = 0;
};
Ticks ReadTicks() {
  Ticks ticks;
  if (std::FILE* file = std::fopen("/proc/stat", "r")) {
    unsigned long long user = 0, nice = 0, system = 0, idle = 0, wait = 0;
    if (std::fscanf(file, "cpu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait) == 5) {
      ticks.busy = user + nice + system;
      ticks.total = ticks.busy + idle + wait;
    }
    std::fclose(file);
  }
  return ticks;
}

// How busy the processors were since the last call, or since the machine began; percent.
unsigned int BusyPercent() {
  static std::mutex mutex;
  static Ticks last;
  const std::lock_guard lock(mutex);
  const Ticks now = ReadTicks(), before = std::exchange(last, now);
  return now.total <= before.total
             ? 0
             : static_cast<unsigned int>(100 * (now.busy - before.busy) / (now.total - before.total));
}

nvmlReturn_t NoProcesses(nvmlDevice_t handle, unsigned int* count) {
  CUdevice device;
  if (const nvmlReturn_t error = DeviceOf(handle, device)) return error;
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *count = 0;
  return NVML_SUCCESS;
}

}  // namespace

nvmlReturn_t nvmlInit() { return Begin(); }
nvmlReturn_t nvmlInit_v2() { return Begin(); }
nvmlReturn_t nvmlInitWithFlags(unsigned int flags) { return Begin(); }
nvmlReturn_t nvmlShutdown() {
  if (users.load() <= 0) return NVML_ERROR_UNINITIALIZED;
  --users;
  return NVML_SUCCESS;
}

const char* nvmlErrorString(nvmlReturn_t result) {
  struct Row {
    nvmlReturn_t result;
    const char* text;
  };
  constexpr Row kRows[] = {{NVML_SUCCESS, "Success"},
                           {NVML_ERROR_UNINITIALIZED, "Uninitialized"},
                           {NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"},
                           {NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
                           {NVML_ERROR_NO_PERMISSION, "Insufficient Permissions"},
                           {NVML_ERROR_NOT_FOUND, "Not Found"},
                           {NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"},
                           {NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"},
                           {NVML_ERROR_MEMORY, "Insufficient Memory"}};
  const auto row = std::ranges::find(kRows, result, &Row::result);
  return row == std::end(kRows) ? "Unknown Error" : row->text;
}

// The version of a driver for the CUDA version that ours reports; programs compare it with their minimum.
nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  return Write("580.95.05", version, length);
}
nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned int length) {
  return Write("13.580.95.05", version, length);
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* cudaDriverVersion) {
  if (cudaDriverVersion == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return driver::cuDriverGetVersion(cudaDriverVersion) == CUDA_SUCCESS ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* cudaDriverVersion) {
  return nvmlSystemGetCudaDriverVersion(cudaDriverVersion);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* deviceCount) {
  if (users.load() <= 0) return NVML_ERROR_UNINITIALIZED;
  if (deviceCount == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *deviceCount = static_cast<unsigned int>(Count());
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCount(unsigned int* deviceCount) { return nvmlDeviceGetCount_v2(deviceCount); }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
  if (users.load() <= 0) return NVML_ERROR_UNINITIALIZED;
  if (device == nullptr || index >= static_cast<unsigned int>(Count())) return NVML_ERROR_INVALID_ARGUMENT;
  *device = HandleOf(static_cast<int>(index));
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  if (users.load() <= 0) return NVML_ERROR_UNINITIALIZED;
  if (uuid == nullptr || device == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (int i = 0; i < Count(); ++i) {
    if (UuidText(i) != uuid) continue;
    *device = HandleOf(i);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* pciBusId, nvmlDevice_t* device) {
  if (users.load() <= 0) return NVML_ERROR_UNINITIALIZED;
  if (pciBusId == nullptr || device == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  CUdevice found = 0;
  if (driver::cuDeviceGetByPCIBusId(&found, pciBusId) != CUDA_SUCCESS) return NVML_ERROR_NOT_FOUND;
  *device = HandleOf(found);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* pciBusId, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(pciBusId, device);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t handle, char* name, unsigned int length) {
  CUdevice device;
  if (const nvmlReturn_t error = DeviceOf(handle, device)) return error;
  char text[256] = {};
  driver::cuDeviceGetName(text, sizeof text, device);
  return Write(text, name, length);
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t handle, char* uuid, unsigned int length) {
  CUdevice device;
  if (const nvmlReturn_t error = DeviceOf(handle, device)) return error;
  return Write(UuidText(device), uuid, length);
}
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t handle, unsigned int* index) {
  CUdevice device;
  if (const nvmlReturn_t error = DeviceOf(handle, device)) return error;
  if (index == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *index = static_cast<unsigned int>(device);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t handle, unsigned int* minorNumber) {
  return nvmlDeviceGetIndex(handle, minorNumber);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t handle, nvmlPciInfo_t* pci) {
  CUdevice device;
  if (const nvmlReturn_t error = DeviceOf(handle, device)) return error;
  if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *pci = {};
  driver::cuDeviceGetPCIBusId(pci->busIdLegacy, sizeof pci->busIdLegacy, device);
  if (std::sscanf(pci->busIdLegacy, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device) != 3)
    return NVML_ERROR_UNKNOWN;
  std::snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
  return NVML_SUCCESS;
}

// Before version 3 the structure ended before `busId`; what it had has stayed where it was.
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t handle, nvmlPciInfo_t* pci) {
  if (pci == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  nvmlPciInfo_t whole{};
  const nvmlReturn_t result = nvmlDeviceGetPciInfo_v3(handle, &whole);
  if (result == NVML_SUCCESS) std::memcpy(pci, &whole, offsetof(nvmlPciInfo_t, busId));
  return result;
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t handle, nvmlPciInfo_t* pci) {
  return nvmlDeviceGetPciInfo_v2(handle, pci);
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t handle, int* major, int* minor) {
  CUdevice device;
  if (const nvmlReturn_t error = DeviceOf(handle, device)) return error;
  if (major == nullptr || minor == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  return driver::cuDeviceComputeCapability(major, minor, device) == CUDA_SUCCESS ? NVML_SUCCESS
                                                                                 : NVML_ERROR_UNKNOWN;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t* memory) {
  CUdevice device;
  if (const nvmlReturn_t error = DeviceOf(handle, device)) return error;
  if (memory == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  memory->total = driver::MemoryLimits::Get().total();
  memory->free = driver::MemoryLimits::Get().free();
  memory->used = memory->total - memory->free;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t handle, nvmlMemory_v2_t* memory) {
  nvmlMemory_t plain{};
  if (const nvmlReturn_t error = nvmlDeviceGetMemoryInfo(handle, memory == nullptr ? nullptr : &plain))
    return error;
  memory->total = plain.total, memory->free = plain.free, memory->used = plain.used, memory->reserved = 0;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t handle, nvmlUtilization_t* utilization) {
  nvmlMemory_t memory{};
  if (const nvmlReturn_t error = nvmlDeviceGetMemoryInfo(handle, &memory)) return error;
  if (utilization == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  utilization->gpu = BusyPercent();
  utilization->memory = memory.total == 0 ? 0 : static_cast<unsigned int>(100 * memory.used / memory.total);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t handle, nvmlEnableState_t* mode) {
  CUdevice device;
  if (const nvmlReturn_t error = DeviceOf(handle, device)) return error;
  if (mode == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *mode = NVML_FEATURE_ENABLED;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t handle, nvmlComputeMode_t* mode) {
  CUdevice device;
  if (const nvmlReturn_t error = DeviceOf(handle, device)) return error;
  if (mode == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *mode = NVML_COMPUTEMODE_DEFAULT;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int* infoCount,
                                                  nvmlProcessInfo_t* infos) {
  return NoProcesses(device, infoCount);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* infoCount,
                                                     nvmlProcessInfo_t* infos) {
  return NoProcesses(device, infoCount);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* infoCount,
                                                     nvmlProcessInfo_t* infos) {
  return NoProcesses(device, infoCount);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned int* infoCount,
                                                   nvmlProcessInfo_t* infos) {
  return NoProcesses(device, infoCount);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned int* infoCount,
                                                      nvmlProcessInfo_t* infos) {
  return NoProcesses(device, infoCount);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int* infoCount,
                                                      nvmlProcessInfo_t* infos) {
  return NoProcesses(device, infoCount);
}

}  // namespace ptx2cpu::nvml
