#include "runtime/cuda/driver/context/device.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "runtime/abi/check.h"
#include "runtime/check/wanted.h"
#include "runtime/cuda/driver/context/context.h"
#include "runtime/cuda/driver/context/memory_limits.h"
#include "runtime/cuda/driver/core/errors.h"
#include "runtime/device/clock.h"
#include "runtime/worker/thread_pool.h"

namespace ptx2cpu::driver {

using namespace cuda;

namespace {

constexpr uint32_t kDefaultCapability = 90;  // whose limits the launcher has
constexpr int kMaxDevices = 64;

// The value of the first line "key : value" of /proc/cpuinfo.
std::string ProcessorInfo(const std::string& key) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

std::string ProcessorName() {
  std::string name = ProcessorInfo("model name");
  if (name.empty()) name = ProcessorInfo("CPU implementer").empty() ? "CPU" : "Arm CPU";
  return name;
}

int CacheBytes() {
  for (const int name : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    const long bytes = sysconf(name);
    if (bytes > 0) return static_cast<int>(std::min<long>(bytes, INT_MAX));
  }
  return 4 << 20;
}

int ReportedCapability() { return static_cast<int>(Devices::Get().compute_capability()); }

// "9.0" or "90"; 0 where it is neither.
uint32_t ParseCapability(const char* text) {
  unsigned major = 0, minor = 0;
  char end = 0;
  const size_t length = std::strlen(text);
  if (std::sscanf(text, "%u.%u%c", &major, &minor, &end) == 2 && minor < 10) return major * 10 + minor;
  if (length >= 2 && length <= 3 && std::sscanf(text, "%u%c", &major, &end) == 1) return major;
  return 0;
}

// Stable from run to run on one machine, different for each device: FNV-1a of name and number, twice.
CUuuid UuidOf(const std::string& name, int number) {
  CUuuid uuid;
  uint64_t hash = 0xcbf29ce484222325u + static_cast<uint64_t>(number);
  for (size_t half = 0; half < 2; ++half) {
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    std::memcpy(uuid.bytes + 8 * half, &hash, 8);
  }
  return uuid;
}

int SimulatedDevices() {
  const char* text = std::getenv("PTX2CPU_DEVICES");
  if (text == nullptr || *text == '\0') return 1;
  char* end = nullptr;
  const long count = std::strtol(text, &end, 10);
  if (*end != '\0' || count < 0 || count > kMaxDevices) {
    Warn("PTX2CPU_DEVICES must be a number from 0 to 64, not '" + std::string(text) + "'; using one device");
    return 1;
  }
  return static_cast<int>(count);
}

// "GPU-" and at least the first digits of the UUID.
bool NamesUuid(const std::string& item, const CUuuid& uuid) {
  if (!item.starts_with("GPU-") || item.size() <= 4) return false;
  std::string digits;
  for (const char c : item.substr(4)) {
    if (c != '-') digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  std::string all;
  for (const char byte : uuid.bytes) {
    char text[3];
    std::snprintf(text, sizeof text, "%02x", static_cast<unsigned char>(byte));
    all += text;
  }
  return all.starts_with(digits);
}

// The devices that CUDA_VISIBLE_DEVICES leaves, in its order: up to the first item that names none or one
// twice.
std::vector<int> VisibleDevices() {
  const int count = SimulatedDevices();
  std::vector<int> visible;
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) {
    for (int i = 0; i < count; ++i) visible.push_back(i);
    return visible;
  }
  std::istringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    std::erase_if(item, [](unsigned char c) { return std::isspace(c) != 0; });
    int number = -1;
    if (!item.empty() &&
        std::all_of(item.begin(), item.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
      number = item.size() < 4 ? std::stoi(item) : -1;
    } else {
      for (int i = 0; i < count && number < 0; ++i) {
        if (NamesUuid(item, UuidOf(ProcessorName(), i))) number = i;
      }
    }
    if (number < 0 || number >= count || std::find(visible.begin(), visible.end(), number) != visible.end())
      break;
    visible.push_back(number);
  }
  return visible;
}

// Checks report accesses to memory that the program has not registered, as most GPUs cannot do them: a
// program that asks takes the way that works everywhere.
bool AccessesAllMemory() { return (rt::check::WantedKinds() & PTX2CPU_CHECKS_MEMORY) == 0; }

enum class Start : int { kNotYet, kDone, kForked };
std::atomic<Start> start{Start::kNotYet};

}  // namespace

CUresult CheckInitialised() {
  return start.load(std::memory_order_acquire) == Start::kDone ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult Initialise() {
  if (start.load(std::memory_order_acquire) == Start::kForked) return CUDA_ERROR_NOT_INITIALIZED;
  if (Devices::Get().count() == 0) return CUDA_ERROR_NO_DEVICE;
  Start expected = Start::kNotYet;
  if (start.compare_exchange_strong(expected, Start::kDone)) {
    pthread_atfork(nullptr, nullptr, [] { start.store(Start::kForked, std::memory_order_release); });
  }
  return CUDA_SUCCESS;
}

Device::Device(int ordinal, int number)
    : ordinal_(ordinal),
      number_(number),
      name_("ptx2cpu (" + ProcessorName() + ")"),
      uuid_(UuidOf(ProcessorName(), number)),
      primary_(std::make_unique<Context>(*this, true)) {}

Device::~Device() = default;

size_t Device::memory_bytes() const { return MemoryLimits::Get().total(); }

int Device::multiprocessors() const { return static_cast<int>(rt::ThreadPool::Get().size()); }

std::optional<int> Device::Attribute(CUdevice_attribute attribute) const {
  switch (attribute) {
#define ATTRIBUTE(name, value)     \
  case CU_DEVICE_ATTRIBUTE_##name: \
    return static_cast<int>(value);
#include "runtime/cuda/driver/context/device_attributes.def"
#undef ATTRIBUTE
    default:
      return std::nullopt;
  }
}

Devices& Devices::Get() {
  static Devices* const devices = new Devices;  // used by threads that outlive main
  return *devices;
}

Devices::Devices() : compute_capability_(kDefaultCapability), strict_images_(false) {
  if (const char* text = std::getenv("PTX2CPU_COMPUTE_CAPABILITY"); text != nullptr && *text != '\0') {
    const uint32_t capability = ParseCapability(text);
    strict_images_ = capability != 0;
    if (strict_images_)
      compute_capability_ = capability;
    else
      Warn("PTX2CPU_COMPUTE_CAPABILITY must be like 9.0, not '" + std::string(text) + "'; using 9.0");
  }
  for (const int number : VisibleDevices()) devices_.push_back(std::make_unique<Device>(count(), number));
}

Device* Devices::Find(CUdevice ordinal) const {
  return ordinal >= 0 && ordinal < count() ? devices_[static_cast<size_t>(ordinal)].get() : nullptr;
}

CUresult FindDevice(CUdevice ordinal, Device*& device) {
  if (const CUresult error = CheckInitialised()) return error;
  device = Devices::Get().Find(ordinal);
  return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult DeviceAttribute(int* value, CUdevice_attribute attribute, CUdevice ordinal) {
  Device* device = nullptr;
  if (const CUresult error = FindDevice(ordinal, device)) return error;
  const std::optional<int> found = device->Attribute(attribute);
  if (!found) return CUDA_ERROR_INVALID_VALUE;
  *value = *found;
  return CUDA_SUCCESS;
}

}  // namespace ptx2cpu::driver
