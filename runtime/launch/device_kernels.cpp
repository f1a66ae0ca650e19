#include "runtime/launch/device_kernels.h"

#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

namespace ptx2cpu::rt {

namespace {

struct DeviceKernels {
  std::shared_mutex mutex;
  std::unordered_map<const void*, std::shared_ptr<KernelFinder>> finders;
};
DeviceKernels& AllDeviceKernels() {
  static auto* kernels = new DeviceKernels;  // modules may be unloaded while the process ends
  return *kernels;
}

}  // namespace

void RegisterDeviceKernel(const void* identity, std::shared_ptr<KernelFinder> finder) {
  std::unique_lock lock(AllDeviceKernels().mutex);
  AllDeviceKernels().finders.insert_or_assign(identity, std::move(finder));
}

void ForgetDeviceKernel(const void* identity) {
  std::unique_lock lock(AllDeviceKernels().mutex);
  AllDeviceKernels().finders.erase(identity);
}

std::shared_ptr<KernelFinder> FindDeviceKernel(const void* identity) {
  std::shared_lock lock(AllDeviceKernels().mutex);
  const auto found = AllDeviceKernels().finders.find(identity);
  return found == AllDeviceKernels().finders.end() ? nullptr : found->second;
}

}  // namespace ptx2cpu::rt
