// Lazy contexts and the thread's device.
#include "runtime/cuda/cudart/context.h"

#include <array>
#include <atomic>
#include <span>

#include "cudart_api.h"

namespace ptx2cpu::cudart {

namespace {

constexpr size_t kMaxDevices = 64;

// Primary contexts that the runtime retained: once per device, given up by cudaDeviceReset.
struct Retained {
  std::array<std::atomic<CUcontext>, kMaxDevices> contexts{};
  std::atomic<uint32_t> resets{0};  // cudaDeviceReset calls: threads then read their context again
};

Retained& Primaries() {
  static Retained* const primaries = new Retained;  // used until the process ends
  return *primaries;
}

struct ThreadState {
  int device = 0;
  uint32_t resets = 0;
};

thread_local ThreadState thread_state;

cudaError_t Bind(int device) {
  CUcontext context;
  if (const cudaError_t error = PrimaryContext(device, context)) return error;
  return FromDriver(driver::cuCtxSetCurrent(context));
}

}  // namespace

cudaError_t BeginDriver() {
  static std::atomic<bool> begun{false};
  if (begun.load(std::memory_order_acquire)) [[likely]]
    return cudaSuccess;
  const CUresult result = driver::cuInit(0);
  if (result == CUDA_SUCCESS) begun.store(true, std::memory_order_release);
  return FromDriver(result);
}

cudaError_t PrimaryContext(int device, CUcontext& context) {
  if (const cudaError_t error = BeginDriver()) return error;
  int count = 0;
  if (const CUresult error = driver::cuDeviceGetCount(&count)) return FromDriver(error);
  if (device < 0 || device >= count || device >= static_cast<int>(kMaxDevices)) return cudaErrorInvalidDevice;
  std::atomic<CUcontext>& slot = Primaries().contexts[static_cast<size_t>(device)];
  context = slot.load(std::memory_order_acquire);
  if (context != nullptr) return cudaSuccess;
  if (const CUresult error = driver::cuDevicePrimaryCtxRetain(&context, device)) return FromDriver(error);
  CUcontext expected = nullptr;
  if (!slot.compare_exchange_strong(expected, context))
    driver::cuDevicePrimaryCtxRelease_v2(device);  // another thread was first
  return cudaSuccess;
}

cudaError_t Begin() {
  ThreadState& thread = thread_state;
  CUcontext context = nullptr;
  const uint32_t resets = Primaries().resets.load(std::memory_order_acquire);
  if (driver::cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr) {
    if (thread.resets == resets) [[likely]]
      return cudaSuccess;
    // After a reset the context may be gone; then this thread begins that of its device again.
    CUdevice device;
    if (driver::cuCtxGetDevice(&device) == CUDA_SUCCESS) {
      thread.resets = resets;
      return cudaSuccess;
    }
  }
  thread.resets = resets;
  return Bind(thread.device);
}

cudaError_t CurrentDevice(int& device) {
  CUdevice current;
  CUcontext context = nullptr;
  if (driver::cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr &&
      driver::cuCtxGetDevice(&current) == CUDA_SUCCESS) {
    device = current;
  } else {
    device = thread_state.device;
  }
  return cudaSuccess;
}

cudaError_t SetDevice(int device) {
  if (const cudaError_t error = Bind(device)) return error;
  thread_state.device = device;
  thread_state.resets = Primaries().resets.load(std::memory_order_acquire);
  return cudaSuccess;
}

void SetNextDevice(int device) { thread_state.device = device; }

cudaError_t ResetDevice(int device) {
  thread_state.device = device;
  Retained& primaries = Primaries();
  if (device < static_cast<int>(kMaxDevices))
    primaries.contexts[static_cast<size_t>(device)].store(nullptr, std::memory_order_release);
  primaries.resets.fetch_add(1, std::memory_order_acq_rel);
  const CUresult result = driver::cuDevicePrimaryCtxReset_v2(device);
  driver::cuCtxSetCurrent(nullptr);
  return FromDriver(result);
}

}  // namespace ptx2cpu::cudart
