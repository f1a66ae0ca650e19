// The object that generated code's `launch` pointer points to: one per launch in flight.
#pragma once

#include "runtime/device/device_services.h"
#include "runtime/device/print_log.h"
#include "runtime/launch/child_queue.h"
#include "runtime/launch/launch.h"

namespace ptx2cpu::rt {
class LaunchJob;
}

struct ptx2cpu_launch {
  const ptx2cpu::rt::LaunchOptions* options = nullptr;
  ptx2cpu::rt::LaunchJob* job = nullptr;
  ptx2cpu::rt::DeviceServices* services = nullptr;
  ptx2cpu::rt::PrintLog prints;
  ptx2cpu::rt::ChildQueue children;
};
